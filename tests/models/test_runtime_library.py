"""The runtime's native libraries: the pinned ones are loaded, and no others."""

import re
from pathlib import Path

import pytest

from gateway.core.passages import NoVectors
from gateway.errors import ModelError
from models.catalogue import E5_SMALL
from models.runtime_library import Pins, RuntimeLibrary, pins
from models.worker_client import LocalEncoder
from tests.fakes.times import RealClock
from tests.models.records import record

ROOT = Path(__file__).parents[2]
BINDING, INNER = "onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so", "libonnxruntime.so.1"
FILES = {BINDING: b"binding", INNER: b"inner"}
KNOWN = Pins("1", {name: frozenset({record(data).sha256}) for name, data in FILES.items()})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "__init__.py").write_text("")
    return tmp_path


def test_the_installed_runtime_is_the_pinned_one() -> None:
    RuntimeLibrary().check()


def test_the_pins_are_of_the_locked_version() -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    locked = re.search(r"^onnxruntime==(\S+)", lock, re.MULTILINE)
    assert locked
    assert locked[1] == pins().version, "run docs/tools/pin-runtime with the wheels of the lock"


@pytest.mark.parametrize(
    ("name", "data"),
    [(INNER, b"Inner"), (BINDING, b""), ("libother.so", b"x"), ("evil.dylib", b"x")],
)
def test_another_library_is_refused(folder: Path, name: str, data: bytes) -> None:
    runtime = RuntimeLibrary(folder, KNOWN)
    runtime.check()
    (folder / name).write_bytes(data)
    with pytest.raises(ModelError) as caught:
        runtime.check()
    assert caught.value.code == "model_verification_failed"
    assert name in str(caught.value)


def test_a_missing_binding_is_refused(folder: Path) -> None:
    (folder / BINDING).unlink()
    with pytest.raises(ModelError, match="pybind"):
        RuntimeLibrary(folder, KNOWN).check()


async def test_a_search_is_told_and_no_worker_starts(folder: Path) -> None:
    (folder / INNER).write_bytes(b"put there by hand")
    encoder = LocalEncoder(
        folder, E5_SMALL, idle_unload_s=60, clock=RealClock(), runtime=RuntimeLibrary(folder, KNOWN)
    )
    assert await encoder.unavailable() is NoVectors.VERIFICATION_FAILED
    with pytest.raises(ModelError) as caught:
        await encoder.embed_query("特休")
    assert caught.value.code == "model_verification_failed"
    assert encoder.worker_pids == frozenset()
    await encoder.close()

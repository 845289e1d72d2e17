"""The runtime's native libraries, pinned by hash: what was put there by hand is never loaded."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import msgspec

from gateway.errors import ModelError
from models.files import sha256_of

PINS = Path(__file__).parent / "data" / "runtime_libraries.json"
PACKAGE = "onnxruntime"
_NATIVE = re.compile(r".+\.(so|so\.[0-9.]+|dylib|pyd|dll)")
_BINDING = "onnxruntime_pybind11_state"  # what Python imports; it loads the others

Looks = tuple[tuple[str, int, int, int], ...]


class Pins(msgspec.Struct, frozen=True):
    """The files of every wheel of one version: one name has a hash a platform or Python."""

    version: str
    libraries: Mapping[str, frozenset[str]]


@cache
def pins() -> Pins:
    """As docs/tools/pin-runtime wrote them."""
    return msgspec.json.decode(PINS.read_bytes(), type=Pins)


class RuntimeLibrary:
    """Checked before the first load, and again only after a file was replaced."""

    def __init__(self, folder: Path | None = None, known: Pins | None = None) -> None:
        """`folder`: where the libraries are, else that of the installed package."""
        self._folder = folder
        self._known = known
        self._checked: Looks = ()

    @property
    def is_there(self) -> bool:
        """Whether there is a package at all on this platform."""
        return self._place() is not None

    def check(self) -> None:
        """ModelError: `model_unsupported_platform`, `model_verification_failed`."""
        folder = self._place()
        if folder is None:
            raise ModelError(f"no {PACKAGE}", code="model_unsupported_platform")
        files = sorted(path for path in folder.iterdir() if _NATIVE.fullmatch(path.name))
        looks = tuple(_look(path) for path in files)
        if looks and looks == self._checked:
            return
        known = (self._known or pins()).libraries
        if not any(path.name.startswith(_BINDING) for path in files):
            raise ModelError(f"{PACKAGE}: no {_BINDING}", code="model_verification_failed")
        for path in files:
            if sha256_of(path) not in known.get(path.name, frozenset()):
                reason = f"{path.name}: not of the pinned {PACKAGE}"
                raise ModelError(reason, code="model_verification_failed")
        self._checked = looks

    def _place(self) -> Path | None:
        return self._folder or _installed()


@cache
def the_runtime() -> RuntimeLibrary:
    """That of the installed package: one for the process, so that it is hashed once."""
    return RuntimeLibrary()


@cache
def _installed() -> Path | None:
    """Looked up once: it searches folders. Nothing of the package is run."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "capi"
    return folder if folder.is_dir() else None


def _look(path: Path) -> tuple[str, int, int, int]:
    found = path.stat()
    return path.name, found.st_ino, found.st_size, found.st_mtime_ns

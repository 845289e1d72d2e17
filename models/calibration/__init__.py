"""What was measured of each model, as data files beside this one; fitted on public sets."""

import re
from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec

from gateway.core.calibration import Calibration
from gateway.errors import ModelError

_LOCAL = re.compile(r"local:([a-z0-9][a-z0-9.-]*)@")
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")


def find_calibration(model_key: str) -> Calibration | None:
    """By a model key (local:NAME@BUILD/…), or "keyword" for searches without vectors.

    The builds of one model share their figures; None for a model that was never measured.
    """
    return _load(_name(model_key))


def own_calibrations(folder: Path) -> Callable[[str], Calibration | None]:
    """As `find_calibration`, but what `save_calibration` put into the folder comes first.

    Read once, now. ModelError: a file of it is broken.
    """
    own = {file.stem: _read(file) for file in sorted(folder.glob("*.json"))}
    return lambda model_key: own.get(_name(model_key)) or find_calibration(model_key)


def save_calibration(folder: Path, calibration: Calibration) -> Path:
    """Write it whole or not at all; the file's name is the model's."""
    if not _NAME.fullmatch(calibration.model_id):
        raise ValueError(calibration.model_id)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{calibration.model_id}.json"
    written = file.with_suffix(".new")
    written.write_bytes(msgspec.json.format(msgspec.json.encode(calibration), indent=1))
    return written.replace(file)


def _read(file: Path) -> Calibration:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Calibration)
    except msgspec.DecodeError as error:
        raise ModelError(f"{file}: {error}", code="model_unavailable") from error


def _name(model_key: str) -> str:
    local = _LOCAL.match(model_key)
    return local[1] if local else model_key


@cache
def _load(name: str) -> Calibration | None:
    files = {file.name: file for file in resources.files(__name__).iterdir()}
    file = files.get(f"{name}.json")
    return None if file is None else msgspec.json.decode(file.read_bytes(), type=Calibration)

"""What was measured of each model, as data files beside this one; fitted on public sets."""

import re
from functools import cache
from importlib import resources

import msgspec

from gateway.core.calibration import Calibration

_LOCAL = re.compile(r"local:([a-z0-9][a-z0-9.-]*)@")


def find_calibration(model_key: str) -> Calibration | None:
    """By a model key (local:NAME@BUILD/…), or "keyword" for searches without vectors.

    The builds of one model share their figures; None for a model that was never measured.
    """
    local = _LOCAL.match(model_key)
    return _load(local[1] if local else model_key)


@cache
def _load(name: str) -> Calibration | None:
    files = {file.name: file for file in resources.files(__name__).iterdir()}
    file = files.get(f"{name}.json")
    return None if file is None else msgspec.json.decode(file.read_bytes(), type=Calibration)

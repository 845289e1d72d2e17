"""Where the shared reference sets stand (SHUTTEN_SHARED, else beside this tree)."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def shared(*names: str) -> Path:
    """The file or folder; where the sets are not at hand the test is skipped, in CI it fails."""
    root = Path(os.environ.get("SHUTTEN_SHARED") or ROOT.parent / "shared")
    path = root.joinpath(*names)
    if not path.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{'/'.join(names)} is not at hand")
    return path

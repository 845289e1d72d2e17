"""The key that vouches for visitors: made once per home, readable by its user alone."""

import os
import secrets
from pathlib import Path

from gateway.home import unusable

KEY_FILE = "run/visitors.key"
KEY_BYTES = 32


def visitor_key(home: Path) -> bytes:
    """The key of this home; HomeError where it can be neither read nor made.

    A file of another length is made anew: its visitors are strangers again, nothing worse.
    """
    path = home / KEY_FILE
    try:
        if path.exists():
            path.chmod(0o600)
            found = path.read_bytes()
            if len(found) == KEY_BYTES:
                return found
            path.unlink()
        return _made(path)
    except OSError as error:
        raise unusable(path, error) from error


def _made(path: Path) -> bytes:
    key = secrets.token_bytes(KEY_BYTES)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    return key

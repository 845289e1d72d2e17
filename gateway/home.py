"""The home folder: its layout, and the lock that keeps a second gateway out."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.errors import HomeError

FOLDERS = ("agents", "knowledge", "models/embedding", "logs")
PRIVATE_FOLDERS = ("run", "knowledge/proposals")


def make(home: Path) -> None:
    """Create what is missing; nothing that is there changes."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        for name in FOLDERS:
            (home / name).mkdir(parents=True, exist_ok=True)
        for name in PRIVATE_FOLDERS:
            (home / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise unusable(home, error) from error


def unusable(path: Path, error: OSError) -> HomeError:
    """What the file system refused, with its own words as the reason."""
    reason = error.strerror or str(error)
    return HomeError(str(error), code="home_unusable", path=str(path), reason=reason)


def require(home: Path) -> None:
    """HomeError unless `init` was run here."""
    if not (home / "config.toml").is_file() or not (home / "run").is_dir():
        raise HomeError(f"{home} is no home", path=str(home))


@contextmanager
def lock(home: Path) -> Iterator[None]:
    """Hold `run/lock` for the life of the process; HomeError `home_in_use` if somebody does."""
    path = home / "run" / "lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise unusable(path, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise HomeError("locked", code="home_in_use", path=str(home)) from error
        yield
    finally:
        os.close(descriptor)

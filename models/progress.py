"""How far an install is, told to other processes by a small file; and the wish to stop it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from gateway.errors import ConflictError, ModelError, NotFoundError
from models.files import Progress

STEPS_TOLD = 200  # of one step; a file a piece would cost more than the download


class InstallProgress(msgspec.Struct, frozen=True):
    """The step of an install that is running: bytes, or parts when building."""

    step: str
    done: int
    total: int


class Reporter:
    """Passes progress on, writes it down, and ends the install that somebody cancelled."""

    def __init__(self, models_dir: Path, name: str, told: Progress) -> None:
        self._told = told
        self._file, self._wish = _file(models_dir, name), _wish(models_dir, name)
        self._last = InstallProgress("", 0, 0)

    def __call__(self, step: str, done: int, total: int) -> None:
        """ModelError `model_install_cancelled` when that was asked for."""
        if self._wish.exists():
            raise ModelError("cancelled", code="model_install_cancelled")
        now = InstallProgress(step, done, total)
        has_moved = (done - self._last.done) * STEPS_TOLD >= max(total, 1)
        if step != self._last.step or has_moved or done == total:
            self._last = now
            whole = self._file.with_suffix(".new")
            whole.write_bytes(msgspec.json.encode(now))
            whole.rename(self._file)
        self._told(step, done, total)

    def begin(self) -> None:
        """A wish that came too late for an earlier install does not end this one."""
        self._wish.unlink(missing_ok=True)
        self._file.write_bytes(msgspec.json.encode(self._last))

    def end(self) -> None:
        """Leave no trace."""
        self._file.unlink(missing_ok=True)
        self._wish.unlink(missing_ok=True)


@contextmanager
def locked(models_dir: Path, name: str) -> Iterator[None]:
    """One install or removal at a time, whichever process; ConflictError for the second."""
    with _lock(models_dir, name).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConflictError(f"{name} is being installed or removed") from error
        yield


def running(models_dir: Path, name: str) -> InstallProgress | None:
    """How far an install of this model is, in whichever process; None when there is none."""
    try:
        told = msgspec.json.decode(_file(models_dir, name).read_bytes(), type=InstallProgress)
    except (OSError, msgspec.DecodeError):
        return None
    return told if _is_held(models_dir, name) else None  # a kill leaves the file, not the lock


def cancel(models_dir: Path, name: str) -> None:
    """Ask the running install to end; it leaves nothing behind. NotFoundError: none is running."""
    if running(models_dir, name) is None:
        raise NotFoundError(f"{name} is not being installed")
    _wish(models_dir, name).touch()


def _is_held(models_dir: Path, name: str) -> bool:
    try:
        with _lock(models_dir, name).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _lock(models_dir: Path, name: str) -> Path:
    return models_dir / f".{name}.lock"


def _file(models_dir: Path, name: str) -> Path:
    return models_dir / f".{name}.progress"


def _wish(models_dir: Path, name: str) -> Path:
    return models_dir / f".{name}.cancel"

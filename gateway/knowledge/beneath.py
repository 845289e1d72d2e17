"""Files within a folder that others write to as well: each step along a path is one name, no link.

A folder is opened within the one before it and never followed elsewhere; whoever swaps one for a
link meanwhile gets an error, not a file of ours.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def opened(path: Path) -> BinaryIO:
    """A regular file under its own name only: no link, no pipe. OSError."""
    return _regular(os.open(path, _READ | os.O_NONBLOCK))


def opened_beneath(start: Path, parts: Sequence[str]) -> BinaryIO:
    """The file at `parts` within `start`. OSError, also for links and files of several names."""
    with _folder(start, parts[:-1]) as folder:
        return _regular(os.open(parts[-1], _READ | os.O_NONBLOCK, dir_fd=folder))


def written_beneath(start: Path, parts: Sequence[str], data: bytes) -> None:
    """Put a file in the place of what is there; folders are made, readable by us alone. OSError."""
    fresh = f".{parts[-1]}.new"
    with _folder(start, parts[:-1], makes=True) as folder:
        with contextlib.suppress(FileNotFoundError):  # of one that was killed
            os.unlink(fresh, dir_fd=folder)
        try:
            with os.fdopen(os.open(fresh, _NEW, 0o600, dir_fd=folder), "wb") as file:
                file.write(data)
            os.replace(fresh, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(fresh, dir_fd=folder)
            raise


def removed_beneath(start: Path, parts: Sequence[str], *, keeping: int) -> None:
    """Remove a file, and the folders that it leaves empty but the first `keeping`. OSError.

    What is not there any more is no error.
    """
    try:
        with _folder(start, parts[:-1]) as folder:
            os.unlink(parts[-1], dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    for depth in range(len(parts) - 1, keeping, -1):
        try:
            with _folder(start, parts[: depth - 1]) as folder:
                os.rmdir(parts[depth - 1], dir_fd=folder)
        except OSError:  # others have something in it
            return


@contextmanager
def _folder(start: Path, parts: Sequence[str], *, makes: bool = False) -> Iterator[int]:
    """Folder by folder, each opened in the one before it."""
    folder = os.open(start, _READ & ~os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        for part in parts:
            if makes:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=folder)
            inner = os.open(part, _READ | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _regular(descriptor: int) -> BinaryIO:
    found = os.fstat(descriptor)
    # a second name would be a way in for files from elsewhere
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(descriptor)
        raise OSError(errno.EINVAL, "no plain file")
    return os.fdopen(descriptor, "rb")

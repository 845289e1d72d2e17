"""A new pair of release keys: the secret half to a file outside every repository, nowhere else."""

import os
from pathlib import Path

from models.minisign import PublicKey, SecretKey

ROOT = Path(__file__).resolve().parents[1]


class RefusedPlace(Exception):
    """The secret half may not lie there; the words say why."""


def make(path: Path) -> PublicKey:
    """Write the secret half to `path`, a new file; the public one is returned.

    RefusedPlace: within this source or another git repository. OSError, also when it exists.
    """
    place = path.expanduser().parent.resolve(strict=True) / path.name
    for folder in place.parents:
        if folder == ROOT or (folder / ".git").exists():
            raise RefusedPlace(f"{folder} is a repository: keep the secret half outside")
    key = SecretKey.make()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(place, flags, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(key.reveal())
        file.flush()
        os.fsync(file.fileno())
    return key.public

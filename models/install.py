"""Installs, lists, verifies and removes models: whole or not at all, and only what is pinned."""

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gateway.errors import ConflictError, ModelError, NotFoundError
from models.catalogue import MODELS, Model, get
from models.e5.build import build
from models.files import Manifest, check, read_manifest, sync, write_manifest
from models.package import Progress, obtain


class ModelState(StrEnum):
    """What stands in the models folder under a model's name."""

    NOT_INSTALLED = "not_installed"
    INSTALLED = "installed"  # the manifest is right; the bytes are only looked at by `verify`
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One row of the catalogue with its state in this home."""

    model: Model
    state: ModelState
    size: int  # bytes on disk once installed


def _ignore(_step: str, _done: int, _all: int) -> None: ...


def install(
    name: str, models_dir: Path, progress: Progress = _ignore, *, from_dir: Path | None = None
) -> Path:
    """The folder of the installed model; nothing is done when it is there and whole.

    `from_dir` is another models folder to copy from (hard links where possible). Blocks for
    seconds to minutes. Raises NotFoundError, ConflictError (another install is running) and
    ModelError (`model_download_failed`, `model_verification_failed`).
    """
    model = get(name)
    target = models_dir / name
    models_dir.mkdir(parents=True, exist_ok=True)
    with _locked(models_dir, name):
        if _is_whole(model, target):
            return target
        staging = models_dir / f".{name}.staging"
        with _cleared(staging):
            fresh = staging / "model"
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            if from_dir is None:
                binary = obtain(model.source, models_dir, staging, progress)
                build(binary, fresh, lambda done, total: progress("build", done, total))
            else:
                _copy(model, from_dir / name, fresh)
            progress("verify", 0, 1)
            check(fresh, dict(model.source.built))
            write_manifest(fresh, _manifest(model))
            _swap(fresh, target, staging)
            progress("verify", 1, 1)
    return target


def listing(models_dir: Path) -> Sequence[ListedModel]:
    """Every model of the catalogue; quick, so the bytes are not hashed."""
    return tuple(
        ListedModel(
            model,
            _state(model, models_dir / model.name),
            sum(record.size for record in model.source.built.values()),
        )
        for model in MODELS.values()
    )


def verify(name: str, models_dir: Path) -> None:
    """Hash every file against the catalogue, offline.

    Raises NotFoundError, and ModelError (`model_missing`, `model_verification_failed`).
    """
    model = get(name)
    folder = models_dir / name
    if read_manifest(folder) != _manifest(model):
        raise ModelError("installed by another release", code="model_verification_failed")
    check(folder, dict(model.source.built))


def remove(name: str, models_dir: Path) -> None:
    """Delete the model's folder; a worker that has it loaded goes on until it is unloaded."""
    folder = models_dir / get(name).name
    if not folder.is_dir():
        raise NotFoundError(f"{name} is not installed")
    with _locked(models_dir, name):
        gone = models_dir / f".{name}.removed"
        shutil.rmtree(gone, ignore_errors=True)
        folder.rename(gone)  # at once for everybody else, however long deleting takes
        shutil.rmtree(gone)


def _manifest(model: Model) -> Manifest:
    return Manifest(model.name, model.source.id, dict(model.source.built))


def _is_whole(model: Model, folder: Path) -> bool:
    try:
        verify(model.name, folder.parent)
    except ModelError:
        return False
    return True


def _state(model: Model, folder: Path) -> ModelState:
    try:
        manifest = read_manifest(folder)
        sizes = {name: (folder / name).stat().st_size for name in manifest.files}
    except (ModelError, OSError):
        return ModelState.DAMAGED if folder.is_dir() else ModelState.NOT_INSTALLED
    pinned = {name: record.size for name, record in model.source.built.items()}
    whole = manifest == _manifest(model) and sizes == pinned
    return ModelState.INSTALLED if whole else ModelState.DAMAGED


def _copy(model: Model, origin: Path, fresh: Path) -> None:
    check(origin, dict(model.source.built))
    for name in model.source.built:
        try:
            os.link(origin / name, fresh / name)
        except OSError:  # another file system, or one without hard links
            shutil.copyfile(origin / name, fresh / name)
            sync(fresh / name)


def _swap(fresh: Path, target: Path, staging: Path) -> None:
    sync(fresh)
    if target.exists():
        target.rename(staging / "old")
    fresh.rename(target)
    sync(target.parent)


@contextmanager
def _cleared(staging: Path) -> Iterator[None]:
    """Staging goes however the install ends; only SIGKILL leaves it, for the next to use."""
    try:
        yield
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _locked(models_dir: Path, name: str) -> Iterator[None]:
    with (models_dir / f".{name}.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConflictError(f"{name} is being installed or removed") from error
        yield

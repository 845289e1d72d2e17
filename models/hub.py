"""Fetches the pinned files of one commit from the model hub; goes on where it was stopped."""

import http.client
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

from gateway.errors import ModelError
from models.catalogue import HubSource
from models.files import FileRecord, Progress, is_as_recorded

_CHUNK_BYTES = 1 << 18
_SILENCE_S = 60.0
_NETWORK_ERRORS = (OSError, urllib.error.URLError, http.client.HTTPException)


def fetch(source: HubSource, staging: Path, fresh: Path, progress: Progress) -> None:
    """Put every file of the source into `fresh`; `progress` gets bytes of all files together.

    ModelError: `model_download_failed`, `model_verification_failed`.
    """
    total = sum(record.size for record in source.installs.values())
    before = 0
    for name, record in source.installs.items():
        begun = staging / f"{record.sha256}.partial"
        tell = partial(_tell, progress, before, total)
        if not is_as_recorded(begun, record):
            _complete(f"{source.address}/{source.paths[name]}", record, begun, tell)
        begun.rename(fresh / name)
        before += record.size


def _tell(progress: Progress, before: int, total: int, done: int) -> None:
    progress("download", before + done, total)


def _complete(address: str, record: FileRecord, begun: Path, tell: "partial[None]") -> None:
    name = address.rpartition("/")[2]
    try:
        _download(address, record, begun, tell)
    except urllib.error.HTTPError as error:
        error.close()
        raise ModelError(f"{name}: {error}", code="model_download_failed") from None
    except _NETWORK_ERRORS as error:
        raise ModelError(f"{name}: {error}", code="model_download_failed") from error
    if not is_as_recorded(begun, record):
        begun.unlink()  # going on with wrong bytes would never end well
        raise ModelError(f"{name}: other bytes", code="model_verification_failed")


def _download(address: str, record: FileRecord, begun: Path, tell: "partial[None]") -> None:
    have = begun.stat().st_size if begun.exists() else 0
    have = have if have < record.size else 0
    tell(have)
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"})  # noqa: S310 (pinned)
    with urllib.request.urlopen(request, timeout=_SILENCE_S) as reply:  # noqa: S310
        is_continued = reply.status == http.HTTPStatus.PARTIAL_CONTENT
        with begun.open("ab" if is_continued else "wb") as out:
            while (piece := reply.read(_CHUNK_BYTES)) and out.tell() < record.size:
                out.write(piece)
                tell(out.tell())

"""Fetches the pinned files of one commit from the model hub; goes on where it was stopped."""

import http.client
import urllib.error
import urllib.request
from pathlib import Path

from gateway.errors import ModelError
from models.catalogue import HubSource
from models.files import FileRecord, Progress, is_as_recorded

_CHUNK_BYTES = 1 << 18
_SILENCE_S = 60.0
_NETWORK_ERRORS = (OSError, urllib.error.URLError, http.client.HTTPException)


def fetch(source: HubSource, staging: Path, fresh: Path, progress: Progress) -> None:
    """Put every file of the source into `fresh`.

    ModelError: `model_download_failed`, `model_verification_failed`.
    """
    for name, record in source.installs.items():
        partial = staging / f"{record.sha256}.partial"
        if not is_as_recorded(partial, record):
            address = f"{source.address}/{source.paths[name]}"
            try:
                _download(address, record, partial, progress)
            except urllib.error.HTTPError as error:
                error.close()
                raise ModelError(f"{name}: {error}", code="model_download_failed") from None
            except _NETWORK_ERRORS as error:
                raise ModelError(f"{name}: {error}", code="model_download_failed") from error
            if not is_as_recorded(partial, record):
                partial.unlink()  # going on with wrong bytes would never end well
                raise ModelError(f"{name}: other bytes", code="model_verification_failed")
        partial.rename(fresh / name)


def _download(address: str, record: FileRecord, partial: Path, progress: Progress) -> None:
    have = partial.stat().st_size if partial.exists() else 0
    have = have if have < record.size else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"})  # noqa: S310 (pinned)
    with urllib.request.urlopen(request, timeout=_SILENCE_S) as reply:  # noqa: S310
        is_continued = reply.status == http.HTTPStatus.PARTIAL_CONTENT
        with partial.open("ab" if is_continued else "wb") as out:
            while (piece := reply.read(_CHUNK_BYTES)) and out.tell() < record.size:
                out.write(piece)
                progress("download", out.tell(), record.size)

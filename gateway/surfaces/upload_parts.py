"""The files of a form as they come in: each whole on disk, without a name, before it is used."""

import asyncio
import errno
import hashlib
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from aiohttp import BodyPartReader, MultipartReader

from gateway.core.filenames import title_of
from gateway.core.filters import Value
from gateway.core.metadata import checked_metadata
from gateway.errors import GatewayError, InvalidRequestError, StoreError
from gateway.surfaces.upload_form import names_of

MOST_FILES = 20
CHUNK_BYTES = 2**18
METADATA_BYTES = 2**20  # all that may be noted down, each character escaped
Part = MultipartReader | BodyPartReader | None  # None: the form has ended


@dataclass(frozen=True, slots=True)
class Given:
    """A file of a request; `refused` says why it is none. `sha256` is of all that came of it."""

    name: str
    file: BinaryIO
    sha256: str
    refused: GatewayError | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """What is left of a form after its fields: `first`, then what the reader has."""

    reader: MultipartReader
    first: Part
    metadata: Mapping[str, Value]  # of each of the files

    async def files(self) -> AsyncIterator[tuple[str, BodyPartReader]]:
        """The files with their names as titles; InvalidRequestError at anything else."""
        part = self.first
        while part is not None:
            if not isinstance(part, BodyPartReader):
                raise InvalidRequestError("upload", reason="file")
            field, given = names_of(part)
            if field != "file":
                raise InvalidRequestError("upload", reason="file")
            yield title_of(given), part
            part = await self.reader.next()


async def noted_in(reader: MultipartReader) -> tuple[Mapping[str, Value], Part]:
    """The field `metadata`, a JSON object, and the part after it; nothing where it is left out."""
    part = await reader.next()
    if not isinstance(part, BodyPartReader) or names_of(part)[0] != "metadata":
        return {}, part
    written = bytearray()
    while chunk := await part.read_chunk(CHUNK_BYTES):
        written += chunk
        if len(written) > METADATA_BYTES:
            raise InvalidRequestError("metadata", reason="metadata: too long")
    try:
        given = msgspec.json.decode(written, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequestError("metadata", reason="metadata: no JSON object") from error
    return checked_metadata(given), await reader.next()


@asynccontextmanager
async def received(
    name: str, part: BodyPartReader, spool: Path, limit: int
) -> AsyncIterator[Given]:
    """The part as a file at its beginning; it goes with the block.

    What is longer than `limit` bytes is refused, and read no further from twice as many on.
    StoreError where the disk does not take it.
    """
    try:
        file = await asyncio.to_thread(_nameless, spool)
        with file:
            seen, size = hashlib.sha256(), 0
            while size <= 2 * limit and (chunk := await part.read_chunk(CHUNK_BYTES)):
                size += len(chunk)
                seen.update(chunk)
                if size <= limit:
                    await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(file.seek, 0)
            yield Given(name, file, seen.hexdigest(), _too_long(size, limit))
    except OSError as error:
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        code = "store_full" if is_full else "store_unavailable"
        raise StoreError(str(error), code=code) from error


def _nameless(folder: Path) -> BinaryIO:
    return tempfile.TemporaryFile(dir=folder)


def _too_long(size: int, limit: int) -> GatewayError | None:
    if size > 2 * limit:
        return GatewayError("upload", code="payload_too_large")
    if size > limit:
        return GatewayError("file", code="too_large", limit_mb=limit // 1_000_000)
    return None

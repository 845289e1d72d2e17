"""Bytes in and out: uploads stream to the library, originals are downloaded, never shown."""

import asyncio
import errno
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from gateway.catalogue import error_text
from gateway.core.access import Account, Collection, Role
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.filenames import title_of
from gateway.errors import GatewayError, InvalidRequestError, NotFoundError, StoreError
from gateway.interfaces import Audit, Blobs, Clock, Sources
from gateway.knowledge.desk import Desk
from gateway.knowledge.library import Library
from gateway.operations.library import NO_COLLECTION
from gateway.operations.library_types import source_view
from gateway.operations.table import Caller
from gateway.surfaces.http import json_response
from gateway.surfaces.routes import Route, path_parameter
from gateway.surfaces.session import HttpCallers
from gateway.surfaces.upload_form import names_of, reader_of

MOST_FILES = 20
CHUNK_BYTES = 2**18
FIELD_BYTES = 200
OVERHEAD_BYTES = 2**20  # boundaries and headers of a whole request
# what aiohttp's reader raises at a body that is no form, or not a whole one
MALFORMED = (ValueError, AssertionError, HttpProcessingError, web.RequestPayloadError)
ORIGINAL_HEADERS = {
    "Content-Type": "application/octet-stream",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
}

_FILES = {"type": "array", "minItems": 1, "maxItems": MOST_FILES, "items": {"type": "string"}}
_TEXT = {"type": "string"}
_ANSWER = {  # of each file
    "type": "object",
    "required": ["name", "status"],
    "properties": {
        "name": _TEXT,
        "status": {"type": "string", "enum": ["added", "existing", "refused"]},
        "source": {"$ref": "#/components/schemas/SourceView"},
        "code": _TEXT,
        "message": _TEXT,
    },
}
ROUTES = (
    Route(
        "post",
        "/api/knowledge/upload",
        "Add files to a collection; the answer tells of each.",
        "files",
        ("token",),
        body={
            "type": "object",
            "required": ["collection_id", "file"],
            "additionalProperties": False,
            "properties": {"collection_id": _TEXT, "file": _FILES},
        },
        body_type="multipart/form-data",
        answer={
            "type": "object",
            "required": ["collection_id", "files"],
            "properties": {
                "collection_id": _TEXT,
                "files": {"type": "array", "items": _ANSWER},
            },
        },
    ),
    Route(
        "get",
        "/api/knowledge/sources/{id}/original",
        "Download a document as it came in.",
        "files",
        ("token",),
        parameters=(path_parameter("id", "Of the document."),),
        answer={"type": "string", "contentMediaType": "application/octet-stream"},
        answer_type="application/octet-stream",
    ),
)


@dataclass(frozen=True, slots=True)
class Files:
    """What the two routes need of the library."""

    desk: Desk
    library: Library
    sources: Sources
    blobs: Blobs
    audit: Audit
    clock: Clock
    max_source_bytes: int
    spool: Path  # where a file lies, without a name, until it is whole


class Uploads:
    """`POST /api/knowledge/upload` and `GET /api/knowledge/sources/{id}/original`."""

    def __init__(self, callers: HttpCallers, files: Files) -> None:
        self._callers = callers
        self._files = files

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The two routes."""
        return (
            web.post("/api/knowledge/upload", self.upload),
            web.get("/api/knowledge/sources/{id}/original", self.original),
        )

    async def upload(self, request: web.Request) -> web.Response:
        """`collection_id` first, then 1 to 20 `file`; each file has an answer of its own."""
        caller, account = await self._callers.person(request, "upload")
        most_bytes = MOST_FILES * self._files.max_source_bytes + OVERHEAD_BYTES
        if (request.content_length or 0) > most_bytes:
            raise GatewayError("upload", code="payload_too_large")
        if request.content_type != "multipart/form-data":
            raise InvalidRequestError("upload", reason="multipart/form-data")
        try:
            reader = reader_of(request, most_bytes)
            collection = await self._collection(reader, account)
            answers = await self._all(reader, caller, account, collection)
        except MALFORMED as error:
            raise InvalidRequestError(str(error), reason="multipart/form-data") from error
        if not answers:
            raise InvalidRequestError("upload", reason="file")
        return json_response({"collection_id": collection.id, "files": answers})

    async def original(self, request: web.Request) -> web.StreamResponse:
        """The bytes as they came in, to viewers of the collection; logged as a download."""
        _, account = await self._callers.person(request, "download", changes=False)
        source = await self._files.sources.find(request.match_info["id"])
        collection_id = source.collection_id if source is not None else NO_COLLECTION
        await self._files.desk.require(account, collection_id, Role.VIEWER)
        if source is None or not source.sha256:  # a page that was never fetched has none
            raise NotFoundError("source")
        path = self._files.blobs.path(source.sha256)
        if not await asyncio.to_thread(path.is_file):
            raise NotFoundError("original")
        entry = AccessEntry(
            AccessAction.DOWNLOAD,
            self._files.clock.now(),
            account_id=account.id,
            collections=(source.collection_id,),
            results=(source.id,),
        )
        await self._files.audit.record(entry)
        name = f"attachment; filename=\"original\"; filename*=UTF-8''{quote(source.title, safe='')}"
        return web.FileResponse(path, headers={**ORIGINAL_HEADERS, "Content-Disposition": name})

    async def _collection(self, reader: MultipartReader, account: Account) -> Collection:
        part = await reader.next()
        if not isinstance(part, BodyPartReader) or names_of(part)[0] != "collection_id":
            raise InvalidRequestError("upload", reason="collection_id")
        value = await part.read_chunk(FIELD_BYTES)
        if not part.at_eof():
            value += await part.read_chunk(FIELD_BYTES)
        reference = value[:FIELD_BYTES].decode("utf-8", "replace").strip()
        return await self._files.desk.require(account, reference, Role.EDITOR)

    async def _all(
        self, reader: MultipartReader, caller: Caller, account: Account, collection: Collection
    ) -> list[dict[str, Any]]:
        answers: list[dict[str, Any]] = []
        while (part := await reader.next()) is not None:
            if not isinstance(part, BodyPartReader):
                raise InvalidRequestError("upload", reason="file")
            field, given = names_of(part)
            if field != "file":
                raise InvalidRequestError("upload", reason="file")
            name = title_of(given)
            if len(answers) == MOST_FILES:
                many = InvalidRequestError("files", reason=f"file: 1–{MOST_FILES}")
                answers.append(_refused(name, many, caller))
                break
            try:
                async with self._received(part) as file:
                    source, is_new = await self._files.library.add_file(
                        collection, name, file, account
                    )
            except GatewayError as error:
                answers.append(_refused(name, error, caller))
            else:
                view = source_view(source, caller.language)
                status = "added" if is_new else "existing"
                answers.append({"name": name, "status": status, "source": view})
        return answers

    @asynccontextmanager
    async def _received(self, part: BodyPartReader) -> AsyncIterator[BinaryIO]:
        """The part as a file; `too_large` after as much again was thrown away at most."""
        limit = self._files.max_source_bytes
        try:
            file = await asyncio.to_thread(_nameless, self._files.spool)
            with file:
                size = 0
                while chunk := await part.read_chunk(CHUNK_BYTES):
                    size += len(chunk)
                    if size > 2 * limit:
                        raise GatewayError("upload", code="payload_too_large")
                    if size <= limit:
                        await asyncio.to_thread(file.write, chunk)
                if size > limit:
                    raise GatewayError("file", code="too_large", limit_mb=limit // 1_000_000)
                await asyncio.to_thread(file.seek, 0)
                yield file
        except OSError as error:
            is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
            code = "store_full" if is_full else "store_unavailable"
            raise StoreError(str(error), code=code) from error


def _nameless(folder: Path) -> BinaryIO:
    return tempfile.TemporaryFile(dir=folder)


def _refused(name: str, error: GatewayError, caller: Caller) -> dict[str, Any]:
    message = error_text(error.code, caller.language, **error.params)
    return {"name": name, "status": "refused", "code": error.code, "message": message}

"""Bytes in and out: uploads stream to the library, originals are downloaded, never shown."""

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from gateway.catalogue import error_text
from gateway.core.access import Account, Collection, Role
from gateway.core.audit import AccessAction, AccessEntry
from gateway.errors import GatewayError, InvalidRequestError, NotFoundError
from gateway.interfaces import Audit, Blobs, Clock, Sources
from gateway.knowledge.desk import Desk
from gateway.knowledge.library import Library
from gateway.operations.library import NO_COLLECTION
from gateway.operations.library_types import source_view
from gateway.operations.table import Caller
from gateway.surfaces.http import json_response
from gateway.surfaces.idempotency import HEADER, PARAMETER, UPLOAD, Idempotency
from gateway.surfaces.routes import Route, path_parameter
from gateway.surfaces.session import HttpCallers
from gateway.surfaces.upload_form import names_of, reader_of
from gateway.surfaces.upload_parts import MOST_FILES, Form, Given, noted_in, received

A = TypeVar("A")
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
_NOTED = {"type": "string", "description": "A JSON object of texts, numbers, true, false and null."}
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
        parameters=(PARAMETER,),
        body={
            "type": "object",
            "required": ["collection_id", "file"],
            "additionalProperties": False,
            "properties": {"collection_id": _TEXT, "metadata": _NOTED, "file": _FILES},
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
        statuses=(409,),
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

    def __init__(self, callers: HttpCallers, files: Files, repeats: Idempotency) -> None:
        self._callers = callers
        self._files = files
        self._repeats = repeats

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The two routes."""
        return (
            web.post("/api/knowledge/upload", self.upload),
            web.get("/api/knowledge/sources/{id}/original", self.original),
        )

    async def upload(self, request: web.Request) -> web.Response:
        """`collection_id` first, then `metadata` where there is any, then 1 to 20 `file`; each file
        has an answer of its own.
        """
        caller, account = await self._callers.person(request, "upload")
        most_bytes = MOST_FILES * self._files.max_source_bytes + OVERHEAD_BYTES
        if (request.content_length or 0) > most_bytes:
            raise GatewayError("upload", code="payload_too_large")
        if request.content_type != "multipart/form-data":
            raise InvalidRequestError("upload", reason="multipart/form-data")
        try:
            reader = reader_of(request, most_bytes)
            collection = await self._collection(reader, account)
            key = request.headers.get(HEADER)
            noted, first = await noted_in(reader)
            form = Form(reader, first, noted)
            upload = _Upload(self._files, form, caller, account, collection)
            answers = await (upload.at_once() if key is None else upload.once(self._repeats, key))
        except MALFORMED as error:
            raise InvalidRequestError(str(error), reason="multipart/form-data") from error
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


@dataclass(frozen=True, slots=True)
class _Upload:
    """The files of one request, for a collection that the account may add to."""

    files: Files
    form: Form
    caller: Caller
    account: Account
    collection: Collection

    async def at_once(self) -> list[dict[str, Any]]:
        """Each file is added as soon as it is whole, so that one at a time takes room."""
        answers: list[dict[str, Any]] = []
        async for name, part in self.form.files():
            if len(answers) == MOST_FILES:
                answers.append(self._refused(name, _many()))
                break
            try:
                async with self._received(name, part) as given:
                    answers.append(await self._answer(given))
            except GatewayError as error:
                answers.append(self._refused(name, error))
        return _some(answers)

    async def once(self, repeats: Idempotency, key: str) -> Any:
        """Nothing is added before all is here: only then it is known whether it came before."""
        async with AsyncExitStack() as kept:
            given: list[Given] = []
            async for name, part in self.form.files():
                if len(given) == MOST_FILES:
                    raise _many()
                given.append(await kept.enter_async_context(self._received(name, part)))

            async def run() -> list[dict[str, Any]]:
                return [await self._answer(each) for each in _some(given)]

            noted = [dict(self.form.metadata)] if self.form.metadata else []
            files = [[each.name, each.sha256] for each in given]
            content = [self.collection.id, *noted, *files]
            return await repeats.once(self.caller, key, UPLOAD, content, run)

    def _received(self, name: str, part: BodyPartReader) -> AbstractAsyncContextManager[Given]:
        return received(name, part, self.files.spool, self.files.max_source_bytes)

    async def _answer(self, given: Given) -> dict[str, Any]:
        """What became of one file."""
        try:
            if given.refused is not None:
                raise given.refused
            source, is_new = await self.files.library.add_file(
                self.collection,
                given.name,
                given.file,
                self.account,
                metadata=self.form.metadata,
            )
        except GatewayError as error:
            return self._refused(given.name, error)
        view = msgspec.to_builtins(source_view(source, self.caller.language))
        return {"name": given.name, "status": "added" if is_new else "existing", "source": view}

    def _refused(self, name: str, error: GatewayError) -> dict[str, Any]:
        message = error_text(error.code, self.caller.language, **error.params)
        return {"name": name, "status": "refused", "code": error.code, "message": message}


def _many() -> InvalidRequestError:
    return InvalidRequestError("files", reason=f"file: 1–{MOST_FILES}")


def _some(files: list[A]) -> list[A]:
    if not files:
        raise InvalidRequestError("upload", reason="file")
    return files

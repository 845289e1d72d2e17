"""Folders and documents as programs send and get them: their JSON, and how it is described."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeVar
from uuid import UUID

import msgspec
from aiohttp import web
from msgspec import UNSET, UnsetType

from gateway.core.filters import Value
from gateway.errors import GatewayError, InvalidRequestError
from gateway.operations.registry import MESSAGE_CHARS
from gateway.surfaces.json_body import decoded

MOST_AGENTS = 200
MOST_DOCUMENTS = 100
USUAL_ROWS = 100
MOST_ROWS = 500
NAME_CHARS = 60  # of a name that is made from the text
T = TypeVar("T")
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"\S")]
Reference = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class AgentReference(msgspec.Struct, forbid_unknown_fields=True):
    """An agent to attach to; its name, as an answer has it, may come along."""

    id: Reference
    name: str | None = None


Agents = Annotated[list[AgentReference], msgspec.Meta(max_length=MOST_AGENTS)]


class NewFolder(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `POST /agents/folders`."""

    name: Name
    parent_id: Reference | None = None
    agents: Agents | None = None


class FolderChange(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `PATCH /agents/folders/{id}`; what is left out stays, a null parent is the top."""

    name: Name | UnsetType = UNSET
    parent_id: Reference | UnsetType | None = UNSET
    agents: Agents | UnsetType = UNSET


class NewDocument(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `POST /agents/documents`; untitled it is named by its first line."""

    folder_id: Reference
    content: Annotated[str, msgspec.Meta(min_length=1, pattern=r"\S")]
    name: Name | None = None
    metadata: dict[str, Value] = {}


class DocumentChange(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `PATCH /agents/documents/{id}`: metadata in the place of all there was."""

    metadata: dict[str, Value]


class Documents(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `POST /agents/documents/bulk`; each is looked at by itself."""

    documents: Annotated[list[Any], msgspec.Meta(min_length=1, max_length=MOST_DOCUMENTS)]


async def body_of(request: web.Request, kind: type[T]) -> T:
    """The body; InvalidRequestError names what does not fit."""
    if request.content_type != "application/json":
        raise GatewayError("content type", code="unsupported_media_type")
    return converted(decoded(await request.read()), kind)


def converted(given: object, kind: type[T]) -> T:
    """As `kind`; InvalidRequestError names what does not fit."""
    try:
        return msgspec.convert(given, kind, strict=True)
    except msgspec.ValidationError as error:
        raise InvalidRequestError(str(error), reason=str(error)[:MESSAGE_CHARS]) from error


def query_of(request: web.Request, names: Sequence[str]) -> Mapping[str, str]:
    """The parameters of these names, each once; InvalidRequestError where one comes twice."""
    twice = [name for name in names if len(request.query.getall(name, ())) > 1]
    if twice:
        raise InvalidRequestError("query", reason=f"{twice[0]}: given twice")
    return {name: request.query[name] for name in names if name in request.query}


def number_of(query: Mapping[str, str], name: str, usual: int, most: int) -> int:
    """A whole number from 1; InvalidRequestError."""
    text = query.get(name, str(usual))
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0
    if not 1 <= number <= most:
        raise InvalidRequestError(name, reason=f"{name}: 1 to {most}")
    return number


def folder_told(row: Mapping[str, Any]) -> dict[str, Any]:
    """A collection of the table as a folder; agents and documents are added to it."""
    return {
        "id": row["id"],
        "parent_id": row["parent_id"],
        "name": row["name"],
        "created_at": made_at(row["id"]),
        "sensitivity": row["sensitivity"],
        "role": row["role"],
        "document_count": row["sources"],
    }


def document_told(row: Mapping[str, Any]) -> dict[str, Any]:
    """A source of the table as a document."""
    error = row["error_code"]
    return {
        "id": row["id"],
        "folder_id": row["collection_id"],
        "name": row["title"],
        "metadata": row["metadata"],
        "created_at": row["created_at"],
        "state": row["state"],
        "error": None if error is None else {"code": error, "message": row["error_message"]},
    }


def made_at(made_id: str) -> str | None:
    """When an id was made, RFC 3339; ids are UUIDv7 (RFC 9562), and none else tells."""
    try:
        number = UUID(made_id)
    except ValueError:
        return None
    if number.version != 7:
        return None
    made = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=number.int >> 80)
    return made.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def name_of(given: NewDocument) -> str:
    """Its name, or the beginning of its text."""
    return given.name or given.content.strip().splitlines()[0][:NAME_CHARS]

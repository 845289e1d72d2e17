"""Folders, documents and the query as `/openapi.json` describes them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from gateway.core.filters import MOST_FIELDS
from gateway.operations.folder_query import MOST_RESULTS, QUERY_CHARS, TOP_K
from gateway.surfaces.document_query import PATH as QUERY
from gateway.surfaces.folder_documents import ALL, BULK, STATES
from gateway.surfaces.folders import FOLDERS, ONE_FOLDER, TOP
from gateway.surfaces.folders_wire import (
    MOST_DOCUMENTS,
    MOST_ROWS,
    USUAL_ROWS,
    DocumentChange,
    FolderChange,
    NewDocument,
    NewFolder,
)
from gateway.surfaces.idempotency import PARAMETER
from gateway.surfaces.retrieve import ASKER
from gateway.surfaces.routes import (
    AGENT_KEY,
    TOKEN,
    Route,
    Schema,
    header_parameter,
    path_parameter,
    query_parameter,
)

_FORM = "#/components/schemas/folders.{name}"
_TYPES = (NewFolder, FolderChange, NewDocument, DocumentChange)
_BODIES, _NAMED = msgspec.json.schema_components(_TYPES, ref_template=_FORM)
_TEXT: Schema = {"type": "string"}
_MAYBE: Schema = {"type": ["string", "null"]}
_VALUE: Schema = {"type": ["string", "number", "boolean", "null"]}
_METADATA: Schema = {"type": "object", "additionalProperties": _VALUE}


def _object(properties: Mapping[str, Any], *optional: str) -> Schema:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}


def _of(name: str) -> Schema:
    return {"$ref": _FORM.format(name=name)}


def _page(name: str) -> Schema:
    told = {"data": {"type": "array", "items": _of(name)}, "has_more": {"type": "boolean"}}
    return _object({**told, "next_page": _MAYBE})


_AGENTS = {"type": ["array", "null"], "items": _object({"id": _TEXT, "name": _TEXT})}
_ERROR = _object({"code": _TEXT, "message": _TEXT})
_ITEM = {
    "index": {"type": "integer"},
    "status": {"type": "string", "enum": [*STATES.values(), "refused"]},
    "document": {"anyOf": [_of("Document"), _of("Proposed")]},
    "error": _ERROR,
}
_RESULT = {
    **dict.fromkeys(("content", "document_id", "folder_id", "name", "locator"), _TEXT),
    "metadata": _METADATA,
    "score": {"type": "number"},
    "is_flagged": {"type": "boolean"},
}
SCHEMAS: Mapping[str, Schema] = {
    **{f"folders.{name}": schema for name, schema in _NAMED.items()},
    "folders.Folder": _object(
        {
            **dict.fromkeys(("id", "name", "sensitivity", "role"), _TEXT),
            **dict.fromkeys(("parent_id", "created_at"), _MAYBE),
            "document_count": {"type": "integer"},
            "agents": _AGENTS,
            "documents": {"type": "array", "items": _of("Document")},
        },
        "documents",
    ),
    "folders.Document": _object(
        {
            **dict.fromkeys(("id", "folder_id", "name", "created_at", "state"), _TEXT),
            "metadata": _METADATA,
            "error": {"anyOf": [_ERROR, {"type": "null"}]},
        }
    ),
    "folders.Proposed": _object(dict.fromkeys(("id", "folder_id", "name", "state"), _TEXT)),
}
_LIMIT = query_parameter(
    "limit", {"type": "integer", "minimum": 1, "maximum": MOST_ROWS, "default": USUAL_ROWS}
)
_AFTER = query_parameter("starting_after", _TEXT, "The `next_page` of the page before.")
_FOLDER, _DOCUMENT = path_parameter("id", "Of the folder."), path_parameter("id", "Its id.")
_ASKER = header_parameter(ASKER, "With an agent's key: the token of the account that asks.")
_CHANGING = (405, 409, 415, 422, 500)
_READING = (405, 422, 500)
_BOTH = (*TOKEN, *AGENT_KEY)
_BULK = {
    "type": "object",
    "required": ["documents"],
    "additionalProperties": False,
    "properties": {
        "documents": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_DOCUMENTS,
            "items": _of("NewDocument"),
        }
    },
}
_FILTERS = {
    "name": "filters",
    "in": "query",
    "required": False,
    "description": "Only documents whose metadata has all of these values.",
    "content": {"application/json": {"schema": {**_METADATA, "maxProperties": MOST_FIELDS}}},
}


def _route(method: str, path: str, summary: str, **told: Any) -> Route:
    return Route(method, path, summary, "folders", **({"statuses": _READING} | told))


_MAKING = {"status": 201, "statuses": _CHANGING}
ROUTES = (
    _route(
        "post", FOLDERS, "Make a folder, and attach it to agents.",
        parameters=(PARAMETER,), body=_BODIES[0], answer=_of("Folder"), schemas=SCHEMAS, **_MAKING,
    ),
    _route(
        "get", FOLDERS, "List folders.", answer=_page("Folder"),
        parameters=(
            query_parameter("parent_id", _TEXT, f"Those in this one; `{TOP}`: in none."),
            _LIMIT, _AFTER,
        ),
    ),
    _route("get", ONE_FOLDER, "Tell a folder.", parameters=(_FOLDER,), answer=_of("Folder")),
    _route(
        "patch", ONE_FOLDER, "Rename, move, attach or detach a folder.",
        parameters=(_FOLDER,), body=_BODIES[1], answer=_of("Folder"), statuses=_CHANGING,
    ),
    _route(
        "delete", ONE_FOLDER, "Delete a folder.", status=204, statuses=_CHANGING,
        parameters=(
            _FOLDER,
            query_parameter("confirm_name", _TEXT, "Its name, where it holds documents."),
        ),
    ),
    _route(
        "post", ALL, "Add a document given as text, or propose it with an agent's key.",
        parameters=(PARAMETER, _ASKER), security=_BOTH, body=_BODIES[2], answer=_of("Document"),
        more={200: _of("Document"), 202: _of("Proposed")}, **_MAKING,
    ),
    _route(
        "post", BULK, "Add or propose up to 100 documents; the answer tells of each.",
        parameters=(PARAMETER, _ASKER), security=_BOTH, body=_BULK, statuses=_CHANGING,
        answer=_object({"results": {
            "type": "array", "items": _object(_ITEM, "document", "error"),
        }}),
    ),
    _route(
        "get", ALL, "List documents.", answer=_page("Document"),
        parameters=(query_parameter("folder_id", _TEXT, "Of this folder alone."), _LIMIT, _AFTER),
    ),
    _route("get", f"{ALL}/{{id}}", "Tell a document.", parameters=(_DOCUMENT,),
           answer=_of("Document")),
    _route(
        "patch", f"{ALL}/{{id}}", "Change a document's metadata.", parameters=(_DOCUMENT,),
        body=_BODIES[3], answer=_of("Document"), statuses=_CHANGING,
    ),
    _route("delete", f"{ALL}/{{id}}", "Delete a document.", parameters=(_DOCUMENT,), status=204),
    _route(
        "get", QUERY, "Search the folders attached to an agent.", security=_BOTH,
        parameters=(
            path_parameter("agent", "Its id."),
            query_parameter(
                "query",
                {"type": "string", "minLength": 1, "maxLength": QUERY_CHARS, "pattern": r"\S"},
                required=True,
            ),
            query_parameter("top_k", {
                "type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": TOP_K,
            }),
            _FILTERS, _ASKER,
        ),
        answer=_object({"results": {"type": "array", "items": _object(_RESULT)}}),
    ),
)  # fmt: skip

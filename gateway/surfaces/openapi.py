"""`/openapi.json`: OpenAPI 3.1 made from the table of operations and the described routes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_type_hints

import msgspec

from gateway.errors import TABLE
from gateway.operations.table import Operation, Permission
from gateway.surfaces.idempotency import CREATING, PARAMETER
from gateway.surfaces.json_body import GREATEST_INT
from gateway.surfaces.routes import Route
from gateway.surfaces.session import COOKIE

REFERENCE = "#/components/schemas/{name}"
EVERY = (400, 401, 404, 413, 429, 503, 504, 507)
OF_OPERATION = (*EVERY, 403, 405, 409, 415, 422, 500, 501, 502)
SCHEMES: Mapping[str, Any] = {
    "token": {"type": "http", "scheme": "bearer", "description": "An account's token."},
    "key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "An account's token, in another header; also as `api-key`.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "A browser's session, for our own pages.",
    },
    "agentKey": {"type": "http", "scheme": "bearer", "description": "A key of the agent."},
    "agentApiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "api-key",
        "description": "A key of the agent, in another header; also as `X-API-Key`.",
    },
}
ANY = "AnyValue"  # of a property that is passed over: even there no number goes beyond 64 bits
_ANY = {"$ref": REFERENCE.format(name=ANY)}
ANY_VALUE: Mapping[str, Any] = {
    "anyOf": [
        {"type": ["null", "boolean", "string"]},
        {"type": "number", "minimum": -GREATEST_INT, "maximum": GREATEST_INT},
        {"type": "array", "items": _ANY},
        {"type": "object", "additionalProperties": _ANY},
    ]
}
ERROR: Mapping[str, Any] = {
    "type": "object",
    "description": "`code` is stable, see docs/errors.md; `message` is in the asker's language.",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "enum": sorted(TABLE)},
                "message": {"type": "string"},
            },
        }
    },
    "examples": [{"error": {"code": "not_found", "message": "Not found."}}],
}
NAMES = {
    400: "The request does not fit its schema.",
    401: "No token or key, or none that holds.",
    403: "Not by a token, or not from this page.",
    404: "Missing, or not for the asker: the two look alike.",
    405: "The address does not take this method.",
    406: "None of the types that are asked for.",
    409: "It is otherwise by now.",
    413: "Too large.",
    415: "Not a type that is read here.",
    422: "Well-formed, and yet refused.",
    429: "Too many requests; `Retry-After` says when.",
    500: "A fault of the gateway.",
    501: "Not on this machine.",
    502: "A system that it depends on failed.",
    503: "Not at this moment.",
    504: "It took too long.",
    507: "The disk is full.",
}


def document(rows: Iterable[Operation], routes: Sequence[Route], version: str) -> Mapping[str, Any]:
    """The whole description; `rows` are those that can be asked for over HTTP."""
    rows = tuple(rows)
    answers = {row.name: get_type_hints(row.run).get("return", Any) for row in rows}
    types = [*(row.request for row in rows), *answers.values()]
    schemas, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    requests = dict(zip(answers, schemas, strict=False))
    replies = dict(zip(answers, schemas[len(rows) :], strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for row in rows:
        told = _operation(row, _strict(requests[row.name], components), replies[row.name])
        paths[f"/api/operations/{row.name}"] = {"post": told}
    for route in routes:
        paths.setdefault(route.path, {})[route.method] = _route(route)
        components |= route.schemas
    components = {"Error": ERROR, ANY: ANY_VALUE, **_open(_bounded(components))}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Shutten",
            "version": version,
            "description": "Answers from a company's own documents, within what the asker may "
            "read. Each operation is also a method of `POST /rpc` (JSON-RPC 2.0).",
            "license": {"name": "AGPL-3.0-or-later", "identifier": "AGPL-3.0-or-later"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in sorted(_tags(paths))],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": _used(paths, components),
            "securitySchemes": SCHEMES,
        },
    }


def _operation(row: Operation, request: Any, reply: Any) -> dict[str, Any]:
    required = bool(request.get("required"))
    told: dict[str, Any] = {
        "operationId": row.name,
        "summary": row.summary,
        "tags": [row.name.partition(".")[0]],
        "requestBody": {
            "required": required,
            "content": {"application/json": {"schema": _bounded(request)}},
        },
        "responses": {"200": _content("The result.", _bounded(reply))} | _errors(OF_OPERATION),
        "security": [] if row.needs is Permission.ANYONE else [{"token": []}, {"key": []}],
    }
    if row.name in CREATING:
        told["parameters"] = [PARAMETER]
    return told


def _route(route: Route) -> dict[str, Any]:
    told: dict[str, Any] = {
        "summary": route.summary,
        "tags": [route.tag],
        "parameters": list(route.parameters),
        "security": [{name: []} if name else {} for name in route.security],
    }
    if route.body is not None:
        content = {route.body_type: {"schema": route.body}}
        told["requestBody"] = {"required": True, "content": content}
    done: dict[str, Any] = {"description": "Done."}
    if route.answer is not None:
        forms = {route.answer_type: route.answer, **route.also}
        content = {kind: {"schema": schema} for kind, schema in forms.items()}
        done = {"description": "The answer.", "content": content}
    schema = route.errors or {"$ref": "#/components/schemas/Error"}
    told["responses"] = {
        str(route.status): done,
        **{str(each): _content("The answer.", told) for each, told in route.more.items()},
        **{str(status): {"description": "Done."} for status in route.without_body},
        **_errors((*EVERY, *route.statuses), schema),
    }
    return told


def _errors(statuses: Iterable[int], schema: Any = None) -> dict[str, Any]:
    schema = schema or {"$ref": "#/components/schemas/Error"}
    told = {str(each): _content(NAMES[each], schema) for each in sorted(set(statuses))}
    wait = {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}}
    told["429"]["headers"] = {"Retry-After": wait}
    return told


def _content(description: str, schema: Any, media_type: str = "application/json") -> dict[str, Any]:
    return {"description": description, "content": {media_type: {"schema": schema}}}


def _strict(schema: Any, components: Mapping[str, Any]) -> dict[str, Any]:
    """A request's own schema, spelled out: parameters that it does not name are refused."""
    name = schema.get("$ref", "").rpartition("/")[2]
    found = dict(components[name]) if name else dict(schema)
    return found | {"additionalProperties": False}


def _bounded(schema: Any) -> Any:
    """Whole numbers end where 64 bits do."""
    if isinstance(schema, list):
        return [_bounded(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    told = {key: _bounded(value) for key, value in schema.items()}
    if told.get("type") == "integer":
        told = {"minimum": -GREATEST_INT, "maximum": GREATEST_INT, **told}
    return told


def _open(components: Mapping[str, Any]) -> dict[str, Any]:
    """Objects inside of requests take properties that nobody knows, as far as they can be read."""
    return {
        name: schema
        if "properties" not in schema or "additionalProperties" in schema
        else schema | {"additionalProperties": _ANY}
        for name, schema in components.items()
    }


def _used(paths: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """Requests are spelled out where they are taken; what nothing refers to is left out."""
    found: dict[str, Any] = {}
    waiting = _references(paths)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = components[name]
            waiting |= _references(components[name])
    return dict(sorted(found.items()))


def _references(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {name for each in schema for name in _references(each)}
    if not isinstance(schema, dict):
        return set()
    inside = {name for each in schema.values() for name in _references(each)}
    own = schema.get("$ref")
    return inside | {own.rpartition("/")[2]} if isinstance(own, str) else inside


def _tags(paths: Mapping[str, Mapping[str, Any]]) -> set[str]:
    return {tag for path in paths.values() for each in path.values() for tag in each["tags"]}

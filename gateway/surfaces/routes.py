"""How a route that is no operation is described, for `/openapi.json`: by whoever serves it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = Mapping[str, Any]
ANYONE: tuple[str, ...] = ()
TOKEN = ("token", "key")  # security schemes of openapi.SCHEMES
OPTIONAL = ""  # among others: who sends none may ask too
AGENT_KEY = ("agentKey", "agentApiKey")


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path, `/a/{id}`. Errors have the common shape unless `errors` names another
    schema; their statuses beside those that every route may answer stand in `statuses`.
    """

    method: str  # "get", "post", …
    path: str
    summary: str
    tag: str
    security: tuple[str, ...] = TOKEN
    parameters: tuple[Schema, ...] = ()  # OpenAPI parameter objects
    body: Schema | None = None  # JSON Schema of the request
    body_type: str = "application/json"
    answer: Schema | None = None  # JSON Schema of the answer; None: no body
    answer_type: str = "application/json"
    status: int = 200
    statuses: tuple[int, ...] = ()
    also: Mapping[str, Schema] = field(default_factory=dict)  # the answer in other media types
    more: Mapping[int, Schema] = field(default_factory=dict)  # other statuses that are no errors
    without_body: tuple[int, ...] = ()  # and such without an answer
    errors: Schema | None = None
    schemas: Mapping[str, Schema] = field(default_factory=dict)  # for #/components/schemas/


def path_parameter(name: str, description: str = "") -> Schema:
    """A parameter of the path: a string."""
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string", "minLength": 1, "pattern": "^[^/]+$"},
    }


def query_parameter(
    name: str, schema: Schema, description: str = "", *, required: bool = False
) -> Schema:
    """A parameter after the `?`."""
    told = {"name": name, "in": "query", "required": required, "schema": schema}
    return told | {"description": description} if description else told


def header_parameter(name: str, description: str = "") -> Schema:
    """A header that may come along."""
    told = {"name": name, "in": "header", "schema": {"type": "string"}}
    return told | {"description": description} if description else told

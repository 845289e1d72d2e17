"""`POST /agents('{agent}')/retrieve`: agentic retrieval as clients of a search service ask."""

import re

import msgspec
from aiohttp import web

from gateway.errors import GatewayError, InvalidRequestError
from gateway.operations.retrieve import SURFACE, Retrieval
from gateway.surfaces.doors import Doors
from gateway.surfaces.http import json_response
from gateway.surfaces.json_body import decoded
from gateway.surfaces.retrieve_wire import (
    RetrieveRequest,
    answer_of,
    messages_of,
    request_of,
    targets_of,
)
from gateway.surfaces.routes import AGENT_KEY, TOKEN, Route, path_parameter, query_parameter

PATHS = ("/agents('{agent}')/retrieve", "/agents/{agent}/retrieve")
VERSION = "2025-08-01-preview"
ASKER = "x-ms-query-source-authorization"
CLIENT_REQUEST = "x-ms-client-request-id"
_OURS = re.compile(r"/agents(?:\(.*\)|/[^/]+)/retrieve")
_REQUEST_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
_BEARER = re.compile(r"bearer\s+", re.IGNORECASE)


_FORM = "#/components/schemas/retrieve.{name}"
_BODY, _NAMED = msgspec.json.schema_components([RetrieveRequest], ref_template=_FORM)
_LISTS = ("response", "activity", "references")
ROUTES = (  # described for /openapi.json; the other form of the address is OData's
    Route(
        "post",
        PATHS[1],
        "Search an agent's documents for what messages ask.",
        "agents",
        (*TOKEN, *AGENT_KEY),
        parameters=(
            path_parameter("agent", "Its id."),
            query_parameter("api-version", {"type": "string", "enum": [VERSION]}, required=True),
        ),
        body=_BODY[0],
        answer={
            "type": "object",
            "required": list(_LISTS),
            "properties": {name: {"type": "array", "items": {"type": "object"}} for name in _LISTS},
        },
        statuses=(405, 415, 500),
        schemas={f"retrieve.{name}": schema for name, schema in _NAMED.items()},
    ),
)


class Retrieve:
    """Errors have the common shape, which is that of the service's ErrorResponse too."""

    def __init__(self, doors: Doors, retrieval: Retrieval) -> None:
        self._doors = doors
        self._retrieval = retrieval

    def routes(self) -> tuple[web.RouteDef, ...]:
        """Both forms of the address."""
        return tuple(web.post(path, self.answer) for path in PATHS)

    async def answer(self, request: web.Request) -> web.Response:
        """What may be read for the asker answers the messages' last question."""
        agent_id = request.match_info["agent"]
        asker = asker_of(request)
        caller = await self._doors.open(request, SURFACE, agent_id=agent_id, asker_token=asker)
        if request.query.getall("api-version", []) != [VERSION]:
            raise InvalidRequestError("version", reason=f"api-version: {VERSION}")
        if request.content_type != "application/json":
            raise GatewayError("content type", code="unsupported_media_type")
        asked = request_of(decoded(await request.read()))
        messages, targets = messages_of(asked), targets_of(asked)
        return json_response(answer_of(await self._retrieval.retrieve(caller, messages, targets)))


def asker_of(request: web.Request) -> str | None:
    """The token of the account that an agent's program asks for; None: it asks for none."""
    token = request.headers.get(ASKER)
    return None if token is None else _BEARER.sub("", token, count=1)


async def echo_request_id(request: web.Request, response: web.StreamResponse) -> None:
    """Give the client's own id back with whatever answer, errors too."""
    given = request.headers.get(CLIENT_REQUEST, "")
    if _OURS.fullmatch(request.path) and _REQUEST_ID.fullmatch(given):
        response.headers[CLIENT_REQUEST] = given

"""Programs that speak MCP with a gateway of the tests."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp
import jsonschema
from mcp.shared.memory import create_client_server_memory_streams

from gateway.commands.mcp_link import RunLink
from gateway.demo.company import AGENT
from gateway.surfaces.mcp_stdio import StdioServer
from gateway.surfaces.mcp_tools import ToolAnswer
from gateway.surfaces.mcp_wire import Hello
from tests.simulators.shared import shared
from tests.surfaces.serving import World, operate

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
HANDSHAKES, MODERN = REVISIONS[:-1], REVISIONS[-1]
SIX = [  # of the document service
    "ListNamespaces",
    "ListDocuments",
    "SearchKnowledge",
    "IngestDocument",
    "IngestStatus",
    "ReadImage",
]
CLIENT = {"name": "test", "version": "1"}


async def quiet(_done: float, _total: float | None, _message: str) -> None:
    """Progress that nobody looks at."""


@asynccontextmanager
async def run_of(
    world: World, home: Path, login: str = "member", agent: str = AGENT
) -> AsyncIterator[RunLink]:
    """A run as `shutten mcp` has one, in this process."""
    link = RunLink(home, Hello(agent, await world.token(login), "en"))
    async with asyncio.TaskGroup() as tasks:
        keeping = tasks.create_task(link.keep())
        try:
            yield link
        finally:
            keeping.cancel()


@asynccontextmanager
async def beside(server: StdioServer) -> AsyncIterator[Any]:
    """The client's ends of a connection to it, in place of a process's stdin and stdout."""
    async with (
        create_client_server_memory_streams() as (ours, theirs),
        asyncio.TaskGroup() as tasks,
    ):
        serving = tasks.create_task(server.serve(*theirs))
        yield ours
        serving.cancel()


async def call(link: RunLink, name: str, **arguments: Any) -> ToolAnswer | None:
    return await link.call(None, name, arguments, quiet)


def words(answer: ToolAnswer | None) -> str:
    """All that a model would read of it."""
    assert answer is not None
    return "\n".join(getattr(each, "text", "") for each in answer.content)


async def grants(world: World, slug: str, without: str) -> list[dict[str, str]]:
    """Take the grants of one subject away; what there were."""
    now = await operate(world.app, "knowledge.grants.list", {"collection": slug}, "admin")
    before = [
        {key: grant[key] for key in ("subject_kind", "subject_id", "role")}
        for grant in now["grants"]
    ]
    await give_back(world, slug, [each for each in before if each["subject_id"] != without])
    return before


async def give_back(world: World, slug: str, wanted: list[dict[str, str]]) -> None:
    """These are the collection's grants."""
    now = await operate(world.app, "knowledge.grants.list", {"collection": slug}, "admin")
    change = {"collection": slug, "version": now["version"], "grants": wanted}
    await operate(world.app, "knowledge.grants.replace", change, "admin")


@cache
def schema(revision: str) -> dict[str, Any]:
    path = shared("platform-specs", "mcp", f"schema-{revision}.json")
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def check(revision: str, name: str, value: object) -> None:
    """`value` is what this revision's schema calls `name`."""
    whole = schema(revision)
    place = "definitions" if "definitions" in whole else "$defs"
    kind = jsonschema.validators.validator_for(whole)
    kind({**whole, "$ref": f"#/{place}/{name}"}).validate(value)


class Wire:
    """Speaks the HTTP transport by hand, in one revision."""

    def __init__(self, url: str, token: str, revision: str, session: aiohttp.ClientSession) -> None:
        self.url = f"{url}/mcp"
        self.token = token
        self.revision = revision
        self.session = session
        self.session_id = ""
        self._id = 0

    @property
    def headers(self) -> dict[str, str]:
        given = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": self.revision,
        }
        return given | ({"Mcp-Session-Id": self.session_id} if self.session_id else {})

    async def begin(self) -> Any:
        """The handshake, or since 2026-07-28 the question for what there is."""
        if self.revision == MODERN:
            return await self.ask("server/discover")
        params = {
            "protocolVersion": self.revision,
            "capabilities": {},
            "clientInfo": CLIENT,
        }
        answer = await self.ask("initialize", params)
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        async with self.session.post(self.url, json=told, headers=self.headers) as response:
            assert response.status == 202
        return answer

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The whole answer, of which the schema of the revision approves."""
        self._id += 1
        params, headers = dict(params or {}), dict(self.headers)
        if self.revision == MODERN:
            prefix = "io.modelcontextprotocol"
            params["_meta"] = {
                f"{prefix}/protocolVersion": MODERN,
                f"{prefix}/clientInfo": CLIENT,
                f"{prefix}/clientCapabilities": {},
            } | params.get("_meta", {})
            headers["Mcp-Method"] = method
            if "name" in params:
                headers["Mcp-Name"] = params["name"]
        body = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        async with self.session.post(self.url, json=body, headers=headers) as response:
            self.session_id = response.headers.get("Mcp-Session-Id", self.session_id)
            text = await response.text()
        answer = json.loads(text) if text.startswith("{") else _last_event(text)
        check(self.revision, "JSONRPCMessage", answer)
        assert answer["id"] == self._id
        return answer


def _last_event(text: str) -> Any:
    return [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:")][-1]

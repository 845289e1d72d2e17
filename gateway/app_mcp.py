"""Puts together what MCP is spoken with: runs behind the local socket, and the HTTP door."""

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.accounts.sign_in import SignIn
from gateway.app_documents import build_documents
from gateway.app_retrieval import filtering
from gateway.app_turns import TurnParts
from gateway.changes import Changes
from gateway.knowledge.desk import Desk
from gateway.knowledge.left_behind import LeftBehind
from gateway.knowledge.proposals import Proposals
from gateway.operations.revisions import Revisions, Shelf
from gateway.operations.runs import Runs
from gateway.surfaces.mcp_http import McpHttp
from gateway.surfaces.mcp_knowledge import RunTools
from gateway.surfaces.mcp_runs import RunBox, RunRoute
from gateway.surfaces.mcp_search import tool as search_tool
from gateway.surfaces.mcp_tools import Tool


@dataclass(frozen=True, slots=True)
class Mcp:
    """Both ways in, and what sweeps up behind them."""

    runs: RunRoute
    http: McpHttp
    left_behind: LeftBehind

    def chores(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """What goes on beside until the gateway stops."""
        return self.http.run(), self.left_behind.run()


def build_mcp(
    parts: TurnParts,
    home: Path,
    sign_in: SignIn,
    proposals: Proposals,
    changes: Changes,
    desk: Desk,
) -> Mcp:
    """What serves programs that speak MCP."""
    documents = build_documents(parts, home, proposals, desk)
    runs = _runs(parts, sign_in, proposals, documents.tools)
    http = McpHttp([search_tool(_revisions(parts)), *documents.tools])
    return Mcp(RunRoute(runs, changes), http, documents.left_behind)


def _revisions(parts: TurnParts) -> Revisions:
    store, is_open = parts.shelves.store, parts.knowledge.switches.enabled
    shelf = Shelf(
        store.sources, store.passages, store.revision_texts, store.collections, store.grants
    )
    search, scopes = parts.shelves.search, parts.scopes
    return Revisions(shelf, search, scopes, store.audit, parts.clock, is_open=is_open)


def _runs(parts: TurnParts, sign_in: SignIn, proposals: Proposals, more: Sequence[Tool]) -> RunBox:
    store, is_open = parts.shelves.store, parts.knowledge.switches.enabled
    runs = Runs(sign_in, store.agents, parts.files, parts.scopes, parts.ids, is_open=is_open)
    search = filtering(parts.shelves)
    tools = RunTools(search, store.collections, proposals, store.audit, parts.clock)
    return RunBox(runs, tools, more)

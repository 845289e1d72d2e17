"""Puts together what MCP is spoken with: runs behind the local socket, and the HTTP door."""

from dataclasses import dataclass

from gateway.accounts.sign_in import SignIn
from gateway.app_retrieval import filtering
from gateway.app_turns import TurnParts
from gateway.changes import Changes
from gateway.knowledge.proposals import Proposals
from gateway.operations.revisions import Revisions, Shelf
from gateway.operations.runs import Runs
from gateway.surfaces.mcp_http import McpHttp
from gateway.surfaces.mcp_knowledge import RunTools
from gateway.surfaces.mcp_runs import RunBox, RunRoute
from gateway.surfaces.mcp_search import tool as search_tool


@dataclass(frozen=True, slots=True)
class Mcp:
    """Both ways in."""

    runs: RunRoute
    http: McpHttp


def build_mcp(parts: TurnParts, sign_in: SignIn, proposals: Proposals, changes: Changes) -> Mcp:
    """What serves programs that speak MCP."""
    return Mcp(_runs(parts, sign_in, proposals, changes), McpHttp([search_tool(_revisions(parts))]))


def _revisions(parts: TurnParts) -> Revisions:
    store, is_open = parts.shelves.store, parts.knowledge.switches.enabled
    shelf = Shelf(
        store.sources, store.passages, store.revision_texts, store.collections, store.grants
    )
    search, scopes = parts.shelves.search, parts.scopes
    return Revisions(shelf, search, scopes, store.audit, parts.clock, is_open=is_open)


def _runs(parts: TurnParts, sign_in: SignIn, proposals: Proposals, changes: Changes) -> RunRoute:
    store, is_open = parts.shelves.store, parts.knowledge.switches.enabled
    runs = Runs(sign_in, store.agents, parts.files, parts.scopes, parts.ids, is_open=is_open)
    search = filtering(parts.shelves)
    tools = RunTools(search, store.collections, proposals, store.audit, parts.clock)
    return RunRoute(RunBox(runs, tools), changes)

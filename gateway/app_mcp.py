"""Puts together what MCP is spoken with: runs behind the local socket, and the HTTP door."""

from dataclasses import dataclass

from gateway.accounts.sign_in import SignIn
from gateway.app_turns import TurnParts
from gateway.changes import Changes
from gateway.knowledge.proposals import Proposals
from gateway.operations.runs import Runs
from gateway.surfaces.mcp_knowledge import RunTools
from gateway.surfaces.mcp_runs import RunBox, RunRoute


@dataclass(frozen=True, slots=True)
class Mcp:
    """Both ways in."""

    runs: RunRoute


def build_mcp(parts: TurnParts, sign_in: SignIn, proposals: Proposals, changes: Changes) -> Mcp:
    """What serves programs that speak MCP."""
    return Mcp(_runs(parts, sign_in, proposals, changes))


def _runs(parts: TurnParts, sign_in: SignIn, proposals: Proposals, changes: Changes) -> RunRoute:
    store, is_open = parts.shelves.store, parts.knowledge.switches.enabled
    runs = Runs(sign_in, store.agents, parts.files, parts.scopes, parts.ids, is_open=is_open)
    tools = RunTools(parts.shelves.search, store.collections, proposals, store.audit, parts.clock)
    return RunRoute(RunBox(runs, tools), changes)

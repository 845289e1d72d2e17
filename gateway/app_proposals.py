"""Puts together how documents are proposed and approved."""

from pathlib import Path

from gateway.app_library import Shelves
from gateway.app_turns import TurnParts
from gateway.core.chat_commands import CommandKind
from gateway.dispatch import CommandHandler
from gateway.interfaces import Clock
from gateway.knowledge.approval import Approvals
from gateway.knowledge.proposals import Proposals
from gateway.operations import proposals as operations
from gateway.operations.table import Operation
from gateway.proposing import AddSource, Shelf


def build_proposals(parts: TurnParts, home: Path) -> Proposals:
    """The way in, for chats and agents."""
    store = parts.shelves.store
    return Proposals(
        cards=store.proposals,
        folder=parts.shelves.proposed,
        scopes=parts.scopes,
        collections=store.collections,
        audit=store.audit,
        clock=parts.clock,
        ids=parts.ids,
        limits=parts.knowledge.limits,
        agents=home / "agents",
        is_open=parts.knowledge.switches.enabled,
    )


def command_handlers(
    parts: TurnParts, proposals: Proposals, shelf: Shelf
) -> dict[CommandKind, CommandHandler]:
    """「加入知識庫」 in chats."""
    add = AddSource(proposals, parts.scopes, parts.files, shelf, parts.channels)
    return {CommandKind.ADD_SOURCE: add}


def deciding(shelves: Shelves, clock: Clock, *, is_open: bool) -> tuple[Operation, ...]:
    """The operations by which somebody decides."""
    store = shelves.store
    approvals = Approvals(
        cards=store.proposals,
        folder=shelves.proposed,
        library=shelves.library,
        audit=store.audit,
        clock=clock,
        is_open=is_open,
    )
    return operations.operations(operations.Deciding(approvals))

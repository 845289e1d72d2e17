"""Puts the document service together: its tools for programs, and what sweeps up behind them."""

from dataclasses import dataclass
from pathlib import Path

from gateway.app_turns import TurnParts
from gateway.knowledge.call_log import CallLog
from gateway.knowledge.desk import Desk
from gateway.knowledge.left_behind import LeftBehind
from gateway.knowledge.page_pictures import PagePictures
from gateway.knowledge.proposals import Proposals
from gateway.operations.document_intake import DocumentIntake, IntakeSeams
from gateway.operations.document_service import DocumentService
from gateway.operations.namespaces import Namespaces
from gateway.surfaces.mcp_documents import DocumentTools
from gateway.surfaces.mcp_tools import Tool


@dataclass(frozen=True, slots=True)
class Documents:
    """The six tools, and the chore."""

    tools: tuple[Tool, ...]
    left_behind: LeftBehind


def build_documents(parts: TurnParts, home: Path, proposals: Proposals, desk: Desk) -> Documents:
    """For both doors of MCP."""
    shelves, clock, agents = parts.shelves, parts.clock, home / "agents"
    store, is_open = shelves.store, parts.knowledge.switches.enabled
    spaces = Namespaces(store.collections, parts.scopes, store.audit, clock, is_open)
    pictures = PagePictures(
        shelves.images, store.page_files, parts.files, parts.scopes, clock, agents
    )
    service = DocumentService(
        spaces, store.sources, shelves.search, store.passages, store.outlines, pictures
    )
    intake = DocumentIntake(
        IntakeSeams(
            namespaces=spaces,
            desk=desk,
            library=shelves.library,
            proposals=proposals,
            pictures=pictures,
            states=store.proposals,
            sources=store.sources,
            count=shelves.images.count,
            count_file=shelves.images.count_file,
            kept=shelves.proposed.path,
            progress=shelves.ingestion.progress.of,
            ids=parts.ids,
            agents=agents,
        )
    )
    calls = CallLog(home / "logs", store.answer_files, clock)
    base_url = parts.settings.public_url.rstrip("/")
    tools = DocumentTools(service, intake, calls, clock, base_url, is_open)
    left_behind = LeftBehind(
        pictures, calls, clock, parts.knowledge.switches.access_log_retention_days
    )
    store.access.listen(left_behind.note)
    return Documents(tools.tools(), left_behind)

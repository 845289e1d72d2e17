"""Adding by the tools of the document service, and how far it is (FEATURES B1, B4)."""

import asyncio
import base64
import binascii
import io
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import BinaryIO

import structlog

from gateway.core.access import Account, AgentSide, Role
from gateway.core.documents import Source, SourceState
from gateway.core.filenames import title_of
from gateway.core.proposals import Proposal, ProposalState, may_follow
from gateway.core.workspace_files import parts_of
from gateway.errors import GatewayError, InvalidRequestError, NotFoundError
from gateway.interfaces import Ids, Sources
from gateway.interfaces.workspace import ProposalStates
from gateway.knowledge.beneath import opened_beneath
from gateway.knowledge.desk import Desk
from gateway.knowledge.library import Library
from gateway.knowledge.page_pictures import WORKSPACE, PagePictures
from gateway.knowledge.proposal_files import Open
from gateway.knowledge.proposals import Offered, Proposals, ProposingTurn, file_offered
from gateway.operations.namespaces import Namespaces
from gateway.operations.table import Caller

log = structlog.get_logger()
MOST_CONTENT_BYTES = 6_000_000  # with base64's third more it fits a request of 8 MiB
Count = Callable[[], Awaitable[int]]
Received = Callable[[], Awaitable[None]]
_NO_FILE = InvalidRequestError("file_path", reason="file_path: a file of the workspace")


class Status(StrEnum):
    """Where a document is on its way in."""

    AWAITING_APPROVAL = "awaiting_approval"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    EXPIRED = "expired"


async def at_once() -> None:
    """Where nobody is told of the steps."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken in; `pages` None where it has none, or they cannot be counted."""

    job_id: str
    status: Status
    pages: int | None
    is_new: bool = True


@dataclass(frozen=True, slots=True)
class Followed:
    """How far it is. `read` of `pages`, both None where that is not known."""

    status: Status
    title: str
    source_id: str | None = None
    read: int | None = None
    pages: int | None = None
    has_tree: bool = False
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class IntakeSeams:
    """What the intake is made of."""

    namespaces: Namespaces
    desk: Desk
    library: Library
    proposals: Proposals
    pictures: PagePictures
    states: ProposalStates
    sources: Sources
    count: Callable[[str], Awaitable[int]]  # pages of a stored original
    count_file: Callable[[Path], Awaitable[int]]  # and of another file of the gateway's own
    kept: Callable[[str], Path]  # where a proposed file lies
    progress: Callable[[str], tuple[int, int] | None]
    ids: Ids
    agents: Path


class DocumentIntake:
    """An agent proposes; an account of its own adds where it is an editor."""

    def __init__(self, seams: IntakeSeams) -> None:
        self._seams = seams

    async def take(
        self,
        caller: Caller,
        slug: str,
        file_path: str,
        content: str | None,
        received: Received = at_once,
    ) -> Taken:
        """`content` is the file in base64, `file_path` then only its name; without it the file is
        one of the agent's workspace.

        NotFoundError: no such namespace, or none that this caller may add to. InvalidRequestError:
        no such file. `too_large`, quotas and `proposal_limit` as they come. `received` is told
        before the pages are counted.
        """
        await self._seams.namespaces.scope(caller)  # refuses where the library is off
        if caller.agent is not None:
            taken = await self._propose(caller, caller.agent, slug, file_path, content)
        else:
            assert caller.account is not None
            taken = await self._add(caller.account, slug, file_path, content)
        await received()
        return replace(taken[0], pages=await _counted(taken[1]))

    async def follow(self, caller: Caller, slug: str, job_id: str) -> Followed:
        """NotFoundError for what is missing and what is not this caller's to see, alike."""
        collection, scope = await self._seams.namespaces.named(caller, slug)
        source = await self._seams.sources.find(job_id)
        card = await self._seams.states.state_of(job_id)
        if source is None and card is not None and _is_own(card, caller):
            if card.collection_id == collection.id and card.source_id is None:
                return _of_card(card)
            source = await self._seams.sources.find(card.source_id or "")
        if source is None or source.collection_id != collection.id:
            raise await self._seams.namespaces.denied(caller, scope)
        return self._of_source(source)

    async def _add(
        self, account: Account, slug: str, file_path: str, content: str | None
    ) -> tuple[Taken, Count]:
        seams = self._seams
        collection = await seams.desk.require(account, slug, Role.EDITOR)
        if collection.slug != slug:  # by its id: that names no namespace
            raise NotFoundError("namespace")
        if content is None:
            raise InvalidRequestError("content", reason="content: the file in base64")
        stream = io.BytesIO(await asyncio.to_thread(_decoded, content))
        source, is_new = await seams.library.add_file(
            collection, title_of(file_path), stream, account
        )
        taken = Taken(source.id, _status(source), None, is_new)
        return taken, partial(seams.count, source.sha256)

    async def _propose(
        self, caller: Caller, side: AgentSide, slug: str, file_path: str, content: str | None
    ) -> tuple[Taken, Count]:
        seams = self._seams
        turn_id = caller.turn_id or seams.ids.new()
        turn = ProposingTurn(turn_id, caller.audience, side, caller.surface)
        collection, scope = await seams.proposals.readable(turn, slug)
        if collection.slug != slug:  # by its id: that names no namespace
            raise NotFoundError("namespace")
        if content is None:
            readable = scope.collections
            if not await seams.pictures.may_propose(side.agent_id, file_path, readable):
                raise _NO_FILE
        card = await seams.proposals.from_agent(
            turn, slug, self._offered(side.agent_id, file_path, content)
        )
        is_new = card.state is ProposalState.PENDING
        taken = Taken(card.id, await self._status_of(card), None, is_new)
        return taken, partial(seams.count_file, seams.kept(card.id))

    async def _status_of(self, card: Proposal) -> Status:
        """Of a card that this run proposed before, perhaps decided by now."""
        if card.source_id is None:
            return _of_card(card).status
        source = await self._seams.sources.find(card.source_id)
        return Status.COMPLETED if source is None else _status(source)

    def _offered(self, agent_id: str, file_path: str, content: str | None) -> Offered:
        if content is not None:
            return file_offered(file_path, lambda: io.BytesIO(_decoded(content)), "")
        parts = parts_of(file_path)
        if parts is None:
            raise _NO_FILE
        return file_offered(parts[-1], _opening(self._seams.agents, agent_id, parts), "")

    def _of_source(self, source: Source) -> Followed:
        status = _status(source)
        if status is not Status.PROCESSING:
            return Followed(
                status, source.title, source.id, has_tree=True, error_code=source.error_code
            )
        if source.state is SourceState.EMBEDDING:  # read and in the index; vectors follow
            return Followed(status, source.title, source.id, has_tree=True)
        done, pages = self._seams.progress(source.id) or (None, None)
        return Followed(status, source.title, source.id, done, pages)


def _of_card(card: Proposal) -> Followed:
    status = {
        ProposalState.REJECTED: Status.REJECTED,
        ProposalState.EXPIRED: Status.EXPIRED,
    }.get(card.state, Status.AWAITING_APPROVAL)
    return Followed(status, card.title)


def _is_own(card: Proposal, caller: Caller) -> bool:
    agent_id = caller.agent.agent_id if caller.agent is not None else None
    account_id = caller.account.id if caller.account is not None else None
    return may_follow(card.proposer, agent_id, account_id)


def _status(source: Source) -> Status:
    ended = {SourceState.READY: Status.COMPLETED, SourceState.FAILED: Status.FAILED}
    return ended.get(source.state, Status.PROCESSING)


async def _counted(count: Count) -> int | None:
    """None for what has no pages, and for what its own reading will complain about."""
    try:
        return await count()
    except (GatewayError, OSError) as error:  # OSError: a card's file goes when it is decided
        log.info("pages not counted", code=getattr(error, "code", "gone"))
        return None


def _decoded(content: str) -> bytes:
    if len(content) > MOST_CONTENT_BYTES * 4 // 3 + 4:
        limit_mb = MOST_CONTENT_BYTES // 1_000_000
        raise GatewayError("content", code="too_large", limit_mb=limit_mb)
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:  # ValueError: not ASCII
        raise InvalidRequestError("content", reason="content: the file in base64") from error


def _opening(agents: Path, agent_id: str, parts: tuple[str, ...]) -> Open:
    """The file of the workspace; InvalidRequestError for whatever is not there, alike."""

    def opening() -> BinaryIO:
        try:
            return opened_beneath(agents, [agent_id, WORKSPACE, *parts])
        except OSError as error:
            raise _NO_FILE from error

    return opening

"""Documents that people and agents propose, until somebody who may decides (FEATURES A22)."""

import io
from collections.abc import Collection as Named
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog

from gateway.core.access import AgentSide, Audience, Collection
from gateway.core.audit import AccessAction, AccessEntry, SecurityEvent
from gateway.core.filenames import address_title, title_of
from gateway.core.limits import KnowledgeLimits
from gateway.core.proposals import (
    Proposal,
    ProposalKind,
    Proposer,
    address_of,
    may_propose_by_tool,
    may_propose_in_chat,
)
from gateway.core.scope import Scope
from gateway.core.scope_kinds import root
from gateway.errors import ExtractionError, GatewayError, InvalidRequestError, NotFoundError
from gateway.interfaces import Audit, Clock, Collections, Ids, ProposalCards, Scopes
from gateway.knowledge.proposal_files import Open, ProposalFolder, opened_attachment

log = structlog.get_logger()
Details = Mapping[str, str | int | bool | None]
TEXT_TYPE = "text/plain"
_NO_PATH = str.maketrans("/\\", "／＼")  # a title has no folders to leave out


@dataclass(frozen=True, slots=True)
class ProposingTurn:
    """The turn in which something is proposed; `first` is its scope, once it has one."""

    turn_id: str
    audience: Audience
    agent: AgentSide
    channel: str
    first: Scope | None = None


@dataclass(frozen=True, slots=True)
class Offered:
    """What is to be proposed, before it has been copied."""

    kind: ProposalKind
    title: str
    name: str
    open: Open
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class FromAgent:
    """Exactly one of the three: a file of the agent's own `attachments/`, an address, a text."""

    path: str | None = None
    url: str | None = None
    text: str | None = None


class Proposals:
    """The way in: bytes are copied first, then the cards are put, all of them or none."""

    def __init__(  # noqa: PLR0913 - one collaborator a seam
        self,
        *,
        cards: ProposalCards,
        folder: ProposalFolder,
        scopes: Scopes,
        collections: Collections,
        audit: Audit,
        clock: Clock,
        ids: Ids,
        limits: KnowledgeLimits,
        agents: Path,
        is_open: bool = True,
    ) -> None:
        """`agents` is the folder of all agents; `is_open` is [knowledge] enabled (A29)."""
        self._cards = cards
        self._folder = folder
        self._scopes = scopes
        self._collections = collections
        self._audit = audit
        self._clock = clock
        self._ids = ids
        self._limits = limits
        self._agents = agents
        self._is_open = is_open

    async def start(self) -> None:
        """What a dead process left is put right: see `sweep`."""
        await self._folder.start()
        await self.sweep()

    async def sweep(self) -> None:
        """End cards that are too old or without a collection, and remove files without a card."""
        await self._cards.expire(self._clock.now())
        there = await self._folder.list()  # first: a card put meanwhile is found below
        lost = there - await self._cards.pending()
        try:
            await self._folder.remove(lost)
        except OSError as error:
            log.warning("proposed files not removed", reason=error.strerror)
            await self._failed("knowledge_proposal_expired_failed", "gateway", {"files": len(lost)})

    def turn(self, audience: Audience, agent: AgentSide, channel: str) -> ProposingTurn:
        """One of its own, for a request that belongs to none."""
        return ProposingTurn(self._ids.new(), audience, agent, channel)

    async def of_turn(self, turn_id: str) -> Sequence[Proposal]:
        """What a turn that is run again proposed the first time."""
        return await self._cards.of_turn(turn_id)

    async def readable(self, turn: ProposingTurn, reference: str) -> tuple[Collection, Scope]:
        """The collection by id or slug, where this turn may read it now; NotFoundError for all
        else, alike.

        Only what is readable is looked through: missing and forbidden take the same way.
        """
        self._check_open()
        scope = await self._scope(turn)
        readable = await self._collections.list(scope.collections)
        named = [each for each in readable if reference in (each.id, each.slug)]
        found = min(named, key=lambda each: each.id != reference, default=None)
        if found is None:
            await self._denied(turn)
            raise NotFoundError("collection")
        return found, scope

    async def from_chat(
        self, turn: ProposingTurn, slug: str, offered: Sequence[Offered]
    ) -> Sequence[Proposal]:
        """By the command. NotFoundError also for whoever is neither signed in nor linked."""
        if not may_propose_in_chat(turn.audience):
            await self._denied(turn)
            raise NotFoundError("audience")
        return await self._propose(turn, slug, offered)

    async def from_agent(
        self, turn: ProposingTurn, slug: str, content: FromAgent | Offered, title: str = ""
    ) -> Proposal:
        """`knowledge_add_source`: the card; nothing is added before it was approved.

        An Offered is a file that came otherwise, as with an agent's key over HTTP.

        NotFoundError: the turn is for nobody we know, or may not read the collection.
        InvalidRequestError for the content; `too_large`, `too_many_chars`, `empty_text`,
        `proposal_limit`.
        """
        if not may_propose_by_tool(turn.audience):
            await self._denied(turn)
            raise NotFoundError("audience")
        await self.readable(turn, slug)  # before anything is told about the agent's files
        offered = content
        if isinstance(offered, FromAgent):
            offered = self._offered(turn.agent.agent_id, offered, title)
        return (await self._propose(turn, slug, [offered]))[0]

    async def _propose(
        self, turn: ProposingTurn, slug: str, offered: Sequence[Offered]
    ) -> Sequence[Proposal]:
        ids = [self._ids.new() for _ in offered]
        with self._folder.held(ids):
            try:
                copies = [
                    await self._folder.keep(name, each.open, self._limits.max_source_bytes)
                    for name, each in zip(ids, offered, strict=True)
                ]
                # copying took its time: what counts is what may be read now
                collection, _ = await self.readable(turn, slug)
                draft = partial(self._card, turn, collection)
                kept = await self._put(list(map(draft, ids, offered, copies)))
            except (GatewayError, OSError):
                await self._tidy(ids)  # no card names them
                raise
        await self._tidy(set(ids) - {card.id for card in kept})
        return kept

    def _card(
        self,
        turn: ProposingTurn,
        collection: Collection,
        card_id: str,
        offered: Offered,
        copy: tuple[str, int],
    ) -> Proposal:
        return Proposal(
            id=card_id,
            collection_id=collection.id,
            title=offered.title,
            kind=offered.kind,
            name=offered.name,
            media_type=offered.media_type,
            size_bytes=copy[1],
            sha256=copy[0],
            proposer=_proposer(turn),
            created_at=self._clock.now(),
        )

    async def _tidy(self, names: Named[str]) -> None:
        try:
            await self._folder.remove(names)
        except OSError as error:  # the next sweep tries again
            log.warning("proposed files not removed", reason=error.strerror)

    async def _put(self, cards: Sequence[Proposal]) -> Sequence[Proposal]:
        try:
            return await self._cards.put(cards)
        except GatewayError as error:
            card = cards[0]
            actor = card.proposer.account_id or f"agent:{card.proposer.agent_id}"
            details = {"collection_id": card.collection_id, "reason": error.code}
            await self._failed("knowledge_proposal_created_failed", actor, details)
            raise

    def _offered(self, agent_id: str, content: FromAgent, title: str) -> Offered:
        given = [each for each in (content.path, content.url, content.text) if each is not None]
        if len(given) != 1:
            raise InvalidRequestError("content", reason="one of path, url, text")
        if content.path is not None:
            name = title_of(content.path)
            source = partial(opened_attachment, self._agents, agent_id, content.path)
            titled = _titled(title, Path(name).suffix) if title.strip() else name
            return Offered(ProposalKind.FILE, titled, name, source)
        if content.url is not None:
            address = address_of(content.url)
            if address is None:
                raise InvalidRequestError("not the address of a page", code="url_wrong")
            title = title_of(title.translate(_NO_PATH)) if title else address_title(address)
            return Offered(ProposalKind.URL, title, address, _bytes(address))
        return self._pasted(content.text or "", title)

    def _pasted(self, text: str, title: str) -> Offered:
        most = self._limits.max_source_chars
        if len(text) > most:
            raise GatewayError("text", code="too_many_chars", limit=most)
        if not text.strip():
            raise ExtractionError("nothing was given", code="empty_text")
        name = _titled(title, ".txt")
        return Offered(ProposalKind.TEXT, name, name, _bytes(text), TEXT_TYPE)

    async def _scope(self, turn: ProposingTurn) -> Scope:
        if turn.first is None:
            return await self._scopes.scope(turn.audience, turn.agent)
        return await self._scopes.renew(turn.first, turn.agent)

    async def _denied(self, turn: ProposingTurn) -> None:
        account = root(turn.audience).account
        entry = AccessEntry(
            AccessAction.DENIED,
            self._clock.now(),
            account_id=account.id if account is not None else None,
            agent_id=turn.agent.agent_id,
            channel=turn.channel,
            turn_id=turn.turn_id,
        )
        await self._audit.record(entry)

    async def _failed(self, event: str, actor: str, details: Details) -> None:
        await self._audit.event(SecurityEvent(event, self._clock.now(), actor, details))

    def _check_open(self) -> None:
        if not self._is_open:
            raise GatewayError("knowledge is off", code="knowledge_disabled")


def file_offered(name: str, source: Open, media_type: str) -> Offered:
    """A file as a channel stored it; its name says what it is, and is never a path."""
    name = title_of(name)
    return Offered(ProposalKind.FILE, name, name, source, media_type)


def _proposer(turn: ProposingTurn) -> Proposer:
    person = root(turn.audience)
    account_id = person.account.id if person.account is not None else None
    return Proposer(turn.turn_id, turn.agent.agent_id, person.kind, turn.channel, account_id)


def _bytes(text: str) -> Open:
    return lambda: io.BytesIO(text.encode("utf-8", "replace"))


def _titled(title: str, ending: str) -> str:
    """The title with the ending of a name: readers tell kinds of text by it."""
    titled = title_of(title.translate(_NO_PATH))
    return titled if titled.lower().endswith(ending.lower()) else title_of(titled + ending)

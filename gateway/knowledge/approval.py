"""Deciding on what was proposed: in the dashboard, by who may at that moment (FEATURES A22)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

import structlog

from gateway.core.access import Account
from gateway.core.audit import AccessAction, AccessEntry, SecurityEvent
from gateway.core.documents import Source, SourceState
from gateway.core.filenames import address_title
from gateway.core.proposals import OpenProposal, Proposal, ProposalKind, has_preview
from gateway.errors import ConflictError, GatewayError, NotFoundError
from gateway.interfaces import Audit, Clock, ProposalCards
from gateway.knowledge.library import Library
from gateway.knowledge.proposal_files import ProposalFolder

log = structlog.get_logger()
LOST_RACES = frozenset({"not_found", "proposal_decided", "proposal_expired", "proposal_changed"})


@dataclass(frozen=True, slots=True)
class Previewed:
    """An open card with the first characters of its text, if it is one."""

    card: OpenProposal
    preview: str | None


class Approvals:
    """Whether the account may do it is asked within each transaction, never before it alone."""

    def __init__(
        self,
        *,
        cards: ProposalCards,
        folder: ProposalFolder,
        library: Library,
        audit: Audit,
        clock: Clock,
        is_open: bool = True,
    ) -> None:
        """`is_open` is [knowledge] enabled (A29)."""
        self._cards = cards
        self._folder = folder
        self._library = library
        self._audit = audit
        self._clock = clock
        self._is_open = is_open

    async def decidable(self, account: Account) -> Sequence[Previewed]:
        """All open cards this account may decide on, oldest first."""
        self._check_open()
        found = await self._cards.decidable(account.id, self._clock.now())
        return [Previewed(each, await self._preview(each.proposal)) for each in found]

    async def approve(self, account: Account, proposal_id: str) -> tuple[Source, bool]:
        """(source, is_new): from here on an ordinary document.

        NotFoundError for absent and not to be decided by this account, alike; ConflictError
        `proposal_decided`, `proposal_expired`, `proposal_changed`. A refusal of the library leaves
        the card as it was.
        """
        card = await self._found(account, proposal_id)
        file = await self._folder.open(card.id, card.sha256)
        if file is None:
            await self._refuse(account, card)
            raise ConflictError(card.id, code="proposal_changed")
        try:
            with file:
                source, is_new = await self._add(account, card, file)
        except GatewayError as error:
            if error.code not in LOST_RACES:
                await self._failed("approved", account, card, error.code)
            raise
        log.info("proposal approved", proposal=card.id, source=source.id, is_new=is_new)
        await self._tidy("approved", account, card)
        return source, is_new

    async def reject(self, account: Account, proposal_id: str) -> None:
        """The file goes with it. Errors as above."""
        card = await self._found(account, proposal_id)
        await self._cards.reject(card.id, account.id, self._clock.now())
        log.info("proposal rejected", proposal=card.id)
        await self._tidy("rejected", account, card)

    async def _found(self, account: Account, proposal_id: str) -> Proposal:
        self._check_open()
        now = self._clock.now()
        try:
            return (await self._cards.find(proposal_id, account.id, now)).proposal
        except NotFoundError:
            await self._audit.record(AccessEntry(AccessAction.DENIED, now, account_id=account.id))
            raise

    async def _refuse(self, account: Account, card: Proposal) -> None:
        """Other bytes than were proposed, or none: whoever decided meanwhile was right, too."""
        reason = "proposal_changed"
        await self._cards.reject(card.id, account.id, self._clock.now(), reason=reason)
        log.warning("proposal changed", proposal=card.id)
        await self._tidy("approved", account, card)

    async def _add(self, account: Account, card: Proposal, file: BinaryIO) -> tuple[Source, bool]:
        draft = Source(
            id=card.id,  # one proposal is one source at most
            collection_id=card.collection_id,
            title=card.title,
            kind=card.kind.source_kind,
            sha256=card.sha256,
            size_bytes=card.size_bytes,
            state=SourceState.QUEUED,
            created_at=self._clock.now(),
            added_by=card.proposer.account_id,
            approved_by=account.id,
        )

        async def put(source: Source) -> tuple[Source, bool]:
            return await self._cards.approve(card.id, account.id, source, self._clock.now())

        if card.kind is not ProposalKind.URL:
            return await self._library.add_approved(draft, file, put)
        # nobody asks an address before somebody approved it: its own job fetches it
        address = (await asyncio.to_thread(file.read)).decode("ascii")
        named = replace(draft, title=_given_title(card, address))
        return await self._library.add_approved_page(named, address, put)

    async def _preview(self, card: Proposal) -> str | None:
        if not has_preview(card.kind, card.name):
            return None
        return await self._folder.preview(card.id)

    async def _tidy(self, decision: str, account: Account, card: Proposal) -> None:
        try:
            await self._folder.remove([card.id])
        except OSError as error:  # the next sweep tries again
            log.warning("proposed file not removed", proposal=card.id, reason=error.strerror)
            await self._failed(decision, account, card, "file")

    async def _failed(self, decision: str, account: Account, card: Proposal, reason: str) -> None:
        event = SecurityEvent(
            f"knowledge_proposal_{decision}_failed",
            self._clock.now(),
            account.id,
            {"proposal_id": card.id, "collection_id": card.collection_id, "reason": reason},
        )
        await self._audit.event(event)

    def _check_open(self) -> None:
        if not self._is_open:
            raise GatewayError("knowledge is off", code="knowledge_disabled")


def _given_title(card: Proposal, address: str) -> str:
    """Nothing where the proposer gave none: the card then shows the address."""
    return "" if card.title == address_title(address) else card.title

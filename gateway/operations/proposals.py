"""`knowledge.proposals.*`: what waits for approval, and the decision; never from a channel."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gateway.core.access import Account, AudienceKind
from gateway.errors import NotFoundError, NotSignedInError
from gateway.knowledge.approval import Approvals, Previewed
from gateway.operations.auth import Nothing
from gateway.operations.library_types import SourceView, source_view
from gateway.operations.table import Caller, Operation, Permission


@dataclass(frozen=True, slots=True)
class Decision:
    """Approve a proposal, or reject it."""

    id: str
    approve: bool


@dataclass(frozen=True, slots=True)
class ProposalView:
    """A card that waits, for who may decide on it. `preview` is plain text, or None."""

    id: str
    collection_id: str
    collection: str  # its slug
    collection_name: str
    title: str
    kind: str  # file, url or text
    name: str
    media_type: str
    size_bytes: int
    sha256: str
    proposed_by: str | None  # an account's id; None for a system turn
    proposer_name: str
    agent_id: str
    audience: str
    channel: str
    created_at: datetime
    expires_at: datetime
    preview: str | None


@dataclass(frozen=True, slots=True)
class Decided:
    """`source` and `is_new` are of an approved one; existing bytes make no second document."""

    id: str
    state: str  # approved or rejected
    source: SourceView | None = None
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Deciding:
    """What these operations share."""

    approvals: Approvals

    async def list(self, caller: Caller, _request: Nothing) -> Sequence[ProposalView]:
        """Cards of the collections where the account is editor or owner; admins see all."""
        found = await self.approvals.decidable(_in_dashboard(caller))
        return [_view(each) for each in found]

    async def decide(self, caller: Caller, request: Decision) -> Decided:
        """ConflictError `proposal_decided`, `proposal_expired`, `proposal_changed`."""
        account = _in_dashboard(caller)
        if not request.approve:
            await self.approvals.reject(account, request.id)
            return Decided(request.id, "rejected")
        source, is_new = await self.approvals.approve(account, request.id)
        return Decided(request.id, "approved", source_view(source, caller.language), is_new)


def _in_dashboard(caller: Caller) -> Account:
    """The person at the dashboard, or a door equal to it; no turn and no agent decides."""
    if caller.account is None:
        raise NotSignedInError
    is_turn = caller.agent is not None or caller.turn_id is not None
    if is_turn or caller.audience.kind is not AudienceKind.DASHBOARD:
        raise NotFoundError("proposals")
    return caller.account


def _view(found: Previewed) -> ProposalView:
    card, collection = found.card.proposal, found.card.collection
    return ProposalView(
        id=card.id,
        collection_id=collection.id,
        collection=collection.slug,
        collection_name=collection.name,
        title=card.title,
        kind=card.kind.value,
        name=card.name,
        media_type=card.media_type,
        size_bytes=card.size_bytes,
        sha256=card.sha256,
        proposed_by=card.proposer.account_id,
        proposer_name=found.card.proposer_name,
        agent_id=card.proposer.agent_id,
        audience=card.proposer.audience.value,
        channel=card.proposer.channel,
        created_at=card.created_at,
        expires_at=card.expires_at,
        preview=found.preview,
    )


def operations(deciding: Deciding) -> tuple[Operation, ...]:
    """The rows of proposals."""
    signed_in = Permission.SIGNED_IN
    return (
        Operation(
            "knowledge.proposals.list",
            "List what waits for one's approval.",
            signed_in,
            Nothing,
            deciding.list,
        ),
        Operation(
            "knowledge.proposals.decide",
            "Approve or reject a proposed document.",
            signed_in,
            Decision,
            deciding.decide,
        ),
    )

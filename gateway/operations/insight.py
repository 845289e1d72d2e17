"""`scope.explain`, `outbox.list`, `knowledge.limits`: looking in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway import catalogue
from gateway.accounts.scopes import ScopeService
from gateway.core.access import Account, AgentSide, Audience, AudienceKind
from gateway.core.limits import KnowledgeLimits
from gateway.core.messages import Conversation, InboundMessage, Sender
from gateway.errors import InvalidRequestError, NotFoundError
from gateway.interfaces import Accounts, AgentFiles, Clock, Collections, Outbox
from gateway.operations.auth import Nothing
from gateway.operations.table import Caller, Operation, Permission

MOST_ROWS = 500


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """Whose turn to explain: an account, or a sender on a channel; with or without an agent."""

    agent: str | None = None
    account: str | None = None
    channel: str | None = None  # "line" or "line/<account name>"
    sender: str | None = None
    conversation: str | None = None  # a group's id; without it the chat is 1:1
    is_chat: bool = True  # an account with an agent: in web chat; false: by `ask` or a key


@dataclass(frozen=True, slots=True)
class ReasonView:
    """Why one collection can or cannot be read."""

    slug: str
    name: str
    is_readable: bool
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The audience, and one reason a collection."""

    audience: str
    is_direct: bool
    reasons: list[ReasonView]


@dataclass(frozen=True, slots=True)
class OutboxRequest:
    """States to list: dead, unknown, pending, sending."""

    states: list[str]
    limit: int = 100


class Insight:
    """What these operations share."""

    def __init__(
        self,
        *,
        scopes: ScopeService,
        accounts: Accounts,
        files: AgentFiles,
        collections: Collections,
        clock: Clock,
    ) -> None:
        self._scopes = scopes
        self._accounts = accounts
        self._files = files
        self._collections = collections
        self._clock = clock

    async def explain(self, caller: Caller, request: ExplainRequest) -> Explanation:
        """Why a turn could or could not read each collection (FEATURES F2)."""
        side = await self._side(request.agent)
        audience = await self._audience(request, side)
        reasons = await self._scopes.explain(audience, side)
        ids = frozenset(reason.collection_id for reason in reasons)
        known = {c.id: c for c in await self._collections.list(ids)}
        return Explanation(
            audience.kind.value,
            audience.is_direct,
            [
                ReasonView(
                    known[reason.collection_id].slug,
                    known[reason.collection_id].name,
                    reason.is_readable,
                    reason.code,
                    catalogue.text(reason.code, caller.language, detail=reason.detail),
                )
                for reason in reasons
                if reason.collection_id in known
            ],
        )

    async def _side(self, agent_id: str | None) -> AgentSide | None:
        if agent_id is None:
            return None
        settings = await self._files.load(agent_id)
        if settings is None:
            raise NotFoundError(agent_id)
        return settings.side

    async def _audience(self, request: ExplainRequest, side: AgentSide | None) -> Audience:
        if request.account is not None:
            account = await self._account(request.account)
            if side is not None and not request.is_chat:
                return Audience(AudienceKind.ACCOUNT_DOOR, account)
            kind = AudienceKind.DASHBOARD if side is None else AudienceKind.WEBCHAT
            return Audience(kind, account, is_direct=True)
        if request.channel is None:
            raise InvalidRequestError("explain", reason="account or channel is needed")
        platform, _, name = request.channel.partition("/")
        name = name or "main"
        chat = Conversation(
            platform,
            name,
            request.conversation or request.sender or "",
            is_direct=request.conversation is None and request.sender is not None,
        )
        sender = Sender(platform, name, request.sender) if request.sender else None
        now = self._clock.now()
        return await self._scopes.audience(InboundMessage(chat, "", "", "", now, sender))

    async def _account(self, reference: str) -> Account:
        account = await self._accounts.find(reference)
        account = account or await self._accounts.find_by_login(reference)
        if account is None:
            raise NotFoundError(reference)
        return account


def operations(insight: Insight, outbox: Outbox, limits: KnowledgeLimits) -> tuple[Operation, ...]:
    """The rows of looking in."""

    async def listed(_caller: Caller, request: OutboxRequest) -> Sequence[Any]:
        states = request.states or ["dead", "unknown"]
        return await outbox.listed(states, min(max(request.limit, 1), MOST_ROWS))

    async def limits_of(_caller: Caller, _request: Nothing) -> KnowledgeLimits:
        return limits

    signed_in, admin = Permission.SIGNED_IN, Permission.ADMIN
    rows = (
        ("scope.explain", "Tell what a turn may read, and why.", admin, ExplainRequest),
        ("outbox.list", "List replies that were not surely delivered.", admin, OutboxRequest),
        ("knowledge.limits", "Tell the limits of uploads.", signed_in, Nothing),
    )
    runs: tuple[Any, ...] = (insight.explain, listed, limits_of)
    return tuple(Operation(*row, run) for row, run in zip(rows, runs, strict=True))

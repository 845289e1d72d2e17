"""`agents.keys.*`: what lets a program ask one agent, and its end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gateway.accounts.sign_in import MOST_TOKENS, SignIn
from gateway.errors import NotSignedInError
from gateway.interfaces import AgentKeys, Clock
from gateway.operations.acting import act_of, require_session
from gateway.operations.table import Caller, Operation, Permission
from gateway.operations.tokens import SessionReference, checked


@dataclass(frozen=True, slots=True)
class NewAgentKey:
    """Which agent it opens, what it is for, and for how long it holds."""

    agent_id: str
    label: str
    expires_in_days: int = 90


@dataclass(frozen=True, slots=True)
class KeysOfAgent:
    """The keys of one agent."""

    agent_id: str


@dataclass(frozen=True, slots=True)
class IssuedAgentKey:
    """A new key; `secret` is told this once and is kept nowhere."""

    id: str
    agent_id: str
    label: str
    secret: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class AgentKeyView:
    """A key that holds; `account_id` made it."""

    id: str
    agent_id: str
    account_id: str
    label: str
    created_at: datetime
    expires_at: datetime


class AgentKeyDesk:
    """For an agent's owners and administrators; another's agent looks like none."""

    def __init__(self, keys: AgentKeys, sign_in: SignIn, clock: Clock) -> None:
        self._keys = keys
        self._sign_in = sign_in
        self._clock = clock

    async def create(self, caller: Caller, request: NewAgentKey) -> IssuedAgentKey:
        """Make a key; not by a token, which must not make what outlives it."""
        require_session(caller)
        if caller.account is None:
            raise NotSignedInError
        label = checked(request.label, request.expires_in_days)
        days, by = timedelta(days=request.expires_in_days), act_of(caller, self._clock)
        key, secret = self._sign_in.agent_key(request.agent_id, label, days, by)
        await self._keys.add(key, MOST_TOKENS, by)
        return IssuedAgentKey(key.id, request.agent_id, label, secret, key.expires_at)

    async def keys(self, caller: Caller, request: KeysOfAgent) -> Sequence[AgentKeyView]:
        """Those that hold, newest first."""
        listed = await self._keys.list(request.agent_id, act_of(caller, self._clock))
        return [
            AgentKeyView(
                each.id,
                request.agent_id,
                each.account_id,
                each.label,
                each.created_at,
                each.expires_at,
            )
            for each in listed
        ]

    async def revoke(self, caller: Caller, request: SessionReference) -> None:
        """End a key at once; another agent's looks like one that is not there."""
        await self._keys.revoke(request.id, act_of(caller, self._clock))


def operations(desk: AgentKeyDesk) -> tuple[Operation, ...]:
    """The rows of agents' keys."""
    person, either = Permission.SIGNED_IN, Permission.SIGNED_IN_OR_LOCAL
    create, listing = "Make a key of an agent.", "List the keys of an agent."
    return (
        Operation("agents.keys.create", create, person, NewAgentKey, desk.create),
        Operation("agents.keys.list", listing, either, KeysOfAgent, desk.keys),
        Operation(
            "agents.keys.revoke", "End a key of an agent.", either, SessionReference, desk.revoke
        ),
    )

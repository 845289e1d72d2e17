"""The table of turn kinds: whose grants count in a turn, and whether it may read at all (A3)."""

from dataclasses import dataclass, replace
from enum import Enum

from gateway.core.access import (
    Account,
    AgentSide,
    Audience,
    AudienceKind,
    ChatAddress,
    ScopeFacts,
    Sensitivity,
)
from gateway.core.scope_reasons import Why

VISITOR_CHANNELS = frozenset({"widget", "odoolivechat"})
OPEN = frozenset({Sensitivity.PUBLIC, Sensitivity.INTERNAL})  # readable outside a 1:1 chat


class Direct(Enum):
    """Whether a kind of turn can be 1:1; whatever is not provably 1:1 counts as a group."""

    NEVER = 0
    IF_PROVEN = 1
    ALWAYS = 2


@dataclass(frozen=True, slots=True)
class TurnKind:
    """One row of the table. `ceiling` holds the sensitivities it may ever read."""

    needs_account: bool = False  # that account's user and department grants count
    has_channel: bool = False  # channel grants of the chat count
    has_override: bool = False  # an admin reads as owner of everything
    is_system: bool = False  # no person side: what the agent has
    direct: Direct = Direct.NEVER
    ceiling: frozenset[Sensitivity] = frozenset(Sensitivity)


TABLE: dict[AudienceKind, TurnKind] = {
    AudienceKind.DASHBOARD: TurnKind(needs_account=True, has_override=True, direct=Direct.ALWAYS),
    AudienceKind.WEBCHAT: TurnKind(needs_account=True, has_override=True, direct=Direct.IF_PROVEN),
    # An API token and --as equal the dashboard only "as long as no agent is involved": with one
    # it is agent ∩ account, never 1:1, and an admin has the grants of anyone (Doors, A3).
    AudienceKind.ACCOUNT_DOOR: TurnKind(needs_account=True),
    AudienceKind.LINKED: TurnKind(needs_account=True, has_channel=True, direct=Direct.IF_PROVEN),
    AudienceKind.UNLINKED: TurnKind(has_channel=True, direct=Direct.IF_PROVEN),
    AudienceKind.VISITOR: TurnKind(has_channel=True, ceiling=frozenset({Sensitivity.PUBLIC})),
    AudienceKind.SYSTEM: TurnKind(is_system=True, ceiling=OPEN),
}


@dataclass(frozen=True, slots=True)
class Turn:
    """The audience once delegation is resolved: whose grants count, and by which row."""

    audience: Audience  # the one at the root of a chain of dispatches
    kind: TurnKind
    account: Account | None = None  # as it is now; set where the kind needs one

    @property
    def is_direct(self) -> bool:
        """Proven 1:1, so that `personal` and `restricted` may be read."""
        if self.kind.direct is Direct.IF_PROVEN:
            return self.audience.is_direct
        return self.kind.direct is Direct.ALWAYS

    @property
    def address(self) -> ChatAddress | None:
        """Where channel grants are looked for; a website is never a messaging app."""
        address = self.audience.address
        if not self.kind.has_channel or address is None:
            return None
        is_website = address.channel in VISITOR_CHANNELS
        return address if is_website is (self.audience.kind is AudienceKind.VISITOR) else None


def root(audience: Audience) -> Audience:
    """The audience whose account and address count: of a dispatch, that of the first turn.

    Stores read `ScopeFacts.account` and `is_link_valid` for this one.
    """
    if audience.kind is not AudienceKind.DELEGATED:
        return audience
    return root(audience.upstream or Audience(AudienceKind.NONE))


def is_proven_direct(audience: Audience, agent: AgentSide | None) -> bool:
    """The turn counts as 1:1 by its kind and by the platform's own proof."""
    kind = _kind(audience, agent)
    return kind is not None and Turn(root(audience), kind).is_direct


def admit(audience: Audience, agent: AgentSide | None, facts: ScopeFacts) -> Turn | Why:
    """The turn whose collections decide one by one, or why the whole of it reads nothing."""
    kind = _kind(audience, agent)
    if kind is None:
        is_dispatch = audience.kind is AudienceKind.DELEGATED
        return Why.UPSTREAM_UNKNOWN if is_dispatch else Why.NO_IDENTITY
    shut = _agent_shut(audience, agent)
    if shut is not None:
        return shut
    if not kind.needs_account:
        return Turn(root(audience), kind)
    return _admit_account(Turn(root(audience), kind), facts)


def _kind(audience: Audience, agent: AgentSide | None) -> TurnKind | None:
    kind = TABLE.get(root(audience).kind)
    if kind is not None and audience.kind is AudienceKind.DELEGATED:
        # A dispatch may only lose: no override, never 1:1, whatever the first turn was.
        return replace(kind, has_override=False, direct=Direct.NEVER)
    if audience.kind is AudienceKind.DASHBOARD and agent is not None:
        return TABLE[AudienceKind.ACCOUNT_DOOR]
    return kind


def _agent_shut(audience: Audience, agent: AgentSide | None) -> Why | None:
    if agent is None:
        return None if audience.kind is AudienceKind.DASHBOARD else Why.NO_AGENT
    return Why.AGENT_ARCHIVED if agent.is_archived else None


def _admit_account(turn: Turn, facts: ScopeFacts) -> Turn | Why:
    """With the account as it is now; another person's facts never stand in for it."""
    expected, account = turn.audience.account, facts.account
    if expected is None or account is None or account.id != expected.id or not account.is_active:
        return Why.ACCOUNT_INACTIVE
    if turn.audience.kind is AudienceKind.LINKED and not facts.is_link_valid:
        return Why.LINK_ENDED
    return replace(turn, account=account)

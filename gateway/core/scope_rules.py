"""The rule of one turn: agent side and person side, collection by collection (A3 to A5)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from gateway.core.access import (
    AgentSide,
    Audience,
    ChatAddress,
    Grant,
    Role,
    ScopeFacts,
    Sensitivity,
    SubjectKind,
)
from gateway.core.roles import is_valid_grant
from gateway.core.scope_kinds import OPEN, Turn, admit
from gateway.core.scope_reasons import Reason, Why, reason

Subject = tuple[SubjectKind, str]
_Case = tuple[int, Sensitivity, bool]  # subjects named, sensitivity, in the agent's list


def judge(audience: Audience, agent: AgentSide | None, facts: ScopeFacts) -> tuple[Reason, ...]:
    """One reason for each collection in `facts`, by slug: the single source of every decision."""
    collections = sorted(facts.collections, key=attrgetter("slug", "id"))
    turn = admit(audience, agent, facts)
    if isinstance(turn, Why):
        return tuple(reason(each.id, turn) for each in collections)
    sides = _Sides(turn, agent, _agent_subjects(agent), _person_subjects(turn))
    named = _named(facts.grants, sides.subjects)
    alike: dict[_Case, Reason] = {}  # a library has few kinds of collections, however many
    reasons = []
    for each in collections:
        is_listed = agent is None or agent.slugs is None or each.slug in agent.slugs
        case = (named.get(each.id, 0), each.sensitivity, is_listed)
        if case not in alike:
            alike[case] = _judge_case(sides, *case)
        reasons.append(alike[case].of(each.id))
    return tuple(reasons)


def judge_unnamed(audience: Audience, agent: AgentSide | None, facts: ScopeFacts) -> Why:
    """What holds of a collection that `facts` does not hold: none that a grant names, or that an
    admin's override reaches, is left out there.
    """
    turn = admit(audience, agent, facts)
    if isinstance(turn, Why):
        return turn
    return Why.NOT_GRANTED_TO_AGENT if agent is not None else Why.NOT_GRANTED_TO_PERSON


@dataclass(frozen=True, slots=True)
class _Sides:
    """Whose grants count in a turn. Sets of subjects are written as bits, by their order."""

    turn: Turn
    agent: AgentSide | None
    of_agent: frozenset[Subject]
    of_person: frozenset[Subject]

    @property
    def subjects(self) -> tuple[Subject, ...]:
        return tuple(sorted(self.of_agent | self.of_person))


def _judge_case(sides: _Sides, named: int, sensitivity: Sensitivity, is_listed: bool) -> Reason:  # noqa: FBT001 - a case is a key
    """The first rule that excludes such a collection, else the grants that allow it."""
    subjects = [each for n, each in enumerate(sides.subjects) if named >> n & 1]
    if sides.agent is not None and sides.of_agent.isdisjoint(subjects):
        return reason("", Why.NOT_GRANTED_TO_AGENT)
    if not is_listed:
        return reason("", Why.NOT_IN_AGENT_LIST)
    verdict = _allowed_by(sides.turn, [each for each in subjects if each in sides.of_person])
    if verdict.is_readable:
        verdict = _barred_by(sides.turn, sensitivity) or verdict
    detail = ", ".join(f"{kind}:{subject}" for kind, subject in subjects)
    return reason("", verdict, detail if verdict.is_readable else "")


def _agent_subjects(agent: AgentSide | None) -> frozenset[Subject]:
    """The agent itself and its department, by their exact names."""
    if agent is None:
        return frozenset()
    own = (SubjectKind.AGENT, agent.agent_id)
    return frozenset({own, (SubjectKind.DEPARTMENT, agent.department)})


def _person_subjects(turn: Turn) -> frozenset[Subject]:
    """The account with its department, and the chat, as far as this kind of turn has them."""
    chats = {(SubjectKind.CHANNEL, each) for each in channel_subjects(turn.address)}
    if turn.account is None:
        return frozenset(chats)
    user = (SubjectKind.USER, turn.account.id)
    return frozenset(chats | {user, (SubjectKind.DEPARTMENT, turn.account.department)})


def _named(grants: Iterable[Grant], subjects: Sequence[Subject]) -> Mapping[str, int]:
    """For each collection the subjects that a valid grant on it names, in one pass."""
    bits = {
        (*subject, role): 1 << n
        for n, subject in enumerate(subjects)
        for role in Role
        if is_valid_grant(Grant("", *subject, role))
    }
    found: dict[str, int] = {}
    for grant in grants:
        bit = bits.get((grant.subject_kind, grant.subject_id, grant.role), 0)
        if bit:
            found[grant.collection_id] = found.get(grant.collection_id, 0) | bit
    return found


def channel_subjects(address: ChatAddress | None) -> frozenset[str]:
    """Every subject id of a channel grant that covers this chat (DESIGN section 9.2).

    `line` all our accounts there, `line/<account>` one, `line:<chat id>` the chat or its parent.
    """
    if address is None or not address.channel:
        return frozenset()
    chats = (address.conversation_id, address.parent_id)
    named = {f"{address.channel}/{name}" for name in (address.account_name,) if name}
    return frozenset({address.channel} | named | {f"{address.channel}:{c}" for c in chats if c})


def _allowed_by(turn: Turn, of_person: Sequence[Subject]) -> Why:
    """What on the person side allows the collection, or that nothing does."""
    if turn.kind.is_system:
        return Why.BY_AGENT
    if turn.kind.has_override and turn.account is not None and turn.account.is_admin:
        return Why.BY_ADMIN
    kinds = {kind for kind, _ in of_person}
    for kind, why in (
        (SubjectKind.USER, Why.BY_USER),
        (SubjectKind.DEPARTMENT, Why.BY_DEPARTMENT),
        (SubjectKind.CHANNEL, Why.BY_CHANNEL),
    ):
        if kind in kinds:
            return why
    return Why.NOT_GRANTED_TO_PERSON if turn.account else Why.NOT_GRANTED_TO_CHANNEL


def _barred_by(turn: Turn, sensitivity: Sensitivity) -> Why | None:
    """Sensitivity beats every grant."""
    if sensitivity not in turn.kind.ceiling:
        return Why.SYSTEM_INTERNAL_ONLY if turn.kind.is_system else Why.VISITOR_PUBLIC_ONLY
    if not turn.is_direct and sensitivity not in OPEN:
        return Why.NOT_DIRECT
    return None

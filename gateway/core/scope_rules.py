"""The rule of one turn: agent side and person side, collection by collection (A3 to A5)."""

from collections.abc import Iterable, Mapping, Sequence

from gateway.core.access import (
    AgentSide,
    Audience,
    ChatAddress,
    Collection,
    Grant,
    ScopeFacts,
    Sensitivity,
    SubjectKind,
)
from gateway.core.roles import is_valid_grant
from gateway.core.scope_kinds import OPEN, Turn, admit
from gateway.core.scope_reasons import Reason, Why, reason

Subject = tuple[SubjectKind, str]


def judge(audience: Audience, agent: AgentSide | None, facts: ScopeFacts) -> tuple[Reason, ...]:
    """One reason for each collection in `facts`, by slug: the single source of every decision."""
    collections = sorted(facts.collections, key=lambda each: (each.slug, each.id))
    turn = admit(audience, agent, facts)
    if isinstance(turn, Why):
        return tuple(reason(each.id, turn) for each in collections)
    of_agent = _by_collection(facts.grants, _agent_subjects(agent))
    of_person = _by_collection(facts.grants, _person_subjects(turn))
    return tuple(
        _judge_one(turn, agent, each, of_agent.get(each.id, ()), of_person.get(each.id, ()))
        for each in collections
    )


def judge_unnamed(audience: Audience, agent: AgentSide | None, facts: ScopeFacts) -> Why:
    """What holds of a collection that none of the grants in `facts` names."""
    turn = admit(audience, agent, facts)
    if isinstance(turn, Why):
        return turn
    return Why.NOT_GRANTED_TO_AGENT if agent is not None else _allowed_by(turn, ())


def _judge_one(
    turn: Turn,
    agent: AgentSide | None,
    collection: Collection,
    of_agent: Sequence[Grant],
    of_person: Sequence[Grant],
) -> Reason:
    """The first rule that excludes the collection, else the grants that allow it."""
    if agent is not None and not of_agent:
        return reason(collection.id, Why.NOT_GRANTED_TO_AGENT)
    if agent is not None and agent.slugs is not None and collection.slug not in agent.slugs:
        return reason(collection.id, Why.NOT_IN_AGENT_LIST)
    verdict = _allowed_by(turn, of_person)
    if verdict.is_readable:
        verdict = _barred_by(turn, collection.sensitivity) or verdict
    detail = _detail((*of_agent, *of_person)) if verdict.is_readable else ""
    return reason(collection.id, verdict, detail)


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


def _by_collection(
    grants: Iterable[Grant], subjects: frozenset[Subject]
) -> Mapping[str, Sequence[Grant]]:
    """The valid grants to any of the subjects, in one pass however many there are."""
    found: dict[str, list[Grant]] = {}
    for grant in grants:
        if (grant.subject_kind, grant.subject_id) in subjects and is_valid_grant(grant):
            found.setdefault(grant.collection_id, []).append(grant)
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


def _allowed_by(turn: Turn, of_person: Sequence[Grant]) -> Why:
    """What on the person side allows the collection, or that nothing does."""
    if turn.kind.is_system:
        return Why.BY_AGENT
    if turn.kind.has_override and turn.account is not None and turn.account.is_admin:
        return Why.BY_ADMIN
    kinds = {grant.subject_kind for grant in of_person}
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


def _detail(grants: Iterable[Grant]) -> str:
    return ", ".join(sorted({f"{grant.subject_kind}:{grant.subject_id}" for grant in grants}))

"""The rule of one turn: agent side and person side, collection by collection (A3 to A5)."""

from collections.abc import Iterable, Sequence

from gateway.core.access import (
    Account,
    AgentSide,
    Audience,
    ChatAddress,
    Collection,
    Grant,
    ScopeFacts,
    Sensitivity,
    SubjectKind,
)
from gateway.core.roles import is_valid_grant, names_account
from gateway.core.scope_kinds import OPEN, Turn, admit
from gateway.core.scope_reasons import Reason, Why, reason


def judge(audience: Audience, agent: AgentSide | None, facts: ScopeFacts) -> tuple[Reason, ...]:
    """One reason for each collection in `facts`, by slug: the single source of every decision."""
    collections = sorted(facts.collections, key=lambda each: (each.slug, each.id))
    turn = admit(audience, agent, facts)
    if isinstance(turn, Why):
        return tuple(reason(each.id, turn) for each in collections)
    grants = [grant for grant in facts.grants if is_valid_grant(grant)]
    return tuple(
        _judge_one(turn, agent, each, [g for g in grants if g.collection_id == each.id])
        for each in collections
    )


def _judge_one(
    turn: Turn, agent: AgentSide | None, collection: Collection, grants: Sequence[Grant]
) -> Reason:
    """The first rule that excludes the collection, else the grants that allow it."""
    of_agent = _of_agent(agent, grants)
    if agent is not None and not of_agent:
        return reason(collection.id, Why.NOT_GRANTED_TO_AGENT)
    if agent is not None and agent.slugs is not None and collection.slug not in agent.slugs:
        return reason(collection.id, Why.NOT_IN_AGENT_LIST)
    of_person = _of_account(turn.account, grants) + _of_chat(turn.address, grants)
    verdict = _allowed_by(turn, of_person)
    if verdict.is_readable:
        verdict = _barred_by(turn, collection.sensitivity) or verdict
    return reason(
        collection.id, verdict, _detail([*of_agent, *of_person]) if verdict.is_readable else ""
    )


def _of_agent(agent: AgentSide | None, grants: Sequence[Grant]) -> list[Grant]:
    if agent is None:
        return []
    mine = {(SubjectKind.AGENT, agent.agent_id), (SubjectKind.DEPARTMENT, agent.department)}
    return [grant for grant in grants if (grant.subject_kind, grant.subject_id) in mine]


def _of_account(account: Account | None, grants: Sequence[Grant]) -> list[Grant]:
    return [g for g in grants if account is not None and names_account(g, account)]


def _of_chat(address: ChatAddress | None, grants: Sequence[Grant]) -> list[Grant]:
    subjects = channel_subjects(address)
    return [g for g in grants if g.subject_kind is SubjectKind.CHANNEL and g.subject_id in subjects]


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

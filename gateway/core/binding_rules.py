"""What a person may do with an agent by their binding, and what may be shared with it (A5)."""

from collections.abc import Collection, Mapping
from enum import StrEnum

from gateway.core.access import Account, AgentSide, BindingRole, ScopeFacts, SubjectKind
from gateway.core.roles import is_valid_grant


class AgentAct(StrEnum):
    """What can be done with an agent; each binding allows some."""

    TALK = "talk"
    SEE = "see"  # its settings and the people bound to it
    EDIT = "edit"  # settings, bindings, archive, hand-over


ALLOWED: Mapping[BindingRole, frozenset[AgentAct]] = {
    BindingRole.OWNER: frozenset(AgentAct),
    BindingRole.OPERATOR: frozenset({AgentAct.TALK, AgentAct.SEE}),
    BindingRole.VIEWER: frozenset({AgentAct.TALK}),
}


def may(account: Account, role: BindingRole | None, act: AgentAct) -> bool:
    """An admin may do everything with every agent; an inactive account nothing with any."""
    if not account.is_active:
        return False
    return account.is_admin or (role is not None and act in ALLOWED[role])


def keeps_owner(
    before: Mapping[str, BindingRole],
    after: Mapping[str, BindingRole],
    active: Collection[str],
) -> bool:
    """Whether the agent has an owner who can sign in, or had none before.

    Only an admin may take the last one away: the agent is then left to the admins. `active` are
    the ids of accounts that can sign in.
    """
    return not _owners(before, active) or bool(_owners(after, active))


def _owners(bindings: Mapping[str, BindingRole], active: Collection[str]) -> set[str]:
    return {
        account_id
        for account_id, role in bindings.items()
        if role is BindingRole.OWNER and account_id in active
    }


def may_place(account: Account, before: str, after: str) -> bool:
    """Whether an agent may be put into department `after`, which brings what that one may read.

    Admins: any. Everybody else: none, their own, or where it is already.
    """
    if account.is_admin:
        return True
    return account.is_active and after in {"", before, account.department}


def shared_slugs(agent: AgentSide, facts: ScopeFacts) -> frozenset[str]:
    """Slugs of collections granted to the agent or its department, its own list aside."""
    mine = {(SubjectKind.AGENT, agent.agent_id), (SubjectKind.DEPARTMENT, agent.department)}
    granted = {
        grant.collection_id
        for grant in facts.grants
        if is_valid_grant(grant) and (grant.subject_kind, grant.subject_id) in mine
    }
    return frozenset(each.slug for each in facts.collections if each.id in granted)

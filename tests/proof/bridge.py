"""The reference's worlds and turns in the program's own words."""

from gateway.core.access import (
    Account,
    AccountRole,
    AgentSide,
    Audience,
    AudienceKind,
    ChatAddress,
    Collection,
    Grant,
    Role,
    ScopeFacts,
    Sensitivity,
    SubjectKind,
)
from gateway.core.scope_kinds import root
from gateway.core.scope_origin import delegated
from tests.proof.reference import Employee, Person, Turn, World

SYSTEM = Audience(AudienceKind.SYSTEM)
KINDS = {
    "dashboard": AudienceKind.DASHBOARD,
    "webchat": AudienceKind.WEBCHAT,
    "key": AudienceKind.ACCOUNT_DOOR,
    "visitor": AudienceKind.VISITOR,
    "system": AudienceKind.SYSTEM,
    "unregistered": AudienceKind.NONE,
}


def account_of(person: Person) -> Account:
    return Account(
        person.id,
        person.id,
        person.id,
        AccountRole(person.role),
        department=person.department,
        is_active=person.is_active,
    )


def side_of(employee: Employee) -> AgentSide:
    slugs = employee.slugs
    listed = frozenset[str]() if isinstance(slugs, str) else slugs
    return AgentSide(employee.id, employee.department, listed, employee.is_archived)


def audience_of(world: World, turn: Turn) -> Audience:
    """As the gateway fixes it; what a dispatch comes from is resolved as `delegated` does."""
    if turn.door == "dispatch":
        if turn.record == "none":
            return SYSTEM
        if turn.record != "kept" or turn.upstream is None:
            return Audience(AudienceKind.DELEGATED)
        return delegated(audience_of(world, turn.upstream), "t")
    person = world.people.get(turn.person or "")
    kind = KINDS.get(turn.door)
    if kind is None:
        kind = AudienceKind.UNLINKED if person is None else AudienceKind.LINKED
    account = None if person is None else account_of(person)
    address = None if turn.chat is None else ChatAddress(*turn.chat)
    return Audience(kind, account, address, is_direct=turn.is_private)


def facts_of(world: World, turn: Turn) -> ScopeFacts:
    """Everything there is, readable as a grant or not; the account and link of the root."""
    first = turn
    while first.upstream is not None:
        first = first.upstream
    account = root(audience_of(world, turn)).account
    collections = [
        Collection(each.id, n, each.slug, each.slug, Sensitivity(each.sensitivity))
        for n, each in enumerate(world.shelves)
    ]
    grants = [
        Grant(each.shelf, SubjectKind(each.kind), each.subject, Role(each.role))
        for each in world.shares
    ]
    return ScopeFacts(tuple(collections), tuple(grants), 1, account, first.is_link_whole)

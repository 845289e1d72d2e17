"""What a grant may say, and which role a person has on a collection (FEATURES A2)."""

from collections.abc import Iterable

from gateway.core.access import Account, AccountRole, Grant, Role, SubjectKind

GRANTABLE: dict[SubjectKind, frozenset[Role]] = {
    SubjectKind.USER: frozenset(Role),
    SubjectKind.DEPARTMENT: frozenset({Role.VIEWER, Role.EDITOR}),
    SubjectKind.AGENT: frozenset({Role.VIEWER}),
    SubjectKind.CHANNEL: frozenset({Role.VIEWER}),
}


def is_valid_grant(grant: Grant) -> bool:
    """False for what no editor could have saved: such a grant is void, never "close enough"."""
    return bool(grant.subject_id.strip()) and grant.role in GRANTABLE.get(
        grant.subject_kind, frozenset()
    )


def has_user_owner(grants: Iterable[Grant]) -> bool:
    """At least one person stays owner of a collection; departments cannot."""
    return any(
        grant.subject_kind is SubjectKind.USER and grant.role is Role.OWNER
        for grant in grants
        if is_valid_grant(grant)
    )


def names_account(grant: Grant, account: Account) -> bool:
    """The grant is to this person or to the department the person is in (exact match)."""
    if grant.subject_kind is SubjectKind.USER:
        return grant.subject_id == account.id
    return grant.subject_kind is SubjectKind.DEPARTMENT and grant.subject_id == account.department


def may_create(account: Account) -> bool:
    """Managers and admins make collections (FEATURES A1)."""
    return account.is_active and account.role in (AccountRole.ADMIN, AccountRole.MANAGER)


def owns_one(account: Account, grants: Iterable[Grant]) -> bool:
    """The account is owner of some collection among these grants."""
    return account.is_active and any(
        grant.role is Role.OWNER and is_valid_grant(grant) and names_account(grant, account)
        for grant in grants
    )


def role_on(account: Account, collection_id: str, grants: Iterable[Grant]) -> Role | None:
    """The highest role of user and department grants; an admin is owner of everything.

    This is the dashboard's rule (what a person may *do* with a collection); what a turn may read
    is `gateway.core.scope`. None: the collection does not exist for this account.
    """
    if not account.is_active:
        return None
    if account.is_admin:
        return Role.OWNER
    roles = (
        grant.role
        for grant in grants
        if grant.collection_id == collection_id
        and is_valid_grant(grant)
        and names_account(grant, account)
    )
    return max(roles, key=lambda role: role.rank, default=None)

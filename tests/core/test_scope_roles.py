"""Which grants are valid, and who has which role on a collection."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.access import Account, AccountRole, Grant, Role, SubjectKind
from gateway.core.roles import has_user_owner, is_valid_grant, role_on

VALID = {
    ("user", "viewer"),
    ("user", "editor"),
    ("user", "owner"),
    ("department", "viewer"),
    ("department", "editor"),
    ("agent", "viewer"),
    ("channel", "viewer"),
}
MEI = Account("u1", "mei", "Mei", AccountRole.MEMBER, "Sales")


@pytest.mark.parametrize(("kind", "role"), list(product(SubjectKind, Role)))
def test_which_kind_may_have_which_role(kind: SubjectKind, role: Role) -> None:
    assert is_valid_grant(Grant("c", kind, "x", role)) is ((kind.value, role.value) in VALID)


@pytest.mark.parametrize("subject", ["", " ", "\n", "\u3000"])
def test_a_grant_to_nobody_is_void(subject: str) -> None:
    assert not is_valid_grant(Grant("c", SubjectKind.USER, subject, Role.OWNER))
    assert not has_user_owner([Grant("c", SubjectKind.USER, subject, Role.OWNER)])


def test_a_kind_or_role_from_a_newer_version_is_void() -> None:
    grant = Grant("c", SubjectKind.USER, "u1", Role.OWNER)
    object.__setattr__(grant, "subject_kind", "team")
    assert not is_valid_grant(grant)
    object.__setattr__(grant, "subject_kind", SubjectKind.USER)
    object.__setattr__(grant, "role", "auditor")
    assert not is_valid_grant(grant)


OWNERS = [
    ([], False),
    ([Grant("c", SubjectKind.USER, "u1", Role.EDITOR)], False),
    ([Grant("c", SubjectKind.DEPARTMENT, "Sales", Role.OWNER)], False),
    ([Grant("c", SubjectKind.AGENT, "a1", Role.OWNER)], False),
    ([Grant("c", SubjectKind.USER, "u1", Role.OWNER)], True),
    (
        [
            Grant("c", SubjectKind.CHANNEL, "line", Role.VIEWER),
            Grant("c", SubjectKind.USER, "u1", Role.OWNER),
        ],
        True,
    ),
]


@pytest.mark.parametrize(("grants", "has_owner"), OWNERS)
def test_somebody_stays_owner(grants: list[Grant], *, has_owner: bool) -> None:
    assert has_user_owner(grants) is has_owner


ROLES = [
    ([], None),
    ([Grant("c", SubjectKind.USER, "u1", Role.VIEWER)], Role.VIEWER),
    ([Grant("c", SubjectKind.USER, "u2", Role.OWNER)], None),
    ([Grant("other", SubjectKind.USER, "u1", Role.OWNER)], None),
    ([Grant("c", SubjectKind.DEPARTMENT, "Sales", Role.EDITOR)], Role.EDITOR),
    ([Grant("c", SubjectKind.DEPARTMENT, "sales", Role.EDITOR)], None),
    ([Grant("c", SubjectKind.DEPARTMENT, "Sales", Role.OWNER)], None),
    ([Grant("c", SubjectKind.AGENT, "u1", Role.VIEWER)], None),
    ([Grant("c", SubjectKind.CHANNEL, "Sales", Role.VIEWER)], None),
    (
        [
            Grant("c", SubjectKind.USER, "u1", Role.EDITOR),
            Grant("c", SubjectKind.USER, "u1", Role.VIEWER),
            Grant("c", SubjectKind.DEPARTMENT, "Sales", Role.VIEWER),
        ],
        Role.EDITOR,
    ),
]


@pytest.mark.parametrize(("grants", "role"), ROLES)
def test_role_of_a_member(grants: list[Grant], role: Role | None) -> None:
    assert role_on(MEI, "c", grants) is role
    assert role_on(MEI, "c", grants[::-1]) is role
    assert role_on(replace(MEI, role=AccountRole.MANAGER), "c", grants) is role
    assert role_on(replace(MEI, is_active=False), "c", grants) is None


def test_an_active_admin_owns_everything() -> None:
    admin = replace(MEI, role=AccountRole.ADMIN)
    assert role_on(admin, "c", []) is Role.OWNER
    assert role_on(replace(admin, is_active=False), "c", []) is None


ANY_GRANT = st.builds(
    Grant,
    st.sampled_from(["c", "d"]),
    st.sampled_from(list(SubjectKind)),
    st.sampled_from(["u1", "Sales", ""]),
    st.sampled_from(list(Role)),
)


@given(st.lists(ANY_GRANT), ANY_GRANT)
def test_one_more_grant_never_lowers_a_role(grants: list[Grant], extra: Grant) -> None:
    before = role_on(MEI, "c", grants)
    after = role_on(MEI, "c", [*grants, extra])
    assert (before.rank if before else 0) <= (after.rank if after else 0)

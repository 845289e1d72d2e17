"""Who may change whom, the last admin, the last owner, departments, what can be checked."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.access import (
    Account,
    AccountRole,
    AgentSide,
    BindingRole,
    Collection,
    Grant,
    Role,
    ScopeFacts,
    Sensitivity,
    SubjectKind,
)
from gateway.core.binding_rules import AgentAct, keeps_owner, may, may_place, shared_slugs
from gateway.core.people import AccountChange, changed, is_line, may_change, takes_last_admin

ROLES = st.sampled_from(AccountRole)
DEPARTMENTS = st.sampled_from(["", "HR", "Sales"])
ACCOUNTS = st.builds(
    Account,
    id=st.sampled_from(["a", "b", "c"]),
    login=st.just("x"),
    display_name=st.just("X"),
    role=ROLES,
    department=DEPARTMENTS,
    is_active=st.booleans(),
)
CHANGES = st.builds(
    AccountChange,
    display_name=st.none() | st.just("Y"),
    role=st.none() | ROLES,
    department=st.none() | DEPARTMENTS,
    language=st.none() | st.sampled_from(["", "ja"]),
    is_active=st.none() | st.booleans(),
)
BINDINGS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(BindingRole))


@given(by=ACCOUNTS, of=ACCOUNTS, change=CHANGES)
def test_nobody_but_an_active_admin_changes_what_a_person_may_read(
    by: Account, of: Account, change: AccountChange
) -> None:
    if not may_change(by, of, change):
        return
    after = changed(of, change)
    if by.is_admin:
        return
    assert by.is_active
    assert by.id == of.id
    assert replace(after, language=None) == replace(of, language=None)


@given(of=ACCOUNTS, change=CHANGES)
def test_a_change_touches_what_is_given_alone(of: Account, change: AccountChange) -> None:
    after = changed(of, change)
    for name in ("display_name", "role", "department", "is_active"):
        given_value = getattr(change, name)
        assert getattr(after, name) == (getattr(of, name) if given_value is None else given_value)
    assert after.language == (of.language if change.language is None else change.language or None)


@given(before=ACCOUNTS, change=CHANGES, others=st.integers(0, 3))
def test_an_admin_is_kept_back_exactly_where_none_would_be_left(
    before: Account, change: AccountChange, others: int
) -> None:
    after = changed(before, change)
    left = others + after.is_admin
    assert takes_last_admin(before, after, others) == (before.is_admin and left == 0)


TALK, SEE, EDIT = AgentAct.TALK, AgentAct.SEE, AgentAct.EDIT
TABLE = {
    BindingRole.OWNER: {TALK, SEE, EDIT},
    BindingRole.OPERATOR: {TALK, SEE},
    BindingRole.VIEWER: {TALK},
    None: set(),
}


@pytest.mark.parametrize("role", [*BindingRole, None])
@pytest.mark.parametrize("act", AgentAct)
def test_owners_edit_operators_see_viewers_talk(role: BindingRole | None, act: AgentAct) -> None:
    member = Account("a", "a", "A", AccountRole.MEMBER)
    manager = replace(member, role=AccountRole.MANAGER)
    assert may(member, role, act) == may(manager, role, act) == (act in TABLE[role])
    assert may(replace(member, role=AccountRole.ADMIN), role, act)


@given(
    account=ACCOUNTS, role=st.none() | st.sampled_from(BindingRole), act=st.sampled_from(AgentAct)
)
def test_an_inactive_account_does_nothing_with_any_agent(
    account: Account, role: BindingRole | None, act: AgentAct
) -> None:
    assert not may(replace(account, is_active=False), role, act)


@given(before=BINDINGS, after=BINDINGS, active=st.sets(st.sampled_from("abcd")))
def test_an_agent_with_an_owner_who_can_sign_in_keeps_one(
    before: dict[str, BindingRole], after: dict[str, BindingRole], active: set[str]
) -> None:
    had = any(role is BindingRole.OWNER and who in active for who, role in before.items())
    has = any(role is BindingRole.OWNER and who in active for who, role in after.items())
    assert keeps_owner(before, after, active) == (has or not had)


@given(account=ACCOUNTS, before=DEPARTMENTS, after=DEPARTMENTS)
def test_an_agent_goes_to_a_department_of_its_editor_alone(
    account: Account, before: str, after: str
) -> None:
    if may_place(account, before, after) and not account.is_admin:
        assert after in ("", before) or after == account.department
        assert account.is_active
    if account.is_admin:
        assert may_place(account, before, after)


COLLECTIONS = tuple(
    Collection(f"c{n}", n, f"slug-{n}", f"Name {n}", Sensitivity.INTERNAL) for n in range(3)
)
GRANTS = st.builds(
    Grant,
    collection_id=st.sampled_from(["c0", "c1", "c2", "gone"]),
    subject_kind=st.sampled_from(SubjectKind),
    subject_id=st.sampled_from(["bot", "HR", "other", "", " "]),
    role=st.sampled_from(Role),
)


@given(grants=st.lists(GRANTS), department=st.sampled_from(["", " ", "HR"]))
def test_what_can_be_checked_is_what_is_granted_to_the_agent_or_its_department(
    grants: list[Grant], department: str
) -> None:
    found = shared_slugs(
        AgentSide("bot", department, None), ScopeFacts(COLLECTIONS, tuple(grants), 1)
    )
    expected = {
        each.slug
        for each in COLLECTIONS
        for grant in grants
        if grant.collection_id == each.id
        and (
            (grant.subject_kind, grant.subject_id, grant.role)
            == (SubjectKind.AGENT, "bot", Role.VIEWER)
            or (
                grant.subject_kind is SubjectKind.DEPARTMENT
                and grant.subject_id == department == "HR"
                and grant.role in (Role.VIEWER, Role.EDITOR)
            )
        )
    }
    assert found == expected


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("王小明", True),
        ("山田　太郎", True),
        ("", True),
        ("x" * 100, True),
        ("x" * 101, False),
        ("a\nb", False),
        ("a\u2028b", False),
        ("a\u202eb", False),
        ("a\x00", False),
        ("\ud800", False),
        ("👩‍💻", True),
    ],
)
def test_a_name_is_one_line_that_hides_nothing(text: str, is_one: bool) -> None:
    assert is_line(text, 100) is is_one

"""To whom a collection may be given: tables, and a second version written from the document."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.core.access import (
    Account,
    AccountRole,
    Collection,
    EmbeddingPolicy,
    Grant,
    Role,
    Sensitivity,
    SubjectKind,
)
from gateway.core.naming import is_searchable, matches
from gateway.core.roles import is_valid_grant, may_create, owns_one
from gateway.core.sharing import (
    MOST_GRANTS,
    ChannelSubject,
    GrantChange,
    Shareable,
    changes,
    channel_subject,
    has_active_owner,
    refused,
    warnings,
    well_formed,
)
from gateway.core.shelving import (
    CollectionDraft,
    checked_draft,
    checked_label,
    checked_name,
    checked_text,
    differences,
)
from gateway.errors import InvalidRequestError

USER, DEPARTMENT = SubjectKind.USER, SubjectKind.DEPARTMENT
AGENT, CHANNEL = SubjectKind.AGENT, SubjectKind.CHANNEL

SUBJECTS = [
    ("line", ChannelSubject("line")),
    ("whatsapp", ChannelSubject("whatsapp")),
    ("widget", ChannelSubject("widget")),
    ("odoolivechat", ChannelSubject("odoolivechat")),
    ("line/main", ChannelSubject("line", "main")),
    ("line/a:b", ChannelSubject("line", "a:b")),
    ("line:C1", ChannelSubject("line", chat="C1")),
    ("slack:T1/C1", ChannelSubject("slack", chat="T1/C1")),
    ("webchat", None),  # its readers are accounts, always
    ("LINE", None),
    ("line ", None),
    ("myspace", None),
    ("myspace/main", None),
    ("line/", None),
    ("line:", None),
    (":C1", None),
    ("", None),
]


@pytest.mark.parametrize(("subject_id", "subject"), SUBJECTS)
def test_a_channel_subject_is_a_platform_an_account_or_a_chat(
    subject_id: str, subject: ChannelSubject | None
) -> None:
    assert channel_subject(subject_id) == subject


MAY = Shareable(
    frozenset({"u1"}), frozenset({"HR"}), frozenset({"hana"}), frozenset({("line", "main")})
)
ALLOWED = [
    (USER, "u1", True),
    (USER, "u2", False),
    (DEPARTMENT, "HR", True),
    (DEPARTMENT, "hr", False),
    (DEPARTMENT, "u1", False),
    (AGENT, "hana", True),
    (AGENT, "ken", False),
    (CHANNEL, "line", True),
    (CHANNEL, "telegram", True),
    (CHANNEL, "line/main", True),
    (CHANNEL, "line/second", False),
    (CHANNEL, "telegram/main", False),
    (CHANNEL, "line:C1", True),
    (CHANNEL, "line:C 1", False),
    (CHANNEL, "line:C1\n", False),
    (CHANNEL, "line:\x00", False),
    (CHANNEL, "webchat", False),
]


@pytest.mark.parametrize(("kind", "subject", "is_allowed"), ALLOWED)
def test_whom_one_may_share_with(kind: SubjectKind, subject: str, *, is_allowed: bool) -> None:
    assert MAY.allows(Grant("c", kind, subject, Role.VIEWER)) is is_allowed


# ---------------------------------------------------------------- a save, twice


IDS = {
    USER: ["u1", "u2", "u3"],
    DEPARTMENT: ["HR", "IT"],
    AGENT: ["hana", "ken"],
    CHANNEL: ["line", "line/main", "line/second", "line:C1", "webchat", "myspace"],
}
A_SUBJECT = st.sampled_from([(kind, each) for kind, ids in IDS.items() for each in ids])
A_ROLE = st.sampled_from(list(Role))


def batch(*, is_valid: bool) -> st.SearchStrategy[list[Grant]]:
    def grants(roles: dict[tuple[SubjectKind, str], Role]) -> list[Grant]:
        made = [Grant("c", kind, subject, role) for (kind, subject), role in roles.items()]
        return [each for each in made if is_valid_grant(each)] if is_valid else made

    return st.dictionaries(A_SUBJECT, A_ROLE, max_size=9).map(grants)


SOME = Shareable(
    frozenset({"u1", "u2"}),
    frozenset({"HR"}),
    frozenset({"hana"}),
    frozenset({("line", "main")}),
)
SHAREABLES = st.builds(
    Shareable,
    st.frozensets(st.sampled_from(IDS[USER])),
    st.frozensets(st.sampled_from(IDS[DEPARTMENT])),
    st.frozensets(st.sampled_from(IDS[AGENT])),
    st.frozensets(st.sampled_from([("line", "main"), ("line", "second")])),
)


RANK = {"viewer": 1, "editor": 2, "owner": 3}
MAY_HOLD = {
    "user": {"viewer", "editor", "owner"},
    "department": {"viewer", "editor"},
    "agent": {"viewer"},
    "channel": {"viewer"},
}


def naive_had(before: list[Grant], kind: str, subject: str) -> int:
    for old in before:
        if (old.subject_kind.value, old.subject_id) == (kind, subject):
            return RANK[old.role.value] if old.role.value in MAY_HOLD[kind] else 0
    return 0


def naive_allowed(kind: str, subject: str, may: Shareable) -> bool:
    lists = {"user": may.users, "department": may.departments, "agent": may.agents}
    if kind in lists:
        return subject in lists[kind]
    if subject.startswith("line/"):
        return ("line", subject.removeprefix("line/")) in may.channels
    return subject == "line" or subject.startswith("line:")


def naive_refused(before: list[Grant], after: list[Grant], may: Shareable) -> set[tuple[str, str]]:
    """Subject by subject, as the document tells it: the same or lowered is not asked about."""
    no = set()
    for new in after:
        kind, subject = new.subject_kind.value, new.subject_id
        is_more = RANK[new.role.value] > naive_had(before, kind, subject)
        if is_more and not naive_allowed(kind, subject, may):
            no.add((kind, subject))
    return no


@given(batch(is_valid=False), batch(is_valid=True), SHAREABLES)
@example(
    [Grant("c", DEPARTMENT, "IT", Role.OWNER)], [Grant("c", DEPARTMENT, "IT", Role.VIEWER)], SOME
)
@example([Grant("c", USER, "u3", Role.OWNER)], [Grant("c", USER, "u3", Role.EDITOR)], SOME)
@example([Grant("c", USER, "u3", Role.VIEWER)], [Grant("c", USER, "u3", Role.EDITOR)], SOME)
def test_what_is_refused_agrees_with_the_naive_version(
    before: list[Grant], after: list[Grant], may: Shareable
) -> None:
    found = {(str(g.subject_kind), g.subject_id) for g in refused(before, after, may)}
    assert found == naive_refused(before, after, may)


@given(batch(is_valid=False), batch(is_valid=True), SHAREABLES)
def test_what_is_saved_gives_nobody_more_than_was_had_or_may_be_given(
    before: list[Grant], after: list[Grant], may: Shareable
) -> None:
    if refused(before, after, may):
        return
    had = {(g.subject_kind, g.subject_id): g.role.rank for g in before if is_valid_grant(g)}
    for grant in after:
        more = grant.role.rank > had.get((grant.subject_kind, grant.subject_id), 0)
        assert may.allows(grant) or not more


@given(batch(is_valid=True), SHAREABLES)
def test_saving_the_same_again_or_less_is_never_refused(
    grants: list[Grant], may: Shareable
) -> None:
    assert refused(grants, grants, may) == ()
    assert refused(grants, grants[1:], may) == ()
    lowered = [replace(each, role=Role.VIEWER) for each in grants]
    assert refused(grants, lowered, may) == ()
    assert changes(grants, grants[::-1]) == ()


@given(batch(is_valid=True), batch(is_valid=True))
def test_changes_lead_from_the_old_grants_to_the_new(
    before: list[Grant], after: list[Grant]
) -> None:
    held = {(g.subject_kind, g.subject_id): g.role for g in before}
    for change in changes(before, after):
        key = (change.subject_kind, change.subject_id)
        assert held.pop(key, None) is change.old
        assert change.old is not change.new
        if change.new is not None:
            held[key] = change.new
    assert held == {(g.subject_kind, g.subject_id): g.role for g in after}


def test_a_void_grant_is_no_role_to_come_from() -> None:
    void = [Grant("c", DEPARTMENT, "IT", Role.OWNER)]
    now = [Grant("c", DEPARTMENT, "IT", Role.VIEWER)]
    assert changes(void, now) == (GrantChange(DEPARTMENT, "IT", None, Role.VIEWER),)
    assert changes(void, []) == ()


# ---------------------------------------------------------------- the last owner


@given(batch(is_valid=False), st.frozensets(st.sampled_from(IDS[USER])))
def test_an_active_person_stays_owner(grants: list[Grant], active: frozenset[str]) -> None:
    naive = False
    for grant in grants:
        if grant.subject_kind.value == "user" and grant.role.value == "owner":
            naive = naive or grant.subject_id in active
    assert has_active_owner(grants, active) is naive


def test_a_department_with_an_active_persons_id_is_no_owner() -> None:
    assert not has_active_owner([Grant("c", DEPARTMENT, "u1", Role.OWNER)], frozenset({"u1"}))


FORMS = [
    ([Grant("c", USER, "u1", Role.OWNER)], True),
    ([], True),
    ([Grant("c", USER, "u1", Role.OWNER), Grant("c", USER, "u1", Role.VIEWER)], False),
    ([Grant("c", USER, "u1", Role.OWNER), Grant("c", AGENT, "u1", Role.VIEWER)], True),
    ([Grant("c", AGENT, "hana", Role.EDITOR)], False),
    ([Grant("c", DEPARTMENT, "d" * 257, Role.VIEWER)], False),
    ([Grant("c", USER, f"u{n}", Role.VIEWER) for n in range(MOST_GRANTS)], True),
    ([Grant("c", USER, f"u{n}", Role.VIEWER) for n in range(MOST_GRANTS + 1)], False),
]


@pytest.mark.parametrize(("grants", "is_fine"), FORMS)
def test_a_batch_names_each_subject_once(grants: list[Grant], *, is_fine: bool) -> None:
    assert well_formed(grants) is is_fine


# ---------------------------------------------------------------- warnings


OURS = [("line", "main"), ("line", "second"), ("telegram", "bot")]
WARNED = [
    ("line", "internal", ["whole_channel", "several_accounts"]),
    ("telegram", "public", ["whole_channel"]),
    ("line/main", "internal", ["whole_channel"]),
    ("line/main", "personal", ["whole_channel", "direct_only"]),
    ("line:C1", "internal", []),
    ("line:C1", "restricted", ["direct_only"]),
    ("widget", "public", ["whole_channel"]),
    ("widget", "internal", ["whole_channel", "never_readable"]),
    ("odoolivechat", "restricted", ["whole_channel", "never_readable"]),
    ("widget:v1", "personal", ["never_readable"]),
    ("myspace", "restricted", []),
]


@pytest.mark.parametrize(("subject", "sensitivity", "codes"), WARNED)
def test_what_is_warned_of(subject: str, sensitivity: str, codes: list[str]) -> None:
    grants = [Grant("c", CHANNEL, subject, Role.VIEWER), Grant("c", USER, "line", Role.VIEWER)]
    found = warnings(grants, Sensitivity(sensitivity), OURS)
    assert [(each.code.value, each.subject_id) for each in found] == [(c, subject) for c in codes]


# ---------------------------------------------------------------- names

QUERIES = [
    ("", False),
    ("王", False),
    (" 王\u3000", False),
    ("王小", True),
    ("ａｂ", True),
    ("ﬁ", True),  # NFKC makes two letters of it
    ("\U00020bb7", False),  # one character, though two units in UTF-16
    ("a ", False),
]


@pytest.mark.parametrize(("query", "is_enough"), QUERIES)
def test_a_search_needs_two_characters(query: str, *, is_enough: bool) -> None:
    assert is_searchable(query) is is_enough


def test_names_are_found_whatever_their_width_and_case() -> None:
    for query, name in (("ABC", "ａｂｃ 股份"), (" 小明 ", "王小明"), ("ken", "KEN"), ("", "x")):
        assert matches(query, name)
    assert not matches("ken", "Keiko")
    assert not matches("%", "Ken")


# ---------------------------------------------------------------- settings

MEI = Account("u1", "mei", "Mei", AccountRole.MANAGER)


def test_managers_and_admins_create() -> None:
    roles = [may_create(replace(MEI, role=role)) for role in AccountRole]
    assert dict(zip(AccountRole, roles, strict=True)) == {
        AccountRole.ADMIN: True,
        AccountRole.MANAGER: True,
        AccountRole.MEMBER: False,
    }
    assert not may_create(replace(MEI, is_active=False))


def test_only_a_persons_own_grant_makes_an_owner() -> None:
    mine = Grant("c", USER, "u1", Role.OWNER)
    assert owns_one(MEI, [mine])
    assert not owns_one(replace(MEI, is_active=False), [mine])
    for other in (
        replace(mine, role=Role.EDITOR),
        replace(mine, subject_id="u2"),
        Grant("c", DEPARTMENT, "", Role.OWNER),
    ):
        assert not owns_one(MEI, [other])


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\u2028b", "a\x00", "長" * 201])
def test_a_name_is_one_line(name: str) -> None:
    with pytest.raises(InvalidRequestError):
        checked_name(name)
    if name.strip():
        with pytest.raises(InvalidRequestError):
            checked_label(name)


def test_texts_are_kept_within_bounds() -> None:
    assert (
        checked_draft(CollectionDraft(" 就業\u3000規則 ", description=" a\nb ")).name
        == "就業\u3000規則"
    )
    assert checked_label("") == ""
    with pytest.raises(InvalidRequestError):
        checked_text("x" * 2_001)


def test_a_change_is_told_without_the_text_of_the_description() -> None:
    before = Collection("c", 1, "hr", "人事", Sensitivity.INTERNAL, "old secret")
    after = replace(
        before,
        sensitivity=Sensitivity.PUBLIC,
        description="new secret",
        embedding_policy=EmbeddingPolicy.LOCAL_ONLY,
    )
    assert differences(before, before) == ()
    assert differences(before, after) == (
        {"setting": "description"},
        {"setting": "sensitivity", "old": "internal", "new": "public"},
        {"setting": "embedding_policy", "old": "any", "new": "local_only"},
    )

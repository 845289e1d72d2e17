"""The table of turn kinds, row by row; allowed and refused cases share their set-up."""

from dataclasses import replace

import pytest

from gateway.catalogue import LANGUAGES, STRINGS
from gateway.core.access import (
    Account,
    AgentSide,
    Audience,
    AudienceKind,
    ChatAddress,
    Grant,
    Role,
    ScopeFacts,
    SubjectKind,
)
from gateway.core.scope import Scope, decide, explain, renew, without_restricted
from gateway.core.scope_kinds import root
from gateway.core.scope_reasons import Why
from tests.core import scope_world as w

ALL = "public internal personal restricted"
OPEN = "public internal"
NONE = ""
CHAT_GRANTS = (w.TO_BOT, w.TO_LINE, w.TO_SITE)
PERSON_GRANTS = (w.TO_BOT, w.TO_MEI)
ADMIN_DASHBOARD = replace(w.DASHBOARD, account=w.ADMIN)
ADMIN_WEBCHAT = replace(w.WEBCHAT, account=w.ADMIN)
ADMIN_DOOR = replace(w.DOOR, account=w.ADMIN)
ADMIN_LINKED = replace(w.LINKED, account=w.ADMIN)


def readable(scope: Scope) -> str:
    return " ".join(each.slug for each in w.EACH if each.id in scope.collections)


def row(
    name: str,
    audience: Audience,
    agent: AgentSide | None,
    facts: ScopeFacts,
    expected: str,
) -> object:
    return pytest.param(audience, agent, facts, expected, id=name)


ROWS = [
    # the dashboard, an API token, --as: no agent
    row("dashboard_user_grant", w.DASHBOARD, None, w.facts(w.TO_MEI), ALL),
    row("dashboard_department_grant", w.DASHBOARD, None, w.facts(w.TO_SALES), ALL),
    row("dashboard_nothing_granted", w.DASHBOARD, None, w.facts(), NONE),
    row("dashboard_no_channel_grants", w.DASHBOARD, None, w.facts(w.TO_LINE), NONE),
    row("dashboard_no_agent_grants", w.DASHBOARD, None, w.facts(w.TO_BOT), NONE),
    row("dashboard_admin_all", ADMIN_DASHBOARD, None, w.facts(account=w.ADMIN), ALL),
    row("dashboard_admin_lost_role", ADMIN_DASHBOARD, None, w.facts(account=w.MEI), NONE),
    row("dashboard_with_agent_is_a_door", w.DASHBOARD, w.BOT, w.facts(*PERSON_GRANTS), OPEN),
    row(
        "dashboard_with_agent_has_no_override",
        ADMIN_DASHBOARD,
        w.BOT,
        w.facts(w.TO_BOT, account=w.ADMIN),
        NONE,
    ),
    # signed-in web chat
    row("webchat_user_grant", w.WEBCHAT, w.BOT, w.facts(*PERSON_GRANTS), ALL),
    row("webchat_department_grant", w.WEBCHAT, w.BOT, w.facts(w.TO_BOT, w.TO_SALES), ALL),
    row("webchat_not_granted_to_agent", w.WEBCHAT, w.BOT, w.facts(w.TO_MEI), NONE),
    row("webchat_not_granted_to_person", w.WEBCHAT, w.BOT, w.facts(w.TO_BOT), NONE),
    row(
        "webchat_no_channel_grants",
        replace(w.WEBCHAT, address=ChatAddress("line", "main", "C1")),
        w.BOT,
        w.facts(*CHAT_GRANTS),
        NONE,
    ),
    row(
        "webchat_not_direct",
        replace(w.WEBCHAT, is_direct=False),
        w.BOT,
        w.facts(*PERSON_GRANTS),
        OPEN,
    ),
    row(
        "webchat_admin_all_of_agent", ADMIN_WEBCHAT, w.BOT, w.facts(w.TO_BOT, account=w.ADMIN), ALL
    ),
    row("webchat_admin_within_agent", ADMIN_WEBCHAT, w.BOT, w.facts(account=w.ADMIN), NONE),
    row(
        "webchat_admin_not_direct",
        replace(ADMIN_WEBCHAT, is_direct=False),
        w.BOT,
        w.facts(w.TO_BOT, account=w.ADMIN),
        OPEN,
    ),
    row("webchat_without_agent", w.WEBCHAT, None, w.facts(w.TO_MEI), NONE),
    # an account asking an agent through a key, MCP or the command line
    row("door_never_direct", w.DOOR, w.BOT, w.facts(*PERSON_GRANTS), OPEN),
    row("door_department_grant", w.DOOR, w.BOT, w.facts(w.TO_BOT, w.TO_SALES), OPEN),
    row("door_admin_has_no_override", ADMIN_DOOR, w.BOT, w.facts(w.TO_BOT, account=w.ADMIN), NONE),
    row("door_no_channel_grants", w.DOOR, w.BOT, w.facts(*CHAT_GRANTS), NONE),
    row("door_without_agent", w.DOOR, None, w.facts(w.TO_MEI), NONE),
    # messaging app, linked
    row("linked_user_grant", w.LINKED, w.BOT, w.facts(*PERSON_GRANTS), ALL),
    row("linked_department_grant", w.LINKED, w.BOT, w.facts(w.TO_BOT, w.TO_SALES), ALL),
    row("linked_channel_grant", w.LINKED, w.BOT, w.facts(*CHAT_GRANTS), ALL),
    row("linked_group_user_grant", w.LINKED_GROUP, w.BOT, w.facts(*PERSON_GRANTS), OPEN),
    row("linked_group_channel_grant", w.LINKED_GROUP, w.BOT, w.facts(*CHAT_GRANTS), OPEN),
    row("linked_nothing_granted", w.LINKED, w.BOT, w.facts(w.TO_BOT), NONE),
    row(
        "linked_admin_has_no_override",
        ADMIN_LINKED,
        w.BOT,
        w.facts(w.TO_BOT, account=w.ADMIN),
        NONE,
    ),
    row(
        "linked_admin_by_grant", ADMIN_LINKED, w.BOT, w.facts(*PERSON_GRANTS, account=w.ADMIN), ALL
    ),
    row(
        "linked_link_ended",
        w.LINKED,
        w.BOT,
        w.facts(*PERSON_GRANTS, *CHAT_GRANTS, is_link_valid=False),
        NONE,
    ),
    row(
        "linked_account_gone",
        w.LINKED,
        w.BOT,
        w.facts(*PERSON_GRANTS, *CHAT_GRANTS, account=None),
        NONE,
    ),
    row(
        "linked_account_inactive",
        w.LINKED,
        w.BOT,
        w.facts(*PERSON_GRANTS, *CHAT_GRANTS, account=replace(w.MEI, is_active=False)),
        NONE,
    ),
    row(
        "linked_other_account",
        w.LINKED,
        w.BOT,
        w.facts(*PERSON_GRANTS, account=replace(w.MEI, id="u-other")),
        NONE,
    ),
    row(
        "linked_without_account",
        replace(w.LINKED, account=None),
        w.BOT,
        w.facts(w.TO_BOT, w.TO_MEI),
        NONE,
    ),
    row(
        "linked_on_a_website",
        replace(w.LINKED, address=w.WIDGET),
        w.BOT,
        w.facts(*CHAT_GRANTS),
        NONE,
    ),
    row("linked_without_agent", w.LINKED, None, w.facts(*PERSON_GRANTS), NONE),
    # messaging app, any other sender
    row("unlinked_channel_grant", w.UNLINKED, w.BOT, w.facts(*CHAT_GRANTS, account=None), ALL),
    row("unlinked_group", w.UNLINKED_GROUP, w.BOT, w.facts(*CHAT_GRANTS, account=None), OPEN),
    row("unlinked_no_user_grants", w.UNLINKED, w.BOT, w.facts(*PERSON_GRANTS, w.TO_SALES), NONE),
    row(
        "unlinked_on_a_website",
        replace(w.UNLINKED, address=w.WIDGET),
        w.BOT,
        w.facts(*CHAT_GRANTS),
        NONE,
    ),
    row("unlinked_nowhere", replace(w.UNLINKED, address=None), w.BOT, w.facts(*CHAT_GRANTS), NONE),
    row("unlinked_without_agent", w.UNLINKED, None, w.facts(*CHAT_GRANTS), NONE),
    # visitors
    row("visitor_widget", w.VISITOR, w.BOT, w.facts(*CHAT_GRANTS), "public"),
    row(
        "visitor_livechat",
        replace(w.VISITOR, address=w.LIVECHAT),
        w.BOT,
        w.facts(*CHAT_GRANTS),
        "public",
    ),
    row("visitor_not_granted", w.VISITOR, w.BOT, w.facts(w.TO_BOT, w.TO_LINE, w.TO_MEI), NONE),
    row(
        "visitor_of_the_other_site",
        w.VISITOR,
        w.BOT,
        w.facts(w.TO_BOT, w.on_each(SubjectKind.CHANNEL, "odoolivechat")),
        NONE,
    ),
    row(
        "visitor_on_line",
        replace(w.VISITOR, address=w.LINE_CHAT),
        w.BOT,
        w.facts(*CHAT_GRANTS),
        NONE,
    ),
    row("visitor_without_agent", w.VISITOR, None, w.facts(*CHAT_GRANTS), NONE),
    # system turns
    row("system_open_only", w.SYSTEM, w.BOT, w.facts(w.TO_BOT), OPEN),
    row(
        "system_by_department",
        w.SYSTEM,
        w.BOT,
        w.facts(w.on_each(SubjectKind.DEPARTMENT, "Support")),
        OPEN,
    ),
    row("system_not_granted_to_agent", w.SYSTEM, w.BOT, w.facts(w.TO_MEI, w.TO_LINE), NONE),
    row("system_without_agent", w.SYSTEM, None, w.facts(w.TO_BOT), NONE),
    # dispatches from a chat turn
    row("delegated_webchat", w.dispatched(w.WEBCHAT), w.BOT, w.facts(*PERSON_GRANTS), OPEN),
    row(
        "delegated_webchat_no_channel", w.dispatched(w.WEBCHAT), w.BOT, w.facts(*CHAT_GRANTS), NONE
    ),
    row("delegated_dashboard", w.dispatched(w.DASHBOARD), w.BOT, w.facts(*PERSON_GRANTS), OPEN),
    row("delegated_without_agent", w.dispatched(w.DASHBOARD), None, w.facts(w.TO_MEI), NONE),
    row(
        "delegated_admin_has_no_override",
        w.dispatched(ADMIN_WEBCHAT),
        w.BOT,
        w.facts(w.TO_BOT, account=w.ADMIN),
        NONE,
    ),
    row("delegated_linked", w.dispatched(w.LINKED), w.BOT, w.facts(*PERSON_GRANTS), OPEN),
    row("delegated_linked_channel", w.dispatched(w.LINKED), w.BOT, w.facts(*CHAT_GRANTS), OPEN),
    row(
        "delegated_linked_link_ended",
        w.dispatched(w.LINKED),
        w.BOT,
        w.facts(*PERSON_GRANTS, is_link_valid=False),
        NONE,
    ),
    row("delegated_unlinked", w.dispatched(w.UNLINKED), w.BOT, w.facts(*CHAT_GRANTS), OPEN),
    row(
        "delegated_unlinked_no_user", w.dispatched(w.UNLINKED), w.BOT, w.facts(*PERSON_GRANTS), NONE
    ),
    row("delegated_visitor", w.dispatched(w.VISITOR), w.BOT, w.facts(*CHAT_GRANTS), "public"),
    row("delegated_system", w.dispatched(w.SYSTEM), w.BOT, w.facts(w.TO_BOT), OPEN),
    row(
        "delegated_twice",
        w.dispatched(w.dispatched(w.LINKED)),
        w.BOT,
        w.facts(*PERSON_GRANTS),
        OPEN,
    ),
    row("delegated_not_granted_to_agent", w.dispatched(w.LINKED), w.BOT, w.facts(w.TO_MEI), NONE),
    row("delegated_unknown_upstream", w.dispatched(None), w.BOT, w.facts(*PERSON_GRANTS), NONE),
    row("delegated_from_nobody", w.dispatched(w.NOBODY), w.BOT, w.facts(*PERSON_GRANTS), NONE),
    # no identity
    row("none", w.NOBODY, w.BOT, w.facts(*PERSON_GRANTS, *CHAT_GRANTS), NONE),
    row(
        "none_with_account",
        replace(w.NOBODY, account=w.ADMIN),
        None,
        w.facts(account=w.ADMIN),
        NONE,
    ),
]


@pytest.mark.parametrize(("audience", "agent", "facts", "expected"), ROWS)
def test_turn_kind(
    audience: Audience, agent: AgentSide | None, facts: ScopeFacts, expected: str
) -> None:
    scope = decide(audience, agent, facts)
    assert readable(scope) == expected
    assert scope.is_empty is (expected == NONE)
    assert scope.audience == audience
    assert scope.generation == facts.generation
    assert explain(audience, agent, facts) == scope.reasons


AGENT_SIDES = [
    pytest.param(w.BOT, ALL, id="no_list_all_granted"),
    pytest.param(replace(w.BOT, slugs=frozenset()), NONE, id="empty_list_nothing"),
    pytest.param(replace(w.BOT, slugs=frozenset({"internal"})), "internal", id="list_narrows"),
    pytest.param(
        replace(w.BOT, slugs=frozenset({"public", "typo"})), "public", id="unknown_ignored"
    ),
    pytest.param(replace(w.BOT, slugs=frozenset({"typo"})), NONE, id="only_unknown_is_nothing"),
    pytest.param(replace(w.BOT, slugs=frozenset({"c-public"})), NONE, id="ids_are_not_slugs"),
    pytest.param(replace(w.BOT, is_archived=True), NONE, id="archived_nothing"),
    pytest.param(replace(w.BOT, agent_id="a-other"), NONE, id="another_agent"),
    pytest.param(replace(w.BOT, agent_id="a-other", department="Sales"), ALL, id="by_department"),
    pytest.param(
        replace(w.BOT, agent_id="a-other", department="sales"), NONE, id="department_exact"
    ),
    pytest.param(AgentSide("", "", None), NONE, id="nameless_agent"),
]


@pytest.mark.parametrize(("agent", "expected"), AGENT_SIDES)
def test_agent_side(agent: AgentSide, expected: str) -> None:
    empty = w.on_each(SubjectKind.AGENT, "") + w.on_each(SubjectKind.DEPARTMENT, "")
    facts = w.facts(w.TO_BOT, w.TO_SALES, empty)
    assert readable(decide(w.WEBCHAT, agent, facts)) == expected


CHAT = ChatAddress("line", "main", "T1", parent_id="C1")
CHANNEL_GRANTS = [
    pytest.param("line", CHAT, True, id="platform_covers_every_account"),
    pytest.param("line", replace(CHAT, account_name="second"), True, id="platform_other_account"),
    pytest.param("line/main", CHAT, True, id="one_account"),
    pytest.param(
        "line/main", replace(CHAT, account_name="second"), False, id="not_the_other_account"
    ),
    pytest.param("line:T1", CHAT, True, id="the_conversation"),
    pytest.param("line:C1", CHAT, True, id="its_parent"),
    pytest.param("line:C2", CHAT, False, id="another_conversation"),
    pytest.param("line:c1", CHAT, False, id="ids_are_exact"),
    pytest.param("line:main", CHAT, False, id="an_account_is_not_a_chat"),
    pytest.param("line/C1", CHAT, False, id="a_chat_is_not_an_account"),
    pytest.param("lin", CHAT, False, id="no_prefixes"),
    pytest.param("slack", CHAT, False, id="another_platform"),
    pytest.param("slack:T9/C1", ChatAddress("slack", "hq", "T9/C1"), True, id="id_with_workspace"),
    pytest.param("line:", ChatAddress("line", "", "", ""), False, id="no_empty_chat"),
    pytest.param("line/", ChatAddress("line", "", "", ""), False, id="no_empty_account"),
    pytest.param("/main", ChatAddress("", "main", "C1"), False, id="no_empty_platform"),
    pytest.param("", ChatAddress("", "", ""), False, id="no_empty_subject"),
    pytest.param("*", CHAT, False, id="no_wildcards"),
]


@pytest.mark.parametrize(("subject", "address", "is_covered"), CHANNEL_GRANTS)
def test_channel_grant(subject: str, address: ChatAddress, *, is_covered: bool) -> None:
    facts = w.facts(w.TO_BOT, w.on_each(SubjectKind.CHANNEL, subject), account=None)
    audience = w.audience(AudienceKind.UNLINKED, None, address)
    assert readable(decide(audience, w.BOT, facts)) == (OPEN if is_covered else NONE)


BROKEN = [
    (SubjectKind.AGENT, "a-bot", Role.EDITOR),
    (SubjectKind.AGENT, "a-bot", Role.OWNER),
    (SubjectKind.DEPARTMENT, "Support", Role.OWNER),
]


@pytest.mark.parametrize(("kind", "subject", "role"), BROKEN)
def test_broken_grant_on_the_agent_side_is_void(
    kind: SubjectKind, subject: str, role: Role
) -> None:
    broken = w.on_each(kind, subject, role)
    assert decide(w.WEBCHAT, w.BOT, w.facts(w.TO_MEI, broken)).is_empty
    assert not decide(w.WEBCHAT, w.BOT, w.facts(w.TO_MEI, w.TO_BOT, broken)).is_empty


@pytest.mark.parametrize("role", [Role.EDITOR, Role.OWNER])
def test_broken_channel_grant_is_void(role: Role) -> None:
    broken = w.on_each(SubjectKind.CHANNEL, "line", role)
    assert decide(w.UNLINKED, w.BOT, w.facts(w.TO_BOT, broken)).is_empty


def test_a_department_of_no_name_is_nobodys() -> None:
    nameless = replace(w.MEI, department="")
    facts = w.facts(w.on_each(SubjectKind.DEPARTMENT, ""), account=nameless)
    assert decide(replace(w.DASHBOARD, account=nameless), None, facts).is_empty


def test_the_account_counts_as_it_is_now() -> None:
    moved = replace(w.MEI, department="Legal")
    facts = w.facts(w.TO_SALES, account=moved)
    assert decide(w.DASHBOARD, None, facts).is_empty
    facts = w.facts(w.on_each(SubjectKind.DEPARTMENT, "Legal"), account=moved)
    assert not decide(w.DASHBOARD, None, facts).is_empty


def test_a_grant_counts_for_its_own_collection_alone() -> None:
    grants = (w.grant(w.PUBLIC, SubjectKind.AGENT, "a-bot"),)
    crossed = (w.grant(w.INTERNAL, SubjectKind.USER, "u-mei"),)
    assert decide(w.WEBCHAT, w.BOT, w.facts(grants, crossed)).is_empty
    gone = (Grant("c-gone", SubjectKind.USER, "u-mei", Role.OWNER),)
    assert decide(w.DASHBOARD, None, w.facts(gone)).is_empty


# ---------------------------------------------------------------- explanations

EVERYTHING = (w.TO_BOT, w.TO_MEI, w.TO_SALES, w.TO_LINE, w.TO_SITE)
ONLY_PUBLIC = replace(w.BOT, slugs=frozenset({"public"}))
GONE: Account | None = None

EXPLAINED = [
    (w.NOBODY, w.BOT, w.facts(*EVERYTHING), w.PUBLIC, Why.NO_IDENTITY),
    (w.dispatched(None), w.BOT, w.facts(*EVERYTHING), w.PUBLIC, Why.UPSTREAM_UNKNOWN),
    (w.WEBCHAT, None, w.facts(*EVERYTHING), w.PUBLIC, Why.NO_AGENT),
    (
        w.WEBCHAT,
        replace(w.BOT, is_archived=True),
        w.facts(*EVERYTHING),
        w.PUBLIC,
        Why.AGENT_ARCHIVED,
    ),
    (w.WEBCHAT, w.BOT, w.facts(*EVERYTHING, account=GONE), w.PUBLIC, Why.ACCOUNT_INACTIVE),
    (w.LINKED, w.BOT, w.facts(*EVERYTHING, is_link_valid=False), w.PUBLIC, Why.LINK_ENDED),
    (w.LINKED, w.BOT, w.facts(w.TO_MEI), w.PUBLIC, Why.NOT_GRANTED_TO_AGENT),
    (w.LINKED, ONLY_PUBLIC, w.facts(*EVERYTHING), w.INTERNAL, Why.NOT_IN_AGENT_LIST),
    (w.LINKED, w.BOT, w.facts(w.TO_BOT), w.PUBLIC, Why.NOT_GRANTED_TO_PERSON),
    (w.DASHBOARD, None, w.facts(w.TO_BOT), w.PUBLIC, Why.NOT_GRANTED_TO_PERSON),
    (w.UNLINKED, w.BOT, w.facts(w.TO_BOT, w.TO_MEI), w.PUBLIC, Why.NOT_GRANTED_TO_CHANNEL),
    (w.VISITOR, w.BOT, w.facts(*EVERYTHING), w.INTERNAL, Why.VISITOR_PUBLIC_ONLY),
    (w.VISITOR, w.BOT, w.facts(*EVERYTHING), w.RESTRICTED, Why.VISITOR_PUBLIC_ONLY),
    (w.SYSTEM, w.BOT, w.facts(*EVERYTHING), w.PERSONAL, Why.SYSTEM_INTERNAL_ONLY),
    (w.LINKED_GROUP, w.BOT, w.facts(*EVERYTHING), w.PERSONAL, Why.NOT_DIRECT),
    (w.UNLINKED_GROUP, w.BOT, w.facts(*EVERYTHING), w.RESTRICTED, Why.NOT_DIRECT),
    (w.DOOR, w.BOT, w.facts(*EVERYTHING), w.RESTRICTED, Why.NOT_DIRECT),
    (ADMIN_DASHBOARD, None, w.facts(account=w.ADMIN), w.PUBLIC, Why.BY_ADMIN),
    (w.LINKED, w.BOT, w.facts(*EVERYTHING), w.PUBLIC, Why.BY_USER),
    (w.LINKED, w.BOT, w.facts(w.TO_BOT, w.TO_SALES, w.TO_LINE), w.PUBLIC, Why.BY_DEPARTMENT),
    (w.LINKED, w.BOT, w.facts(w.TO_BOT, w.TO_LINE), w.PUBLIC, Why.BY_CHANNEL),
    (w.SYSTEM, w.BOT, w.facts(*EVERYTHING), w.PUBLIC, Why.BY_AGENT),
]


@pytest.mark.parametrize(
    ("audience", "agent", "facts", "collection", "why"),
    EXPLAINED,
    ids=[f"{case[4].removeprefix('scope.')}-{case[0].kind}-{case[3].slug}" for case in EXPLAINED],
)
def test_explanation(
    audience: Audience,
    agent: AgentSide | None,
    facts: ScopeFacts,
    collection: object,
    why: Why,
) -> None:
    reasons = {each.collection_id: each for each in explain(audience, agent, facts)}
    assert set(reasons) == {each.id for each in w.EACH}
    found = reasons[getattr(collection, "id", "")]
    assert found.code == why
    assert found.is_readable is why.is_readable
    assert bool(found.detail) is (why.is_readable and why is not Why.BY_ADMIN)


def test_a_readable_collection_names_the_grants_that_allowed_it() -> None:
    others = w.on_each(SubjectKind.USER, "u-other")
    facts = w.facts(w.TO_LINE, w.TO_SALES, w.TO_MEI, w.TO_BOT, others)
    public = next(
        each for each in explain(w.LINKED, w.BOT, facts) if each.collection_id == "c-public"
    )
    assert public.detail == "agent:a-bot, channel:line, department:Sales, user:u-mei"


def test_every_code_has_its_sentence_in_three_languages_and_no_sentence_is_unused() -> None:
    codes = {why.value for why in Why}
    sentences = {key: texts for key, texts in STRINGS.items() if key.startswith("scope.")}
    assert set(sentences) == codes
    for texts in sentences.values():
        assert set(texts) == set(LANGUAGES)
        assert all(texts.values())


# ---------------------------------------------------------------- scopes that get smaller

WHOLE = decide(w.WEBCHAT, w.BOT, w.facts(*PERSON_GRANTS))


def codes(scope: Scope) -> dict[str, str]:
    return {each.collection_id: each.code for each in scope.reasons}


def test_narrowing_keeps_only_what_is_named_and_says_so() -> None:
    narrowed = WHOLE.narrow(frozenset({"c-public", "c-unknown"}))
    assert narrowed.collections == {"c-public"}
    assert codes(narrowed)["c-public"] == Why.BY_USER
    assert codes(narrowed)["c-internal"] == Why.NOT_ASKED_FOR
    assert narrowed.is_direct
    assert narrowed.generation == 7


def test_renewing_never_brings_in_what_was_granted_since() -> None:
    first = decide(w.LINKED, w.BOT, w.facts(w.TO_BOT, w.TO_MEI[:2]))
    now = replace(decide(w.LINKED, w.BOT, w.facts(w.TO_BOT, w.TO_MEI[1:])), generation=9)
    renewed = renew(first, now)
    assert renewed.collections == {"c-internal"}
    assert codes(renewed)["c-public"] == Why.NOT_GRANTED_TO_PERSON
    assert codes(renewed)["c-personal"] == Why.NOT_READABLE_AT_FIRST
    assert renewed.generation == 9


def test_renewing_keeps_the_first_audience_and_both_proofs_of_direct() -> None:
    group = decide(w.LINKED_GROUP, w.BOT, w.facts(*PERSON_GRANTS))
    for first, now in ((WHOLE, group), (group, WHOLE)):
        renewed = renew(first, now)
        assert renewed.audience == first.audience
        assert not renewed.is_direct
    assert renew(WHOLE, WHOLE).is_direct


def test_automatic_injection_leaves_out_restricted_and_whatever_it_does_not_know() -> None:
    injectable = without_restricted(WHOLE, w.EACH)
    assert injectable.collections == {"c-public", "c-internal", "c-personal"}
    assert codes(injectable)["c-restricted"] == Why.RESTRICTED_NOT_INJECTED
    assert without_restricted(WHOLE, (w.PUBLIC, w.RESTRICTED)).collections == {"c-public"}
    assert without_restricted(WHOLE, ()).is_empty


def test_the_facts_of_a_dispatch_are_those_of_the_first_turn() -> None:
    assert root(w.LINKED) is w.LINKED
    assert root(w.dispatched(w.dispatched(w.LINKED))) is w.LINKED
    assert root(w.dispatched(None)).kind is AudienceKind.NONE


@pytest.mark.parametrize(
    ("audience", "agent", "is_direct"),
    [
        (w.DASHBOARD, None, True),
        (w.DASHBOARD, w.BOT, False),
        (w.WEBCHAT, w.BOT, True),
        (replace(w.WEBCHAT, is_direct=False), w.BOT, False),
        (w.DOOR, w.BOT, False),
        (w.LINKED, w.BOT, True),
        (w.LINKED_GROUP, w.BOT, False),
        (w.UNLINKED, w.BOT, True),
        (w.VISITOR, w.BOT, False),
        (replace(w.SYSTEM, is_direct=True), w.BOT, False),
        (w.dispatched(w.LINKED), w.BOT, False),
        (replace(w.NOBODY, is_direct=True), w.BOT, False),
    ],
)
def test_what_counts_as_one_to_one(
    audience: Audience, agent: AgentSide | None, *, is_direct: bool
) -> None:
    assert decide(audience, agent, w.facts(*EVERYTHING)).is_direct is is_direct

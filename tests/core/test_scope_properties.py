"""What must hold of every scope, whoever asks and whatever is granted."""

from dataclasses import replace
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

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
from gateway.core.scope import decide, explain, renew, without_restricted

SENSITIVITIES = list(Sensitivity)
COLLECTIONS = tuple(
    Collection(f"c{n}", n, f"s{n}", f"n{n}", sensitivity)
    for n, sensitivity in enumerate([*SENSITIVITIES, Sensitivity.INTERNAL])
)
BY_ID = {each.id: each for each in COLLECTIONS}
SUBJECTS = {
    SubjectKind.USER: ["u1", "u2", ""],
    SubjectKind.DEPARTMENT: ["d1", "d2", ""],
    SubjectKind.AGENT: ["a1", "a2", ""],
    SubjectKind.CHANNEL: ["line", "line/x", "line:C", "line:P", "widget", "odoolivechat", "slack"],
}
ANY_GRANT = [
    Grant(collection.id, kind, subject, role)
    for collection, (kind, subjects), role in product(COLLECTIONS, SUBJECTS.items(), Role)
    for subject in subjects
]
# Mostly grants that matter to a1 and u1, so that scopes are seldom empty.
USEFUL = [
    each
    for each in ANY_GRANT
    if each.subject_id in {"a1", "u1", "d1", "line", "widget"} and each.role is Role.VIEWER
]
grants = st.lists(st.sampled_from(ANY_GRANT + USEFUL * 24), max_size=24)
accounts = st.builds(
    Account,
    st.sampled_from(["u1", "u2"]),
    st.just("login"),
    st.just("Name"),
    st.sampled_from(list(AccountRole)),
    department=st.sampled_from(["d1", "d2", ""]),
    is_active=st.sampled_from([True, True, True, False]),
)
slug_lists = st.none() | st.frozensets(st.sampled_from([*(c.slug for c in COLLECTIONS), "typo"]))
agents = st.builds(
    AgentSide,
    st.sampled_from(["a1", "a1", "a2"]),
    st.sampled_from(["d1", "d2", ""]),
    slug_lists,
    is_archived=st.sampled_from([False, False, False, True]),
)
addresses = st.builds(
    ChatAddress,
    st.sampled_from(["line", "line", "widget", "odoolivechat", "slack", "webchat"]),
    st.sampled_from(["x", "y"]),
    st.sampled_from(["C", "D"]),
    st.sampled_from([None, "P"]),
)
FIRST_KINDS = [kind for kind in AudienceKind if kind is not AudienceKind.DELEGATED]
plain_audiences = st.builds(
    Audience,
    st.sampled_from(FIRST_KINDS),
    st.none() | accounts,
    st.none() | addresses,
    is_direct=st.booleans(),
)


def delegate(upstream: Audience, *, is_direct: bool = False) -> Audience:
    return Audience(AudienceKind.DELEGATED, is_direct=is_direct, upstream=upstream)


audiences = plain_audiences | st.builds(
    lambda upstream, is_direct: delegate(upstream, is_direct=is_direct),
    plain_audiences,
    st.booleans(),
)


@st.composite
def turns(draw: st.DrawFn) -> tuple[Audience, AgentSide | None, ScopeFacts]:
    """An audience, the agent asked, and facts that mostly agree with the audience."""
    audience = draw(audiences)
    upstream = audience.upstream or audience
    account = draw(st.sampled_from([upstream.account, upstream.account, upstream.account, None]))
    every = draw(grants)
    valid = draw(st.sampled_from([True, True, True, False]))
    facts = ScopeFacts(COLLECTIONS, tuple(every), 1, account, valid)
    return audience, draw(st.none() | agents | agents | agents), facts


@given(turns())
def test_explanation_and_decision_are_one(
    turn: tuple[Audience, AgentSide | None, ScopeFacts],
) -> None:
    reasons = explain(*turn)
    assert sorted(each.collection_id for each in reasons) == sorted(BY_ID)
    assert {r.collection_id for r in reasons if r.is_readable} == decide(*turn).collections


@given(turns(), st.data())
def test_removing_a_grant_never_widens(
    turn: tuple[Audience, AgentSide | None, ScopeFacts], data: st.DataObject
) -> None:
    audience, agent, facts = turn
    kept = data.draw(st.lists(st.sampled_from(facts.grants)) if facts.grants else st.just([]))
    fewer = replace(facts, grants=tuple(each for each in facts.grants if each in kept))
    assert decide(audience, agent, fewer).collections <= decide(audience, agent, facts).collections


@given(turns(), st.data())
def test_the_order_of_facts_does_not_matter(
    turn: tuple[Audience, AgentSide | None, ScopeFacts], data: st.DataObject
) -> None:
    audience, agent, facts = turn
    shuffled = replace(
        facts,
        grants=tuple(data.draw(st.permutations(facts.grants))),
        collections=tuple(data.draw(st.permutations(facts.collections))),
    )
    assert decide(audience, agent, shuffled) == decide(audience, agent, facts)


@given(turns(), st.frozensets(st.sampled_from([each.slug for each in COLLECTIONS])))
def test_one_more_restriction_never_widens(
    turn: tuple[Audience, AgentSide | None, ScopeFacts], slugs: frozenset[str]
) -> None:
    audience, agent, facts = turn
    before = decide(audience, agent, facts).collections
    if agent is not None:
        listed = replace(agent, slugs=slugs if agent.slugs is None else slugs & agent.slugs)
        assert decide(audience, listed, facts).collections <= before
        assert decide(audience, replace(agent, is_archived=True), facts).is_empty
    tightened = (
        replace(facts, is_link_valid=False),
        replace(facts, account=None),
        replace(facts, collections=facts.collections[1:]),
    )
    for fewer in tightened:
        assert decide(audience, agent, fewer).collections <= before


@given(turns())
def test_what_the_agent_was_not_granted_is_never_read_with_it(
    turn: tuple[Audience, AgentSide | None, ScopeFacts],
) -> None:
    audience, agent, facts = turn
    if agent is None:
        return
    granted = {
        each.collection_id
        for each in facts.grants
        if (each.subject_kind is SubjectKind.AGENT and each.subject_id == agent.agent_id)
        or (each.subject_kind is SubjectKind.DEPARTMENT and each.subject_id == agent.department)
    }
    assert decide(audience, agent, facts).collections <= granted


@given(turns())
def test_a_group_reads_no_more_than_a_direct_chat_and_nothing_private(
    turn: tuple[Audience, AgentSide | None, ScopeFacts],
) -> None:
    audience, agent, facts = turn
    group = decide(replace(audience, is_direct=False), agent, facts)
    direct = decide(replace(audience, is_direct=True), agent, facts)
    assert group.collections <= direct.collections
    for scope in (group, direct):
        if not scope.is_direct:
            found = {BY_ID[each].sensitivity for each in scope.collections}
            assert found <= {Sensitivity.PUBLIC, Sensitivity.INTERNAL}


@given(turns())
def test_a_dispatch_reads_no_more_than_the_turn_it_came_from(
    turn: tuple[Audience, AgentSide | None, ScopeFacts],
) -> None:
    audience, agent, facts = turn
    if audience.kind is AudienceKind.DASHBOARD:
        audience = replace(audience, kind=AudienceKind.WEBCHAT)
    upstream = decide(audience, agent, facts).collections
    once = decide(delegate(audience, is_direct=True), agent, facts).collections
    twice = decide(delegate(delegate(audience)), agent, facts).collections
    assert once <= upstream
    assert twice == once


@given(turns(), addresses)
def test_a_visitor_reads_public_things_granted_to_the_website(
    turn: tuple[Audience, AgentSide | None, ScopeFacts], address: ChatAddress
) -> None:
    _, agent, facts = turn
    visitor = Audience(AudienceKind.VISITOR, address=address, is_direct=True)
    granted = {
        each.collection_id
        for each in facts.grants
        if each.subject_kind is SubjectKind.CHANNEL
        and each.subject_id == address.channel
        and address.channel in {"widget", "odoolivechat"}
    }
    for audience in (visitor, delegate(visitor)):
        found = decide(audience, agent, facts).collections
        assert found <= granted
        assert {BY_ID[each].sensitivity for each in found} <= {Sensitivity.PUBLIC}


@given(turns())
def test_who_is_not_linked_never_has_grants_of_people(
    turn: tuple[Audience, AgentSide | None, ScopeFacts],
) -> None:
    audience, agent, facts = turn
    stranger = replace(audience, kind=AudienceKind.UNLINKED, upstream=None)
    own = tuple(each for each in facts.grants if each.subject_kind is SubjectKind.CHANNEL)
    agents_own = tuple(
        each
        for each in facts.grants
        if each.subject_kind in {SubjectKind.AGENT, SubjectKind.DEPARTMENT}
    )
    without_people = replace(facts, grants=own + agents_own, account=None)
    expected = decide(stranger, agent, without_people).collections
    assert decide(stranger, agent, facts).collections == expected
    assert decide(stranger, agent, replace(facts, grants=agents_own)).is_empty


@given(turns(), turns())
def test_a_renewed_scope_is_within_both(
    first: tuple[Audience, AgentSide | None, ScopeFacts],
    now: tuple[Audience, AgentSide | None, ScopeFacts],
) -> None:
    before, after = decide(*first), decide(*now)
    renewed = renew(before, after)
    assert renewed.collections == before.collections & after.collections
    assert renewed.audience == before.audience
    assert {r.collection_id for r in renewed.reasons if r.is_readable} == renewed.collections
    assert renew(before, before) == before


@given(turns(), st.frozensets(st.sampled_from([*BY_ID, "unknown"])))
def test_narrowing_and_injection_only_take_away(
    turn: tuple[Audience, AgentSide | None, ScopeFacts], named: frozenset[str]
) -> None:
    scope = decide(*turn)
    assert scope.narrow(named).collections == scope.collections & named
    kept = without_restricted(scope, COLLECTIONS).collections
    assert kept == {c for c in scope.collections if BY_ID[c].sensitivity != "restricted"}


def test_the_kinds_that_need_an_agent_read_nothing_without_one() -> None:
    everything = tuple(
        Grant(c.id, kind, subject, Role.VIEWER)
        for c, (kind, subjects) in product(COLLECTIONS, SUBJECTS.items())
        for subject in subjects
    )
    boss = Account("u1", "boss", "Boss", AccountRole.ADMIN, "d1")
    facts = ScopeFacts(COLLECTIONS, everything, 1, boss)
    for kind in FIRST_KINDS:
        audience = Audience(kind, boss, ChatAddress("line", "x", "C"), is_direct=True)
        assert decide(audience, None, facts).is_empty is (kind is not AudienceKind.DASHBOARD)
        assert decide(delegate(audience), None, facts).is_empty

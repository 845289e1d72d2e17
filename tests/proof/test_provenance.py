"""What is kept of a turn gives its audience and its reasons back, and dispatches never widen."""

from dataclasses import replace
from datetime import timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.access import Audience, AudienceKind, Collection, ScopeFacts, Sensitivity
from gateway.core.scope import decide
from gateway.core.scope_kinds import root
from gateway.core.scope_origin import (
    MOST_CODES,
    UNKNOWN_UPSTREAM,
    Provenance,
    delegated,
    is_recent,
    provenance,
    rebuilt,
)
from gateway.core.scope_reasons import Why
from tests.fakes.wound_clock import WoundClock
from tests.proof import bridge
from tests.proof.reference import Turn, World
from tests.proof.test_scope_rules import decided
from tests.proof.worlds import Chance

seeds = st.integers(0, 2**63)


def drawn(seed: int) -> tuple[World, Turn, Audience]:
    chance = Chance(seed)
    world, turn = chance.world(), chance.turn()
    return world, turn, bridge.audience_of(world, turn)


@given(seeds)
def test_an_audience_made_anew_reads_what_the_first_one_read(seed: int) -> None:
    world, turn, audience = drawn(seed)
    first = decided(world, turn)
    kept = msgspec.json.decode(msgspec.json.encode(provenance(audience, first)), type=Provenance)
    again = rebuilt(kept.origin, root(audience).account)
    scope = decided(world, turn, again)
    assert (scope.collections, scope.is_direct) == (first.collections, first.is_direct)
    assert kept.decision is not None
    codes = {each.id: kept.decision.code_of(each.id) for each in world.shelves}
    assert codes == {reason.collection_id: reason.code for reason in first.reasons}
    assert kept.decision.generation == first.generation


@given(seeds)
def test_a_dispatch_never_reads_more_than_its_turn_could_with_the_same_agent(seed: int) -> None:
    world, turn, audience = drawn(seed)
    if turn.employee is None:
        return
    before = decided(world, turn, audience)
    after = decided(world, turn, delegated(audience, "t1"))
    assert after.collections <= before.collections
    assert not after.is_direct
    open_to_all = {each.id for each in world.shelves if each.sensitivity in ("public", "internal")}
    assert after.collections <= open_to_all
    further = decided(world, turn, delegated(delegated(audience, "t1"), "t2"))
    assert further.collections == after.collections


@given(seeds)
def test_what_no_grant_names_has_the_code_of_all_such(seed: int) -> None:
    world, turn, audience = drawn(seed)
    scope = decided(world, turn, audience)
    alone = replace(world, shares=[])
    for reason in decided(alone, turn, audience).reasons:
        is_override = reason.code == Why.BY_ADMIN  # an admin's facts hold every collection
        assert is_override or reason.code == scope.unnamed


def test_a_dispatch_from_a_system_turn_is_one_and_one_from_nothing_reads_nothing() -> None:
    system = Audience(AudienceKind.SYSTEM)
    assert delegated(system, "t1") == system
    assert root(UNKNOWN_UPSTREAM).kind is AudienceKind.NONE
    kept = provenance(UNKNOWN_UPSTREAM, None)
    assert kept.decision is None
    assert root(rebuilt(kept.origin, None)).kind is AudienceKind.NONE


def test_a_turn_can_be_dispatched_from_for_a_day() -> None:
    now = WoundClock().now()
    assert is_recent(now - timedelta(hours=24), now)
    assert not is_recent(now - timedelta(hours=24, microseconds=1), now)


def test_the_reasons_kept_are_bounded_and_what_could_be_read_comes_first() -> None:
    many = [
        Collection(f"c{n}", n, f"s{n}", "", Sensitivity.RESTRICTED if n % 2 else Sensitivity.PUBLIC)
        for n in range(MOST_CODES * 2)
    ]
    world = World(
        people={"u0": replace(Chance(1).world().people["u0"], role="admin", is_active=True)}
    )
    audience = bridge.audience_of(world, Turn("webchat", person="u0", is_private=False))
    facts = ScopeFacts(tuple(many), (), 1, audience.account)
    scope = decide(replace(audience, kind=AudienceKind.DASHBOARD), None, facts)
    decision = provenance(audience, scope).decision
    assert decision is not None
    assert sum(len(ids) for ids in decision.codes.values()) == MOST_CODES
    assert decision.code_of("no such") == scope.unnamed

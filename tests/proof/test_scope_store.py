"""Random companies in the real store: what whole turns touch is what the reference allows."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.core.access import Audience, AudienceKind
from gateway.core.agents import AgentKnowledge
from gateway.core.scope_reasons import Why
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.proof import bridge
from tests.proof.living import TOP_K, Company, Seen
from tests.proof.reference import Turn, World, readable
from tests.proof.worlds import Chance
from tests.stores import new_store

PROVES = bool(os.environ.get("SHUTTEN_PROVE"))
WORLDS = 5_000 if PROVES else 300
CHUNKS = 10 if PROVES else 3
TURNS = 3  # of each world


def as_asked(world: World, turn: Turn) -> Turn:
    """What the store's own audience comes to: a sender linked to nobody active is any sender,
    an account that is signed in is a private chat of its own at the dashboard.
    """
    person = world.people.get(turn.person or "")
    is_known = person is not None and person.is_active
    if turn.door == "chat" and not is_known:
        turn = replace(turn, person=None)
    if turn.upstream is not None:
        turn = replace(turn, upstream=as_asked(world, turn.upstream))
    return turn


def check(company: Company, world: World, turn: Turn, seen: Seen) -> None:
    allowed = {company.no[shelf] for shelf in readable(world, turn)}
    restricted = {company.no[s.id] for s in world.shelves if s.sensitivity == "restricted"}
    assert seen.scored == allowed
    assert seen.loaded == allowed
    assert seen.prompted == allowed
    may_inject = allowed - restricted
    most = TOP_K if turn.employee else AgentKnowledge().top_k  # one passage a collection
    assert seen.injected <= may_inject
    assert len(seen.injected) == min(len(may_inject), most)
    assert seen.cited == allowed


async def check_record(company: Company, world: World, turn: Turn, seen: Seen) -> None:
    """The reasons kept tell the same, and the audience made anew reads the same."""
    allowed, record = readable(world, turn), seen.record
    if record is None:
        assert not allowed
        return
    assert record.provenance is not None
    decision = record.provenance.decision
    if decision is None:
        assert not allowed
        return
    codes = {shelf.id: decision.code_of(shelf.id) for shelf in world.shelves}
    assert {shelf for shelf, code in codes.items() if Why(code).is_readable} == allowed
    audience = await company.delegation.audience(record.provenance.origin)
    employee = world.employees.get(turn.employee or "")
    side = None if employee is None else bridge.side_of(employee)
    reasons = await company.scopes.explain(audience, side)
    assert {reason.collection_id for reason in reasons if reason.is_readable} == allowed
    of_now = {each.collection_id: each.code for each in reasons}
    assert of_now == {**of_now, **codes}


async def check_lists(company: Company, world: World) -> None:
    """What each person sees listed at the dashboard."""
    for person in world.people.values():
        account = bridge.account_of(person)
        audience = Audience(AudienceKind.DASHBOARD, account, is_direct=True)
        scope = await company.scopes.scope(audience, None)
        listed = await company.store.collections.list(scope.collections)
        allowed = readable(world, Turn("dashboard", person=person.id))
        assert {each.id for each in listed} == scope.collections == allowed


@pytest.mark.timeout(1_500 if PROVES else 240)
@pytest.mark.parametrize("chunk", range(CHUNKS))
async def test_turns_touch_exactly_what_the_reference_allows(tmp_path: Path, chunk: int) -> None:
    clock = WoundClock()
    reads = 0
    async with new_store(tmp_path, clock, RealIds()) as store:
        company = Company(store, tmp_path, clock)
        for n in range(WORLDS // CHUNKS):
            chance = Chance(chunk * 1_000_000 + n, f"w{n}")
            world = chance.world()
            world.shares = list(
                {(s.shelf, s.kind, s.subject): s for s in reversed(world.shares)}.values()
            )
            await company.settle(world)
            await check_lists(company, world)
            for _ in range(TURNS):
                turn = as_asked(world, chance.turn())
                seen = await company.run(world, turn)
                check(company, world, turn, seen)
                await check_record(company, world, turn, seen)
                reads += bool(seen.scored)
            await company.leave(world)
    assert reads > WORLDS // CHUNKS // 4  # else there was nothing to find out

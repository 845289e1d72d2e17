"""Plans to forget: made with the deletion, decided by a person, applied once."""

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.core.access import Account, AudienceKind
from gateway.core.audit import SecurityEvent
from gateway.core.documents import Source
from gateway.core.forgetting import MOST_PLANS, ForgetPlan, Planned, PlanState
from gateway.core.turns import TurnRecord
from gateway.errors import ConflictError, NotFoundError
from gateway.store import Store
from tests.contract.test_audit_file import lines_of
from tests.contract.test_turns import LANE, run_turn
from tests.contract.world import World, citation


async def delete(world: World, source: Source, *, plans: bool = True) -> Planned | None:
    now = world.clock.now()
    event = SecurityEvent("knowledge_source_deleted", now, "boss", {"source_id": source.id})
    return await world.store.forgetting.remove_source(source.id, now, event, plans=plans)


async def plans(store: Store, *states: PlanState) -> list[ForgetPlan]:
    return list(await store.forgetting.plans(states or tuple(PlanState), 99))


async def events(world: World, folder: Path) -> list[str]:
    file = folder / "security_audit.jsonl"
    while await world.store.audit.export(file):
        pass
    return [line["event"] for line in lines_of(file)]


async def shelf(world: World) -> tuple[Account, Source, Source]:
    ken = await world.account("ken")
    hr = await world.collection(ken)
    return ken, await world.source(hr), await world.source(hr)


async def test_there_is_a_plan_for_each_agent_and_conversation_that_cited_it(
    world: World, store: Store
) -> None:
    _, gone, other = await shelf(world)
    cites = [citation(gone, 1)]
    first = [await run_turn(world, world.turn(citations=cites)) for _ in range(2)]
    group = await run_turn(world, world.turn("line/main/G1", cites))
    second = await run_turn(world, replace(world.turn(citations=cites), agent_id="taro"))
    shown = replace(citation(gone, 1), is_cited=False)
    await run_turn(world, world.turn("line/main/G2", [shown, citation(other, 2)]))
    assert await delete(world, gone) == Planned(plans=3, turns=4, skipped=0)
    made = {(p.agent_id, p.conversation): p for p in await plans(store)}
    assert {place: plan.turns for place, plan in made.items()} == {
        ("hana", LANE): 2,
        ("hana", "line/main/G1"): 1,
        ("taro", LANE): 1,
    }
    assert {p.state for p in made.values()} == {PlanState.PENDING}
    assert {(p.source_id, p.planned_by) for p in made.values()} == {(gone.id, "boss")}
    for turn in (*first, group, second):  # nothing is forgotten by planning
        assert (await store.turns.find(turn.id) or turn).answer == "答 [1]"


async def test_twenty_plans_are_made_and_the_rest_is_told(world: World, store: Store) -> None:
    _, gone, _ = await shelf(world)
    for n in range(MOST_PLANS + 3):
        await store.turns.record(world.turn(f"line/main/U{n}", [citation(gone, 1)]))
    assert await delete(world, gone) == Planned(plans=MOST_PLANS, turns=MOST_PLANS, skipped=3)
    kept = {plan.conversation for plan in await plans(store)}
    assert "line/main/U22" in kept
    assert "line/main/U0" not in kept


async def test_without_being_asked_to_or_without_a_source_nothing_is_planned(
    world: World, store: Store
) -> None:
    _, gone, other = await shelf(world)
    await run_turn(world, world.turn(citations=[citation(gone, 1), citation(other, 2)]))
    assert await delete(world, gone, plans=False) == Planned()
    assert await delete(world, gone) is None
    assert await plans(store) == []
    assert await delete(world, other) == Planned(1, 1, 0)
    assert await delete(world, other) is None
    assert len(await plans(store)) == 1


async def test_a_plan_is_applied_once_and_only_when_it_was_approved(
    world: World, store: Store, tmp_path: Path
) -> None:
    ken, gone, other = await shelf(world)
    cites = [citation(gone, 1), citation(other, 2)]
    chat = {"account_id": ken.id, "audience": AudienceKind.WEBCHAT}
    told = await run_turn(world, replace(world.turn(citations=cites), **chat))  # type: ignore[arg-type]
    after = await run_turn(world, replace(world.turn(), **chat))  # type: ignore[arg-type]
    await delete(world, gone)
    [plan] = await plans(store)
    now = world.clock.now()
    with pytest.raises(ConflictError) as refused:
        await store.forgetting.apply(plan.id, "boss", now)
    assert refused.value.code == "not_approved"
    assert (await store.turns.find(told.id) or told).question == "問"
    approved = await store.forgetting.decide(plan.id, "boss", now, approve=True)
    assert (approved.state, approved.decided_by) == (PlanState.APPROVED, "boss")
    assert await store.forgetting.decide(plan.id, "ann", now, approve=True) == approved
    with pytest.raises(ConflictError):
        await store.forgetting.decide(plan.id, "ann", now, approve=False)
    assert await store.forgetting.apply(plan.id, "operator", now) == 1
    assert await store.forgetting.apply(plan.id, "operator", now) == 0
    record = await store.turns.find(told.id)
    assert record is not None
    assert (record.question, record.answer) == ("", "")
    assert {(c.title, c.locator, c.excerpt) for c in record.citations} == {("", "", "")}
    assert [c.source_id for c in record.citations] == [gone.id, other.id]
    [listed] = await plans(store, PlanState.APPLIED)
    assert (listed.wiped, listed.turns, listed.applied_at) == (1, 1, now)
    assert [t.id for t in await store.turns.of_conversation(LANE, 9)] == [after.id]
    assert [t.id for t in await store.turns.of_conversation(LANE, 9, "0")] == [after.id]
    assert [t.id for t in await store.turns.conversations(ken.id, 9)] == [after.id]
    said = [e.question for e in await store.turns.recent("hana", LANE, 9)]
    assert said == ["", "問"]  # a question or an answer without words goes into no prompt
    assert await events(world, tmp_path) == [
        "knowledge_source_deleted",
        "knowledge_forget_planned",
        "knowledge_forget_approved",
        "knowledge_forget_applied",
    ]


async def test_a_rejected_plan_forgets_nothing(world: World, store: Store, tmp_path: Path) -> None:
    _, gone, _ = await shelf(world)
    turn = await run_turn(world, world.turn(citations=[citation(gone, 1)]))
    await delete(world, gone)
    [plan] = await plans(store)
    now = world.clock.now()
    rejected = await store.forgetting.decide(plan.id, "boss", now, approve=False)
    assert rejected.state is PlanState.REJECTED
    for _ in range(2):
        with pytest.raises(ConflictError):
            await store.forgetting.apply(plan.id, "boss", now)
    assert (await store.turns.find(turn.id) or turn).answer == "答 [1]"
    assert (await events(world, tmp_path))[-1] == "knowledge_forget_rejected"


async def test_a_plan_whose_turns_are_gone_forgets_none(world: World, store: Store) -> None:
    _, gone, other = await shelf(world)
    turn = await run_turn(world, world.turn(citations=[citation(gone, 1), citation(other, 2)]))
    await delete(world, gone)
    await delete(world, other)
    one, two = await plans(store)
    now = world.clock.now()
    for plan in (one, two):
        await store.forgetting.decide(plan.id, "boss", now, approve=True)
    assert await store.forgetting.apply(one.id, "boss", now) == 1
    assert await store.forgetting.apply(two.id, "boss", now) == 0
    assert [p.wiped for p in await plans(store)] == [1, 0]
    assert (await store.turns.find(turn.id) or turn).answer == ""


async def test_what_is_no_plan_is_not_found(store: Store, world: World) -> None:
    now = world.clock.now()
    with pytest.raises(NotFoundError):
        await store.forgetting.apply("none", "boss", now)
    with pytest.raises(NotFoundError):
        await store.forgetting.decide("none", "boss", now, approve=True)


async def test_an_exchange_rests_on_what_those_before_it_had_presented(
    world: World, store: Store
) -> None:
    ken = await world.account("ken")
    hr, it = await world.collection(ken), await world.collection(ken)
    one, two = await world.source(hr), await world.source(it)
    rests = ((two.id, it.id),)
    own = world.turn(citations=[citation(one, 1)])
    turn: TurnRecord = await run_turn(world, replace(own, rests_on=rests))
    assert await store.turns.find(turn.id) == turn
    [exchange] = await store.turns.recent("hana", LANE, 9)
    assert exchange.presented == ((one.id, hr.id), (two.id, it.id))
    assert exchange.is_complete
    unsent = await run_turn(world, replace(world.turn(), rests_on=rests), is_sent=False)
    assert (await store.outbox.listed(["pending"], 9))[0]["turn_id"] == unsent.id
    await store.sources.remove(two.id, world.clock.now())
    [exchange] = await store.turns.recent("hana", LANE, 9)
    assert (exchange.presented, exchange.is_complete) == (((one.id, hr.id),), False)
    assert (await store.turns.find(turn.id) or turn).rests_on == ((two.id, ""),)
    now = world.clock.now()
    due = await store.outbox.claim("w", world.clock.wind(minutes=1), now, 9)
    assert [each for each in due if each.call.turn_id == unsent.id and each.call.parts] == []

"""Turns: recorded once, history of what went out, and what a gone source leaves of them."""

from dataclasses import replace

from gateway.core.access import AudienceKind
from gateway.core.messages import SendMethod
from gateway.core.turns import TurnRecord
from gateway.store import Store
from tests.contract.world import World, citation

LANE = "line/main/U1"


async def run_turn(world: World, turn: TurnRecord, *, is_sent: bool = True) -> TurnRecord:
    await world.store.inbox.put([(turn.id, world.message())], 99)
    await world.store.turns.record(turn)
    await world.store.inbox.answered(turn.id, [world.call(turn.id)], world.clock.now())
    if is_sent:
        await world.store.outbox.sent(f"{turn.id}/0", world.clock.now())
    return turn


async def test_a_rerun_replaces_what_the_first_run_wrote(world: World, store: Store) -> None:
    hr = await world.collection(await world.account())
    one, two = await world.source(hr), await world.source(hr)
    turn = world.turn(citations=[citation(one, 1), citation(two, 2)])
    await store.turns.record(turn)
    assert await store.turns.find(turn.id) == turn
    again = replace(turn, answer="別的答\ud800", citations=(citation(two, 1),))
    await store.turns.record(again)
    assert await store.turns.find(turn.id) == replace(again, answer="別的答\ufffd")
    assert await store.turns.find("none") is None


async def test_history_is_what_went_out_newest_last(world: World, store: Store) -> None:
    turns = [await run_turn(world, world.turn()) for _ in range(3)]
    other = [
        await run_turn(world, replace(world.turn(), agent_id=None)),
        await run_turn(world, world.turn(conversation="line/main/G1")),
    ]
    pending = await run_turn(world, world.turn(), is_sent=False)
    unanswered = world.turn()
    await store.inbox.put([(unanswered.id, world.message())], 99)
    await store.turns.record(unanswered)
    dead, unknown = [await run_turn(world, world.turn(), is_sent=False) for _ in range(2)]
    await store.outbox.give_up(f"{dead.id}/0", "dead", "", world.clock.now())
    await store.outbox.give_up(f"{unknown.id}/0", "unknown", "", world.clock.now())
    recent = await store.turns.recent("hana", LANE, 9)
    assert [each.turn_id for each in recent] == [each.id for each in turns]
    assert (recent[0].question, recent[0].answer) == ("問", "答 [1]")
    assert [each.turn_id for each in await store.turns.recent("hana", LANE, 2)] == [
        each.id for each in turns[1:]
    ]
    assert [each.turn_id for each in await store.turns.recent(None, LANE, 9)] == [other[0].id]
    assert await store.turns.recent("hana", "line/main/none", 9) == ()
    await store.outbox.sending(f"{pending.id}/0", SendMethod.PUSH)
    await store.outbox.sent(f"{pending.id}/0", world.clock.now())
    assert (await store.turns.recent("hana", LANE, 1))[0].turn_id == pending.id


async def test_history_reaches_past_replies_that_could_not_be_delivered(
    world: World, store: Store
) -> None:
    sent = [await run_turn(world, world.turn()) for _ in range(3)]
    for _ in range(9):
        blocked = await run_turn(world, world.turn(), is_sent=False)
        await store.outbox.give_up(f"{blocked.id}/0", "dead", "blocked", world.clock.now())
    recent = await store.turns.recent("hana", LANE, 2)
    assert [each.turn_id for each in recent] == [each.id for each in sent[1:]]


async def test_an_exchange_tells_what_it_rested_on_and_whether_that_is_whole(
    world: World, store: Store
) -> None:
    ken = await world.account("ken")
    hr, it = await world.collection(ken), await world.collection(ken)
    one, two, three = await world.source(hr), await world.source(hr), await world.source(it)
    cited = [citation(one, 1), citation(two, 2), citation(two, 3), citation(three, 4)]
    await run_turn(world, world.turn(citations=cited))
    await run_turn(world, world.turn())

    async def rested_on() -> tuple[tuple[tuple[str, str], ...], bool]:
        exchange = (await store.turns.recent("hana", LANE, 9))[0]
        return exchange.presented, exchange.is_complete

    whole = ((one.id, hr.id), (two.id, hr.id), (three.id, it.id))
    assert await rested_on() == (whole, True)
    await store.sources.remove(one.id, world.clock.now())
    assert await rested_on() == (whole[1:], False)
    await store.collections.remove(it.id)
    assert await rested_on() == (whole[1:2], False)
    assert (await store.turns.recent("hana", LANE, 9))[1].is_complete


async def test_nothing_of_a_gone_source_is_recorded_or_shown(world: World, store: Store) -> None:
    ken = await world.account("ken")
    hr, it = await world.collection(ken), await world.collection(ken)
    gone, hidden = await world.source(hr), await world.source(it)
    await store.sources.remove(gone.id, world.clock.now())
    turn = world.turn(citations=[citation(gone, 1), citation(hidden, 2)])
    await store.turns.record(turn)
    await store.collections.remove(it.id)
    record = await store.turns.find(turn.id)
    assert record is not None
    assert [(c.title, c.locator, c.excerpt) for c in record.citations] == [("", "", "")] * 2
    assert [c.source_id for c in record.citations] == [gone.id, hidden.id]


async def test_a_conversation_is_restored_oldest_first(world: World, store: Store) -> None:
    turns = [world.turn() for _ in range(4)]
    for turn in [*turns, world.turn(conversation="elsewhere")]:
        await store.turns.record(turn)
    assert await store.turns.of_conversation(LANE, 9) == turns
    assert await store.turns.of_conversation(LANE, 2) == turns[2:]
    assert await store.turns.of_conversation(LANE, 9, turns[1].id) == turns[2:]
    assert await store.turns.of_conversation(LANE, 1, turns[0].id) == turns[1:2]


async def test_conversations_of_an_account_are_those_of_web_chat(
    world: World, store: Store
) -> None:
    ken = await world.account("ken")
    chat = replace(world.turn(), account_id=ken.id, audience=AudienceKind.WEBCHAT)
    old = replace(chat, id=world.turn().id, conversation="webchat/main/1")
    new = replace(chat, id=world.turn().id, conversation="webchat/main/1")
    second = replace(chat, id=world.turn().id, conversation="webchat/main/2")
    linked = replace(world.turn(), account_id=ken.id)
    for turn in (old, new, second, linked):
        await store.turns.record(turn)
    assert await store.turns.conversations(ken.id, 9) == [second, new]
    assert await store.turns.conversations(ken.id, 1) == [second]
    assert await store.turns.conversations("nobody", 9) == []

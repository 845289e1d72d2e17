"""The durable outbox: in order, one method, an unknown outcome as a state, text wiped."""

from datetime import timedelta

import pytest

from gateway.core.messages import SendMethod
from gateway.errors import InvalidRequestError, NotFoundError
from gateway.interfaces import DueCall
from gateway.store import Store
from tests.contract.world import World

HOUR = timedelta(hours=1)


async def owe(world: World, *calls: tuple[str, int, str]) -> list[str]:
    """Calls as (chat, seq, text), each of a turn of its own."""
    ids = []
    for chat, seq, text in calls:
        turn = world.turn()
        await world.store.inbox.put([(turn.id, world.message(chat=chat))], 99)
        call = world.call(turn.id, seq, chat, text)
        await world.store.inbox.answered(turn.id, [call], world.clock.now())
        ids.append(call.id)
    return ids


async def due(world: World, limit: int = 99) -> list[DueCall]:
    now = world.clock.now()
    return list(await world.store.outbox.claim("w", now + HOUR, now, limit))


async def test_a_call_comes_back_as_it_went_in(world: World) -> None:
    turn = world.turn()
    await world.store.inbox.put([(turn.id, world.message())], 9)
    call = world.call(turn.id, text="答\ud800")
    await world.store.inbox.answered(turn.id, [call], world.clock.now())
    [row] = await due(world)
    assert row.call.parts == ("答\ufffd",)
    assert (row.call.id, row.call.turn_id, row.call.seq) == (call.id, turn.id, 0)
    assert (row.call.conversation, row.call.reply_handle) == (call.conversation, call.reply_handle)
    assert (row.call.idempotency_key, row.call.created_at) == (
        call.idempotency_key,
        call.created_at,
    )
    assert (row.call.extra, row.attempts, row.method) == ({"text": "答\ufffd"}, 1, None)


async def test_a_conversation_goes_out_in_order_others_beside_it(
    world: World, store: Store
) -> None:
    a1, a2, b1 = await owe(world, ("A", 0, "1"), ("A", 0, "2"), ("B", 0, "3"))
    assert [each.call.id for each in await due(world)] == [a1, b1]
    assert await due(world) == []
    await store.outbox.sending(a1, SendMethod.PUSH)
    await store.outbox.postpone(a1, world.clock.now() + HOUR, "429")
    assert await due(world) == []  # a2 waits for a1
    world.clock.wind(hours=1)
    [again, late_b] = await due(world)
    assert (again.call.id, again.attempts, again.method) == (a1, 2, SendMethod.PUSH)
    assert late_b.call.id == b1  # its claim ran out
    await store.outbox.sent(a1, world.clock.now())
    assert [each.call.id for each in await due(world)] == [a2]


@pytest.mark.parametrize(
    ("method", "without_handle", "kept_method", "keeps_handle"),
    [
        (SendMethod.PUSH, False, SendMethod.PUSH, True),
        (SendMethod.FRAME, False, SendMethod.FRAME, True),
        (SendMethod.REPLY, False, None, True),
        (SendMethod.REPLY, True, None, False),
        (SendMethod.POST, False, None, True),
    ],
)
async def test_a_postponed_call_keeps_a_method_that_must_be_repeated(
    world: World,
    method: SendMethod,
    without_handle: bool,
    kept_method: SendMethod | None,
    keeps_handle: bool,
) -> None:
    [call_id] = await owe(world, ("A", 0, "1"))
    await due(world)
    await world.store.outbox.sending(call_id, method)
    await world.store.outbox.postpone(
        call_id, world.clock.now(), "later", without_handle=without_handle
    )
    [again] = await due(world)
    assert again.method is kept_method
    assert (again.call.reply_handle is not None) is keeps_handle


async def test_after_a_kill_only_what_can_be_repeated_is_sent_again(
    world: World, store: Store
) -> None:
    methods = [SendMethod.REPLY, SendMethod.PUSH, SendMethod.POST, SendMethod.FRAME, None]
    ids = await owe(world, *((f"C{n}", 0, "t") for n in range(5)))
    await due(world)
    for call_id, method in zip(ids, methods, strict=True):
        if method is not None:
            await store.outbox.sending(call_id, method)
    assert list(await store.outbox.recover(world.clock.now())) == [ids[0], ids[2]]
    unknown = await store.outbox.listed(["unknown"], 9)
    assert {each["id"] for each in unknown} == {ids[0], ids[2]}
    assert all(each["reason"] for each in unknown)
    again = await due(world)
    assert [(each.call.id, each.method) for each in again] == [
        (ids[1], SendMethod.PUSH),
        (ids[3], SendMethod.FRAME),
        (ids[4], None),
    ]
    assert list(await store.outbox.recover(world.clock.now())) == []


async def test_settled_calls_do_not_block_and_do_not_come_back(world: World, store: Store) -> None:
    ids = await owe(world, ("A", 0, "1"), ("A", 0, "2"), ("A", 0, "3"), ("A", 0, "4"))
    now = world.clock.now()
    for call_id, state in ((ids[0], "dead"), (ids[1], "unknown")):
        assert [each.call.id for each in await due(world)] == [call_id]
        await store.outbox.sending(call_id, SendMethod.REPLY)
        await store.outbox.give_up(call_id, state, "blocked", now)
    assert [each.call.id for each in await due(world)] == [ids[2]]
    await store.outbox.sending(ids[2], SendMethod.REPLY)
    await store.outbox.sent(ids[2], now)
    await store.outbox.sent(ids[2], now)
    with pytest.raises(InvalidRequestError):
        await store.outbox.give_up(ids[3], "sent", "", now)
    for call_id in (*ids[:3], "nothing"):
        with pytest.raises(NotFoundError):
            await store.outbox.sending(call_id, SendMethod.REPLY)
        with pytest.raises(NotFoundError):
            await store.outbox.postpone(call_id, now, "")
        with pytest.raises(NotFoundError):
            await store.outbox.give_up(call_id, "dead", "", now)
    listed = await store.outbox.listed(["unknown", "dead"], 9)
    assert [(each["id"], each["state"], each["reason"]) for each in listed] == [
        (ids[1], "unknown", "blocked"),
        (ids[0], "dead", "blocked"),
    ]
    assert {each["finished_at"] for each in listed} == {now}
    assert [each["id"] for each in await store.outbox.listed(["dead", "sent"], 1)] == [ids[2]]


@pytest.mark.parametrize("state", ["dead", "unknown"])
async def test_a_dead_letter_is_due_once_more_by_a_persons_decision(
    world: World, store: Store, state: str
) -> None:
    first, second = await owe(world, ("A", 0, "1"), ("A", 0, "2"))
    other = "unknown" if state == "dead" else "dead"
    await due(world)
    await store.outbox.sending(first, SendMethod.PUSH)
    now = world.clock.now()
    await store.outbox.give_up(first, state, "blocked", now)
    with pytest.raises(NotFoundError):
        await store.outbox.replay(first, now, [other])
    await store.outbox.replay(first, now, [state])
    assert await store.outbox.listed([state], 9) == []
    [again] = await due(world)  # before what comes after it in its conversation
    assert (again.call.id, again.attempts, again.call.parts) == (first, 1, ("1",))
    assert again.method is SendMethod.PUSH  # under the same key: accepted once
    assert again.call.reply_handle is None
    with pytest.raises(NotFoundError):
        await store.outbox.replay(first, now)
    await store.outbox.sent(first, now)
    for call_id in (first, second, "nothing"):  # sent, waiting, not there
        with pytest.raises(NotFoundError):
            await store.outbox.replay(call_id, now)


async def test_a_dead_edit_of_a_draft_is_posted_anew(world: World, store: Store) -> None:
    [call_id] = await owe(world, ("A", 0, "1"))
    await due(world)
    await store.outbox.sending(call_id, SendMethod.EDIT)
    await store.outbox.give_up(call_id, "dead", "blocked", world.clock.now())
    await store.outbox.replay(call_id, world.clock.now())
    [again] = await due(world)
    assert (again.method, again.call.reply_handle) == (None, None)


async def test_what_has_lost_its_text_cannot_be_sent_again(world: World, store: Store) -> None:
    [call_id] = await owe(world, ("A", 0, "1"))
    now = world.clock.now()
    await store.outbox.give_up(call_id, "dead", "blocked", now)
    await store.inbox.purge(now + HOUR)
    with pytest.raises(NotFoundError):
        await store.outbox.replay(call_id, now)


async def test_purging_keeps_the_list_of_failures_without_their_text(
    world: World, store: Store
) -> None:
    sent, dead = await owe(world, ("A", 0, "1"), ("B", 0, "2"))
    now = world.clock.now()
    await store.outbox.sent(sent, now)
    await store.outbox.give_up(dead, "dead", "blocked", now)
    await store.inbox.purge(now + HOUR)
    assert await store.outbox.listed(["sent"], 9) == []
    assert [each["id"] for each in await store.outbox.listed(["dead"], 9)] == [dead]

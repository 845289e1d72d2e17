"""The durable inbox: dedupe, lanes, busy, claims, and an answer in one transaction."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.core.messages import Attachment, InboundMessage
from gateway.errors import NotFoundError
from gateway.interfaces import Claimed
from tests.contract.world import IDS, World

HOUR = timedelta(hours=1)


async def put(world: World, *messages: InboundMessage, lane_limit: int = 9) -> list[str]:
    rows = [(IDS.new(), each) for each in messages]
    states = await world.store.inbox.put(rows, lane_limit)
    kept = zip(rows, states, strict=True)
    return [row_id if state != "duplicate" else "" for (row_id, _), state in kept]


async def claim(world: World, limit: int = 99) -> list[Claimed]:
    now = world.clock.now()
    return list(await world.store.inbox.claim("w", now + HOUR, now, limit))


async def test_a_message_comes_back_as_it_went_in(world: World) -> None:
    message = replace(
        world.message("特休\n幾天？ 😀"),
        attachments=(Attachment("h", "a.pdf", "application/pdf", 9),),
        agent_id="hana",
        language="ja",
    )
    odd = replace(world.message("a\ud800b", chat="U2"), attachments=(Attachment("h", "\udfff"),))
    row_id, odd_id = await put(world, message, odd)
    first, second = await claim(world)
    assert first == Claimed(row_id, message, 1)
    assert (second.id, second.message.text) == (odd_id, "a\ufffdb")
    assert second.message.attachments[0].name == "\ufffd"


async def test_a_repeat_of_either_key_is_a_duplicate(world: World) -> None:
    message = world.message(key="k")
    same_delivery = replace(message, message_key="other")
    same_message = replace(message, delivery_id="other")
    elsewhere = replace(message, conversation=replace(message.conversation, account_name="second"))
    rows = [(IDS.new(), each) for each in (message, message, same_delivery, same_message)]
    states = await world.store.inbox.put(rows, 9)
    assert states == ["new", "duplicate", "duplicate", "duplicate"]
    assert await world.store.inbox.put([(IDS.new(), elsewhere)], 9) == ["new"]
    without = replace(message, delivery_id="", message_key="")
    rows = [(IDS.new(), without), (IDS.new(), without)]
    assert await world.store.inbox.put(rows, 9) == ["new", "new"]  # no key, so no repeat
    assert len(await claim(world)) == 2  # the lanes of both accounts


async def test_keys_outlive_the_answer_and_go_with_the_purge(world: World) -> None:
    message, inbox = world.message(key="k"), world.store.inbox
    [row_id] = await put(world, message)
    await claim(world)
    await inbox.answered(row_id, [world.call(row_id)], world.clock.now())
    await world.store.outbox.sent(f"{row_id}/0", world.clock.now())
    open_row = await put(world, world.message(key="open"))
    week_later = world.clock.wind(days=8)
    assert await inbox.put([(IDS.new(), message)], 9) == ["duplicate"]
    assert await inbox.purge(week_later - timedelta(days=9)) == 0
    assert await inbox.purge(week_later - timedelta(days=7)) == 6  # 2 rows, 4 keys
    assert await inbox.put([(IDS.new(), message)], 9) == ["new"]
    assert (await claim(world))[0].id == open_row[0]  # unanswered: never purged


async def test_one_lane_one_message_at_a_time_oldest_first(world: World) -> None:
    a1, a2, b1, a3, b2 = await put(world, *(world.message(chat=c) for c in "AABAB"))
    inbox, now = world.store.inbox, world.clock.now()
    assert [each.id for each in await claim(world, 1)] == [a1]
    assert [each.id for each in await claim(world)] == [b1]
    assert await claim(world) == []
    await inbox.answered(b1, [], now)
    assert [each.id for each in await claim(world)] == [b2]
    assert await inbox.release(a1, failed=True) == 1
    [again] = await claim(world)
    assert (again.id, again.attempts) == (a1, 2)
    assert await inbox.release(a1, failed=False) == 1
    assert [(each.id, each.attempts) for each in await claim(world)] == [(a1, 2)]
    assert await inbox.release(a1, failed=True) == 2
    await inbox.answered(a1, [], now)
    assert [each.id for each in await claim(world)] == [a2]
    assert a3 not in {a1, a2}


async def test_a_full_lane_is_busy_and_the_row_waits_for_its_own_answer(world: World) -> None:
    inbox, now = world.store.inbox, world.clock.now()
    rows = [(IDS.new(), world.message(chat=chat)) for chat in "AAAAB"]
    assert await inbox.put(rows, 2) == ["new", "new", "busy", "busy", "new"]
    assert [each.id for each in await claim(world)] == [rows[0][0], rows[4][0]]
    await inbox.answered(rows[2][0], [world.call(rows[2][0])], now)
    assert await inbox.put([(IDS.new(), world.message(chat="A"))], 2) == ["busy"]
    await inbox.answered(rows[0][0], [], now)
    assert await inbox.put([(IDS.new(), world.message(chat="A"))], 2) == ["new"]
    assert [each.id for each in await claim(world)] == [rows[1][0]]
    await inbox.release(rows[3][0], failed=False)  # its busy sentence could not be written
    await inbox.answered(rows[1][0], [], now)
    assert [each.id for each in await claim(world)] == [rows[3][0]]


async def test_an_answer_is_written_once_with_its_calls(world: World) -> None:
    inbox, outbox, now = world.store.inbox, world.store.outbox, world.clock.now()
    [row_id] = await put(world, world.message())
    await claim(world)
    calls = [world.call(row_id, 0), world.call(row_id, 1)]
    await inbox.answered(row_id, calls, now)
    await inbox.answered(row_id, [*calls, world.call(row_id, 2)], now)
    await inbox.release(row_id, failed=True)  # too late: it stays done
    assert await claim(world) == []
    rows = await outbox.listed(["pending"], 9)
    assert [each["id"] for each in rows] == [f"{row_id}/1", f"{row_id}/0"]
    with pytest.raises(NotFoundError):
        await inbox.answered("nothing", calls, now)
    with pytest.raises(NotFoundError):
        await inbox.release("nothing", failed=True)


async def test_claims_of_a_dead_process_are_free_again(world: World) -> None:
    running, waiting = await put(world, world.message(chat="A"), world.message(chat="B"))
    await claim(world, 1)
    rows = [(IDS.new(), world.message(chat="B")), (IDS.new(), world.message(chat="B"))]
    assert await world.store.inbox.put(rows, 1) == ["busy", "busy"]
    assert await world.store.inbox.recover(world.clock.now()) == 3
    again = await claim(world)
    assert [(each.id, each.attempts) for each in again] == [(running, 2), (waiting, 1)]
    world.clock.wind(hours=2)  # a claim past its time needs no restart
    assert [each.id for each in await claim(world)] == [running, waiting]


async def test_parallel_bodies_lose_and_repeat_nothing(world: World) -> None:
    messages = [world.message(f"{n}", chat=f"U{n % 7}", key=f"{n}") for n in range(200)]
    bodies = [messages[n : n + 5] for n in range(0, 200, 5)] * 2  # each delivered twice
    stored = await asyncio.gather(*(put(world, *body, lane_limit=999) for body in bodies))
    assert sum(bool(row_id) for body in stored for row_id in body) == 200
    seen: list[str] = []
    while rows := await claim(world, 3):
        for row in rows:
            seen.append(row.message.text)
            await world.store.inbox.answered(row.id, [], world.clock.now())
    assert sorted(seen, key=int) == [f"{n}" for n in range(200)]


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.sampled_from(["put A", "put B", "claim", "fail", "answer", "recover"])))
async def test_every_message_is_answered_once_and_in_order(world: World, steps: list[str]) -> None:
    """Whatever happens in between, each lane's answers stand in the order of its messages."""
    sent: dict[str, list[str]] = {"A": [], "B": []}
    answers: dict[str, list[str]] = {"A": [], "B": []}
    running: list[Claimed] = []
    inbox, now = world.store.inbox, world.clock.now()
    for step in [*steps, *["recover", "claim", "answer", "answer"] * (len(steps) + 1)]:
        match step.split():
            case ["put", chat]:
                sent[chat] += await put(world, world.message(chat=chat), lane_limit=999)
            case ["claim"]:
                running += await claim(world)
            case ["fail"] if running:
                await inbox.release(running.pop().id, failed=True)
            case ["answer"] if running:
                row = running.pop(0)
                await inbox.answered(row.id, [], now)
                answers[row.message.conversation.id].append(row.id)
            case ["recover"]:
                running.clear()
                await inbox.recover(now)
            case _:
                pass  # nothing runs that could fail or be answered
    assert answers == sent
    assert await claim(world) == []

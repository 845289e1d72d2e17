"""Messages taken back: before they came, waiting, busy, running, answered; and what is wiped."""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.messages import InboundMessage
from gateway.interfaces import Claimed
from gateway.store import Store
from tests.contract.world import IDS, World

HOUR = timedelta(hours=1)


async def put(world: World, message: InboundMessage, lane_limit: int = 9) -> tuple[str, str]:
    row_id = IDS.new()
    [state] = await world.store.inbox.put([(row_id, message)], lane_limit)
    return row_id, state


async def claim(world: World) -> list[Claimed]:
    now = world.clock.now()
    return list(await world.store.inbox.claim("w", now + HOUR, now, 99))


async def unsend(world: World, message: InboundMessage) -> list[str]:
    keys = [message.message_key]
    return list(await world.store.inbox.retract(message.conversation, keys))


async def pending(world: World) -> list[str]:
    return [row["turn_id"] for row in await world.store.outbox.listed(["pending"], 99)]


async def test_a_waiting_message_is_never_answered(world: World) -> None:
    first, second = world.message(), world.message()
    (first_id, _), (second_id, _) = await put(world, first), await put(world, second)
    assert await unsend(world, first) == [first_id]
    assert [row.id for row in await claim(world)] == [second_id]
    assert (await put(world, first))[1] == "duplicate"
    await world.store.inbox.answered(first_id, [world.call(first_id)], world.clock.now())
    assert await pending(world) == []


async def test_a_message_that_comes_after_its_retraction_is_a_duplicate(world: World) -> None:
    message = world.message()
    assert await unsend(world, message) == []
    assert (await put(world, message))[1] == "duplicate"
    assert (await put(world, replace(message, delivery_id="again")))[1] == "duplicate"
    assert await claim(world) == []


async def test_a_busy_message_is_not_even_told_so(world: World) -> None:
    row_id, _ = await put(world, world.message())
    busy = world.message()
    busy_id, state = await put(world, busy, lane_limit=1)
    assert state == "busy"
    assert await unsend(world, busy) == [busy_id]
    await world.store.inbox.answered(busy_id, [world.call(busy_id)], world.clock.now())
    assert await pending(world) == []
    await world.store.inbox.recover(world.clock.now())
    assert [row.id for row in await claim(world)] == [row_id]


async def test_a_running_turn_may_still_answer(world: World) -> None:
    message = world.message()
    row_id, _ = await put(world, message)
    await claim(world)
    assert await unsend(world, message) == [row_id]
    await world.store.inbox.answered(row_id, [world.call(row_id)], world.clock.now())
    assert await pending(world) == [row_id]


@pytest.mark.parametrize("end", ["failed", "given back", "killed", "ran out"])
async def test_a_running_turn_that_did_not_end_is_not_run_again(world: World, end: str) -> None:
    message, later = world.message(), world.message()
    row_id, _ = await put(world, message)
    later_id, _ = await put(world, later)
    await claim(world)
    await unsend(world, message)
    if end == "killed":
        await world.store.inbox.recover(world.clock.now())
    elif end == "ran out":
        world.clock.wind(hours=2)
    else:
        await world.store.inbox.release(row_id, failed=end == "failed")
    assert [row.id for row in await claim(world)] == [later_id]
    assert await world.store.inbox.purge(world.clock.wind(hours=1)) >= 1  # it is done


async def test_a_message_is_taken_back_only_where_it_was_written(world: World) -> None:
    message = world.message(chat="U1")
    row_id, _ = await put(world, message)
    elsewhere = replace(message, conversation=replace(message.conversation, id="U2"))
    another = replace(message, conversation=replace(message.conversation, account_name="second"))
    assert await unsend(world, elsewhere) == await unsend(world, another) == []
    assert [row.id for row in await claim(world)] == [row_id]
    to_come = world.message(chat="U1")
    await unsend(world, replace(to_come, conversation=elsewhere.conversation))
    assert (await put(world, to_come))[1] == "new"


async def test_a_repeated_retraction_changes_nothing_more(world: World) -> None:
    message = world.message()
    row_id, _ = await put(world, message)
    for _ in range(3):
        assert await unsend(world, message) == [row_id]
    assert await world.store.inbox.retract(message.conversation, []) == []
    assert await world.store.inbox.retracted() == [row_id]
    assert await world.store.inbox.retracted([row_id, "other"]) == [row_id]
    assert await world.store.inbox.retracted(["other"]) == []
    assert await world.store.inbox.retracted([]) == []


async def test_no_text_of_it_stays_in_the_inbox(world: World, store: Store) -> None:
    secret = "ZEBRASECRET"
    states = {}
    for name in ("waiting", "running", "busy"):
        message = world.message(f"{secret} {name}", chat=name)
        if name == "busy":
            await put(world, world.message(chat=name))
        row_id, _ = await put(world, message, lane_limit=1)
        states[row_id] = message
        if name == "running":
            await claim(world)
    for message in states.values():
        await unsend(world, message)
    database = store.inbox._database
    rows = await database.read(
        lambda c: c.exec_driver_sql("SELECT payload FROM inbox WHERE is_retracted = 1").fetchall()
    )
    assert [row[0] for row in rows] == [None] * 3


# ---------------------------------------------------------------- turns


async def record(world: World, row_id: str, *queries: str) -> None:
    """What a turn keeps."""
    for query in queries:
        await log(world, row_id, query)
    await world.store.turns.record(replace(world.turn(), id=row_id, question="特休幾天"))


async def log(world: World, row_id: str, query: str) -> None:
    now = world.clock.now()
    entry = AccessEntry(AccessAction.SEARCH, now, turn_id=row_id, query=query)
    await world.store.audit.record(entry)


async def kept(world: World, row_id: str) -> tuple[str, str, list[str]]:
    turn = await world.store.turns.find(row_id)
    assert turn is not None
    entries = await world.store.audit.entries(None, 99)
    return (
        turn.question,
        turn.answer,
        sorted(each.query for each in entries if each.turn_id == row_id),
    )


async def test_the_question_goes_and_our_answer_stays(world: World, store: Store) -> None:
    message, other = world.message(), world.message()
    (row_id, _), (other_id, _) = await put(world, message), await put(world, other)
    for each in (row_id, other_id):
        await record(world, each, "特休幾天", "特休")
        await store.inbox.answered(each, [world.call(each)], world.clock.now())
        await store.outbox.sent(f"{each}/0", world.clock.now())
    await store.turns.forget_questions(await unsend(world, message))
    assert await kept(world, row_id) == ("", "答 [1]", ["", ""])
    assert await kept(world, other_id) == ("特休幾天", "答 [1]", ["特休", "特休幾天"])
    await store.turns.forget_questions([row_id, "none"])
    await store.turns.forget_questions([])
    recent = await store.turns.recent("hana", message.conversation.lane, 9)
    assert [each.question for each in recent] == ["", "特休幾天"]  # a blank one is no history


async def test_what_colleagues_were_asked_for_it_goes_with_it(world: World, store: Store) -> None:
    message, other = world.message(), world.message()
    (row_id, _), (other_id, _) = await put(world, message), await put(world, other)
    await record(world, row_id)
    asked = {IDS.new(): lane for lane in (f"ask/{row_id}", f"ask/{row_id}/x", f"ask/{other_id}")}
    for turn_id, lane in asked.items():
        await log(world, turn_id, "特休幾天，請查")
        turn = replace(world.turn(), id=turn_id, question="請查", conversation=f"{lane}/{turn_id}")
        await store.turns.record(turn)
    await store.turns.forget_questions(await unsend(world, message))
    kept_each = [await kept(world, turn_id) for turn_id in asked]
    assert [each[0] for each in kept_each] == ["", "", "請查"]
    assert [each[2] for each in kept_each] == [[""], [""], ["特休幾天，請查"]]


async def test_a_turn_that_ends_after_the_retraction_keeps_no_question(
    world: World, store: Store
) -> None:
    message = world.message()
    row_id, _ = await put(world, message)
    await claim(world)
    await log(world, row_id, "before")
    await store.turns.forget_questions(await unsend(world, message))
    await record(world, row_id, "after")
    assert await kept(world, row_id) == ("", "答 [1]", ["", ""])


async def test_a_retraction_between_two_writes_of_a_turn_is_noticed(
    world: World, store: Store
) -> None:
    """The mark is set, and the process dies before anything is wiped."""
    message = world.message()
    row_id, _ = await put(world, message)
    await claim(world)
    await record(world, row_id, "特休幾天")
    await unsend(world, message)
    assert (await kept(world, row_id))[0] == "特休幾天"
    await store.turns.forget_questions(await store.inbox.retracted())
    assert await kept(world, row_id) == ("", "答 [1]", [""])


@dataclass
class Story:
    """One message from its arrival to its retraction, in any order of events."""

    world: World
    message: InboundMessage
    row_id: str = ""
    has_run: bool = False
    is_unsent: bool = False

    async def put(self) -> None:
        if self.row_id:
            return
        new_id, state = await put(self.world, self.message)
        assert state == ("duplicate" if self.is_unsent else "new")
        self.row_id = new_id if state == "new" else "none"

    async def claim(self) -> None:
        taken = [row.id for row in await claim(self.world)]
        assert not (self.is_unsent and self.row_id in taken)
        self.has_run |= self.row_id in taken

    async def record(self) -> None:
        if self.has_run:
            await record(self.world, self.row_id, "特休幾天")

    async def answer(self) -> None:
        if self.has_run:
            calls = [self.world.call(self.row_id)]
            await self.world.store.inbox.answered(self.row_id, calls, self.world.clock.now())

    async def fail(self) -> None:
        if self.has_run:
            await self.world.store.inbox.release(self.row_id, failed=True)

    async def recover(self) -> None:
        await self.world.store.inbox.recover(self.world.clock.now())

    async def unsend(self) -> None:
        self.is_unsent = True
        await self.world.store.turns.forget_questions(await unsend(self.world, self.message))


STEPS = ["put", "claim", "record", "unsend", "answer", "fail", "recover"]


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.sampled_from(STEPS)))
async def test_whatever_the_order_nothing_is_kept_of_the_question(
    world: World, steps: list[str]
) -> None:
    """And it is answered at most once, never when it was taken back before its turn began."""
    story = Story(world, world.message(chat=IDS.new()))
    for step in [*steps, "unsend"]:
        await getattr(story, step)()
    turn = await world.store.turns.find(story.row_id)
    assert turn is None or turn.question == ""
    assert (await pending(world)).count(story.row_id) <= int(story.has_run)

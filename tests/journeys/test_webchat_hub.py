"""Sockets that do not read, that are gone, that come back: nobody else waits for them."""

import asyncio
import json

from channels.webchat import render
from channels.webchat.client import (
    DELTAS_WAITING,
    KEPT_CONVERSATIONS,
    KEPT_FRAMES,
    MOST_WAITING,
    Frame,
    Hub,
    Seat,
)
from gateway.core.messages import Conversation, OutboundCall
from tests.fakes.channels import AT

DELTA = Frame("delta", is_final=False)


def final(n: int) -> Frame:
    return Frame(f"final {n}")


async def taken(seat: Seat) -> list[str]:
    return [(await seat.next() or DELTA).text for _ in seat.waiting]


async def test_drafts_are_left_out_before_answers_are() -> None:
    hub, slow, quick = Hub(), Seat(), Seat()
    hub.join(slow, "c")
    hub.join(quick, "c")
    for n in range(2 * DELTAS_WAITING):
        hub.publish("c", DELTA)
        await quick.next()
        if n % 8 == 0:
            hub.publish("c", final(n))
            await quick.next()
    texts = await taken(slow)
    assert texts.count("delta") <= DELTAS_WAITING
    assert sum(text.startswith("final") for text in texts) == 2 * DELTAS_WAITING // 8


async def test_one_that_never_reads_loses_its_seat_and_no_memory_is_held() -> None:
    hub, dead = Hub(), Seat()
    hub.join(dead, "c")
    for n in range(MOST_WAITING + 5):
        hub.publish("c", final(n))
    assert len(dead.waiting) == MOST_WAITING
    assert await dead.next() is None


async def test_what_nobody_saw_waits_for_the_next_seat_within_bounds() -> None:
    hub, seat = Hub(), Seat()
    for n in range(KEPT_FRAMES + 3):
        hub.publish("c", final(n))
    hub.publish("c", DELTA)
    hub.join(seat, "c")
    hub.join(seat, "c")
    assert await taken(seat) == [f"final {n}" for n in range(3, KEPT_FRAMES + 3)]
    for n in range(KEPT_CONVERSATIONS + 1):
        hub.publish(f"c{n}", final(n))
    for name, expected in (("c0", 0), ("c1", 1)):
        late = Seat()
        hub.join(late, name)
        assert len(late.waiting) == expected


async def test_a_seat_hears_its_conversations_only_until_it_leaves() -> None:
    hub, mine, other = Hub(), Seat(), Seat()
    hub.join(mine, "a")
    hub.join(mine, "b")
    hub.join(other, "c")
    for name in "abc":
        hub.publish(name, Frame(name))
    assert await taken(mine) == ["a", "b"]
    assert len(hub) == 3
    hub.leave(mine)
    assert len(hub) == 1
    waiting = asyncio.gather(other.next(), other.next())
    hub.close()
    assert (await waiting)[-1] is None


def test_a_text_no_part_can_carry_is_cut_as_the_part_was() -> None:
    part = "x" * render.LIMITS.part_units
    place = Conversation("webchat", "web", "a.c")
    citations = [{"n": 1}]
    for text, shown in (("short [1]", "short [1]"), (part + "x", part)):
        extra = {"text": text, "citations": citations}
        call = OutboundCall("i", "t", 0, place, (part,), "k", AT, extra=extra)
        frame = json.loads(render.final(call))
        assert (frame["turn_id"], frame["text"], frame["citations"]) == ("t", shown, citations)

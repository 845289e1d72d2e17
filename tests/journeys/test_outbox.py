"""The durable way out: each call sent once, in order, whatever the platform answers."""

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from gateway.core.messages import (
    CitationView,
    Conversation,
    Delivered,
    OutboundCall,
    OutcomeUnknown,
    Refused,
    Reply,
    RetryLater,
    SendMethod,
    SendOutcome,
    TryOtherMethod,
)
from gateway.core.owed import owed_calls
from gateway.errors import ChannelError, StoreError
from gateway.outbox import OutboxSender
from tests.fakes.channels import FakeChannel, said
from tests.fakes.times import RealClock
from tests.journeys.durable import FAST_SENDING, Durable, durable

REPLY, PUSH = SendMethod.REPLY, SendMethod.PUSH
Step = SendOutcome | BaseException
OUTCOMES: list[tuple[str, SendMethod, list[Step], list[SendMethod], str]] = [
    ("accepted", REPLY, [], [REPLY], "sent"),
    ("rate, then accepted", REPLY, [RetryLater(None, "rate")], [REPLY, REPLY], "sent"),
    ("token expired", REPLY, [TryOtherMethod("old")], [REPLY, PUSH], "sent"),
    ("refused", REPLY, [Refused("blocked")], [REPLY], "dead"),
    ("refused push", PUSH, [Refused("quota")], [PUSH], "dead"),
    ("reply in doubt", REPLY, [OutcomeUnknown("500")], [REPLY], "unknown"),
    ("reply broke off", REPLY, [OSError()], [REPLY], "unknown"),
    ("reply, channel error", REPLY, [ChannelError()], [REPLY], "unknown"),
    ("push broke off", PUSH, [OSError(), TimeoutError()], [PUSH, PUSH, PUSH], "sent"),
    ("push, channel error", PUSH, [ChannelError()], [PUSH, PUSH], "sent"),
    ("never accepted", PUSH, [RetryLater(None, "500")] * 99, [PUSH] * 12, "dead"),
]


@pytest.mark.parametrize(
    ("method", "script", "sent", "state"),
    [row[1:] for row in OUTCOMES],
    ids=[row[0] for row in OUTCOMES],
)
async def test_what_becomes_of_a_call(
    tmp_path: Path, method: SendMethod, script: list[Step], sent: list[SendMethod], state: str
) -> None:
    channel = FakeChannel(method)
    channel.script.extend(script)
    async with durable(tmp_path, channel) as world, world.running():
        await world.lanes.accept([said("hello", 1)])
        await channel.until(lambda: len(channel.sent) == len(sent))
        assert await world.settled() == [state]
    assert [each for _, _, each in channel.sent] == sent
    assert len({call.idempotency_key for call in channel.calls}) == 1


async def test_a_postponed_call_keeps_its_place_and_holds_no_other_chat(tmp_path: Path) -> None:
    channel = FakeChannel(parts_per_call=1)
    channel.script.extend([Delivered(), RetryLater(0.15, "rate")])
    async with durable(tmp_path, channel) as world:
        for row in (said("q", 1), said("q", 2)):
            await world.inbox.put([(f"row-{row.delivery_id}", row)], 20)
        reply = Reply("row-d1", ("1", "2", "3"), "")
        await world.sender.put("row-d1", said("q", 1), reply)
        await world.sender.put("row-d2", said("q", 2), Reply("row-d2", ("4",), ""))
        async with world.running():
            await channel.until(lambda: channel.texts() == ["1", "2"])
            await world.lanes.accept([said("b", 9, "c2")])
            await channel.until(lambda: channel.texts("c2") == ["re: b"])
            await channel.until(lambda: len(channel.sent) == 6)
    assert channel.texts("c1") == ["1", "2", "2", "3", "4"]  # 1 is never sent again
    order = [text for _, parts, _ in channel.sent for text in parts]
    assert order.index("re: b") < order.index("2", order.index("2") + 1)
    waited = [
        at for (_, parts, _), at in zip(channel.sent, channel.at, strict=True) if "2" in parts
    ]
    assert waited[1] - waited[0] >= 0.15


async def test_a_slow_platform_holds_only_its_own_chat(tmp_path: Path) -> None:
    channel = FakeChannel()
    is_free = asyncio.Event()
    channel.script.append(is_free)
    async with durable(tmp_path, channel) as world, world.running():
        await world.lanes.accept([said("slow", 1)])
        await channel.until(lambda: len(channel.sent) == 1)
        await world.lanes.accept([said("next", 2), said("other", 3, "c2")])
        await channel.until(lambda: channel.texts("c2") == ["re: other"])
        assert channel.texts("c1") == ["re: slow"]
        is_free.set()
        await channel.until(lambda: channel.texts("c1") == ["re: slow", "re: next"])


@pytest.mark.parametrize(("method", "state"), [(REPLY, "unknown"), (PUSH, "sent")])
async def test_a_hanging_platform_has_a_deadline(
    tmp_path: Path, method: SendMethod, state: str
) -> None:
    channel = FakeChannel(method)
    channel.script.append(asyncio.Event())
    sending = dataclasses.replace(FAST_SENDING, call_timeout_s=0.05)
    async with durable(tmp_path, channel, sending=sending) as world, world.running():
        await world.lanes.accept([said("hello", 1)])
        await channel.until(lambda: len(channel.sent) == (1 if method is REPLY else 2))
        assert await world.settled() == [state]


async def test_a_long_reply_is_a_row_a_call_and_the_handle_goes_once(tmp_path: Path) -> None:
    channel = FakeChannel(REPLY, parts_per_call=2)
    async with durable(tmp_path, channel) as world:
        await world.inbox.put([("row", said("q", 1))], 20)
        reply = Reply("row", ("1", " ", "2", "3"), "")
        for _ in range(2):  # a repeat of the turn's last step owes nothing more
            await world.sender.put("row", said("q", 1), reply)
        async with world.running():
            await channel.until(lambda: len(channel.sent) == 2)
            assert await world.settled() == ["sent", "sent"]
    assert channel.sent == [("c1", ("1", "2"), REPLY), ("c1", ("3",), PUSH)]
    assert len({call.idempotency_key for call in channel.calls}) == 2


async def test_a_frame_carries_text_and_citations(tmp_path: Path) -> None:
    channel = FakeChannel(SendMethod.FRAME)
    async with durable(tmp_path, channel) as world:
        await world.inbox.put([("row", said("q", 1))], 20)
        view = CitationView(1, "4294967297", "s", "Handbook", "p. 3", "Seven days")
        await world.sender.put(
            "row", said("q", 1), Reply("row", ("A [1]\n\nfooter",), "A [1]", (view,))
        )
        async with world.running():
            await channel.until(lambda: len(channel.sent) == 1)
    extra = channel.calls[0].extra
    assert extra is not None
    assert extra["text"] == "A [1]"
    assert extra["citations"] == [
        {
            "n": 1,
            "chunk_id": "4294967297",
            "source_id": "s",
            "title": "Handbook",
            "locator": "p. 3",
            "excerpt": "Seven days",
        }
    ]


async def test_what_is_owed_is_sent_after_a_restart(tmp_path: Path) -> None:
    async with durable(tmp_path, FakeChannel()) as world:
        await world.inbox.put([("row", said("q", 1))], 20)
        await world.sender.put("row", said("q", 1), Reply("row", ("answer",), ""))
    channel = FakeChannel()
    async with durable(tmp_path, channel) as world, world.running():
        await channel.until(lambda: channel.texts() == ["answer"])


async def test_a_call_of_a_channel_that_is_gone_is_a_dead_letter(tmp_path: Path) -> None:
    async with durable(tmp_path, FakeChannel()) as world:
        await world.inbox.put([("row", said("q", 1))], 20)
        await world.sender.put("row", said("q", 1), Reply("row", ("answer",), ""))
    async with durable(tmp_path) as world:
        async with world.running():
            assert await world.settled() == ["dead"]
        assert (await world.states())[0][1] == "channel is not configured"


# ---------------------------------------------------------------- rates


async def test_a_call_held_by_its_platforms_rates_costs_no_attempt_and_holds_no_other(
    tmp_path: Path,
) -> None:
    channel = FakeChannel()
    channel.held["c1"] = 0.03
    sending = dataclasses.replace(FAST_SENDING, attempts=2)
    async with durable(tmp_path, channel, sending=sending) as world, world.running():
        await world.lanes.accept([said("held", 1), said("free", 2, "c2")])
        await channel.until(lambda: channel.texts("c2") == ["re: free"])
        await until(lambda: channel.reserved.count("c1") > 4)
        assert channel.texts("c1") == []
        channel.held.clear()
        await channel.until(lambda: channel.texts("c1") == ["re: held"])
        assert await world.settled() == ["sent", "sent"]


async def test_a_call_held_for_long_waits_in_the_store(tmp_path: Path) -> None:
    channel = FakeChannel()
    channel.held["c1"] = 3600.0
    async with durable(tmp_path, channel) as world, world.running():
        await world.lanes.accept([said("held", 1)])
        await until(lambda: channel.reserved == ["c1"])
        await world.lanes.accept([said("free", 2, "c2")])
        await channel.until(lambda: channel.texts("c2") == ["re: free"])
        now = RealClock().now()
        assert await world.outbox.claim("other", now, now, 9) == []
        later = now + timedelta(hours=2)
        [due] = await world.outbox.claim("other", later, later, 9)
        assert (due.call.conversation.id, due.attempts) == ("c1", 1)


async def test_a_platform_that_hangs_for_all_its_chats_holds_up_no_other_platform(
    tmp_path: Path,
) -> None:
    slow, quick = FakeChannel(), FakeChannel(name="other")
    slow.script.extend(asyncio.Event() for _ in range(200))
    sending = dataclasses.replace(FAST_SENDING, call_timeout_s=0.5)
    async with durable(tmp_path, slow, quick, sending=sending) as world, world.running():
        await world.lanes.accept([said("q", n, f"c{n}") for n in range(150)])
        await slow.until(lambda: len(slow.sent) == FAST_SENDING.concurrency)
        elsewhere = Conversation("other", "main", "c1", is_direct=True)
        await world.lanes.accept([said("hello", 999, conversation=elsewhere)])
        await quick.until(lambda: quick.texts() == ["re: hello"])
        assert len(slow.sent) == FAST_SENDING.concurrency


async def test_a_dead_letter_put_back_goes_out_when_somebody_tells(tmp_path: Path) -> None:
    channel = FakeChannel()
    channel.script.append(Refused("blocked"))
    async with durable(tmp_path, channel) as world, world.running():
        await world.lanes.accept([said("hello", 1)])
        await channel.until(lambda: len(channel.sent) == 1)
        assert await world.settled() == ["dead"]
        [row] = await world.outbox.listed(["dead"], 9)
        await world.outbox.replay(row["id"], RealClock().now())
        world.sender.wake()
        await channel.until(lambda: len(channel.sent) == 2)
        assert await world.settled() == ["sent"]


async def test_what_waited_is_looked_at_once_more_and_what_goes_at_once_is_not(
    tmp_path: Path,
) -> None:
    channel = FakeChannel(parts_per_call=1)
    looked: list[str] = []

    async def recheck(call: OutboundCall) -> OutboundCall | None:
        looked.extend(call.parts)
        return dataclasses.replace(call, parts=("sorry",)) if call.seq == 0 else None

    sending = dataclasses.replace(FAST_SENDING, recheck=recheck)
    async with durable(tmp_path, channel, sending=sending) as world:
        old = RealClock().now() - timedelta(minutes=1)
        await world.inbox.put([("row", said("q", 1))], 20)
        reply = Reply("row", ("1", "2"), "")
        calls = owed_calls("row", said("q", 1), reply, channel.limits, old)
        await world.inbox.answered("row", calls, old)
        async with world.running():
            await world.lanes.accept([said("new", 2, "c2")])
            assert await world.settled() == ["sent", "dead", "sent"]
        assert (await world.states())[1][1] == "not readable any more"
    assert channel.texts("c1") == ["sorry"]
    assert channel.texts("c2") == ["re: new"]
    assert looked == ["1", "2"]


# ---------------------------------------------------------------- previews


async def test_what_showed_the_draft_becomes_the_reply_and_what_follows_is_new(
    tmp_path: Path,
) -> None:
    channel = FakeChannel(SendMethod.EDIT, parts_per_call=1)
    channel.previews["row"] = "message 7"
    async with durable(tmp_path, channel) as world:
        await world.inbox.put([("row", said("q", 1, reply_handle=None))], 20)
        await world.sender.put("row", said("q", 1, reply_handle=None), Reply("row", ("1", "2"), ""))
        async with world.running():
            await channel.until(lambda: len(channel.sent) == 2)
    first, second = channel.calls
    assert first.reply_handle is not None
    assert first.reply_handle.token == "message 7"
    assert first.reply_handle.expires_at > RealClock().now() + timedelta(days=365)
    assert second.reply_handle is None


async def test_a_preview_that_is_gone_is_a_reply_posted_anew(tmp_path: Path) -> None:
    channel = FakeChannel(SendMethod.EDIT)
    channel.previews["row"] = "message 7"
    channel.script.append(TryOtherMethod("message to edit not found"))
    async with durable(tmp_path, channel) as world:
        await world.inbox.put([("row", said("q", 1))], 20)
        await world.sender.put("row", said("q", 1), Reply("row", ("answer",), ""))
        async with world.running():
            assert await world.settled() == ["sent"]
    assert [call.reply_handle is None for call in channel.calls] == [False, True]


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while True:
            if is_so():
                return
            await asyncio.sleep(0.005)


class FullDisk:
    """An outbox whose writes after the first are refused for a while, as by a full disk."""

    def __init__(self, world: Durable, refusals: int) -> None:
        outbox = world.outbox
        self.claim, self.sending, self.recover = outbox.claim, outbox.sending, outbox.recover
        self.postpone, self.give_up, self.listed = outbox.postpone, outbox.give_up, outbox.listed
        self.replay, self._sent = outbox.replay, outbox.sent
        self.refusals = refusals

    async def sent(self, call_id: str, now: datetime) -> None:
        if self.refusals:
            self.refusals -= 1
            raise StoreError(code="store_full")
        await self._sent(call_id, now)


async def test_an_outcome_that_cannot_be_written_is_not_a_second_send(tmp_path: Path) -> None:
    channel = FakeChannel(REPLY)
    async with durable(tmp_path, channel) as world:
        disk = FullDisk(world, refusals=3)
        channels = {("fake", "main"): channel}
        world.sender = OutboxSender(disk, world.inbox, channels, RealClock(), FAST_SENDING)
        await world.inbox.put([("row", said("q", 1))], 20)
        await world.sender.put("row", said("q", 1), Reply("row", ("answer",), ""))
        async with world.running():
            assert await world.settled() == ["sent"]
    assert len(channel.sent) == 1
    assert disk.refusals == 0


class FullInbox:
    """An inbox in which no turn can be ended once, as by a full disk."""

    def __init__(self, world: Durable) -> None:
        inbox = world.inbox
        self.put, self.claim, self.release = inbox.put, inbox.claim, inbox.release
        self.recover, self.shown, self.renew = inbox.recover, inbox.shown, inbox.renew
        self.retract, self.purge = inbox.retract, inbox.purge
        self._answered = inbox.answered
        self.is_full = True

    async def answered(self, row_id: str, calls: Sequence[OutboundCall], now: datetime) -> None:
        if self.is_full:
            self.is_full = False
            raise StoreError(code="store_full")
        await self._answered(row_id, calls, now)


async def test_a_reply_that_could_not_be_written_is_not_owed_for_ever(tmp_path: Path) -> None:
    channel = FakeChannel(REPLY, parts_per_call=1)
    lane = said("q", 1).conversation.lane
    async with durable(tmp_path, channel) as world:
        inbox = FullInbox(world)
        channels = {("fake", "main"): channel}
        world.sender = OutboxSender(world.outbox, inbox, channels, RealClock(), FAST_SENDING)
        await world.inbox.put([("row", said("q", 1))], 20)
        with pytest.raises(StoreError):
            await world.sender.put("row", said("q", 1), Reply("row", ("1", "2"), ""))
        assert not world.sender.owes(lane)
        await world.sender.put("row", said("q", 1), Reply("row", ("sorry",), ""))
        assert world.sender.owes(lane)
        async with world.running():
            assert await world.settled() == ["sent"]
            await until(lambda: not world.sender.owes(lane))

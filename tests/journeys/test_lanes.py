"""The durable way in: stored first, one lane a conversation, a failure is a sentence."""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from gateway import catalogue
from gateway.core.messages import Attachment, Conversation, InboundMessage, Notice, NoticeKind
from gateway.errors import GatewayError, LanguageModelError, StoreError
from gateway.inbox import InboxLanes
from gateway.interfaces import Channel, Claimed, Unmetered
from gateway.store.inbox import SqliteInbox
from tests.fakes.channels import FakeChannel, said
from tests.fakes.times import RealClock, RealIds
from tests.journeys.durable import FAST_LANES, Durable, durable


async def test_a_message_is_stored_before_accept_returns(tmp_path: Path) -> None:
    async with durable(tmp_path, FakeChannel()) as first:
        assert await first.lanes.accept([said("hello", 1)]) == ["new"]
    channel = FakeChannel()  # the process ended before anything was answered
    async with durable(tmp_path, channel) as second, second.running():
        await channel.until(lambda: channel.texts() == ["re: hello"])


REPEATS = [
    ("the same delivery", {"delivery_id": "d1", "message_key": "m9"}),
    ("the same message under another delivery", {"delivery_id": "d9", "message_key": "m1"}),
    ("both", {"delivery_id": "d1", "message_key": "m1"}),
]


@pytest.mark.parametrize("keys", [row[1] for row in REPEATS], ids=[row[0] for row in REPEATS])
async def test_a_repeat_changes_nothing(tmp_path: Path, keys: dict[str, str]) -> None:
    channel = FakeChannel()
    async with durable(tmp_path, channel) as world, world.running():
        assert await world.lanes.accept([said("one", 1)]) == ["new"]
        assert await world.lanes.accept([said("one", 2, **keys)]) == ["duplicate"]
        await channel.until(lambda: len(channel.sent) == 1)
        assert await world.lanes.accept([said("one", 3, **keys)]) == ["duplicate"]
        assert await world.lanes.accept([said("two", 4)]) == ["new"]
        await channel.until(lambda: len(channel.sent) == 2)
    assert channel.texts() == ["re: one", "re: two"]


FILE = Attachment("h", "a.pdf")
GONE = Notice(NoticeKind.RETRACTED, ("m7",))
NOT_FOR_US = [
    ("not addressed", said("hello", 1, is_addressed=False)),
    ("a file that nobody gave to us", said("", 1, attachments=(FILE,), is_addressed=False)),
    ("a notice", said("", 1, notice=GONE)),
]


@pytest.mark.parametrize(
    "message", [row[1] for row in NOT_FOR_US], ids=[row[0] for row in NOT_FOR_US]
)
async def test_what_is_not_for_us_is_not_kept(tmp_path: Path, message: InboundMessage) -> None:
    async with durable(tmp_path, FakeChannel()) as world:
        assert await world.lanes.accept([message]) == ()
        assert await world.lanes.accept([]) == ()
        now = RealClock().now()
        assert await world.inbox.claim("test", now, now, 10) == []


async def test_one_conversation_is_answered_in_order_and_others_go_on(tmp_path: Path) -> None:
    channel = FakeChannel()
    is_free = asyncio.Event()
    running: Counter[str] = Counter()

    async with durable(tmp_path, channel) as world:

        async def turn(claimed: Claimed, _: Channel) -> None:
            lane = claimed.message.conversation.id
            running[lane] += 1
            assert running[lane] == 1
            if claimed.message.text == "slow":
                await is_free.wait()
            running[lane] -= 1
            await world.reply(claimed, claimed.message.text)

        async with world.running(turn):
            slow = [said("slow", 1), *(said(f"a{n}", n) for n in range(2, 6))]
            await world.lanes.accept([*slow, said("b1", 11, "c2"), said("b2", 12, "c2")])
            await channel.until(lambda: channel.texts("c2") == ["b1", "b2"])
            assert channel.texts("c1") == []
            is_free.set()
            await channel.until(lambda: len(channel.texts("c1")) == 5)
    assert channel.texts("c1") == ["slow", "a2", "a3", "a4", "a5"]


async def test_as_many_lanes_run_as_allowed_and_no_more(tmp_path: Path) -> None:
    channel = FakeChannel()
    options = dataclasses.replace(FAST_LANES, concurrency=3)
    running = most = 0
    async with durable(tmp_path, channel, lane_options=options) as world:

        async def turn(claimed: Claimed, _: Channel) -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            running -= 1
            await world.reply(claimed, "done")

        async with world.running(turn):
            await world.lanes.accept([said("x", n, f"c{n}") for n in range(12)])
            await channel.until(lambda: len(channel.sent) == 12)
    assert most == 3


async def test_a_full_lane_says_busy_once_a_message(tmp_path: Path) -> None:
    channel = FakeChannel()
    options = dataclasses.replace(FAST_LANES, lane_limit=2)
    is_free = asyncio.Event()
    async with durable(tmp_path, channel, lane_options=options) as world:

        async def turn(claimed: Claimed, _: Channel) -> None:
            await is_free.wait()
            await world.echo(claimed, _)

        async with world.running(turn):
            messages = [said(f"q{n}", n) for n in range(3)]
            assert await world.lanes.accept(messages) == ["new", "new", "busy"]
            assert await world.lanes.accept([messages[2]]) == ["duplicate"]
            busy = catalogue.text("chat.busy", "en")
            await channel.until(lambda: channel.texts() == [busy])
            is_free.set()
            await channel.until(lambda: len(channel.sent) == 3)
            assert await world.lanes.accept([said("q9", 9)]) == ["new"]
            await channel.until(lambda: len(channel.sent) == 4)
    assert channel.texts() == [busy, "re: q0", "re: q1", "re: q9"]


async def test_notices_go_to_their_hook_before_what_is_stored_and_files_are_noted(
    tmp_path: Path,
) -> None:
    seen: list[str] = []

    async def on_notice(message: InboundMessage) -> None:
        assert message.notice is not None
        seen.append(message.notice.kind)

    def note(message: InboundMessage) -> None:
        seen.append(message.attachments[0].name)

    options = dataclasses.replace(
        FAST_LANES, on_notice=on_notice, note=note, checkpoint=seen.append
    )
    async with durable(tmp_path, FakeChannel(), lane_options=options) as world:
        overheard = said("", 1, attachments=(FILE,), is_addressed=False)
        states = await world.lanes.accept([said("q", 2), said("", 3, notice=GONE), overheard])
    assert states == ["new"]
    assert seen == ["retracted", "a.pdf", "stored"]


async def test_a_notice_that_cannot_be_handled_is_not_acknowledged(tmp_path: Path) -> None:
    async def on_notice(_: InboundMessage) -> None:
        raise StoreError(code="store_full")

    options = dataclasses.replace(FAST_LANES, on_notice=on_notice)
    async with durable(tmp_path, FakeChannel(), lane_options=options) as world:
        with pytest.raises(StoreError):
            await world.lanes.accept([said("", 1, notice=GONE)])


WORDLESS = [
    ("a bare mention", said("", 1)),
    ("files without a word", said("", 1, attachments=(FILE,))),
]


@pytest.mark.parametrize("message", [row[1] for row in WORDLESS], ids=[row[0] for row in WORDLESS])
async def test_what_says_nothing_but_is_for_us_is_answered(
    tmp_path: Path, message: InboundMessage
) -> None:
    channel = FakeChannel()
    async with durable(tmp_path, channel) as world, world.running():
        assert await world.lanes.accept([message]) == ["new"]
        await channel.until(lambda: len(channel.sent) == 1)


class Dropped(Unmetered):
    """Waits until fifteen messages were dropped as those of a loop."""

    def __init__(self) -> None:
        self.all_of_them = asyncio.Event()
        self.count_so_far = 0

    def count(self, name: str, amount: float = 1.0, **labels: str) -> None:
        self.count_so_far += name == "loop_dropped"
        if self.count_so_far == 15:
            self.all_of_them.set()


async def test_two_programs_that_answer_each_other_are_met_with_silence(tmp_path: Path) -> None:
    channel = FakeChannel()
    dropped = Dropped()
    options = dataclasses.replace(FAST_LANES, turns_per_minute=5, lane_limit=99, meter=dropped)
    async with durable(tmp_path, channel, lane_options=options) as world, world.running():
        await world.lanes.accept([said(f"a{n}", n) for n in range(20)])
        await world.lanes.accept([said(f"b{n}", 100 + n, "c2") for n in range(5)])
        await channel.until(lambda: len(channel.texts("c2")) == 5)
        await asyncio.wait_for(dropped.all_of_them.wait(), 10)
    assert channel.texts() == [f"re: a{n}" for n in range(5)]


async def test_hundreds_of_conversations_are_claimed_in_small_batches_and_run_side_by_side(
    tmp_path: Path,
) -> None:
    channel = FakeChannel()
    running = 0
    everybody = asyncio.Event()
    async with durable(tmp_path, channel) as world:

        async def turn(claimed: Claimed, at: Channel) -> None:
            nonlocal running
            running += 1
            if running == 300:
                everybody.set()
            await everybody.wait()
            await world.echo(claimed, at)

        async with world.running(turn):
            await world.lanes.accept([said("x", n, f"c{n}") for n in range(300)])
            await channel.until(lambda: len(channel.sent) == 300)


async def test_a_turn_longer_than_its_lease_is_not_taken_over(tmp_path: Path) -> None:
    channel = FakeChannel()
    options = dataclasses.replace(FAST_LANES, lease_s=0.15)
    begun, is_free = asyncio.Event(), asyncio.Event()
    async with durable(tmp_path, channel, lane_options=options) as world:

        async def turn(claimed: Claimed, at: Channel) -> None:
            begun.set()
            await is_free.wait()
            await world.echo(claimed, at)

        async with world.running(turn):
            await world.lanes.accept([said("long", 1)])
            await begun.wait()
            for _ in range(8):
                await asyncio.sleep(0.05)
                now = RealClock().now()
                assert await world.inbox.claim("other", now, now, 9) == []
            is_free.set()
            await channel.until(lambda: channel.texts() == ["re: long"])


async def test_what_could_not_be_stored_is_taken_when_it_comes_again(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with durable(tmp_path, channel) as world:
        disk = FullDisk(world, refusals=1)
        disk.is_refusing_new_ones = True
        channels = {("fake", "main"): channel}
        world.lanes = InboxLanes(disk, world.sender, channels, RealClock(), RealIds(), FAST_LANES)
        with pytest.raises(StoreError):
            await world.lanes.accept([said("hello", 1)])
        async with world.running():
            assert await world.lanes.accept([said("hello", 1)]) == ["new"]
            await channel.until(lambda: channel.texts() == ["re: hello"])


async def test_a_person_in_two_chats_at_once_gets_each_answer_where_it_was_asked(
    tmp_path: Path,
) -> None:
    channel = FakeChannel()
    group = Conversation("fake", "main", "group/thread", parent_id="group")
    begun, is_free = asyncio.Event(), asyncio.Event()
    async with durable(tmp_path, channel) as world:

        async def turn(claimed: Claimed, at: Channel) -> None:
            if claimed.message.text == "private":
                begun.set()
                await is_free.wait()
            await world.echo(claimed, at)

        async with world.running(turn):
            await world.lanes.accept([said("private", 1)])
            await begun.wait()
            await world.lanes.accept([said("public", 2, conversation=group)])
            await channel.until(lambda: len(channel.sent) == 1)
            is_free.set()
            await channel.until(lambda: len(channel.sent) == 2)
    assert [(chat, parts) for chat, parts, _ in channel.sent] == [
        ("group/thread", ("re: public",)),
        ("c1", ("re: private",)),
    ]
    assert [call.conversation.is_direct for call in channel.calls] == [False, True]


# ---------------------------------------------------------------- failures

FAILURES: list[tuple[str, BaseException, str]] = [
    ("upstream says why", LanguageModelError(), "errors.llm_failed"),
    ("a time-out upstream", LanguageModelError(code="llm_timeout"), "errors.llm_timeout"),
    ("the operator's business", GatewayError("key sk-1", code="config_invalid"), "chat.apology"),
    ("a bug", ZeroDivisionError("secret"), "chat.apology"),
    ("a time-out", TimeoutError(), "chat.apology"),
]
LANGUAGES = [
    ("特休有幾天？", None, "zh-TW"),
    ("有給休暇は何日ですか", None, "ja"),
    ("how many days", None, "en"),
    ("how many days", "ja", "ja"),
]


@pytest.mark.parametrize(
    ("error", "key"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES]
)
@pytest.mark.parametrize(("text", "setting", "language"), LANGUAGES)
async def test_a_turn_that_keeps_failing_ends_in_an_apology(
    tmp_path: Path, error: Exception, key: str, text: str, setting: str | None, language: str
) -> None:
    channel = FakeChannel()
    runs: list[int] = []

    async def turn(claimed: Claimed, _: Channel) -> None:
        runs.append(claimed.attempts)
        raise error

    async with durable(tmp_path, channel) as world, world.running(turn):
        await world.lanes.accept([said(text, 1, language=setting)])
        await channel.until(lambda: len(channel.sent) == 1)
    assert runs == [1, 2, 3, 4]  # once, and three times again
    assert channel.texts() == [catalogue.text(key, language)]


async def test_a_failed_turn_is_run_again_before_later_messages(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with durable(tmp_path, channel) as world:

        async def turn(claimed: Claimed, at: Channel) -> None:
            if claimed.message.text == "odd" and claimed.attempts < 3:
                raise LanguageModelError
            await world.echo(claimed, at)

        async with world.running(turn):
            await world.lanes.accept([said("odd", 1), said("next", 2)])
            await channel.until(lambda: len(channel.sent) == 2)
    assert channel.texts() == ["re: odd", "re: next"]


class LateToHear(SqliteInbox):
    """A row is free, and claimed anew, before whoever freed it hears of that."""

    freed = asyncio.Event()
    claimed_again = asyncio.Event()

    async def release(self, row_id: str, *, failed: bool) -> int:
        failures = await super().release(row_id, failed=failed)
        self.freed.set()
        await self.claimed_again.wait()
        return failures

    async def claim(
        self, worker: str, until: datetime, now: datetime, limit: int
    ) -> Sequence[Claimed]:
        rows = await super().claim(worker, until, now, limit)
        if any(row.attempts > 1 for row in rows):
            self.claimed_again.set()
        return rows


async def test_a_failed_turn_is_run_again_though_another_message_comes_at_that_moment(
    tmp_path: Path,
) -> None:
    channel = FakeChannel()
    async with durable(tmp_path, channel) as world:
        inbox = LateToHear(world.inbox._database, RealClock())
        channels = {("fake", "main"): channel}
        world.lanes = InboxLanes(inbox, world.sender, channels, RealClock(), RealIds(), FAST_LANES)

        async def turn(claimed: Claimed, at: Channel) -> None:
            if claimed.message.text == "odd" and claimed.attempts < 2:
                raise LanguageModelError
            await world.echo(claimed, at)

        async with world.running(turn):
            await world.lanes.accept([said("odd", 1)])
            await inbox.freed.wait()
            await world.lanes.accept([said("other", 2, "c2")])
            await channel.until(lambda: len(channel.sent) == 2)
    assert sorted(channel.texts("c1") + channel.texts("c2")) == ["re: odd", "re: other"]


async def test_a_turn_that_fails_after_its_reply_is_not_run_again(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with durable(tmp_path, channel) as world:

        async def turn(claimed: Claimed, at: Channel) -> None:
            await world.echo(claimed, at)
            if claimed.message.text == "odd":
                raise RuntimeError

        async with world.running(turn):
            await world.lanes.accept([said("odd", 1), said("next", 2)])
            await channel.until(lambda: len(channel.sent) == 2)
    assert channel.texts() == ["re: odd", "re: next"]


async def test_a_turn_without_a_reply_ends_all_the_same(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with durable(tmp_path, channel) as world:

        async def turn(claimed: Claimed, at: Channel) -> None:
            if claimed.message.text != "quiet":
                await world.echo(claimed, at)

        async with world.running(turn):
            await world.lanes.accept([said("quiet", 1), said("next", 2)])
            await channel.until(lambda: channel.texts() == ["re: next"])


async def test_a_turn_that_hangs_has_a_deadline(tmp_path: Path) -> None:
    channel = FakeChannel()
    options = dataclasses.replace(FAST_LANES, turn_timeout_s=0.02)

    async def turn(_: Claimed, __: Channel) -> None:
        await asyncio.Event().wait()

    async with durable(tmp_path, channel, lane_options=options) as world, world.running(turn):
        await world.lanes.accept([said("hello", 1)])
        await channel.until(lambda: len(channel.sent) == 1)
    assert channel.texts() == [catalogue.text("chat.apology", "en")]


async def test_a_message_that_takes_the_process_down_each_time_is_given_up(
    tmp_path: Path,
) -> None:
    channel = FakeChannel()
    now = RealClock().now()
    async with durable(tmp_path, channel) as world:
        await world.lanes.accept([said("poison", 1)])
        for attempt in range(1, 5):  # claimed, and never given back
            [claimed] = await world.inbox.claim("gone", now, now, 1)
            assert claimed.attempts == attempt
            await world.inbox.shown(claimed.id, "message 7")
            await world.inbox.recover(now)
    async with durable(tmp_path, channel) as world, world.running():
        await channel.until(lambda: len(channel.sent) == 1)
    assert channel.texts() == [catalogue.text("chat.apology", "en")]
    # the draft that an earlier process showed does not stay beside it
    handle = channel.calls[0].reply_handle
    assert handle is not None
    assert handle.token == "message 7"


async def test_a_turn_cut_off_by_the_end_is_taken_up_unharmed(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def endless(_: Claimed, __: Channel) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with durable(tmp_path, FakeChannel()) as world:
        async with world.running(endless):
            await world.lanes.accept([said("hello", 1)])
            await begun.wait()
        now = RealClock().now()
        [claimed] = await world.inbox.claim("next", now, now, 1)
        assert claimed.attempts == 1


async def test_messages_of_an_unknown_channel_do_not_block(tmp_path: Path) -> None:
    async with durable(tmp_path, FakeChannel()) as world:
        await world.lanes.accept([said("hello", 1)])
    other = FakeChannel(account_name="other")
    async with durable(tmp_path, other) as world, world.running():
        elsewhere = Conversation("fake", "other", "c1", is_direct=True)
        await world.lanes.accept([said("next", 2, conversation=elsewhere)])
        await other.until(lambda: other.texts() == ["re: next"])
    async with durable(tmp_path, FakeChannel()) as world:
        now = RealClock().now()
        assert await world.inbox.claim("next", now, now, 1) == []


class FullDisk:
    """An inbox whose next few writes are refused, as by a full disk."""

    def __init__(self, world: Durable, refusals: int) -> None:
        self._inbox = world.inbox
        self.refusals = refusals
        self.is_refusing_new_ones = False
        self.recover, self.purge = world.inbox.recover, world.inbox.purge
        self.answered, self.shown = world.inbox.answered, world.inbox.shown
        self.renew, self.retract = world.inbox.renew, world.inbox.retract

    async def put(
        self, rows: Sequence[tuple[str, InboundMessage]], lane_limit: int
    ) -> Sequence[str]:
        if self.is_refusing_new_ones:
            self._refuse()
        return await self._inbox.put(rows, lane_limit)

    def _refuse(self) -> None:
        if self.refusals:
            self.refusals -= 1
            raise StoreError(code="store_full")

    async def claim(self, by: str, until: datetime, now: datetime, limit: int) -> list[Claimed]:
        self._refuse()
        return [*await self._inbox.claim(by, until, now, limit)]

    async def release(self, row_id: str, *, failed: bool) -> int:
        self._refuse()
        return await self._inbox.release(row_id, failed=failed)


async def test_a_full_disk_stops_nothing_for_good(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with durable(tmp_path, channel) as world:
        disk = FullDisk(world, refusals=1)
        channels = {("fake", "main"): channel}
        options = dataclasses.replace(FAST_LANES, poll_s=0.01)
        world.lanes = InboxLanes(disk, world.sender, channels, RealClock(), RealIds(), options)

        async def turn(claimed: Claimed, at: Channel) -> None:
            if claimed.attempts == 1:
                disk.refusals = 2
                raise StoreError(code="store_full")
            await world.echo(claimed, at)

        async with world.running(turn):
            await world.lanes.accept([said("hello", 1)])
            await channel.until(lambda: len(channel.sent) == 1)
    assert channel.texts() == ["re: hello"]

"""Durable in: messages are stored before they are acknowledged, then answered lane by lane."""

import asyncio
import contextlib
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog

from gateway import catalogue
from gateway.core.matching import script
from gateway.core.messages import InboundMessage, Reply
from gateway.core.pace import Pace
from gateway.errors import GatewayError, StoreError, UpstreamError
from gateway.gate import Urgency
from gateway.interfaces import Channel, Claimed, Clock, Ids, Inbox, Meter, Replies
from gateway.metering import SILENT
from gateway.onlookers import Checkpoint, Using, not_counted, unwatched

log = structlog.get_logger()

Channels = Mapping[tuple[str, str], Channel]  # (platform, account name) -> channel
RunTurn = Callable[[Claimed, Channel], Awaitable[None]]  # ends with Replies.put, or raises
LanguageOf = Callable[[InboundMessage], Awaitable[str | None]]
OnNotice = Callable[[InboundMessage], Awaitable[None]]
Note = Callable[[InboundMessage], None]
COUNTED = {"new": "received", "duplicate": "deduplicated", "busy": "busy"}
CLAIM_PATIENCE_S = 0.1  # before turns are begun while events are still being stored
MOST_AT_ONCE = 32  # rows of one claim: the writer is soon free again for what comes in


async def _log_notice(message: InboundMessage) -> None:
    """What nobody handles is at least seen."""
    if message.notice is not None:
        log.info("notice", kind=message.notice.kind, channel=message.conversation.channel)


def _no_note(_: InboundMessage) -> None:
    """Files are not kept."""


async def _language_of_text(message: InboundMessage) -> str | None:
    """The channel's setting, else the script of the question (DESIGN section 8.11)."""
    found = script(message.text)
    return message.language or {"zh": "zh-TW"}.get(found, found)


@dataclass(frozen=True, slots=True)
class LaneOptions:
    """How much is done at once, how often a failed turn is run again, and who watches."""

    worker: str = "gateway"  # who claims; a second gateway has another name
    concurrency: int = 4096  # turns mostly wait for a model; what works here has its own queue
    lane_limit: int = 20  # unanswered messages of one conversation before it says "busy"
    turns_per_minute: int = 60  # of one conversation; beyond it two programs talk to each other
    reruns: int = 3
    first_pause_s: float = 0.5  # before the first re-run; doubled before each further one
    turn_timeout_s: float = 600.0
    lease_s: float = 120.0  # a claim's; renewed while its turn runs
    grace_s: float = 10.0  # for turns that run when we stop
    poll_s: float = 30.0  # rows nobody told us of: claims of another gateway that ran out
    language_of: LanguageOf = _language_of_text  # for the busy sentence and the apology
    on_notice: OnNotice = _log_notice  # before the platform hears 200
    note: Note = _no_note  # every message with files, addressed to us or not
    using: Using = not_counted  # holds a channel open while a turn runs on it
    urgency: Urgency | None = None  # told while events are stored; None: nobody else asks
    checkpoint: Checkpoint = unwatched
    meter: Meter = SILENT


class InboxLanes:
    """One lane a conversation, lanes side by side; a failure is a sentence, never silence."""

    def __init__(
        self,
        inbox: Inbox,
        replies: Replies,
        channels: Channels,
        clock: Clock,
        ids: Ids,
        options: LaneOptions = LaneOptions(),
    ) -> None:
        self._inbox = inbox
        self._replies = replies
        self._channels = channels
        self._clock = clock
        self._ids = ids
        self._options = options
        self._checkpoint = options.checkpoint
        self._wake = asyncio.Event()
        self._running: dict[str, asyncio.Task[None]] = {}  # row id -> its turn
        self._urgency = options.urgency or Urgency()
        self._pace = Pace(options.turns_per_minute)
        self._is_stopping = False

    async def accept(self, messages: Sequence[InboundMessage]) -> Sequence[str]:
        """Store what is to be answered, durably, before the platform hears 200.

        Per stored message "new", "duplicate" or "busy". Not stored: what is not addressed to us,
        and notices. Those are handled first: of two in one body the later one says what holds.
        """
        for message in messages:
            if message.notice is not None:
                await self._options.on_notice(message)
            elif message.attachments:
                self._options.note(message)
        ours = [each for each in messages if each.is_addressed and each.notice is None]
        rows = [(self._ids.new(), message) for message in ours]
        if not rows:
            return ()
        with self._urgency.at_work():
            states = await self._inbox.put(rows, self._options.lane_limit)
        self._checkpoint("stored")
        for (row_id, message), state in zip(rows, states, strict=True):
            self._options.meter.count(COUNTED[state], channel=message.conversation.channel)
            if state == "busy":
                await self._say(row_id, message, "chat.busy")
        self._wake.set()
        return states

    async def run(self, run_turn: RunTurn) -> None:
        """Answer until `stop`; begins with what a dead process left behind."""
        freed = await self._inbox.recover(self._clock.now())
        if freed:
            log.info("messages taken up again", count=freed)
        async with asyncio.TaskGroup() as turns:
            renewing = turns.create_task(self._renew())
            while not self._is_stopping:
                self._wake.clear()
                await self._urgency.passed(CLAIM_PATIENCE_S)
                rows = await self._claim()
                for row in rows:
                    self._checkpoint("claimed")
                    if row.id not in self._running:  # else its claim ran out while it still runs
                        task = turns.create_task(self._answer(row, run_turn))
                        self._running[row.id] = task
                        task.add_done_callback(partial(self._ended, row.id))
                if len(rows) < MOST_AT_ONCE:
                    await self._pause(self._options.poll_s)
            await self._drain()
            renewing.cancel()

    @property
    def is_idle(self) -> bool:
        """No turn runs."""
        return not self._running

    def stop(self) -> None:
        """Begin no further turn; `run` returns when the running ones or their grace have ended."""
        self._is_stopping = True
        self._wake.set()

    async def _claim(self) -> Sequence[Claimed]:
        free = self._options.concurrency - len(self._running)
        if free <= 0:
            return ()
        now = self._clock.now()
        until = now + timedelta(seconds=self._options.lease_s)
        try:
            most = min(free, MOST_AT_ONCE)
            return await self._inbox.claim(self._options.worker, until, now, most)
        except StoreError as error:
            log.error("inbox cannot be read", code=error.code)  # noqa: TRY400 - no trace needed
            return ()

    async def _pause(self, wait_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._wake.wait()

    def _ended(self, row_id: str, task: asyncio.Task[None]) -> None:
        if self._running.get(row_id) is task:  # else it is being run again by now
            del self._running[row_id]
        self._wake.set()

    async def _renew(self) -> None:
        """Hold what runs for longer than a lease."""
        while True:
            await asyncio.sleep(self._options.lease_s / 3)
            until = self._clock.now() + timedelta(seconds=self._options.lease_s)
            try:
                await self._inbox.renew([*self._running], until)
            except StoreError as error:
                log.error("claims not renewed", code=error.code)  # noqa: TRY400

    async def _drain(self) -> None:
        if self._running:
            await asyncio.wait({*self._running.values()}, timeout=self._options.grace_s)
        for task in self._running.values():
            task.cancel()

    async def _answer(self, row: Claimed, run_turn: RunTurn) -> None:
        place = row.message.conversation
        channel = self._channels.get((place.channel, place.account_name))
        _adopt(row, channel)
        try:
            if row.attempts > self._options.reruns + 1:  # it took the whole process down each time
                await self._failed(row, None)
            elif channel is not None:
                if self._is_in_pace(row):
                    with self._options.using(channel):
                        async with asyncio.timeout(self._options.turn_timeout_s):
                            await run_turn(row, channel)
            else:
                log.error("message of a channel that is not configured", turn_id=row.id)
            # a turn that owed no reply; nothing where one is written already
            await self._inbox.answered(row.id, (), self._clock.now())
        except asyncio.CancelledError:
            with contextlib.suppress(StoreError):  # then the next start takes it up
                await self._inbox.release(row.id, failed=False)
            raise
        except GatewayError as error:
            log.warning("turn failed", turn_id=row.id, code=error.code)
            await self._failed(row, error)
        except TimeoutError:
            log.warning("turn ran out of time", turn_id=row.id)
            await self._failed(row, None)
        except Exception as bug:  # noqa: BLE001 - the boundary: a bug must not stop the process
            # where, not what: a traceback's values and an error's words may be people's texts
            log.error("turn crashed", turn_id=row.id, error=type(bug).__name__, at=_place(bug))  # noqa: TRY400
            await self._failed(row, None)

    def _is_in_pace(self, row: Claimed) -> bool:
        """False where a conversation turns over faster than people write: silence ends a loop."""
        lane, channel = row.message.conversation.lane, row.message.conversation.channel
        if row.attempts > 1 or self._pace.may_go(lane, self._clock.monotonic()):
            return True
        log.warning("message of a loop dropped", turn_id=row.id, channel=channel)
        self._options.meter.count("loop_dropped", channel=channel)
        return False

    async def _failed(self, row: Claimed, error: GatewayError | None) -> None:
        """Back into its lane for a re-run, or the apology where there were enough of them."""
        if row.attempts <= self._options.reruns:
            # the claim is held meanwhile: the lane waits, no other does
            await asyncio.sleep(self._options.first_pause_s * 2 ** (row.attempts - 1))
            await self._settled(row, lambda: self._free(row.id))
        else:
            await self._settled(row, lambda: self._apologise(row, error))

    async def _free(self, row_id: str) -> None:
        """It may be claimed before we hear that it is free, and is to be run again then."""
        task = self._running.pop(row_id)
        try:
            await self._inbox.release(row_id, failed=True)
        except StoreError:
            self._running[row_id] = task
            raise

    async def _settled(self, row: Claimed, write: Callable[[], Awaitable[object]]) -> None:
        """Try until the store takes it; the claim is ours as long, and recovery's afterwards."""
        while True:
            try:
                await write()
            except StoreError as error:
                log.error("turn cannot be ended", turn_id=row.id, code=error.code)  # noqa: TRY400
                if self._is_stopping:
                    return
                await asyncio.sleep(self._options.first_pause_s)
            else:
                return

    async def _apologise(self, row: Claimed, error: GatewayError | None) -> None:
        """What failed upstream has a sentence of its own; the rest is the operator's business."""
        if isinstance(error, UpstreamError):
            await self._say(row.id, row.message, f"errors.{error.code}", **error.params)
        else:
            await self._say(row.id, row.message, "chat.apology")

    async def _say(
        self, turn_id: str, message: InboundMessage, key: str, **params: str | int
    ) -> None:
        language = await self._options.language_of(message)
        text = catalogue.text(key, language, **params)
        await self._replies.put(turn_id, message, Reply(turn_id, (text,), text))


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames[-4:]))


def _adopt(row: Claimed, channel: Channel | None) -> None:
    """A draft that an earlier process left in the chat becomes the reply, or the apology."""
    if channel is not None and row.preview is not None:
        channel.adopt_preview(row.id, row.preview)

"""Durable in: messages are stored before they are acknowledged, then answered lane by lane."""

import asyncio
import contextlib
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from gateway import catalogue
from gateway.core.matching import script
from gateway.core.messages import InboundMessage, Reply
from gateway.errors import GatewayError, StoreError, UpstreamError
from gateway.interfaces import Channel, Claimed, Clock, Ids, Inbox, Replies

log = structlog.get_logger()

Channels = Mapping[tuple[str, str], Channel]  # (platform, account name) -> channel
RunTurn = Callable[[Claimed, Channel], Awaitable[None]]  # ends with Replies.put, or raises
Checkpoint = Callable[[str], None]  # told of each state change of a message, by name
LanguageOf = Callable[[InboundMessage], Awaitable[str | None]]


def _unwatched(_: str) -> None:
    """No one looks at the state changes."""


async def _language_of_text(message: InboundMessage) -> str | None:
    """The channel's setting, else the script of the question (DESIGN section 8.11)."""
    found = script(message.text)
    return message.language or {"zh": "zh-TW"}.get(found, found)


@dataclass(frozen=True, slots=True)
class LaneOptions:
    """How much is done at once, how often a failed turn is run again, and who watches."""

    worker: str = "gateway"  # who claims; a second gateway has another name
    concurrency: int = 8
    lane_limit: int = 20  # unanswered messages of one conversation before it says "busy"
    reruns: int = 3
    first_pause_s: float = 0.5  # before the first re-run; doubled before each further one
    turn_timeout_s: float = 600.0  # claims outlast it, so that no turn loses its row while it runs
    grace_s: float = 10.0  # for turns that run when we stop
    poll_s: float = 30.0  # rows nobody told us of: claims of another gateway that ran out
    language_of: LanguageOf = _language_of_text  # for the busy sentence and the apology
    checkpoint: Checkpoint = _unwatched


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
        self._running: set[asyncio.Task[None]] = set()
        self._is_stopping = False

    async def accept(self, messages: Sequence[InboundMessage]) -> Sequence[str]:
        """Store what is to be answered, durably, before the platform hears 200.

        Per stored message "new", "duplicate" or "busy". Not stored: what is not addressed to us,
        and files without a word, which nothing answers yet.
        """
        rows = [(self._ids.new(), message) for message in messages if _is_for_us(message)]
        if not rows:
            return ()
        states = await self._inbox.put(rows, self._options.lane_limit)
        self._checkpoint("stored")
        for (row_id, message), state in zip(rows, states, strict=True):
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
            while not self._is_stopping:
                self._wake.clear()
                for row in await self._claim():
                    self._checkpoint("claimed")
                    task = turns.create_task(self._answer(row, run_turn))
                    self._running.add(task)
                    task.add_done_callback(self._ended)
                await self._pause(self._options.poll_s)
            await self._drain()

    def stop(self) -> None:
        """Begin no further turn; `run` returns when the running ones or their grace have ended."""
        self._is_stopping = True
        self._wake.set()

    async def _claim(self) -> Sequence[Claimed]:
        free = self._options.concurrency - len(self._running)
        if free <= 0:
            return ()
        now = self._clock.now()
        until = now + timedelta(seconds=2 * self._options.turn_timeout_s)
        try:
            return await self._inbox.claim(self._options.worker, until, now, free)
        except StoreError as error:
            log.error("inbox cannot be read", code=error.code)  # noqa: TRY400 - no trace needed
            return ()

    async def _pause(self, wait_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._wake.wait()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._wake.set()

    async def _drain(self) -> None:
        if self._running:
            await asyncio.wait(set(self._running), timeout=self._options.grace_s)
        for task in self._running:
            task.cancel()

    async def _answer(self, row: Claimed, run_turn: RunTurn) -> None:
        place = row.message.conversation
        channel = self._channels.get((place.channel, place.account_name))
        try:
            if row.attempts > self._options.reruns + 1:  # it took the whole process down each time
                await self._failed(row, None)
            elif channel is not None:
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

    async def _failed(self, row: Claimed, error: GatewayError | None) -> None:
        """Back into its lane for a re-run, or the apology where there were enough of them."""
        if row.attempts <= self._options.reruns:
            # the claim is held meanwhile: the lane waits, no other does
            await asyncio.sleep(self._options.first_pause_s * 2 ** (row.attempts - 1))
            await self._settled(row, lambda: self._inbox.release(row.id, failed=True))
        else:
            await self._settled(row, lambda: self._apologise(row, error))

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


def _is_for_us(message: InboundMessage) -> bool:
    has_question = bool(message.text.strip()) or not message.attachments
    return message.is_addressed and has_question

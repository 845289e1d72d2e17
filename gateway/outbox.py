"""Durable out: each API call we owe is written first, then sent once, in order per conversation."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import structlog

from gateway.call_queues import CallQueues
from gateway.core.messages import (
    IDEMPOTENT,
    Conversation,
    Delivered,
    InboundMessage,
    OutboundCall,
    OutcomeUnknown,
    Refused,
    Reply,
    ReplyHandle,
    RetryLater,
    SendMethod,
    SendOutcome,
    TryOtherMethod,
)
from gateway.core.owed import final_frame, owed_calls
from gateway.errors import ChannelError, GatewayError, NotFoundError, StoreError
from gateway.interfaces import Channel, Clock, DueCall, Inbox, Outbox
from gateway.sending import LookAgain, SendingOptions

log = structlog.get_logger()

Channels = Mapping[tuple[str, str], Channel]  # (platform, account name) -> channel
MOST_REMEMBERED = 10_000  # unsent calls of an earlier process
MOST_AT_ONCE = 64  # rows of one claim: the writer is soon free again for what comes in
WAITED = timedelta(seconds=5)  # what is sent later than that is looked at once more
UNCHECKED = -2  # equal to no generation
LONGEST_RETRY_AFTER_S = 86_400.0  # a day: LINE forgets a retry key then
FAR_AHEAD = datetime(9999, 1, 1, tzinfo=UTC)  # a message can be edited for as long as it is there
AS_USUAL = SendingOptions()


class OutboxSender:
    """Writes the calls of a reply with the turn's end, and sends what is due."""

    def __init__(
        self,
        outbox: Outbox,
        inbox: Inbox,
        channels: Channels,
        clock: Clock,
        options: SendingOptions = AS_USUAL,
    ) -> None:
        self._outbox = outbox
        self._inbox = inbox
        self._channels = channels
        self._clock = clock
        self._options = options
        self._checkpoint = options.checkpoint
        self._wake = asyncio.Event()
        self._due_at: dict[str, datetime] = {}  # what this process postponed
        self._owed: dict[str, set[str]] = {}  # lane -> its calls that are not settled
        self._checked_at: dict[str, int | None] = {}  # call -> Reply.checked_at, of this process
        self._queues = CallQueues(options.concurrency)
        self._is_stopping = False

    async def put(
        self, turn_id: str, message: InboundMessage, reply: Reply, channel: Channel | None = None
    ) -> None:
        """End the turn and owe its calls, in one transaction; a repeat changes nothing.

        `channel` is the one that showed the draft, should another have its place by now.
        """
        now = self._clock.now()
        channel = channel or self._channel(message.conversation)
        if channel is None:
            raise ChannelError(f"no channel {message.conversation.lane}")
        calls = owed_calls(turn_id, message, reply, channel.limits, now)
        preview = channel.preview(turn_id)
        if calls and preview is not None:  # what shows the draft becomes the reply
            handle = ReplyHandle(preview, FAR_AHEAD)
            calls = (dataclasses.replace(calls[0], reply_handle=handle), *calls[1:])
        if calls and channel.method(calls[-1], now) is SendMethod.FRAME:
            calls = (*calls[:-1], dataclasses.replace(calls[-1], extra=final_frame(reply)))
        if calls:
            lane = message.conversation.lane
            self._owed.setdefault(lane, set()).update(call.id for call in calls)
            self._checked_at.update((call.id, reply.checked_at) for call in calls)
        self._checkpoint("answering")
        try:
            await self._inbox.answered(turn_id, calls, now)
        except GatewayError:
            for call in calls:  # not written; a further try may owe others
                self._settled(call)
            raise
        self._checkpoint("answered")
        self._wake.set()

    async def run(self) -> None:
        """Send until `stop`; begins with what a dead process left behind."""
        for call_id in await self._outbox.recover(self._clock.now()):
            log.warning("outcome of a call is unknown", call_id=call_id)
        for row in await self._outbox.listed(["pending"], MOST_REMEMBERED):
            self._owed.setdefault(row["conversation"], set()).add(row["id"])
        async with asyncio.TaskGroup() as calls:
            while not self._is_stopping:
                self._wake.clear()
                rows = await self._claim()
                self._queues.add(rows, self._clock.monotonic())
                verdicts = self._queues.verdicts(self._reserve, self._clock.monotonic())
                for due in verdicts.go:
                    calls.create_task(self._send(due))
                for due, wait_s in verdicts.back:
                    calls.create_task(self._hold(due, wait_s))
                if len(rows) < MOST_AT_ONCE:
                    await self._pause()

    def owes(self, lane: str) -> bool:
        """Whether a reply to this conversation is not whole on its way yet."""
        return lane in self._owed

    def wake(self) -> None:
        """Something may be due that nobody else told of: a dead letter put back."""
        self._wake.set()

    def stop(self) -> None:
        """Begin nothing new; `run` returns when the calls in flight have their outcomes."""
        self._is_stopping = True
        self._wake.set()

    def _channel(self, conversation: Conversation) -> Channel | None:
        return self._channels.get((conversation.channel, conversation.account_name))

    def _reserve(self, conversation: Conversation) -> float:
        channel = self._channel(conversation)
        return channel.reserve(conversation) if channel is not None else 0.0

    async def _claim(self) -> Sequence[DueCall]:
        now = self._clock.now()
        until = now + timedelta(seconds=2 * self._options.call_timeout_s)
        try:
            return await self._outbox.claim(self._options.worker, until, now, MOST_AT_ONCE)
        except StoreError as error:
            log.error("outbox cannot be read", code=error.code)  # noqa: TRY400 - no trace needed
            return ()

    async def _pause(self) -> None:
        """Until somebody has news, a postponed call is due, or the poll for foreign rows is."""
        wait_s = self._options.poll_s
        next_due = min(self._due_at.values(), default=None)
        if next_due is not None:
            wait_s = min(wait_s, max(0.0, (next_due - self._clock.now()).total_seconds()))
        next_held_s = self._queues.next_s(self._clock.monotonic())
        if next_held_s is not None:
            wait_s = min(wait_s, next_held_s)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._wake.wait()
        now = self._clock.now()
        self._due_at = {key: due for key, due in self._due_at.items() if due > now}

    async def _send(self, due: DueCall) -> None:
        try:
            tried = await self._attempt(due)
            if tried is not None:
                await self._record(due, *tried)
        except StoreError as error:  # of the second look: nothing was sent, the claim runs out
            log.warning("call not looked at", call_id=due.call.id, code=error.code)
        finally:
            self._queues.ended(due)
            self._wake.set()

    async def _attempt(
        self, due: DueCall
    ) -> tuple[SendOutcome | LookAgain, SendMethod | None] | None:
        """None: nothing was written to a socket, and the claim runs out by itself."""
        channel = self._channel(due.call.conversation)
        if channel is None:
            return Refused("channel is not configured"), None
        generation = self._options.generation()
        call = await self._as_it_may_go(due.call, generation)
        if call is None:
            return Refused("not readable any more"), None
        # what went out by a one-time handle is only ever due again when it was not accepted
        repeat = due.method if due.method in IDEMPOTENT else None
        method = repeat or channel.method(call, self._clock.now())
        self._checkpoint("before sending")
        try:
            await self._outbox.sending(call.id, method)
        except (StoreError, NotFoundError) as error:  # not found: it was settled meanwhile
            log.warning("call not sent", call_id=call.id, code=error.code)
            if isinstance(error, NotFoundError):
                self._settled(call)
            return None
        self._checkpoint("sending")
        if self._options.generation() != generation:  # no pause from here to the socket
            return LookAgain(), None
        with self._options.using(channel):
            return await self._call(channel, call, method), method

    async def _as_it_may_go(self, call: OutboundCall, generation: int) -> OutboundCall | None:
        """Looked at again: what waited, what an earlier process left, what was wiped, and all
        while the access rules are not those of the turn's own last look.
        """
        checked_at = self._checked_at.get(call.id, UNCHECKED)
        is_new = self._clock.now() - call.created_at <= WAITED
        if is_new and call.parts and checked_at in (None, generation):
            return call
        return await self._options.recheck(call)

    async def _hold(self, due: DueCall, wait_s: float) -> None:
        """Not yet, by the platform's rates; nothing was tried, so nothing counts."""
        until = self._clock.now() + timedelta(seconds=wait_s)
        try:
            await self._outbox.postpone(due.call.id, until, "held by rate", uncounted=True)
        except (StoreError, NotFoundError) as error:
            log.warning("call not held", call_id=due.call.id, code=error.code)
        else:
            self._due_at[due.call.id] = until

    async def _call(self, channel: Channel, call: OutboundCall, method: SendMethod) -> SendOutcome:
        try:
            async with asyncio.timeout(self._options.call_timeout_s):
                outcome = await channel.send(call, method)
        except (GatewayError, OSError, TimeoutError) as error:
            reason = type(error).__name__
            in_doubt = RetryLater(None, reason), OutcomeUnknown(reason)
            outcome = in_doubt[method not in IDEMPOTENT]
        self._checkpoint("sent")
        return outcome

    async def _record(
        self, due: DueCall, outcome: SendOutcome | LookAgain, method: SendMethod | None
    ) -> None:
        """Keep trying: a sent call that nobody wrote down would be in doubt for no reason."""
        while True:
            try:
                await self._write(due, outcome, method)
            except NotFoundError:
                log.info("call was settled meanwhile", call_id=due.call.id)
                self._settled(due.call)
                return
            except StoreError as error:
                log.error("outcome not recorded", call_id=due.call.id, code=error.code)  # noqa: TRY400
                if self._is_stopping:
                    return
                await asyncio.sleep(self._options.first_pause_s)
            else:
                self._checkpoint("recorded")
                return

    async def _write(
        self, due: DueCall, outcome: SendOutcome | LookAgain, method: SendMethod | None
    ) -> None:
        call_id, now = due.call.id, self._clock.now()
        channel = due.call.conversation.channel
        match outcome:
            case Delivered():
                await self._outbox.sent(call_id, now)
                self._settled(due.call)
                self._options.meter.count("sent", channel=channel, method=method or "")
            case LookAgain():
                await self._outbox.postpone(call_id, now, "access changed", uncounted=True)
            case TryOtherMethod(reason):
                await self._outbox.postpone(call_id, now, reason, without_handle=True)
            case RetryLater(after_s, reason) if due.attempts < self._options.attempts:
                until = now + self._wait(due.attempts, after_s)
                await self._outbox.postpone(call_id, until, reason)
                self._due_at[call_id] = until
                is_rate = after_s is not None
                name = "rate_limited" if is_rate else "send_retried"
                self._options.meter.count(name, channel=channel)
            case RetryLater(_, reason):
                await self._give_up(due.call, "dead", f"given up: {reason}", now)
            case Refused(reason):
                await self._give_up(due.call, "dead", reason, now)
            case OutcomeUnknown(reason):
                await self._give_up(due.call, "unknown", reason, now)

    async def _give_up(self, call: OutboundCall, state: str, reason: str, now: datetime) -> None:
        await self._outbox.give_up(call.id, state, reason, now)
        self._settled(call)
        channel = call.conversation.channel
        log.error("call given up", call_id=call.id, channel=channel, state=state, reason=reason)
        self._options.meter.count("given_up", channel=channel, state=state)

    def _settled(self, call: OutboundCall) -> None:
        self._checked_at.pop(call.id, None)
        lane = call.conversation.lane
        owed = self._owed.get(lane, set())
        owed.discard(call.id)
        if not owed:
            self._owed.pop(lane, None)

    def _wait(self, attempts: int, after_s: float | None) -> timedelta:
        doubled_s = self._options.first_pause_s * 2 ** (attempts - 1)
        pause_s = min(doubled_s, self._options.longest_pause_s)
        return timedelta(seconds=min(max(pause_s, after_s or 0.0), LONGEST_RETRY_AFTER_S))

"""A gateway's durable half on a temporary home: real store, real lanes, real sender."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.core.messages import Reply
from gateway.inbox import InboxLanes, LaneOptions, RunTurn
from gateway.interfaces import Channel, Claimed
from gateway.outbox import OutboxSender
from gateway.sending import SendingOptions
from gateway.store.database import Database
from gateway.store.inbox import SqliteInbox
from gateway.store.outbox import SqliteOutbox
from tests.fakes.times import RealClock, RealIds

FAST_LANES = LaneOptions(first_pause_s=0.001, grace_s=0.05)
FAST_SENDING = SendingOptions(first_pause_s=0.001, longest_pause_s=0.01)


@dataclass
class Durable:
    """Inbox and outbox over one file."""

    inbox: SqliteInbox
    outbox: SqliteOutbox
    lanes: InboxLanes
    sender: OutboxSender

    @asynccontextmanager
    async def running(self, run_turn: RunTurn | None = None) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.lanes.run(run_turn or self.echo))
            tasks.create_task(self.sender.run())
            try:
                yield
            finally:
                self.lanes.stop()
                self.sender.stop()

    async def echo(self, claimed: Claimed, _: Channel) -> None:
        await self.reply(claimed, f"re: {claimed.message.text}")

    async def reply(self, claimed: Claimed, *parts: str) -> None:
        reply = Reply(claimed.id, parts, "\n".join(parts))
        await self.sender.put(claimed.id, claimed.message, reply)

    async def states(self) -> list[tuple[str, str]]:
        """(state, reason) of every outbox row, oldest first."""
        every = ["pending", "sending", "sent", "unknown", "dead"]
        rows: list[Mapping[str, Any]] = [*await self.outbox.listed(every, 1000)]
        return [(row["state"], row["reason"]) for row in reversed(rows)]

    async def settled(self) -> list[str]:
        """States once nothing is pending or being sent any more."""
        async with asyncio.timeout(10):
            while True:
                states = [state for state, _ in await self.states()]
                if not {"pending", "sending"} & set(states):
                    return states
                await asyncio.sleep(0.005)


@asynccontextmanager
async def durable(
    home: Path,
    *channels: Channel,
    lane_options: LaneOptions = FAST_LANES,
    sending: SendingOptions = FAST_SENDING,
) -> AsyncIterator[Durable]:
    database = await Database.open(home / "inbox.db", "inbox", "FULL")
    clock = RealClock()
    inbox, outbox = SqliteInbox(database, clock), SqliteOutbox(database)
    by_account = {(channel.name, channel.account_name): channel for channel in channels}
    sender = OutboxSender(outbox, inbox, by_account, clock, sending)
    lanes = InboxLanes(inbox, sender, by_account, clock, RealIds(), lane_options)
    try:
        yield Durable(inbox, outbox, lanes, sender)
    finally:
        await database.close()

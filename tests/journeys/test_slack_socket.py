"""Socket Mode: stored before it is acknowledged, connected again whatever ends a connection."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from channels.slack.channel import Mode, SlackChannel, SlackSettings
from gateway.core.messages import InboundMessage, LinkState
from gateway.core.secrets import Secret
from gateway.errors import StoreError
from tests.simulators.slack import BOT_USER, CHANNEL, TEAM, Error, Fault, SlackSimulator

AUTH, OPEN = "auth.test", "apps.connections.open"


@dataclass
class Gateway:
    """What the channel hands over; storing can be held up, and can fail."""

    stored: list[InboundMessage] = field(default_factory=list)
    may_store: asyncio.Event = field(default_factory=asyncio.Event)
    is_storing: asyncio.Event = field(default_factory=asyncio.Event)
    failures: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def accept(self, messages: Sequence[InboundMessage]) -> None:
        self.is_storing.set()
        await self.may_store.wait()
        self.news.set()
        if self.failures:
            self.failures -= 1
            raise StoreError("full")
        self.stored.extend(messages)

    async def wait_for(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.stored) < count:
                self.news.clear()
                await self.news.wait()


@dataclass
class World:
    """A running connection."""

    slack: SlackSimulator
    channel: SlackChannel
    gateway: Gateway
    running: asyncio.Task[None]

    async def ready(self, sockets: int = 1) -> None:
        await self.slack.until(lambda: len(self.slack.sockets) >= sockets)
        await self._until(LinkState.READY)

    async def down(self) -> str:
        await self._until(LinkState.DOWN)
        return self.channel.state.reason

    async def _until(self, state: LinkState) -> None:
        async with asyncio.timeout(10):
            while True:
                if self.channel.state.state is state:
                    return
                await asyncio.sleep(0.005)


@asynccontextmanager
async def world(slack: SlackSimulator, **over: Any) -> AsyncIterator[World]:
    wanted: dict[str, Any] = {
        "name": "main",
        "agent": "helper",
        "bot_token": Secret(slack.token),
        "app_token": Secret(slack.app_token),
        "mode": Mode.SOCKET,
        "api_base_url": slack.api_url,
    }
    channel, gateway = SlackChannel(SlackSettings(**wanted | over), first_pause_s=0.01), Gateway()
    gateway.may_store.set()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(channel.run(gateway.accept))
        try:
            yield World(slack, channel, gateway, running)
        finally:
            running.cancel()
    await channel.close()
    assert all(socket.closed for socket in slack.sockets)


@pytest.fixture
async def slack() -> AsyncIterator[SlackSimulator]:
    async with SlackSimulator().running() as running:
        yield running
    assert running.violations == []


async def test_an_event_is_acknowledged_once_it_is_stored(slack: SlackSimulator) -> None:
    async with world(slack) as here:
        assert here.channel.state.state is LinkState.STARTING
        await here.ready()
        here.gateway.may_store.clear()
        await slack.push(slack.envelope(slack.event("hello")))
        await here.gateway.is_storing.wait()
        await slack.echo()  # what was sent before it has arrived
        assert slack.acknowledged == []
        here.gateway.may_store.set()
        await slack.until(lambda: len(slack.acknowledged) == 1)
        assert [each.text for each in here.gateway.stored] == ["hello"]
        [message] = here.gateway.stored
        assert message.conversation.is_direct
        assert message.sender is not None
        assert message.sender.id.startswith(f"{TEAM}:")


async def test_what_could_not_be_stored_is_not_acknowledged(slack: SlackSimulator) -> None:
    async with world(slack) as here:
        await here.ready()
        here.gateway.failures = 1
        event = slack.envelope(slack.event("hello"))
        await slack.push(event)
        async with asyncio.timeout(10):
            await here.gateway.news.wait()
        await slack.push(event)  # as Slack does
        await slack.until(lambda: len(slack.acknowledged) == 1)
        assert [each.text for each in here.gateway.stored] == ["hello"]


async def test_events_keep_their_order(slack: SlackSimulator) -> None:
    async with world(slack) as here:
        await here.ready()
        await slack.push(*(slack.envelope(slack.event(str(n))) for n in range(50)))
        await here.gateway.wait_for(50)
        assert [each.text for each in here.gateway.stored] == [str(n) for n in range(50)]


async def test_what_is_nothing_to_us_is_acknowledged(slack: SlackSimulator) -> None:
    async with world(slack) as here:
        await here.ready()
        socket = slack.sockets[-1]
        await socket.send_str("no JSON")
        await socket.send_str('["a list"]')
        for kind in ("interactive", "slash_commands", "hologram"):
            await socket.send_json({"type": kind, "envelope_id": kind, "payload": {"x": 1}})
        await slack.push(slack.envelope({"type": "reaction_added"}), {"odd": True})
        await slack.push(slack.envelope(slack.event("hello")))
        await slack.until(lambda: len(slack.acknowledged) == 6)
        assert [each.text for each in here.gateway.stored] == ["hello"]


async def test_our_mention_is_known_without_authorizations(slack: SlackSimulator) -> None:
    async with world(slack) as here:
        await here.ready()
        event = slack.in_channel(f"<@{BOT_USER}> hi")
        await slack.push(slack.envelope(event, authorizations=None))
        await here.gateway.wait_for(1)
        [message] = here.gateway.stored
        assert (message.is_addressed, message.text) == (True, "hi")
        assert message.conversation.id == f"{CHANNEL}:{event['ts']}"


async def test_a_connection_that_is_dismissed_or_cut_is_made_anew(slack: SlackSimulator) -> None:
    async with world(slack) as here:
        await here.ready()
        await slack.disconnect()
        await here.ready(2)
        await slack.sockets[-1].close()
        await here.ready(3)
        transport = slack.sockets[-1]._req.transport  # type: ignore[union-attr]
        assert transport is not None
        transport.abort()
        await here.ready(4)
        await slack.push(slack.envelope(slack.event("still here")))
        await here.gateway.wait_for(1)
        assert slack.calls == [AUTH, OPEN, OPEN, OPEN, OPEN]
        assert all(socket.closed for socket in slack.sockets[:-1])


async def test_an_event_sent_again_after_a_reconnect_has_the_same_keys(
    slack: SlackSimulator,
) -> None:
    async with world(slack) as here:
        await here.ready()
        event = slack.envelope(slack.event("hello"))
        await slack.push(event)
        await here.gateway.wait_for(1)
        await slack.disconnect("warning")
        await here.ready(2)
        await slack.push(event)
        await here.gateway.wait_for(2)
        keys = {(each.delivery_id, each.message_key) for each in here.gateway.stored}
        assert len(keys) == 1


@pytest.mark.parametrize("method", [AUTH, OPEN])
async def test_a_platform_that_is_down_at_first_is_waited_for(
    slack: SlackSimulator, method: str
) -> None:
    slack.method_faults[method] = deque(
        [Fault.SERVER_ERROR, Fault.CLOSE_BEFORE, Error("internal_error"), Fault.GARBAGE]
    )
    async with world(slack) as here:
        assert await here.down()
        await here.ready()
        assert slack.calls.count(method) == 5


async def test_wrong_tokens_are_told(slack: SlackSimulator) -> None:
    async with world(slack, bot_token=Secret("xoxb-wrong")) as here:
        assert await here.down() == "invalid_auth"
    async with world(slack, app_token=Secret("xapp-wrong")) as here:
        assert await here.down() == "invalid_auth"


async def test_an_address_that_was_refused_is_not_tried_for_ever(slack: SlackSimulator) -> None:
    slack.handshakes_refused = 2
    async with world(slack) as here:
        here.channel._socket.connect_timeout_s = 0.3
        assert await here.down() == "not connected"
        await here.ready()
        assert slack.calls.count(OPEN) == 3


async def test_cancelling_closes_the_connection(slack: SlackSimulator) -> None:
    async with world(slack) as here:
        await here.ready()
        assert [socket.closed for socket in slack.sockets] == [False]
    assert here.running.done()  # so nobody opens another
    assert [socket.closed for socket in slack.sockets] == [True]


async def test_proxies_of_the_environment_decide_nothing(
    slack: SlackSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with world(slack) as here:
        await here.ready()


async def test_in_events_mode_the_identity_is_learned_and_no_socket_opened(
    slack: SlackSimulator,
) -> None:
    slack.faults.append(Fault.UNAVAILABLE)
    async with world(slack, mode=Mode.EVENTS, signing_secret=Secret("s")) as here:
        async with asyncio.timeout(10):
            await here.running
        assert here.channel.state.state is LinkState.READY
        assert slack.calls == [AUTH, AUTH]

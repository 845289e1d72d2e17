"""Socket Mode: the SDK's client, one connection after the other, acknowledged when stored."""

import asyncio
import contextlib
import importlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import structlog

from channels.slack.client import CONNECT_TIMEOUT_S, SlackClient, quiet_logger
from gateway.core.messages import ChannelState, LinkState
from gateway.core.secrets import Secret
from gateway.errors import GatewayError

log = structlog.get_logger()

SDK_MODULE = "slack_sdk.socket_mode.aiohttp"
PING_S = 5.0
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0

Take = Callable[[Any], Awaitable[None]]  # an event's payload; durable when it returns


@dataclass
class SlackSocket:
    """One account's connection. The SDK's own way of coming back tries one used-up address for
    ever, so that each connection here is a new client with a new address.
    """

    client: SlackClient
    app_token: Secret
    first_pause_s: float = FIRST_PAUSE_S
    connect_timeout_s: float = 2 * CONNECT_TIMEOUT_S
    state: ChannelState = field(default_factory=lambda: ChannelState(LinkState.STARTING))
    _lost: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    async def run(self, take: Take) -> None:
        """Keep connected until cancelled."""
        pause_s = self.first_pause_s
        while True:
            told_s = await self._connection(take)
            if self.state.state is LinkState.READY:
                self.state = ChannelState(LinkState.DOWN, "connection lost")
                pause_s = self.first_pause_s
            await asyncio.sleep(max(pause_s, told_s))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def address(self) -> tuple[str, str, float]:
        """(address with its ticket, error, seconds to wait) of apps.connections.open."""
        token = self.app_token.reveal()
        answer = await self.client.ask(lambda api: api.apps_connections_open(app_token=token))
        url = answer.data.get("url")
        if answer.error or not isinstance(url, str):
            return "", answer.error or "no address", answer.retry_after_s or 0.0
        return url, "", 0.0

    async def _connection(self, take: Take) -> float:
        """One connection from its beginning to its end; seconds that Slack wants us to wait."""
        url, error, told_s = await self.address()
        if error:
            self._down(error)
            return told_s
        sdk = await asyncio.to_thread(importlib.import_module, SDK_MODULE)
        opened = await self.client.open()
        self._lost.clear()
        socket = sdk.SocketModeClient(
            self.app_token.reveal(),
            logger=quiet_logger(),
            web_client=opened.api,
            ping_interval=PING_S,
            on_message_listeners=[self._heard],
            on_close_listeners=[self._closed],
            on_error_listeners=[self._closed],
        )
        socket.proxy = None  # as for the web client
        socket.wss_uri = url
        socket.connect_to_new_endpoint = self._reconnect
        socket.socket_mode_request_listeners.append(_Listener(take))
        try:
            async with asyncio.timeout(self.connect_timeout_s):
                await socket.connect()
            await self._lost.wait()
        except TimeoutError:
            self._down("not connected")
        finally:
            await _close(socket)
        return 0.0

    async def _heard(self, message: aiohttp.WSMessage) -> None:
        """`hello` is the proof that events will come; `disconnect` that they will not."""
        said = _object(message.data)
        if said.get("type") == "hello":
            self.state = ChannelState(LinkState.READY)
        elif said.get("type") == "disconnect":
            log.info("slack asks for another connection", reason=str(said.get("reason"))[:40])
            self._lost.set()

    async def _closed(self, _: aiohttp.WSMessage) -> None:
        self._lost.set()

    async def _reconnect(self, force: bool = False) -> None:  # noqa: FBT001, FBT002 - SDK
        """The SDK found its connection closed, stale or dismissed."""
        self._lost.set()

    def _down(self, reason: str) -> None:
        self.state = ChannelState(LinkState.DOWN, reason)
        log.warning("slack not connected", reason=reason)


@dataclass(frozen=True, slots=True)
class _Listener:
    """Acknowledges what is stored, and what is nothing to us; the rest Slack sends again."""

    take: Take

    async def __call__(self, socket: Any, request: Any) -> None:
        if request.type == "events_api":
            try:
                await self.take(request.payload)
            except GatewayError as error:
                log.warning("slack event not stored", code=error.code)
                return
        # a closed connection: Slack sends it again, and it is known by then
        with contextlib.suppress(aiohttp.ClientError, OSError, AttributeError, RuntimeError):
            await socket.send_socket_mode_response({"envelope_id": request.envelope_id})


def _object(data: Any) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, TypeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


async def _close(socket: Any) -> None:
    """The SDK's tasks are waited for, so that nothing of an old connection outlives it."""
    tasks = (socket.message_processor, socket.current_session_monitor, socket.message_receiver)
    with contextlib.suppress(aiohttp.ClientError, OSError):
        await socket.close()
    running = [task for task in tasks if task is not None]
    await asyncio.gather(*running, return_exceptions=True)

"""The thin side of a run: keeps a connection to the gateway, and says so when there is none."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from gateway.catalogue import error_text, text
from gateway.errors import GatewayError
from gateway.surfaces import mcp_wire as wire
from gateway.surfaces.local_signing import KEY_FILE, signature, socket_address
from gateway.surfaces.mcp_tools import Progress, TextContent, ToolAnswer, ToolCard
from gateway.system import SystemClock

RETRY_S = 1.0
CONNECT_S = 5.0
DOWN = "unavailable"


class DownError(GatewayError):
    """No gateway answers on this home."""

    default_code = DOWN


class TooLargeError(GatewayError):
    """A call that fits into no frame: sent, it would end the run and all its other calls."""

    default_code = "payload_too_large"


@dataclass(slots=True)
class _Waiting:
    """A call that is under way."""

    answer: asyncio.Future[wire.FromGateway]
    progress: Progress | None = None


def _look_at(answer: asyncio.Future[wire.FromGateway]) -> None:
    """A call that was not sent any more leaves its error to nobody."""
    if not answer.cancelled():
        answer.exception()


async def _nobody() -> None:
    """Nothing is served yet."""


@dataclass(slots=True)
class RunLink:
    """Implements Toolbox for `shutten mcp`: all that is known comes from the gateway.

    `changed` is told when the list of tools became another one.
    """

    home: Path
    hello: wire.Hello
    changed: Callable[[], Awaitable[None]] = _nobody
    _socket: aiohttp.ClientWebSocketResponse | None = None
    _refused: wire.RefusedError | None = None
    _cards: Sequence[ToolCard] | None = None  # as they were listed last
    _calls: dict[int, _Waiting] = field(default_factory=dict)
    _last_id: int = 0
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _outcome: asyncio.Event = field(default_factory=asyncio.Event)

    async def keep(self) -> None:
        """Connect, and again whenever the connection is lost, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._wake.clear()
                await self._once(tasks)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_S):
                        await self._wake.wait()

    async def begun(self) -> None:
        """The first try is over: RefusedError where the gateway will not have this run."""
        await self._outcome.wait()
        if self._refused is not None:
            raise self._refused

    async def cards(self, _caller: object) -> Sequence[ToolCard]:
        """While the gateway is away, those that were known last."""
        try:
            answer = await self._ask(wire.ListCall)
        except DownError:
            return self._cards or ()
        except wire.RefusedError:
            answer = wire.Cards(0, [])
        assert isinstance(answer, wire.Cards)
        self._cards = answer.cards
        return answer.cards

    async def call(
        self, _caller: object, name: str, arguments: Mapping[str, Any], progress: Progress
    ) -> ToolAnswer | None:
        """While the gateway is away, the sentence that says so."""
        try:
            answer = await self._ask(
                lambda number: wire.ToolCall(number, name, dict(arguments)), progress
            )
        except (DownError, TooLargeError, wire.RefusedError) as error:
            return self._sorry(error)
        assert isinstance(answer, wire.Answered)
        self.hello.next_n = max(self.hello.next_n, answer.next_n)
        return wire.answer_of(answer)

    def _sorry(self, error: GatewayError) -> ToolAnswer:
        if isinstance(error, wire.RefusedError):
            sentence = error.message
        elif isinstance(error, TooLargeError):
            sentence = error_text(error.code, self.hello.language)
        else:
            sentence = text("mcp.gateway_down", self.hello.language)
        told = {"error": {"code": error.code, "message": sentence}}
        return ToolAnswer([TextContent(sentence)], told, is_error=True)

    async def _ask(
        self, frame_of: Callable[[int], wire.ToGateway], progress: Progress | None = None
    ) -> wire.FromGateway:
        socket = await self._connected()
        self._last_id += 1
        number = self._last_id
        frame = wire.encode(frame_of(number))
        if len(frame) >= wire.MOST_FRAME_BYTES:
            raise TooLargeError("call")
        waiting = _Waiting(asyncio.get_running_loop().create_future(), progress)
        waiting.answer.add_done_callback(_look_at)
        self._calls[number] = waiting
        try:
            await socket.send_bytes(frame)
            answer = await waiting.answer
        except (ConnectionError, aiohttp.ClientError) as error:
            raise DownError("send") from error
        except asyncio.CancelledError:
            with contextlib.suppress(ConnectionError, aiohttp.ClientError):
                await socket.send_bytes(wire.encode(wire.Cancel(number)))
            raise
        finally:
            self._calls.pop(number, None)
        if isinstance(answer, wire.Refused):
            raise wire.RefusedError(answer)
        return answer

    async def _connected(self) -> aiohttp.ClientWebSocketResponse:
        """The connection, after one more try where there is none."""
        if self._socket is None:
            self._outcome.clear()
            self._wake.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CONNECT_S):
                    await self._outcome.wait()
        if self._socket is not None:
            return self._socket
        raise self._refused or DownError("no connection")

    async def _once(self, tasks: asyncio.TaskGroup) -> None:
        try:
            async with self._opened() as socket:
                self._refused, self._socket = None, socket
                self._outcome.set()
                if self._cards is not None:
                    tasks.create_task(self._compare(self._cards))
                async for message in socket:
                    await self._take(message)
        except wire.RefusedError as error:
            self._refused = error
        except (OSError, aiohttp.ClientError, TimeoutError, msgspec.MsgspecError):
            self._refused = None
        finally:
            self._socket = None
            self._outcome.set()
            for waiting in self._calls.values():
                if not waiting.answer.done():
                    waiting.answer.set_exception(DownError("the gateway went away"))

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        key = (self.home / KEY_FILE).read_bytes()
        at, nonce = SystemClock().now().isoformat(), secrets.token_hex(16)
        headers = {
            "X-Shutten-Time": at,
            "X-Shutten-Nonce": nonce,
            "X-Shutten-Signature": signature(key, "GET", wire.PATH, b"", at, nonce),
        }
        with socket_address(self.home) as address:
            connector = aiohttp.UnixConnector(path=address)
            async with (
                aiohttp.ClientSession(connector=connector) as session,
                session.ws_connect(
                    f"http://gateway{wire.PATH}",
                    headers=headers,
                    max_msg_size=wire.MOST_FRAME_BYTES,
                ) as socket,
            ):
                async with asyncio.timeout(CONNECT_S):
                    await socket.send_bytes(wire.encode(self.hello))
                    first = wire.FROM_GATEWAY.decode((await socket.receive()).data or b"")
                if isinstance(first, wire.Refused):
                    raise wire.RefusedError(first)
                yield socket

    async def _take(self, message: aiohttp.WSMessage) -> None:
        frame = wire.FROM_GATEWAY.decode(message.data)
        if isinstance(frame, wire.Changed):
            await self.changed()
        elif not isinstance(frame, wire.Welcome):
            waiting = self._calls.get(frame.id)
            if waiting is None:
                return
            if not isinstance(frame, wire.Progressed):
                if not waiting.answer.done():
                    waiting.answer.set_result(frame)
            elif waiting.progress is not None:
                await waiting.progress(frame.done, frame.total, frame.message)

    async def _compare(self, before: Sequence[ToolCard]) -> None:
        """After a connection was lost, the list may be another one."""
        if [card.name for card in await self.cards(None)] != [card.name for card in before]:
            await self.changed()

"""The signed local route of MCP: one connection is one run, which ends with it (FEATURES A21)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import structlog
from aiohttp import WSMsgType, web

from gateway.catalogue import error_text
from gateway.changes import Changes
from gateway.errors import GatewayError, InvalidRequestError
from gateway.operations.runs import Run, Runs, Standing
from gateway.surfaces import mcp_run_cards as cards
from gateway.surfaces import mcp_wire as wire
from gateway.surfaces.mcp_knowledge import RunTools
from gateway.surfaces.mcp_tools import FixedTools, Progress, Tool, ToolAnswer, ToolCard, refusal

log = structlog.get_logger()
HELLO_S = 10.0
SIDE_BY_SIDE = 8  # calls of one run at a time; the others wait their turn
HEARTBEAT_S = 20.0

OfRun = Callable[[Run, Standing, Mapping[str, Any]], Awaitable[ToolAnswer]]


class RunBox:
    """What a run is offered: the four tools and `more`, while the agent has a collection.

    List and call decide by the same `standing`; `more` can be called all the same, and answers
    for itself.
    """

    def __init__(self, runs: Runs, tools: RunTools, more: Sequence[Tool] = ()) -> None:
        self.runs = runs
        self._own: dict[str, tuple[ToolCard, OfRun]] = {
            cards.SEARCH.name: (cards.SEARCH, tools.search),
            cards.PASSAGE.name: (cards.PASSAGE, tools.passage),
            cards.COLLECTIONS.name: (cards.COLLECTIONS, tools.list),
            cards.ADD.name: (cards.ADD, tools.add),
        }
        self._more = FixedTools.of(more)

    async def cards(self, run: Run) -> list[ToolCard]:
        """Those there are at this moment."""
        now = await self.runs.standing(run)
        if not now.has_tools:
            return []
        own = [card for card, _ in self._own.values()]
        return [*own, *await self._more.cards(now.caller)]

    async def call(
        self, run: Run, name: str, arguments: Mapping[str, Any], progress: Progress
    ) -> ToolAnswer | None:
        """None where the tool does not exist now."""
        now = await self.runs.standing(run)
        own = self._own.get(name)
        if own is None:
            return await self._more.call(now.caller, name, arguments, progress)
        if not now.has_tools:
            return None
        try:
            return await own[1](run, now, arguments)
        except GatewayError as error:
            return refusal(error, now.caller.language)


class RunRoute:
    """Serves runs over WebSockets of the local socket."""

    def __init__(self, box: RunBox, changes: Changes) -> None:
        self.box = box
        self._changes = changes
        self.open: set[web.WebSocketResponse] = set()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One run, from its first frame to the end of the connection."""
        socket = web.WebSocketResponse(
            heartbeat=HEARTBEAT_S, max_msg_size=wire.MOST_FRAME_BYTES, compress=False
        )
        await socket.prepare(request)
        self.open.add(socket)
        try:
            run = await self._registered(socket)
            if run is not None:
                log.info("run registered", run=run.id, agent=run.agent_id)
                await _Connection(self.box, self._changes, socket, run).serve()
                log.info("run ended", run=run.id)
        finally:
            self.open.discard(socket)
        return socket

    async def close(self) -> None:
        """End all runs: the gateway stops."""
        for socket in list(self.open):
            await socket.close(code=1001)

    async def _registered(self, socket: web.WebSocketResponse) -> Run | None:
        language = None
        try:
            async with asyncio.timeout(HELLO_S):
                message = await socket.receive()
            hello = _frame(message)
            if not isinstance(hello, wire.Hello):
                raise InvalidRequestError("hello", reason="hello")
            language = hello.language
            run = await self.box.runs.register(
                hello.agent, hello.token, hello.language, hello.next_n
            )
        except TimeoutError:
            await socket.close()
            return None
        except GatewayError as error:
            await socket.send_bytes(wire.encode(_refused(0, error, language)))
            await socket.close()
            return None
        await socket.send_bytes(wire.encode(wire.Welcome(run.id)))
        return run


class _Connection:
    """One run's connection: calls side by side, and word of changes."""

    def __init__(
        self, box: RunBox, changes: Changes, socket: web.WebSocketResponse, run: Run
    ) -> None:
        self._box = box
        self._changes = changes
        self._socket = socket
        self._run = run
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._places = asyncio.Semaphore(SIDE_BY_SIDE)

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self._watch())
            try:
                async for message in self._socket:
                    self._take(_frame(message), tasks)
            except GatewayError:  # nothing a client of ours would say
                await self._socket.close()
            finally:
                watching.cancel()
                for call in self._calls.values():
                    call.cancel()

    def _take(self, frame: wire.ToGateway, tasks: asyncio.TaskGroup) -> None:
        if isinstance(frame, wire.Cancel):
            task = self._calls.get(frame.id)
            if task is not None:
                task.cancel()
        elif not isinstance(frame, wire.Hello) and frame.id not in self._calls:
            call = tasks.create_task(self._answer(frame))
            self._calls[frame.id] = call
            call.add_done_callback(lambda _task: self._calls.pop(frame.id, None))

    async def _answer(self, frame: wire.ListCall | wire.ToolCall) -> None:
        try:
            async with self._places:
                said = await self._said(frame)
        except GatewayError as error:
            said = _refused(frame.id, error, self._run.language)
        await self._say(said)

    async def _said(self, frame: wire.ListCall | wire.ToolCall) -> wire.FromGateway:
        if isinstance(frame, wire.ListCall):
            return wire.Cards(frame.id, await self._box.cards(self._run))
        progress = partial(self._progress, frame.id)
        answer = await self._box.call(self._run, frame.name, frame.arguments, progress)
        return wire.answered(frame.id, answer, self._run.next_n)

    async def _progress(self, call: int, done: float, total: float | None, message: str) -> None:
        await self._say(wire.Progressed(call, done, total, message))

    async def _watch(self) -> None:
        """Tell when the list is another one than before; the first look is the run's beginning."""
        with self._changes.subscribe() as news:
            known = await self._names()
            async for change in news:
                if self._run.agent_id not in change.agents:
                    continue
                names = await self._names()
                if names != known:
                    known = names
                    await self._say(wire.Changed())

    async def _names(self) -> tuple[str, ...]:
        try:
            return tuple(card.name for card in await self._box.cards(self._run))
        except GatewayError:  # the run reads nothing any more; each call says why
            return ()

    async def _say(self, frame: wire.FromGateway) -> None:
        if not self._socket.closed:
            try:
                await self._socket.send_bytes(wire.encode(frame))
            except ConnectionError:  # gone meanwhile: the run ends
                return


def _frame(message: Any) -> wire.ToGateway:
    if message.type not in (WSMsgType.BINARY, WSMsgType.TEXT):
        raise InvalidRequestError("frame", reason="frame")
    try:
        return wire.TO_GATEWAY.decode(message.data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InvalidRequestError(str(error), reason="frame") from error


def _refused(call: int, error: GatewayError, language: str | None) -> wire.Refused:
    sentence = error_text(error.code, language, **error.params)
    return wire.Refused(call, error.code, sentence)

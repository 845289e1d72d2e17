"""GET /ws/widget/{agent}: a visitor's questions in, deltas and answers out (DESIGN 8.17, 9.5)."""

import asyncio
import secrets
from collections import Counter
from dataclasses import dataclass, field

import structlog
from aiohttp import WSCloseCode, WSMessage, WSMsgType, web

from channels.sockets import Frame, Seat
from channels.widget import parse, render
from channels.widget.channel import WidgetChannel
from gateway import catalogue
from gateway.core.answering import NO_PASSAGE
from gateway.core.visitors import Visitor, Windows, issue, verify
from gateway.errors import GatewayError, InvalidRequestError
from gateway.interfaces import Accept, Clock
from gateway.operations.visitors import Said
from gateway.surfaces.routes import ANYONE, Route, path_parameter
from gateway.surfaces.session import language_of
from gateway.surfaces.widget_door import WidgetDoor, address_of

log = structlog.get_logger()
MAX_FRAME_BYTES = 2**16
FRAMES, WITHIN_S = 30, 10.0  # of one socket, whatever they hold
MOST_REFUSED = 100  # frames too many in a row; then the socket ends
HELLO_WITHIN_S = 10.0
HEARTBEAT_S = 30.0
SEND_TIMEOUT_S = 20.0
MOST_SOCKETS_OF_ADDRESS = 100  # a whole office may stand behind one
OVER = 4401  # our own close code: the token holds no more, come back without it
ROUTES = (
    Route(
        "get",
        "/ws/widget/{agent}",
        "Open the socket of a website's visitor; docs/widget.md tells of its frames.",
        "chat",
        ANYONE,
        parameters=(path_parameter("agent", "Whose widget it is."),),
        status=101,
        statuses=(403,),
    ),
)


class WidgetSockets:
    """Takes visitors' questions into the inbox; answers reach a socket by the channel's hub."""

    def __init__(
        self,
        door: WidgetDoor,
        accept: Accept,
        key: bytes,
        clock: Clock,
        *,
        hello_within_s: float = HELLO_WITHIN_S,
    ) -> None:
        """`key` vouches for visitors; it is of the home, so that they outlast a restart."""
        self._door = door
        self._accept = accept
        self._key = key
        self._clock = clock
        self._hello_within_s = hello_within_s
        self._open: Counter[str] = Counter()  # sockets of each widget
        self._open_of: Counter[str] = Counter()  # sockets of each address
        self._seats: set[Seat] = set()

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The one route."""
        return (web.get("/ws/widget/{agent}", self.open),)

    def close(self) -> None:
        """End every socket, those too that have not said who they are."""
        for seat in self._seats:
            seat.close()

    async def open(self, request: web.Request) -> web.StreamResponse:
        """Refuse before the upgrade: no such widget, a foreign origin, too many."""
        channel = self._door.find(request.match_info["agent"])
        address = address_of(request, channel)
        if not channel.openings.take(address, self._clock.monotonic()):
            raise GatewayError("openings", code="too_many_requests")
        await self._door.agent(channel)
        self._door.check_origin(request, channel)
        widget = channel.account_name
        if (
            self._open[widget] >= channel.settings.most_visitors
            or self._open_of[address] >= MOST_SOCKETS_OF_ADDRESS
        ):
            raise GatewayError("sockets", code="too_many_requests")
        self._open[widget] += 1
        self._open_of[address] += 1
        try:
            return await self._serve(request, channel, address)
        finally:
            _less(self._open, widget)
            _less(self._open_of, address)

    async def _serve(
        self, request: web.Request, channel: WidgetChannel, address: str
    ) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_S, max_msg_size=MAX_FRAME_BYTES)
        await socket.prepare(request)
        talk = _Talk(socket, channel, address, language_of(request))
        self._seats.add(talk.seat)
        try:
            await self._talk(talk)
        finally:
            self._seats.discard(talk.seat)
            channel.hub.leave(talk.seat)
        return socket

    async def _talk(self, talk: "_Talk") -> None:
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(self._write(talk))
            try:
                async with asyncio.timeout(self._hello_within_s) as waiting:
                    async for message in talk.socket:
                        await self._one(talk, message)
                        if talk.visitor is not None:
                            waiting.reschedule(None)
            except TimeoutError:
                await talk.socket.close(code=WSCloseCode.POLICY_VIOLATION)
            finally:
                writer.cancel()

    async def _one(self, talk: "_Talk", message: WSMessage) -> None:
        if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
            return
        try:
            await self._frame(talk, message)
        except GatewayError as error:
            talk.tell(error)
            if talk.refused > MOST_REFUSED:
                await talk.socket.close(code=WSCloseCode.POLICY_VIOLATION)

    async def _frame(self, talk: "_Talk", message: WSMessage) -> None:
        talk.count_frame(self._clock.monotonic())
        frame = parse.frame(message.data)
        if not self._door.is_current(talk.channel):
            await talk.socket.close(code=WSCloseCode.GOING_AWAY)
        elif isinstance(frame, parse.Hello):
            await self._greet(talk, frame)
        elif talk.visitor is None:
            raise InvalidRequestError("frame", reason="type: hello")
        elif not self._still_holds(talk):
            await talk.socket.close(code=OVER)
        else:
            await self._ask(talk, frame)

    async def _greet(self, talk: "_Talk", hello: parse.Hello) -> None:
        """Whose token it is, or a new visitor: whatever else is claimed leads nowhere."""
        if talk.visitor is not None:
            raise InvalidRequestError("frame", reason="hello: once")
        talk.language = talk.channel.settings.language or hello.language or talk.language
        talk.declared = hello.language
        now, place = self._clock.now(), talk.channel.place
        visitor = verify(hello.token or "", place, self._key, now)
        token = hello.token or ""
        is_new = visitor is None
        if visitor is None:
            token = issue(secrets.token_urlsafe(32), place, self._key, now)
            visitor = verify(token, place, self._key, now)
        talk.token, talk.visitor = token, visitor
        if visitor is None:  # a key that does not fit itself
            raise GatewayError("token")
        talk.seat.put(Frame(render.session(token)))
        talk.channel.hub.join(talk.seat, visitor.id)
        if not is_new:
            await self._resume(talk, visitor, hello.after)

    async def _resume(self, talk: "_Talk", visitor: Visitor, after: str | None) -> None:
        """After the seat was taken: nothing falls between, and a repeat is harmless."""
        channel = talk.channel
        place = parse.conversation(channel.account_name, visitor.id)
        said = await self._door.desk.said(place, channel.settings.agent, after)
        turns = [_past(each, talk.language) for each in said]
        if after is None:
            if turns:
                talk.seat.put(Frame(render.history(turns)))
            return
        for turn in turns:
            talk.seat.put(Frame(render.done_again(turn)))

    async def _ask(self, talk: "_Talk", frame: parse.UserMessage) -> None:
        """Into the inbox; a frame sent again, after a lost connection, is a duplicate there."""
        channel, visitor = talk.channel, talk.visitor
        if visitor is None:
            return
        now_s = self._clock.monotonic()
        if channel.by_visitor.is_full(visitor.id, now_s) or channel.by_address.is_full(
            talk.address, now_s
        ):
            raise GatewayError("questions", code="too_many_requests")
        channel.by_visitor.count(visitor.id, now_s)
        channel.by_address.count(talk.address, now_s)
        entry = parse.Entry(visitor.id, frame.id, frame.text, talk.declared)
        headers, body = channel.seal(entry)
        await self._accept(channel.parse(headers, body, self._clock.now()))

    def _still_holds(self, talk: "_Talk") -> bool:
        """The token and the widget, at this frame."""
        found = verify(talk.token, talk.channel.place, self._key, self._clock.now())
        return found is not None and found == talk.visitor

    async def _write(self, talk: "_Talk") -> None:
        """A socket that does not read holds up nobody else, and itself not for long."""
        try:
            while (frame := await talk.seat.next()) is not None:
                if talk.visitor is not None and not self._still_holds(talk):
                    await talk.socket.close(code=OVER)
                    return
                if frame.is_late and talk.visitor is not None:
                    frame = await self._as_it_may_be_shown(talk, talk.visitor, frame)
                async with asyncio.timeout(SEND_TIMEOUT_S):
                    await talk.socket.send_str(frame.text)
        except (ConnectionError, TimeoutError, GatewayError) as error:
            log.info("widget socket ends", reason=type(error).__name__)
        await talk.socket.close(code=WSCloseCode.GOING_AWAY)

    async def _as_it_may_be_shown(self, talk: "_Talk", visitor: Visitor, frame: Frame) -> Frame:
        """An answer that waited for its visitor: grants may have gone meanwhile."""
        place = parse.conversation(talk.channel.account_name, visitor.id)
        agent_id = talk.channel.settings.agent
        if await self._door.desk.may_get(place, agent_id, frame.turn_id):
            return frame
        sentence = catalogue.text(NO_PASSAGE, talk.language)
        return Frame(render.done_again(render.PastTurn(frame.turn_id, "", sentence)))


@dataclass(eq=False)
class _Talk:
    """One open socket."""

    socket: web.WebSocketResponse
    channel: WidgetChannel
    address: str
    language: str | None
    declared: str | None = None  # by the embedding page: the answers' language too
    visitor: Visitor | None = None
    token: str = ""
    refused: int = 0
    seat: Seat = field(default_factory=Seat)
    frames: Windows = field(default_factory=lambda: Windows(FRAMES, WITHIN_S))

    def count_frame(self, now_s: float) -> None:
        """`too_many_requests` for more than anybody types."""
        if not self.frames.take("", now_s):
            self.refused += 1
            raise GatewayError("frames", code="too_many_requests")
        self.refused = 0

    def tell(self, error: GatewayError) -> None:
        """An error as a frame."""
        sentence = catalogue.error_text(error.code, self.language, **error.params)
        self.seat.put(Frame(render.error(error.code, sentence), is_final=False))


def _past(said: Said, language: str | None) -> render.PastTurn:
    """What may not be read any more is answered as it would be now."""
    if said.text is None:
        return render.PastTurn(said.turn_id, said.question, catalogue.text(NO_PASSAGE, language))
    return render.PastTurn(said.turn_id, said.question, said.text, said.citations)


def _less(counter: Counter[str], key: str) -> None:
    counter[key] -= 1
    if counter[key] <= 0:
        del counter[key]

"""GET /ws/chat: a signed-in account's questions in, deltas and answers out (DESIGN 8.17)."""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence

import structlog
from aiohttp import WSCloseCode, WSMessage, WSMsgType, web

from channels.sockets import Frame, Seat
from channels.webchat import parse, render
from channels.webchat.channel import WebChatChannel
from gateway.catalogue import error_text, text
from gateway.core.access import Account
from gateway.core.answering import NO_PASSAGE
from gateway.core.messages import InboundMessage, web_chat
from gateway.errors import GatewayError
from gateway.interfaces import Clock
from gateway.operations.chat import Chat
from gateway.operations.table import Caller
from gateway.surfaces.routes import Route, query_parameter
from gateway.surfaces.session import HttpCallers, language_of

log = structlog.get_logger()
Accept = Callable[[Sequence[InboundMessage]], Awaitable[object]]  # durable when it returns
MAX_FRAME_BYTES = 2**20
MOST_SOCKETS = 200  # of one account
FRAMES, WITHIN_S = 30, 10.0  # of one socket
HEARTBEAT_S = 30.0
SEND_TIMEOUT_S = 20.0
CHECKED_EVERY_S = 1.0
SIGNED_OUT = 4401  # our own close code: do not come back without signing in
MAIN = "main"

ROUTES = (
    Route(
        "get",
        "/ws/chat",
        "Open the socket of a web chat; docs/api.md tells of its frames.",
        "chat",
        ("token", "session"),
        parameters=(
            query_parameter(
                "conversation_id", {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}
            ),
            query_parameter("after", {"type": "string"}, "The last turn that is known already."),
        ),
        status=101,
        statuses=(403,),
    ),
)


class ChatSockets:
    """Takes questions into the inbox; answers reach a socket through the channel's hub."""

    def __init__(
        self,
        callers: HttpCallers,
        channel: WebChatChannel,
        accept: Accept,
        chat: Chat,
        clock: Clock,
    ) -> None:
        self._callers = callers
        self._channel = channel
        self._accept = accept
        self._chat = chat
        self._clock = clock
        self._open: Counter[str] = Counter()  # sockets of each account

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The one route."""
        return (web.get("/ws/chat", self.open),)

    async def open(self, request: web.Request) -> web.StreamResponse:
        """Refuse before the upgrade what has no session, a foreign origin or an odd name."""
        if not self._callers.is_own_origin(request):
            raise GatewayError("origin", code="origin_refused")
        _, account = await self._callers.person(request, "webchat", changes=False)
        conversation = parse.conversation_name(request.query.get("conversation_id", MAIN))
        if self._open[account.id] >= MOST_SOCKETS:
            raise GatewayError("sockets", code="too_many_requests")
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_S, max_msg_size=MAX_FRAME_BYTES)
        await socket.prepare(request)
        self._open[account.id] += 1
        talk = _Talk(request, socket, account, conversation)
        try:
            await self._talk(talk)
        finally:
            self._channel.hub.leave(talk.seat)
            self._open[account.id] -= 1
            if not self._open[account.id]:
                del self._open[account.id]
        return socket

    async def _talk(self, talk: "_Talk") -> None:
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(self._write(talk))
            try:
                await self._resume(talk)
                async for message in talk.socket:
                    await self._one(talk, message)
            finally:
                writer.cancel()

    async def _resume(self, talk: "_Talk") -> None:
        """First the seat, then what was missed: nothing falls between, and a repeat is harmless."""
        self._channel.hub.join(talk.seat, web_chat(talk.account.id, talk.conversation).id)
        after = talk.request.query.get("after")
        if after is None:
            return
        try:
            for turn in await self._chat.finished(talk.account, talk.conversation, after):
                said = talk.sentence if turn.text is None else turn.text
                frame = render.done_again(turn.turn_id, said, turn.citations)
                talk.seat.put(Frame(frame))
        except GatewayError as error:
            talk.tell(error)

    async def _one(self, talk: "_Talk", message: WSMessage) -> None:
        if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
            return
        try:
            if await self._caller(talk) is None:
                await talk.sign_out()
                return
            await self._ask(talk, message)
        except GatewayError as error:
            talk.tell(error)

    async def _ask(self, talk: "_Talk", message: WSMessage) -> None:
        """Into the inbox; a frame sent again, after a lost connection, is a duplicate there."""
        if talk.is_too_fast(self._clock.monotonic()):
            raise GatewayError("frames", code="too_many_requests")
        frame, account = parse.user_message(message.data), talk.account
        conversation = parse.conversation_name(frame.conversation_id or talk.conversation)
        agent_id = await self._chat.agent_for(account, frame.agent)
        self._channel.hub.join(talk.seat, web_chat(account.id, conversation).id)
        entry = parse.Entry(
            account.id, agent_id, conversation, frame.id, frame.text, frame.attachments
        )
        headers, body = self._channel.seal(entry)
        await self._accept(self._channel.parse(headers, body, self._clock.now()))

    async def _write(self, talk: "_Talk") -> None:
        """A socket that does not read holds up nobody else, and itself not for long."""
        try:
            while (frame := await talk.seat.next()) is not None:
                if talk.is_check_due(frame, self._clock.monotonic()) and not await self._caller(
                    talk
                ):
                    await talk.sign_out()
                    return
                if frame.is_late and not await self._chat.may_get(talk.account, frame.turn_id):
                    frame = Frame(render.done_again(frame.turn_id, talk.sentence, ()))
                async with asyncio.timeout(SEND_TIMEOUT_S):
                    await talk.socket.send_str(frame.text)
        except (ConnectionError, TimeoutError, GatewayError) as error:
            log.info("chat socket ends", reason=type(error).__name__)
        await talk.socket.close(code=WSCloseCode.GOING_AWAY)

    async def _caller(self, talk: "_Talk") -> Caller | None:
        """Whether the session still holds: it may have ended, or the account."""
        try:
            caller = await self._callers.caller(talk.request, "webchat", changes=False)
        except GatewayError as error:
            if error.code != "not_signed_in":
                raise
            return None
        if caller.account is None or caller.account.id != talk.account.id:
            return None
        talk.language = caller.language
        return caller


class _Talk:
    """One open socket."""

    def __init__(
        self,
        request: web.Request,
        socket: web.WebSocketResponse,
        account: Account,
        conversation: str,
    ) -> None:
        self.request = request
        self.socket = socket
        self.account = account
        self.conversation = conversation
        self.seat = Seat()
        self.language = account.language or language_of(request)
        self._is_between = True  # two replies
        self._checked_at_s = 0.0
        self._frames_at: deque[float] = deque(maxlen=FRAMES)

    @property
    def sentence(self) -> str:
        """What stands where an answer may not be shown any more."""
        return text(NO_PASSAGE, self.language)

    def is_too_fast(self, now_s: float) -> bool:
        """Count a frame."""
        is_full = len(self._frames_at) == FRAMES
        is_too_fast = is_full and now_s - self._frames_at[0] < WITHIN_S
        if not is_too_fast:
            self._frames_at.append(now_s)
        return is_too_fast

    def is_check_due(self, frame: Frame, now_s: float) -> bool:
        """The session is asked for at a reply's first and last frame and once a second between."""
        is_due = frame.is_final or self._is_between or now_s - self._checked_at_s >= CHECKED_EVERY_S
        self._is_between = frame.is_final
        if is_due:
            self._checked_at_s = now_s
        return is_due

    def tell(self, error: GatewayError) -> None:
        """An error as a frame."""
        sentence = error_text(error.code, self.language, **error.params)
        self.seat.put(Frame(render.error(error.code, sentence), is_final=False))

    async def sign_out(self) -> None:
        """Say why, then close."""
        sentence = error_text("not_signed_in", self.language)
        if not self.socket.closed:
            await self.socket.send_str(render.error("not_signed_in", sentence))
        await self.socket.close(code=SIGNED_OUT)

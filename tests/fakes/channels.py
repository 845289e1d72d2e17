"""A channel in memory: records what it is asked to send and answers as it is told."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from channels.plain import PlainChannel
from gateway.core.messages import (
    Conversation,
    Delivered,
    InboundMessage,
    Limits,
    OutboundCall,
    ReplyHandle,
    Sender,
    SendMethod,
    SendOutcome,
    Unit,
)
from gateway.interfaces import Channel

AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
LATER = datetime(2036, 3, 1, 9, 0, tzinfo=UTC)


class FakeChannel(PlainChannel):
    """Takes outcomes from the script, one a call, and says Delivered when it is empty."""

    def __init__(
        self,
        method: SendMethod = SendMethod.PUSH,
        parts_per_call: int = 5,
        account_name: str = "main",
        name: str = "fake",
    ) -> None:
        self._name = name
        self._account_name = account_name
        self.held: dict[str, float] = {}  # chat -> seconds that `reserve` answers
        self.reserved: list[str] = []
        self.previews: dict[str, str] = {}  # turn id -> message that shows its draft
        self.is_closed = False
        self.script: deque[SendOutcome | BaseException | asyncio.Event] = deque()
        self.sent: list[tuple[str, tuple[str, ...], SendMethod]] = []
        self.calls: list[OutboundCall] = []
        self.at: list[float] = []
        self._method = method
        self._limits = Limits(Unit.CODE_POINTS, 100, parts_per_call, 50)
        self._news = asyncio.Event()

    @property
    def name(self) -> str:
        return self._name

    @property
    def account_name(self) -> str:
        return self._account_name

    @property
    def limits(self) -> Limits:
        return self._limits

    def parse(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> Sequence[InboundMessage]:
        return ()

    def reserve(self, conversation: Conversation) -> float:
        self.reserved.append(conversation.id)
        return self.held.get(conversation.id, 0.0)

    def preview(self, turn_id: str) -> str | None:
        return self.previews.get(turn_id)

    def adopt_preview(self, turn_id: str, preview: str) -> None:
        self.previews[turn_id] = preview

    def method(self, call: OutboundCall, now: datetime) -> SendMethod:
        has_handle = self._method is SendMethod.REPLY and call.reply_handle is None
        return SendMethod.PUSH if has_handle else self._method

    async def send(self, call: OutboundCall, method: SendMethod) -> SendOutcome:
        self.calls.append(call)
        self.sent.append((call.conversation.id, call.parts, method))
        self.at.append(asyncio.get_running_loop().time())
        self._news.set()
        step = self.script.popleft() if self.script else Delivered()
        if isinstance(step, asyncio.Event):
            await step.wait()
            return Delivered()
        if isinstance(step, BaseException):
            raise step
        return step

    async def show_typing(self, message: InboundMessage) -> None: ...

    async def show_delta(self, message: InboundMessage, turn_id: str, text: str) -> None: ...

    async def close(self) -> None:
        self.is_closed = True

    def texts(self, conversation_id: str = "c1") -> list[str]:
        return [part for chat, parts, _ in self.sent if chat == conversation_id for part in parts]

    async def until(self, is_so: Callable[[], bool], timeout_s: float = 10.0) -> None:
        """Wait for a condition that only sending can bring about."""
        async with asyncio.timeout(timeout_s):
            while not is_so():
                self._news.clear()
                await self._news.wait()


def said(text: str, n: int, conversation_id: str = "c1", **over: Any) -> InboundMessage:
    """A message of the fake channel; `n` makes its keys."""
    values: dict[str, Any] = {
        "conversation": Conversation("fake", "main", conversation_id, is_direct=True),
        "delivery_id": f"d{n}",
        "message_key": f"m{n}",
        "text": text,
        "received_at": AT,
        "sender": Sender("fake", "main", "s1"),
        "reply_handle": ReplyHandle(f"token{n}", LATER),
    }
    return InboundMessage(**(values | over))


fits: type[Channel] = FakeChannel

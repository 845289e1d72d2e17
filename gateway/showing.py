"""What is shown while a turn runs, the typing sign and the draft; neither can harm the reply."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from gateway.errors import GatewayError, NotFoundError, StoreError
from gateway.gate import Gate
from gateway.interfaces import Channel, Claimed, Preview

log = structlog.get_logger()
A = TypeVar("A")
Owes = Callable[[str], bool]  # lane -> whether an earlier reply is not out yet
Shown = Callable[[str, str], Awaitable[None]]  # (turn id, preview): kept for a re-run

TYPING_TIMEOUT_S = 2.0  # of one call; a platform that is slow then shows nothing
LAST_DRAFT_S = 5.0  # for a draft on its way: cut off, it might stay beside the reply


def nothing_owed(_lane: str) -> bool:
    """Every earlier reply is out."""
    return False


async def _at_all_times() -> bool:
    """What is shown rests on nothing that can be lost."""
    return True


async def not_kept(_turn_id: str, _preview: str) -> None:
    """A crash forgets the preview."""


class Showing:
    """One turn's courtesies towards the chat it answers; ended, and waited for, before the reply.

    The model never waits for the platform: pieces of the draft are gathered meanwhile.
    """

    def __init__(
        self,
        channel: Channel,
        claimed: Claimed,
        shown: Shown = not_kept,
        owes: Owes = nothing_owed,
        calm: Gate | None = None,
    ) -> None:
        """While an earlier reply is still owed to the chat, no draft comes before it.

        `calm` bounds the typing calls of all turns together: courtesy holds up no answer.
        """
        self._owes = owes
        self._calm = calm or Gate(1)
        self._channel = channel
        self._claimed = claimed
        self._shown = shown
        self._preview = claimed.preview
        self._may_show: Callable[[], Awaitable[bool]] = _at_all_times
        self._pieces: list[str] = []
        self._news = asyncio.Event()
        self._is_done = False
        if claimed.preview is not None:
            channel.adopt_preview(claimed.id, claimed.preview)

    async def during(self, answer: Callable[[Preview], Awaitable[A]]) -> A:
        """Run `answer`, which gets where to put its draft; what it raises is raised."""
        async with asyncio.TaskGroup() as tasks:
            typing = tasks.create_task(self._keep_typing())
            draft = tasks.create_task(self._show_draft())
            (outcome,) = await asyncio.gather(answer(self), return_exceptions=True)
            typing.cancel()
            self._is_done = True
            self._news.set()
            await asyncio.wait([draft], timeout=LAST_DRAFT_S)
            draft.cancel()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def __call__(self, text: str) -> None:
        """The next piece of the draft; gathered here while the platform takes its time."""
        self._pieces.append(text)
        self._news.set()

    def only_while(self, may_show: Callable[[], Awaitable[bool]]) -> None:
        """What was gathered is not shown either once this says no."""
        self._may_show = may_show

    async def _keep_typing(self) -> None:
        every_s = self._channel.limits.typing_every_s
        while True:
            is_shown = await self._succeeds("typing", self._show_typing())
            if not is_shown or every_s <= 0.0:
                return
            await asyncio.sleep(every_s)

    async def _show_typing(self) -> None:
        async with self._calm, asyncio.timeout(TYPING_TIMEOUT_S):
            await self._channel.show_typing(self._claimed.message)

    async def _show_draft(self) -> None:
        lane = self._claimed.message.conversation.lane
        while not self._is_done or self._pieces:
            await self._news.wait()
            self._news.clear()
            if self._owes(lane):
                if self._is_done:
                    return
                continue
            text = "".join(self._pieces)
            self._pieces.clear()
            if text:
                if not await self._succeeds("draft", self._show_delta(text)):
                    return
                await self._remember()

    async def _show_delta(self, text: str) -> None:
        """Without a pause between the look and the call."""
        if not await self._may_show():
            raise NotFoundError("what the draft rests on")
        await self._channel.show_delta(self._claimed.message, self._claimed.id, text)

    async def _remember(self) -> None:
        """Name the preview once, so that a re-run after a crash goes on with it."""
        preview = self._channel.preview(self._claimed.id)
        if preview is None or preview == self._preview:
            return
        self._preview = preview
        try:
            await self._shown(self._claimed.id, preview)
        except StoreError as error:
            log.warning("preview not kept", turn_id=self._claimed.id, code=error.code)

    async def _succeeds(self, what: str, showing: Awaitable[None]) -> bool:
        """Whatever goes wrong comes out as a value: the reply itself goes through the outbox."""
        (error,) = await asyncio.gather(showing, return_exceptions=True)
        if error is None:
            return True
        code = error.code if isinstance(error, GatewayError) else type(error).__name__
        log.info("not shown", what=what, channel=self._channel.name, code=code)
        return False

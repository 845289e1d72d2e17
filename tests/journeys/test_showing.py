"""Typing and drafts while a turn runs: shown in time, never after, and no harm to the reply."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable

import pytest

from gateway.core.messages import InboundMessage
from gateway.errors import ChannelError, LanguageModelError, StoreError
from gateway.interfaces import Claimed, OnDelta
from gateway.showing import Showing
from tests.fakes.channels import FakeChannel, said

CLAIMED = Claimed("t1", said("q", 1), 1)


class Chat(FakeChannel):
    """Types every few milliseconds and posts a message for the draft."""

    def __init__(self, every_s: float = 0.01) -> None:
        super().__init__()
        self._limits = dataclasses.replace(self._limits, typing_every_s=every_s)
        self.typed = 0
        self.typing_takes: Callable[[], Awaitable[None]] | None = None
        self.drafts: list[str] = []
        self.draft_takes: Callable[[], Awaitable[None]] | None = None
        self.happened = asyncio.Event()

    async def show_typing(self, message: InboundMessage) -> None:
        self.typed += 1
        self.happened.set()
        if self.typing_takes is not None:
            await self.typing_takes()

    async def show_delta(self, message: InboundMessage, turn_id: str, text: str) -> None:
        if self.draft_takes is not None:
            await self.draft_takes()
        self.drafts.append(text)
        self.previews.setdefault(turn_id, "m7")
        self.happened.set()

    async def wait_for(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not is_so():
                self.happened.clear()
                await self.happened.wait()


async def for_ever() -> None:
    await asyncio.Event().wait()


async def broken() -> None:
    raise ChannelError


async def buggy() -> None:
    raise KeyError("chat")


def nothing_goes_on() -> bool:
    """No task is left that could type once more."""
    return asyncio.all_tasks() == {asyncio.current_task()}


async def test_typing_is_kept_up_and_ends_before_the_reply() -> None:
    chat = Chat()

    async def answer(_: OnDelta) -> str:
        await chat.wait_for(lambda: chat.typed >= 4)
        return "done"

    assert await Showing(chat, CLAIMED).during(answer) == "done"
    assert nothing_goes_on()


async def test_where_once_is_enough_typing_is_shown_once() -> None:
    chat = Chat(every_s=0.0)

    async def answer(_: OnDelta) -> None:
        await chat.wait_for(lambda: chat.typed == 1)
        for _round in range(20):  # of the loop: without a pause each could type once more
            await asyncio.sleep(0)

    await Showing(chat, CLAIMED).during(answer)
    assert chat.typed == 1


@pytest.mark.parametrize("trouble", [for_ever, broken, buggy])
async def test_typing_that_hangs_or_fails_delays_and_harms_nothing(
    trouble: Callable[[], Awaitable[None]],
) -> None:
    chat = Chat()
    chat.typing_takes = trouble

    async def answer(_: OnDelta) -> str:
        await chat.wait_for(lambda: chat.typed == 1)
        return "done"

    async with asyncio.timeout(1):
        assert await Showing(chat, CLAIMED).during(answer) == "done"


async def test_typing_ends_when_the_turn_raises() -> None:
    chat = Chat()

    async def answer(_: OnDelta) -> None:
        await chat.wait_for(lambda: chat.typed >= 2)
        raise LanguageModelError

    with pytest.raises(LanguageModelError):
        await Showing(chat, CLAIMED).during(answer)
    assert nothing_goes_on()


async def test_typing_ends_when_the_turn_is_cut_off() -> None:
    chat = Chat()

    async def cut_off() -> None:
        async with asyncio.timeout(None) as limit:

            async def answer(_: OnDelta) -> None:
                await chat.wait_for(lambda: chat.typed >= 2)
                limit.reschedule(asyncio.get_running_loop().time())
                await asyncio.Event().wait()

            await Showing(chat, CLAIMED).during(answer)

    with pytest.raises(TimeoutError):
        await cut_off()
    assert nothing_goes_on()


async def test_a_slow_platform_gets_larger_pieces_and_the_model_does_not_wait() -> None:
    chat = Chat()
    is_free = asyncio.Event()
    chat.draft_takes = is_free.wait  # type: ignore[assignment]
    pieces = [f"{n} " for n in range(50)]

    async def answer(show: OnDelta) -> None:
        for piece in pieces:
            await show(piece)
        is_free.set()

    await Showing(chat, CLAIMED).during(answer)
    assert "".join(chat.drafts) == "".join(pieces)
    assert len(chat.drafts) < 5


@pytest.mark.parametrize("trouble", [broken, buggy])
async def test_a_draft_that_cannot_be_shown_is_given_up(
    trouble: Callable[[], Awaitable[None]],
) -> None:
    chat = Chat()
    chat.draft_takes = trouble

    async def answer(show: OnDelta) -> str:
        await show("one ")
        await asyncio.sleep(0.02)
        await show("two")
        return "done"

    assert await Showing(chat, CLAIMED).during(answer) == "done"
    assert chat.drafts == []


async def test_the_message_that_shows_the_draft_is_kept_once_and_adopted_by_a_re_run() -> None:
    kept: list[tuple[str, str]] = []

    async def shown(turn_id: str, preview: str) -> None:
        kept.append((turn_id, preview))
        raise StoreError(code="store_full")  # a crash would then post another; no more than that

    async def answer(show: OnDelta) -> None:
        for count in range(1, 4):
            await show("piece ")
            await chat.wait_for(lambda count=count: len(chat.drafts) >= count)  # type: ignore[misc]

    chat = Chat()
    await Showing(chat, CLAIMED, shown).during(answer)
    assert kept == [("t1", "m7")]
    chat = Chat()
    again = dataclasses.replace(CLAIMED, preview="m5")
    await Showing(chat, again, shown).during(answer)
    assert chat.preview("t1") == "m5"
    assert kept == [("t1", "m7")]

"""A draft shown while it comes: whole marks, no foreign link, nothing of a passage just lost."""

from collections.abc import Awaitable, Callable, Sequence

import structlog

from gateway.core.citations import StreamFilter
from gateway.core.turns import PresentedPassage
from gateway.errors import ChannelError
from gateway.interfaces import Clock, OnDelta

log = structlog.get_logger()
CHECKED_EVERY_S = 1.0

StillReadable = Callable[[Sequence[PresentedPassage]], Awaitable[bool]]


class DraftStream:
    """Implements `OnDelta` between a model and a channel.

    What it rests on is checked before the first word and then once a second, so that a grant
    revoked in mid-answer stops the preview too. The finished text replaces it in any case.
    """

    def __init__(self, show: OnDelta | None, is_readable: StillReadable, clock: Clock) -> None:
        self._show = show
        self._is_readable = is_readable
        self._clock = clock
        self._filter = StreamFilter()
        self._presented: tuple[PresentedPassage, ...] = ()
        self._check_at = clock.monotonic()

    def rest_on(self, presented: tuple[PresentedPassage, ...]) -> None:
        """Tell which passages the words to come may rest on."""
        self._presented = presented
        self._check_at = self._clock.monotonic()

    async def __call__(self, text: str) -> None:
        if self._show is not None:
            await self._pass_on(self._filter.feed(text))

    async def close(self) -> None:
        """Show what was held back."""
        if self._show is not None:
            await self._pass_on(self._filter.close())

    async def _pass_on(self, text: str) -> None:
        if not text or not await self._may_show():
            return
        try:
            if self._show is not None:
                await self._show(text)
        except ChannelError as error:  # a preview only: the reply itself goes through the outbox
            log.warning("draft not shown", code=error.code)
            self._show = None

    async def _may_show(self) -> bool:
        if self._clock.monotonic() >= self._check_at:
            if not await self._is_readable(self._presented):
                self._show = None
            self._check_at = self._clock.monotonic() + CHECKED_EVERY_S
        return self._show is not None

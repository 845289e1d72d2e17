"""A draft shown while it comes: whole marks, no foreign link, nothing of a passage just lost."""

import re
from collections.abc import Awaitable, Callable

import structlog

from gateway.core.citations import StreamFilter
from gateway.core.grounds import Grounds
from gateway.core.urls import defang
from gateway.errors import ChannelError
from gateway.interfaces import Clock, Generation, OnDelta
from gateway.onlookers import never_told

log = structlog.get_logger()
CHECKED_EVERY_S = 1.0
MOST_LOOKS = 3  # at a time; a library that changes faster has no preview
LINK_CHARS = 200  # what is longer goes out in parts, each made harmless by itself
_ENDS_LINK = r"\s<>\"'`(){}|^\[\]，。、；：！？（）「」『』【】《》〈〉”“’‘…"
_MAY_BE_LINK = re.compile(  # an ASCII word still being written, or what goes on from `abc.` `abc:`
    rf"[A-Za-z0-9+\-_]*(?:[.:/\\@%][^{_ENDS_LINK}]*|(?<=[A-Za-z0-9+\-_]))\Z"
)


StillReadable = Callable[[Grounds], Awaitable[bool]]


class DraftStream:
    """Implements `OnDelta` between a model and a channel.

    What it rests on is checked before the first word, at each change of the access rules and
    once a second, so that a grant revoked in mid-answer stops the preview too. The finished text
    replaces it in any case.
    """

    def __init__(
        self,
        show: OnDelta | None,
        is_readable: StillReadable,
        clock: Clock,
        generation: Generation = never_told,
    ) -> None:
        self._show = show
        self._is_readable = is_readable
        self._clock = clock
        self._generation = generation
        self._looked_at: int | None = None
        self._filter = StreamFilter()
        self._link = ""  # held back until it is clear where it ends
        self._grounds = Grounds()
        self._check_at = clock.monotonic()

    def rest_on(self, grounds: Grounds) -> None:
        """Tell what the words to come may rest on."""
        self._grounds = grounds
        self._looked_at = None

    async def __call__(self, text: str) -> None:
        if self._show is None:
            return
        text = self._link + self._filter.feed(text)
        link = _MAY_BE_LINK.search(text[-LINK_CHARS:])
        self._link = link[0] if link else ""
        await self._pass_on(text[: len(text) - len(self._link)])

    async def close(self) -> None:
        """Show what was held back."""
        held, self._link = self._link + self._filter.close(), ""
        await self._pass_on(held)

    async def _pass_on(self, text: str) -> None:
        if not text or not await self.may_show() or self._show is None:
            return
        try:
            await self._show(defang(text, [each.passage.text for each in self._grounds.presented]))
        except ChannelError as error:  # a preview only: the reply itself goes through the outbox
            log.warning("draft not shown", code=error.code)
            self._show = None

    async def may_show(self) -> bool:
        """Whether everything may be read at this moment; once no, it stays no.

        True is returned without a pause after the last look, so that nothing comes in between.
        """
        for _ in range(MOST_LOOKS):
            if self._show is None:
                return False
            generation = self._generation()
            if generation == self._looked_at and self._clock.monotonic() < self._check_at:
                return True
            if not await self._is_readable(self._grounds):
                break
            self._looked_at = generation
            self._check_at = self._clock.monotonic() + CHECKED_EVERY_S
        self._show = None
        return False

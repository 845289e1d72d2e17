"""Tells how far a reading is while its output still comes."""

from collections.abc import Callable

import msgspec

from gateway.extract.wire import LENGTH, Progress

MOST_OF = 10_000_000
MOST_BYTES = 64  # of such a frame; what is longer is the document


class Progressing:
    """Finds the frames about progress in the growing output; what isn't one is judged later."""

    def __init__(self, tell: Callable[[int, int], None]) -> None:
        self._tell = tell
        self._at = 0
        self._is_over = False
        self._last: Progress | None = None

    def take(self, output: bytearray) -> None:
        """`output` is everything that came so far."""
        while not self._is_over and len(output) >= self._at + LENGTH.size:
            (length,) = LENGTH.unpack_from(output, self._at)
            end = self._at + LENGTH.size + length
            self._is_over = length > MOST_BYTES
            if self._is_over or len(output) < end:
                return
            self._look(bytes(output[self._at + LENGTH.size : end]))
            self._at = end

    def _look(self, body: bytes) -> None:
        try:
            said = msgspec.msgpack.decode(body, type=Progress)
        except msgspec.MsgspecError:
            return  # the first frame, or one that `accept` will refuse
        if 0 <= said.done <= said.of <= MOST_OF and said != self._last:
            self._last = said
            self._tell(said.done, said.of)

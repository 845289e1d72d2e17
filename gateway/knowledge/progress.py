"""How far the work on a source is, for whoever waits for it; kept in memory alone."""


class Progress:
    """Pages or sheets of a reading, then passages that have their vectors."""

    def __init__(self) -> None:
        self._now: dict[str, tuple[int, int]] = {}

    def note(self, source_id: str, done: int, of: int) -> None:
        """`done` of `of`; what cannot be is left out."""
        if of > 0:
            self._now[source_id] = (max(0, min(done, of)), of)

    def of(self, source_id: str) -> tuple[int, int] | None:
        """(done, all), or None where nobody works on it or it is not known."""
        return self._now.get(source_id)

    def end(self, source_id: str) -> None:
        """The step is over."""
        self._now.pop(source_id, None)

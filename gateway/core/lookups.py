"""A question to the library, on its way through the passes over it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.core.audit import AccessEntry
from gateway.core.followups import Wording
from gateway.core.followups_found import fused, is_decided
from gateway.core.passages import SearchResult


@dataclass(frozen=True, slots=True)
class Lookup:
    """A question, its row of the access log, and what it may mean after what was said before."""

    query: str
    entry: AccessEntry
    wordings: Sequence[Wording] = ()


@dataclass(slots=True)
class Talk:
    """The wordings of one question and what each found, by its place among them."""

    wordings: Sequence[Wording]
    limit: int
    results: dict[int, SearchResult] = field(default_factory=dict)
    _seen: int = -1  # up to here wordings were searched for or passed over; -1: none

    @property
    def most(self) -> int:
        """Passages of one wording."""
        return self.limit if len(self.wordings) == 1 else 2 * self.limit

    def due(self) -> Sequence[int]:
        """Places to search for next: all that count, then one by one those that are needed to
        decide.
        """
        if self._seen < 0:
            self._seen = 0
            return [at for at, each in enumerate(self.wordings) if each.weight > 0]
        while self._seen < len(self.wordings):
            at = self._seen
            self._seen += 1
            if at not in self.results and not is_decided(self._before(at)):
                return [at]
        return ()

    def fused(self) -> SearchResult:
        """One result of all that was found."""
        return fused(self._before(len(self.wordings)), self.limit)

    def _before(self, end: int) -> list[tuple[Wording, SearchResult]]:
        return [(self.wordings[at], self.results[at]) for at in sorted(self.results) if at < end]

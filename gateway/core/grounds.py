"""What a draft rests on, and on whose behalf it was read: passages, and what colleagues told."""

from collections.abc import Iterator
from dataclasses import dataclass

from gateway.core.access import AgentSide
from gateway.core.audit import AccessEntry
from gateway.core.history import rests_on
from gateway.core.scope import Scope
from gateway.core.turns import Exchange, PresentedPassage


@dataclass(frozen=True, slots=True)
class Reading:
    """On whose behalf a turn reads: its first scope, the agent's side, the log row to fill.

    `past` is what was said before in `conversation`.
    """

    scope: Scope
    side: AgentSide | None
    entry: AccessEntry
    budget_chars: int
    conversation: str = ""
    past: tuple[Exchange, ...] = ()


@dataclass(frozen=True, slots=True)
class Grounds:
    """All that a draft may rest on: passages under the turn's numbers, and colleagues' answers."""

    presented: tuple[PresentedPassage, ...] = ()
    told: tuple["Told", ...] = ()

    @property
    def own(self) -> tuple[PresentedPassage, ...]:
        """Those that the turn itself read; the others are read on a colleague's side."""
        return tuple(each for each in self.presented if not each.is_told)

    @property
    def next_n(self) -> int:
        """The number of the next passage; numbers never change (FEATURES A17)."""
        return max((each.n for each in self.presented), default=0) + 1


@dataclass(frozen=True, slots=True)
class Told:
    """A colleague's answer inside a turn: its words, and all that they may rest on.

    `cited` are the numbers of `grounds.presented` that the words name, which are its own turn's.
    """

    turn_id: str
    text: str
    cited: frozenset[int]
    reading: Reading
    grounds: Grounds


def rested(reading: Reading, grounds: Grounds) -> tuple[tuple[str, str], ...]:
    """(source id, collection id) of what a turn rests on beside the passages it presented: what
    past answers in its prompt had rested on, and whatever its colleagues had read or were told.
    """
    past = rests_on(reading.past, reading.scope)
    return tuple(dict.fromkeys((*past, *_of_colleagues(grounds))))


def _of_colleagues(grounds: Grounds) -> Iterator[tuple[str, str]]:
    for told in grounds.told:
        for each in told.grounds.presented:
            yield each.passage.source_id, each.passage.collection_id
        yield from rested(told.reading, told.grounds)

"""Plans to forget what was said with the help of a document (FEATURES A23)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

MOST_PLANS = 20  # of one deletion

CitingTurn = tuple[str, str | None, str]  # turn id, agent id, conversation
Place = tuple[str | None, str]  # agent id, conversation


class PlanState(StrEnum):
    """A plan waits for an admin, then for its application."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    APPLIED = "applied"


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """One agent's turns of one conversation whose replies cited a document that was deleted."""

    id: str
    source_id: str
    collection_id: str
    agent_id: str | None
    conversation: str  # Conversation.lane
    state: PlanState
    planned_by: str
    planned_at: datetime
    turns: int
    decided_by: str | None = None
    decided_at: datetime | None = None
    applied_at: datetime | None = None
    wiped: int | None = None  # turns whose text went when it was applied


@dataclass(frozen=True, slots=True)
class Planned:
    """What a deletion planned to forget; `skipped` are conversations beyond MOST_PLANS."""

    plans: int = 0
    turns: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Grouped:
    """Turns by agent and conversation, those of a plan each, and how many places had none."""

    places: tuple[tuple[Place, tuple[str, ...]], ...]
    skipped: int = 0

    @property
    def counts(self) -> Planned:
        """As it is reported."""
        turns = sum(len(turn_ids) for _, turn_ids in self.places)
        return Planned(len(self.places), turns, self.skipped)


def group(citing: Iterable[CitingTurn]) -> Grouped:
    """One plan per agent and conversation, in the order given: newest first keeps the newest."""
    by_place: dict[Place, dict[str, None]] = {}
    for turn_id, agent_id, conversation in citing:
        by_place.setdefault((agent_id, conversation), {})[turn_id] = None
    places = tuple((place, tuple(turn_ids)) for place, turn_ids in by_place.items())
    return Grouped(places[:MOST_PLANS], max(0, len(places) - MOST_PLANS))

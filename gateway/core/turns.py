"""What is kept of a turn: question, answer, what was presented and what was cited."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from gateway.core.access import AudienceKind
from gateway.core.excerpts import nearest_sentence
from gateway.core.passages import Passage
from gateway.core.scope_origin import Provenance


@dataclass(frozen=True, slots=True)
class PresentedPassage:
    """A passage shown to the model in this turn under the turn's own number n.

    `is_told`: a colleague read it, on its own side, and its answer cites it.
    """

    n: int
    passage: Passage
    is_told: bool = False


@dataclass(frozen=True, slots=True)
class TurnCitation:
    """One row of `turn_citations`: never the body; title, locator, excerpt go on deletion."""

    n: int
    passage_id: int
    source_id: str
    collection_id: str
    title: str
    locator: str
    excerpt: str
    is_cited: bool


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A finished turn as the store keeps it; `answer` has [n] marks and no footer."""

    id: str
    agent_id: str | None
    conversation: str  # Conversation.lane
    is_direct: bool
    audience: AudienceKind
    account_id: str | None
    sender: str | None
    question: str
    answer: str
    asked_at: datetime
    answered_at: datetime
    citations: tuple[TurnCitation, ...] = ()
    # (source id, collection id) of what the past answers in its prompt, and the colleagues it
    # asked, had rested on; read back with an empty collection id where the source is gone
    rests_on: tuple[tuple[str, str], ...] = ()
    provenance: Provenance | None = None  # None: of a turn kept by an older release


@dataclass(frozen=True, slots=True)
class Exchange:
    """A past question and answer, with all it rested on (DESIGN section 8.8).

    `presented` and `is_complete` speak of its own passages and of those that the exchanges
    before it had rested on, however far back.
    """

    turn_id: str
    question: str
    answer: str
    asked_at: datetime
    presented: tuple[tuple[str, str], ...] = ()  # (source id, collection id) still existing
    is_complete: bool = True  # false: a source it presented is gone
    is_direct: bool = False  # TurnRecord.is_direct: said 1:1, so of no use to a group
    account_id: str | None = None  # who asked, as the turn's record has it
    sender: str | None = None


def citation(each: PresentedPassage, question: str, cited: Collection[int]) -> TurnCitation:
    """Where the passage stands and one short sentence of it, never its body (A20)."""
    passage = each.passage
    return TurnCitation(
        each.n,
        passage.id,
        passage.source_id,
        passage.collection_id,
        passage.title,
        passage.locator.label(),
        nearest_sentence(question, passage.text),
        each.n in cited,
    )

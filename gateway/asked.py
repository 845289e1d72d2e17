"""A question with all that its turn knows of it, the answer, and what is kept of both."""

from dataclasses import dataclass
from datetime import datetime

from gateway.catalogue import DEFAULT_LANGUAGE
from gateway.core import asking
from gateway.core.access import Audience
from gateway.core.folding import storable
from gateway.core.grounds import Grounds, Reading, rested
from gateway.core.messages import CitationView
from gateway.core.scope_origin import UNKNOWN_UPSTREAM, delegated, is_recent, provenance
from gateway.core.turns import TurnCitation, TurnRecord
from gateway.interfaces import Claimed

Cited = tuple[TurnCitation, ...]
NOTHING = Grounds()


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and for whom it is: a channel's message, or one typed at the command line."""

    turn_id: str
    text: str
    audience: Audience
    agent_id: str | None  # None: a person at the library without an agent
    conversation: str  # Conversation.lane
    asked_at: datetime
    language: str = DEFAULT_LANGUAGE  # of our own sentences; see core.asking.reply_language
    channel: str | None = None
    sender: str | None = None
    asked_by: tuple[str, ...] = ()  # the agents from whose turns it comes, the first one first

    def of_colleague(self, agent_id: str, question: str, turn_id: str, at: datetime) -> "Asked":
        """What this turn's agent asks another one at that moment: for whom this turn is, never
        1:1, and for nobody where this turn began longer ago than one may dispatch from.
        """
        is_first = not self.asked_by
        above = f"ask/{self.turn_id}" if is_first else self.conversation
        recent = is_recent(self.asked_at, at)
        return Asked(
            turn_id,
            question,
            delegated(self.audience, self.turn_id) if recent else UNKNOWN_UPSTREAM,
            agent_id,
            f"{above}/{turn_id}",  # a conversation without a past, below that of the first turn
            at,
            self.language,
            self.channel,
            self.sender,
            (*self.asked_by, *(each for each in (self.agent_id,) if each)),
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished answer: `text` with [n] marks, the footer apart, what it cites."""

    turn_id: str
    text: str
    footer: str = ""
    citations: tuple[CitationView, ...] = ()
    checked_at: int | None = None  # as in Reply


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with what it rests on; a sentence of our own rests on nothing.

    `reading` is None where there was nobody to answer.
    """

    answer: Answer
    reading: Reading | None = None
    grounds: Grounds = NOTHING


def asked_in(claimed: Claimed, audience: Audience, default_language: str) -> Asked:
    """The question of a channel's message."""
    message = claimed.message
    sender = message.sender
    language = asking.reply_language(
        audience.account, message.language, message.text, default_language
    )
    return Asked(
        claimed.id,
        message.text,
        audience,
        message.agent_id,
        message.conversation.lane,
        message.received_at,
        language,
        message.conversation.channel,
        f"{sender.channel}/{sender.account_name}/{sender.id}" if sender is not None else None,
    )


def record_of(asked: Asked, done: Answered, at: datetime, cited: Cited | None) -> TurnRecord:
    """What is kept; `cited` None: a sentence of our own, which rests on nothing."""
    reading = done.reading
    scope = reading.scope if reading is not None else None
    told_by = tuple(told.turn_id for told in done.grounds.told)
    kept = provenance(asked.audience, scope, told_by)
    return TurnRecord(
        id=asked.turn_id,
        agent_id=asked.agent_id,
        conversation=asked.conversation,
        is_direct=scope is not None and scope.is_direct,
        audience=asked.audience.kind,
        account_id=kept.origin.account_id,
        sender=asked.sender,
        question=storable(asked.text),
        answer=storable(done.answer.text),
        asked_at=asked.asked_at,
        answered_at=at,
        citations=cited or (),
        rests_on=() if reading is None or cited is None else rested(reading, done.grounds),
        provenance=kept,
    )

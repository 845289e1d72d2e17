"""What a message means after what was said before it, in words to search for (FEATURES F7)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.core.chat import ChatMessage, Speaker
from gateway.core.common_terms import is_common
from gateway.core.followups_gate import Leaned, Leaning, is_thanks, leaned, normal
from gateway.core.followups_slots import kept, listed_item, without_asking
from gateway.core.matching import match_text, query_terms, terms_in

MOST_EXCHANGES = 6
MOST_CARRIED = 120  # characters
SURE_RAW = 0.5  # what the message alone counts where it says that it leans
BARE_RAW = 0.25  # where it names nothing of its own
SOME = 0.01  # any one of its terms
MAYBE_CARRIED = 0.5  # what the conversation counts where it does not
_HAN = re.compile("[\u3400-\u9fff]")
_HIRAGANA = re.compile("[\u3041-\u309f]")


@dataclass(frozen=True, slots=True)
class Said:
    """A question of this conversation and its answer; the usable ones only (core.history)."""

    question: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Wording:
    """One text to search for, and what its finds count.

    `needs`: index terms of which the best find must hold a share, or this wording proves nothing: a
    change of subject would else be answered with the old one. A wording of weight 0 has no say
    in the order; it may prove that the best find is about the subject of the conversation.
    """

    text: str
    weight: float = 1.0
    needs: frozenset[str] = frozenset()
    share: float = 0.5


@dataclass(frozen=True, slots=True)
class Resolved:
    """A message and the words of the conversation it leaves out; "" where it stands alone."""

    question: str
    carried: str = ""
    topic: str = ""  # of the conversation, whole
    is_sure: bool = False

    @property
    def text(self) -> str:
        """The whole question in one; the message itself where it stands alone."""
        return _joined(self.carried, leaned(self.question).rest) if self.carried else self.question

    @property
    def own_words(self) -> str:
        """What the message says itself, without 那…呢; the message where it stands alone."""
        return leaned(self.question).rest if self.carried else self.question

    @property
    def wordings(self) -> tuple[Wording, ...]:
        """What to search for: the message as it stands always, first."""
        if not self.carried:
            return (Wording(self.question),)
        read = leaned(self.question)
        needs = content(read.own)
        subject = Wording(self.topic, 0.0, needs)
        if self.is_sure:
            alone = Wording(self.question, SURE_RAW if needs else BARE_RAW)
            return alone, Wording(self.text, 1.0, needs, 0.0 if read.is_marked else SOME), subject
        return Wording(self.question), Wording(self.text, MAYBE_CARRIED, needs), subject


def said(history: Sequence[ChatMessage]) -> tuple[Said, ...]:
    """Questions with their answers, oldest first, of a prompt's history."""
    found: list[Said] = []
    for message in history:
        if message.speaker is Speaker.USER:
            found.append(Said(message.text))
        elif message.speaker is Speaker.ASSISTANT and found and message.text:
            found[-1] = Said(found[-1].question, message.text)
    return tuple(found)


def resolve(question: str, past: Sequence[Said]) -> Resolved:
    """Read a message after `past`, oldest first. Without a past it stands alone."""
    now = leaned(question)
    if now.leaning is Leaning.NOT:
        return Resolved(question)
    recent = [each for each in past[-MOST_EXCHANGES:] if _is_question(each.question)]
    topic = ""
    for each in recent:
        topic = _topic(topic, each)
    if not topic:
        return Resolved(question)
    item = listed_item(normal(question), recent[-1].answer)
    carried = normal(item) or kept(topic, now.rest, asks=now.asks)[-MOST_CARRIED:]
    return Resolved(question, carried, topic, now.leaning is Leaning.SURE)


def content(text: str) -> frozenset[str]:
    """The index terms of a text that say what it is about: words, else single letters (終わり)."""
    terms = frozenset(query_terms(text).terms)
    told = {term for term in terms if not is_common(term) and not _HIRAGANA.search(term)}
    return frozenset(told) or frozenset(_HAN.findall(match_text(text))) or terms


def _is_question(text: str) -> bool:
    plain = normal(text)
    return bool(content(plain)) and not plain.startswith(("/", "／")) and not is_thanks(plain)


def _topic(topic: str, each: Said) -> str:
    """What the conversation is about after one more question."""
    read = leaned(each.question)
    if not topic or not _goes_on(topic, each, read):
        return normal(each.question)
    before = kept(topic, read.rest, asks=read.asks)
    return _joined(before, read.rest).strip()[-MOST_CARRIED:]


def _joined(before: str, rest: str) -> str:
    return before if rest in before else f"{before} {rest}"


def _goes_on(topic: str, each: Said, read: Leaned) -> bool:
    """A short question that does not say that it leans went on if its answer names the topic."""
    if read.leaning is not Leaning.MAYBE:
        return read.leaning is Leaning.SURE
    named = content(without_asking(topic))
    return bool(terms_in(named, match_text(each.answer)))

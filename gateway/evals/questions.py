"""The questions of an evaluation: one JSON object a line, each with the places that answer it."""

import unicodedata
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gateway.catalogue import text
from gateway.core.followups import Said, Wording, resolve
from gateway.core.matching import script
from gateway.core.passages import Locator
from gateway.errors import InvalidRequestError


class Gold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place that answers a question: a source's file name, words in it, where it is."""

    source: str
    contains: str | None = None
    page: int | None = None
    slide: int | None = None
    sheet: str | None = None
    row: int | None = None

    def is_at(self, source: str, comparable_text: str, place: Locator) -> bool:
        """Whether a passage of `source` is this place; its text as `comparable` makes it."""
        return (
            source == self.source
            and (self.contains is None or comparable(self.contains) in comparable_text)
            and (self.page is None or _within(self.page, place.page, place.page_end))
            and (self.row is None or _within(self.row, place.row, place.row_end))
            and self.slide in {None, place.slide}
            and self.sheet in {None, place.sheet}
        )


class Past(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question that was asked before in the same conversation, and what was answered."""

    question: str
    answer: str = ""


class Question(msgspec.Struct, frozen=True):
    """A question of the set. Without gold places it has no answer in the documents.

    `history` is what was said before it, oldest first: questions, with or without an answer.
    `language` groups the figures; where it is not said, it is told by the letters.
    """

    id: str
    question: str
    type: str = "factoid"
    gold: tuple[Gold, ...] = ()
    answerable: bool = True
    history: tuple[str | Past, ...] = ()
    language: str = ""

    @property
    def group(self) -> str:
        """The language under which its figures are told."""
        return self.language or script(self.question)

    @property
    def is_answerable(self) -> bool:
        return self.answerable and bool(self.gold)

    @property
    def wordings(self) -> tuple[Wording, ...]:
        """What to search for, after what was said before."""
        past = [
            Said(each) if isinstance(each, str) else Said(each.question, each.answer)
            for each in self.history
        ]
        return resolve(self.question, past).wordings


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the file and its number, for what there is to complain about."""

    number: int
    text: str

    def refuse(self, reason: str) -> InvalidRequestError:
        sentence = text("eval.bad_line", None, line=self.number, reason=reason)
        return InvalidRequestError(f"questions line {self.number}: {reason}", reason=sentence)


def comparable(text: str) -> str:
    """NFKC, lower case, without white space: how gold and passages are compared."""
    return "".join(unicodedata.normalize("NFKC", text).lower().split())


def _within(wanted: int, first: int | None, last: int | None) -> bool:
    return first is not None and first <= wanted <= (last if last is not None else first)


def read_questions(path: Path) -> tuple[Question, ...]:
    """All questions of a file. InvalidRequestError names the first line that is none."""
    try:
        raw = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        sentence = text("eval.no_questions", None, file=path.name)
        raise InvalidRequestError(str(error), reason=sentence) from error
    questions: dict[str, Question] = {}
    for number, content in enumerate(raw.split("\n"), start=1):
        if not content.strip():
            continue
        line = _Line(number, content)
        question = _question(line)
        if question.id in questions:
            raise line.refuse(f"id {question.id!r} twice")
        questions[question.id] = question
    if not questions:
        sentence = text("eval.no_questions", None, file=path.name)
        raise InvalidRequestError("no question in the file", reason=sentence)
    return tuple(questions.values())


def _question(line: _Line) -> Question:
    try:
        question = msgspec.json.decode(line.text.encode(), type=Question)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise line.refuse(str(error)) from error
    if not question.id.strip() or not question.question.strip():
        raise line.refuse("id and question must not be empty")
    if question.answerable and not question.gold:
        raise line.refuse('no gold; say "answerable": false where there is no answer')
    return question

"""A passage made ready for being compared with sentences: its clauses, words and numbers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gateway.core.matching import match_text, script
from gateway.core.passages import Passage
from gateway.core.support_numbers import Number, numbers
from gateway.core.support_spelling import implied
from gateway.core.support_tables import rows
from gateway.core.support_words import Words, content, overlap, widened, words

_CELL = " | "
_CLAUSE = re.compile(
    r"(?:[,;:。.!?、·\n()\[\]「」“”\"](?!\d))+|\s(?:but|however|whereas)\s|\s[-–—]\s|但"
)
_KANA = re.compile("[\u3041-\u309f]")
_ASKS = re.compile(rf"(?:です|ます|ません|でしょう)か\s*$|{match_text('嗎')}\s*$")
_AND = re.compile(r"\s(?:and|that|which|who)\s")
_SENTENCE = re.compile(r"[。;!?\n]|\.(?!\d)")
_AND_TOKENS = 4  # an "and" between parts of at least so many words joins sentences
SAME_MATTER = 0.45  # how alike two clauses are that speak of the same thing
MARGIN = 0.3  # how much more alike another clause must be


@dataclass(frozen=True, slots=True)
class Clause:
    """A folded stretch of a text with its words; `whole` is the list that it is an item of."""

    text: str
    words: Words
    is_row: bool = False  # of a table; its words hold the header's
    is_question: bool = False
    answer: str = ""  # how the answer to it begins
    whole: str = ""
    numbers: tuple[Number, ...] = ()


def squeezed(folded: str) -> str:
    """Without white space, nor signs at its ends: a quotation may be wrapped otherwise."""
    return "".join(folded.split()).strip("。.,;:!?、「」\"'()")


class Evidence:
    """A passage made ready for being compared with many sentences."""

    def __init__(self, passage: Passage) -> None:
        where = " \n ".join((passage.title, passage.locator.sheet or "", *passage.locator.heading))
        folded = match_text(passage.text)
        self.script = script(passage.text)
        self.letters = frozenset(re.findall(r"[A-Z]", f"{where} {passage.text}"))
        self.folded = widened(f"{match_text(where)} \n {folded}")
        self.squeezed = squeezed(folded)
        self.words = words(self.folded)
        told = (folded, match_text(where), implied(folded))
        self.numbers = tuple(number for part in told for number in numbers(part))
        self.clauses = tuple(clauses(folded, _header(folded)))
        self.texts = tuple(each.text for each in self.clauses if not each.is_question)
        self.rows = rows(folded)
        self.has_rows = any(each.is_row for each in self.clauses)
        self.sentences = tuple(_read(part) for part in _SENTENCE.split(folded) if part.strip())

    def nearest(self, claim: Words, tied: float = 0.0) -> tuple[Clause, ...]:
        """The clauses that a claim may speak of, or a sentence where that holds clearly more."""
        if not content(claim):
            return ()
        best = max((overlap(claim, each.words) for each in self.clauses), default=0.0)
        whole = max(self.sentences, key=lambda each: overlap(claim, each.words), default=None)
        if whole is not None and overlap(claim, whole.words) > best + MARGIN:
            return (whole,)
        least = max(SAME_MATTER, best - tied)
        return tuple(each for each in self.clauses if overlap(claim, each.words) >= least)


def _header(folded: str) -> str:
    """The first line of a table, which says what its cells are."""
    first = folded.partition("\n")[0]
    return first if _CELL in first else ""


def clauses(folded: str, heading: str = "") -> Iterator[Clause]:
    parts = _CLAUSE.split(folded)
    ends = [match[0] for match in _CLAUSE.finditer(folded)]
    lists = _lists(parts, [*ends, ""], has_kana=_KANA.search(folded) is not None)
    for at, part in enumerate(parts):
        if not part.strip():
            continue
        if _CELL in part:
            cells = words(f"{heading} \n {part}")
            yield Clause(part, cells, is_row=True, numbers=tuple(numbers(part)))
        elif _is_question(part, ends[at] if at < len(ends) else ""):
            answer = "".join(parts[at + 1 : at + 3])
            yield replace(_read(part), is_question=True, answer=answer)
        else:
            pieces = _parts(part)
            for piece in pieces:
                yield _read(piece, "" if len(pieces) > 1 else lists[at])


def _lists(parts: list[str], ends: list[str], *, has_kana: bool) -> list[str]:
    """For each part the Chinese list (甲、乙、丙) that it stands in; in Japanese 、 is a comma."""
    found: list[str] = []
    first = 0
    for at, end in enumerate(ends):
        if end != "、" or has_kana:
            found += ["".join(parts[first : at + 1])] * (at + 1 - first)
            first = at + 1
    return found


def _is_question(part: str, end: str) -> bool:
    return "?" in end or _ASKS.search(part) is not None


def _parts(clause: str) -> list[str]:
    """The sentences that an English "and" joins; lists of a word or two stay whole."""
    parts: list[str] = []
    for part in _AND.split(clause):
        if parts and len(parts[-1].split()) < _AND_TOKENS:
            parts[-1] += f" and {part}"
        else:
            parts.append(part)
    if len(parts) > 1 and len(parts[-1].split()) < _AND_TOKENS:
        last = parts.pop()
        parts[-1] += f" and {last}"
    return parts


def _read(folded: str, whole: str = "") -> Clause:
    return Clause(folded, words(folded), whole=whole or folded, numbers=tuple(numbers(folded)))

"""Excerpts: the one sentence of a passage that stands nearest to the question, in one line."""

from collections.abc import Iterator, Sequence

import regex

from gateway.core.matching import query_terms, sentences

EXCERPT_CHARS = 40  # FEATURES A18
_SEMICOLONS = ("；", ";")
_GRAPHEME = regex.compile(r"\X")
_BREAKS = regex.compile(r"[\s\p{Cc}]+")
# Bidi controls (faults 35), zero-width characters, tags, soft hyphens, Hangul fillers
_UNSEEN = regex.compile(r"[\p{Cf}\u034f\u3164\uffa0]+")
_STACKED = regex.compile(r"(?<=\p{Mn}{4})\p{Mn}+")  # marks that would run into other lines
_HALF_CHARACTER = regex.compile(r"\p{Cs}")


def nearest_sentence(question: str, text: str, chars: int = EXCERPT_CHARS) -> str:
    """The sentence that shares most terms with the question; of equals, most letters, the first.

    In one line of at most `chars` graphemes, an ellipsis included; "" where nothing can be shown.
    Letters count so that 特休 finds 特別休假.
    """
    terms, letters = _words(question)
    spans = sentences(text)
    best, most = 0, (-1, -1)
    for number, (start, end) in enumerate(spans):
        line = one_line(text[start:end])
        line_terms, line_letters = _words(line)
        shared = len(terms & line_terms), len(letters & line_letters)
        if line and shared > most:
            best, most = number, shared
    return clip(one_line("".join(_to_full_stop(text, spans[best:]))), chars)


def _to_full_stop(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The first sentence, and those a semicolon ties to it (滿半年…；滿一年…；)."""
    for start, end in spans:
        yield text[start:end]
        if not text[start:end].rstrip().endswith(_SEMICOLONS):
            return


def _words(text: str) -> tuple[frozenset[str], frozenset[str]]:
    terms = frozenset(query_terms(text).terms)
    return terms, frozenset(char for term in terms if not term.isascii() for char in term)


def one_line(text: str) -> str:
    """The text in one line, without controls and characters nobody sees."""
    seen = _STACKED.sub("", _UNSEEN.sub("", _HALF_CHARACTER.sub("\ufffd", text)))
    return _BREAKS.sub(" ", seen).strip()


def clip(text: str, chars: int) -> str:
    """At most `chars` graphemes of the text; an ellipsis is the last of them if some are gone."""
    graphemes = _GRAPHEME.findall(text)
    if len(graphemes) <= chars:
        return text
    return "".join(graphemes[: max(0, chars - 1)]).rstrip() + "…"

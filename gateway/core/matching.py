"""What counts as the same word: the folded copy, its index tokens, the terms of a question."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from gateway.core.folding import Folded, fold, match_text, storable

__all__ = [
    "MAX_PHRASES",
    "MAX_QUESTION_CHARS",
    "MAX_TERMS",
    "TOKENISER_VERSION",
    "Folded",
    "QueryTerms",
    "fold",
    "has_terms",
    "index_tokens",
    "match_text",
    "places",
    "query_terms",
    "script",
    "sentences",
    "storable",
    "terms_in",
]

TOKENISER_VERSION = 1  # raise it when `match_text` or `index_tokens` change: the index is rebuilt
MAX_QUESTION_CHARS = 4_000  # what follows in a pasted page is not searched
MAX_TERMS = 128
MAX_PHRASES = 4
MAX_TOKEN_CHARS = 64
JOINER = "\ue000"  # private use: a token letter to FTS5's unicode61, and in nobody's text

_KANA = "\u3041-\u309f\u30a0-\u30ff\u31f0-\u31ff"
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_CJK = f"{_HAN}{_KANA}\u3100-\u312f\u31a0-\u31bf\uac00-\ud7a3"
_WORD = rf"(?:(?![{_CJK}])[^\W_])+"
_RUNS = re.compile(rf"(?P<cjk>[{_CJK}]+)|(?P<word>{_WORD}(?:[-_./+&'’]{_WORD})*)")
_PIECES = re.compile(_WORD)
_WRAPPED = re.compile(rf"(?<=[{_CJK}])[ \t]*\r?\n[ \t]*(?=[{_CJK}])")
_QUOTED = re.compile(  # bounded, or an opening mark would look for its end through everything
    r'"([^"\n]{1,60})"|“([^”\n]{1,60})”|「([^」\n]{1,60})」|『([^』\n]{1,60})』'
)


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """What to look up: any of `terms`, each a token of the index, and every one of `phrases`.

    A phrase is a run of index tokens that stand one after the other.
    """

    terms: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...] = ()


def index_tokens(match_text: str) -> str:
    """The tokens of a folded text, joined by blanks, for FTS5's unicode61.

    CJK letters and pairs of neighbours alternate (請 請假 假), so that one letter, a word and a
    quoted phrase are all found exactly; a line break inside a CJK word is no border. Latin words
    and numbers stay whole; compounds (ab-1203) come again as one token after everything else.
    """
    text = _WRAPPED.sub("", match_text)
    return " ".join(chain(_stream(text), _compounds(text)))


def _stream(text: str) -> Iterator[str]:
    for run in _RUNS.finditer(text):
        if run["cjk"] is None:
            yield from (piece[0][:MAX_TOKEN_CHARS] for piece in _PIECES.finditer(run[0]))
            continue
        yield run[0][0]
        for at in range(1, len(run[0])):
            yield run[0][at - 1 : at + 1]
            yield run[0][at]


def _compounds(text: str) -> Iterator[str]:
    for run in _RUNS.finditer(text):
        pieces = _PIECES.findall(run["word"] or "")
        if len(pieces) > 1:
            yield JOINER.join(pieces)[:MAX_TOKEN_CHARS]


def query_terms(question: str) -> QueryTerms:
    """The terms of a question, each once, in order: at most MAX_TERMS and MAX_PHRASES.

    Only the first MAX_QUESTION_CHARS characters count. Nothing in a question is an operator.
    """
    folded = match_text(question[:MAX_QUESTION_CHARS])
    terms = islice(dict.fromkeys(_terms(folded)), MAX_TERMS)
    quoted = ("".join(filter(None, match.groups())) for match in _QUOTED.finditer(folded))
    phrases = (tuple(_stream(text)) for text in quoted)
    kept = (phrase for phrase in phrases if len(phrase) > 1)
    return QueryTerms(tuple(terms), tuple(islice(dict.fromkeys(kept), MAX_PHRASES)))


def _terms(folded: str) -> Iterator[str]:
    for run in _RUNS.finditer(folded):
        text = run[0]
        if run["cjk"] is not None:
            yield from (text[at : at + 2] for at in range(max(1, len(text) - 1)))
            continue
        yield from _words(text)


def _words(run: str) -> Iterator[str]:
    """A compound as one token, and its pieces."""
    pieces = _PIECES.findall(run)
    if len(pieces) > 1:
        yield JOINER.join(pieces)[:MAX_TOKEN_CHARS]
    yield from (piece[:MAX_TOKEN_CHARS] for piece in pieces)


def has_terms(question: str) -> bool:
    """There is something to look up: not only blanks, punctuation or emoji."""
    return next(_terms(match_text(question[:MAX_QUESTION_CHARS])), None) is not None


def terms_in(terms: Collection[str], match_text: str) -> frozenset[str]:
    """Those of a question's terms that a folded text holds, as the index would find them."""
    text = _WRAPPED.sub("", match_text) if "\n" in match_text else match_text
    latin = {term for term in terms if not _STARTS_CJK.match(term)}
    runs = _RUNS.finditer(text) if latin else ()
    words = {piece for run in runs if run["word"] for piece in _words(run[0])}
    return frozenset(term for term in terms if (term in words if term in latin else term in text))


def places(terms: Collection[str], match_text: str) -> Iterator[tuple[str, int]]:
    """(term, where it begins) for each time a folded text holds one of the terms."""
    latin = {term for term in terms if not _STARTS_CJK.match(term)}
    for term in terms:
        at = -1 if term in latin else match_text.find(term)
        while at >= 0:
            yield term, at
            at = match_text.find(term, at + 1)
    for run in _RUNS.finditer(match_text) if latin else ():
        if run["word"]:
            yield from ((piece, run.start()) for piece in _words(run[0]) if piece in latin)


_STARTS_CJK = re.compile(f"[{_CJK}]")
_ONE_KANA = re.compile(f"[{_KANA}]")
_ONE_HAN = re.compile(f"[{_HAN}]")
_ONE_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
_SCRIPT_CHARS = 4_000  # enough to tell
_KANA_SHARE = 0.1  # の alone does not make a Chinese text Japanese
_LATIN_A_LETTER = 3  # Latin letters that carry as much as one CJK letter


def script(text: str) -> str:
    """What the text is mostly written in: "zh", "ja" or "en"."""
    head = text[:_SCRIPT_CHARS]
    kana, han = len(_ONE_KANA.findall(head)), len(_ONE_HAN.findall(head))
    if (kana + han) * _LATIN_A_LETTER <= len(_ONE_LATIN.findall(head)):
        return "en"
    return "ja" if kana > _KANA_SHARE * (kana + han) else "zh"


_STOP = re.compile(
    r"""(?:[。！？!?；｡]+[」』”’）)\]】]*      # CJK stops, with the quotes that close after them
      |[.]+["'”’)\]]*(?=\s|$)               # a Latin stop ends a word
      |\n)\s*""",
    re.VERBOSE,
)


def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """(start, end) of each sentence; together they cover the whole text."""
    ends = [match.end() for match in _STOP.finditer(text)]
    if text and (not ends or ends[-1] < len(text)):
        ends.append(len(text))
    return tuple(zip([0, *ends], ends, strict=False))

"""The content words of a sentence, and how much of them a passage holds."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gateway.core.common_terms import is_common
from gateway.core.matching import match_text
from gateway.core.support_numbers import is_quantity

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_KATAKANA = "\u30a1-\u30fa\u30fc"
_TOKENS = re.compile(
    rf"(?P<han>[{_HAN}])|(?P<kana>[{_KATAKANA}]+)"
    rf"|(?P<word>[^\W\d_\u3040-\uffff]+(?:['’][a-z]+)?)"
)
_HAN_LETTER = re.compile(f"[{_HAN}]")
# letters that hold sentences together, or that numbers and their units are made of
_PARTICLES = frozenset(
    match_text(
        "的了是在於及與和或並且之其所為以而也都就才還又則若如把被讓給對從到向由時會要請可能得應須即您你我他們"
        "這那個各每該等者下上中前後內起至有使用行進做作去來話一二三四五六七八九十百千萬兩半日天月年週周元円點分早晚午約共總"
    )
)
# words that say the same where people ask and documents answer; one kind a line
_ALIKE = tuple(
    tuple(map(match_text, line.split()))
    for line in (
        "員工 同仁 職員 従業員 社員 人員",
        "公司 本公司 会社 当社",
        "筆電 筆記型電腦 ノートPC 端末",
        "薪資 工資 薪水 給与 給料 賃金",
        "同意 核准 承認 批准 許可",
        "包含 包括 範圍",
        "特休 特別休假 年假 有給",
        "消耗品 耗材",
        "答覆 回覆 回應",
        "通知 通報 報告 告知",
        "申請 登記 申出 申し出",
        "購買 採購 購入",
        "客戶 顧客 消費者 お客様",
    )
)
_ENGLISH_ALIKE = {
    word: line.split()[0]
    for line in (
        "employee staff worker team colleague",
        "visitor guest",
        "customer client",
        "reimburse pay paid repay refund reimbursement",
        "receive get gets obtain",
        "notify tell inform report notification announce",
        "bonus reward",
        "allow permit permitted",
        "enter go access",
        "begin start",
        "submit hand send file",
        "below under drop fall less short",
        "cover include",
    )
    for word in line.split()
}
_ENDINGS = "ations ation ments ment ions ings ing ion ies ied ers er ed es s ly al e y".split()
_SHORTEST_STEM = 3
_STEM = 6  # letters of a stem: certified and certification
_WORD_WEIGHT = 2.0  # a word carries as much as two Han letters
_BY_LETTER = 0.6  # a letter that the passage holds among others
# how much a unit adds to a stretch that the passage does not hold, or takes from it
_PAIR_ENDS, _LETTER_ENDS, _WORD_ENDS = 1.5, 0.3, 3.0


@dataclass(frozen=True, slots=True)
class Unit:
    """A Han letter or a word; `before` and `after` are the Han letters that touch it."""

    text: str
    before: str = ""
    after: str = ""
    is_han: bool = True


@dataclass(frozen=True, slots=True)
class Words:
    """The content of a text: its units in order, each once in `known`, pairs of Han letters."""

    units: tuple[Unit, ...]
    known: frozenset[str]
    pairs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a sentence a passage holds.

    `share` 0 to 1; `invented`: the longest stretch it does not hold, in Han letters (a word
    counts two); `weight`: how much there was to look for, likewise.
    """

    share: float
    invented: float
    weight: float


def words(folded: str) -> Words:
    """The content of a folded text; numbers, hiragana and common words are none."""
    units = tuple(_units(folded))
    pairs = {unit.text + unit.after for unit in units if unit.after}
    return Words(units, frozenset(unit.text for unit in units), frozenset(pairs))


def _units(folded: str) -> Iterator[Unit]:
    found = list(_TOKENS.finditer(folded))
    han = {match.start(): match[0] for match in found if match["han"]}
    for match in found:
        if match["han"]:
            yield Unit(match[0], han.get(match.start() - 1, ""), han.get(match.end(), ""))
        elif match["kana"]:
            yield Unit(match[0], is_han=False)
        elif not is_common(match[0]) and not is_quantity(match[0]):
            yield Unit(_stem(match[0]), is_han=False)


def content(of: Words) -> tuple[Unit, ...]:
    """The units that say what a text is about."""
    return tuple(unit for unit in of.units if not (unit.is_han and unit.text in _PARTICLES))


def widened(folded: str) -> str:
    """A passage with the words that say the same as its own."""
    more = [" \n ".join(line) for line in _ALIKE if any(word in folded for word in line)]
    return " \n ".join([folded, *more])


def coverage(of: Words, passage: Words) -> Coverage:
    """How much of a sentence's words a passage holds, and the longest stretch that it lacks."""
    held = weight = stretch = longest = 0.0
    for unit in content(of):
        each = 1.0 if unit.is_han else _WORD_WEIGHT
        share, step = _held(unit, passage)
        held += share * each
        weight += each
        stretch = max(0.0, stretch + step)
        longest = max(longest, stretch)
    return Coverage(held / weight if weight else 1.0, longest, weight)


def _held(unit: Unit, passage: Words) -> tuple[float, float]:
    if not unit.is_han:
        is_held = unit.text in passage.known
        return (1.0, -_WORD_ENDS) if is_held else (0.0, _WORD_WEIGHT)
    if unit.before + unit.text in passage.pairs or unit.text + unit.after in passage.pairs:
        return 1.0, -_PAIR_ENDS
    return (_BY_LETTER, -_LETTER_ENDS) if unit.text in passage.known else (0.0, 1.0)


def overlap(of: Words, clause: Words) -> float:
    """How alike a clause is, for finding which one a sentence speaks of; 0 to 1.3."""
    units = content(of)
    if not units:
        return 0.0
    letters = sum(unit.text in clause.known for unit in units) / len(units)
    return letters + 0.3 * len(of.pairs & clause.pairs) / max(1, len(of.pairs))


def is_turned(of: Words, clause: Words) -> bool:
    """What stands before a word in the one stands after it in the other, and the reverse.

    "The owner pays the guest" against "the guest pays the owner"; not for Japanese, whose
    particles say who does what.
    """
    told, said = ([unit.text for unit in content(each)] for each in (of, clause))
    if not set(told) <= set(said):
        return False  # said in other words, whose order tells nothing
    for at, pivot in enumerate(told):
        place = said.index(pivot)
        length = _run(told[at:], said[place:])
        before, after = set(told[:at]), set(told[at + length :])
        ahead, behind = set(said[:place]), set(said[place + length :])
        if before & ahead:
            continue
        turned = before & behind, after & ahead
        least = _WORD_WEIGHT if _HAN_LETTER.fullmatch(pivot) else 2 * _WORD_WEIGHT
        if min(map(_weight, turned)) >= least:  # of English, whose nouns and verbs trade places
            return True
    return False


def _run(told: list[str], said: list[str]) -> int:
    """How many units the two begin with alike."""
    pairs = enumerate(zip(told, said, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(told), len(said)))


def _weight(units: Iterable[str]) -> float:
    return sum(1.0 if _HAN_LETTER.fullmatch(unit) else _WORD_WEIGHT for unit in units)


def _stem(word: str) -> str:
    """An English word without its ending, and one word for those that say the same."""
    word = re.sub(r"['’]s?$", "", word)
    word = _ENGLISH_ALIKE.get(word, word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            base = word.removesuffix(ending)
            if len(base) > _SHORTEST_STEM and base[-1] == base[-2]:
                base = base[:-1]
            return _stem_of_kind(base)
    return _stem_of_kind(word)


def _stem_of_kind(base: str) -> str:
    """`cover`, `cov` and `includ` must meet: kinds are known by the stem of their first word."""
    return _KINDS.get(base, base)[:_STEM]


_KINDS: dict[str, str] = {}
_KINDS |= {
    _stem(word): _stem(first) for word, first in tuple(_ENGLISH_ALIKE.items()) if word != first
}

"""What a question asks for: its words without the asking, and what an answer must hold."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from gateway.core.matching import match_text

_HAN = "\u3005-\u3007\u3400-\u9fff\U00020000-\U000323af"
_KATAKANA = "\u30a0-\u30ff"
_HIRAGANA = "\u3041-\u309f"
_CJK_RUN = re.compile(f"[{_HAN}{_KATAKANA}{_HIRAGANA}]+")
_HAN_LETTER = re.compile(f"[{_HAN}]")
_IS_HAN = re.compile(f"[{_HAN}]{{2}}")
_IS_SOLID = re.compile(f"[{_HAN}{_KATAKANA}]{{2}}")
_IS_VERB = re.compile(f"[{_HAN}][{_HIRAGANA}]")
_WORD = re.compile(r"[a-z0-9À-ɏ]+(?:[-_./'’][a-z0-9À-ɏ]+)*")

# Words of asking, cut out before pairs are made: whatever they touch is no word of the subject.
_ASKING_WORDS = """
請問 可以 可不可以 我想知道 想知道 告訴我 什麼時候 什麼 甚麼 多少 多久 幾天 幾日 幾週 幾個月 幾個
幾點 怎麼 怎樣 如何 為什麼 是否 有沒有 哪裡 哪些 哪個 哪一 誰 幾 嗎 呢 吧 的 了 是 有 我們 我 你們
要 能 會 該 需要 何日 何時間 何時 何人 何回 何個 何円 いくら いくつ いつ どこ どう どの 何 教えて
ください
"""
_ASKING = re.compile(
    "|".join(sorted(map(match_text, _ASKING_WORDS.split()), key=len, reverse=True))
)
_MOST_CHARS = 1_000
_MOST_TERMS = 64
_CARRIED = 0.5  # what a word of the conversation weighs beside one of the question
_LEAST_STEM = 3
_STEM = 6  # letters: deliver and delivery are one
_SUFFIXES = (
    ("ments", ""),
    ("ment", ""),
    ("ings", ""),
    ("ing", ""),
    ("ies", "y"),
    ("ied", "y"),
    ("ss", "ss"),
    ("es", ""),
    ("ed", ""),
    ("s", ""),
)
_PARTICLES = frozenset("はがをにのでともへやか")
_STOP = """
a an the of to in on for and or is are was were be been do does did i we you my our your me it its
this that these those what which who whom how many much long when where why can could should would
will may must get have has had there with by from as at if any after before please tell about
"""
_STOP_WORDS = frozenset(_STOP.split())
_NUMERALS = {c: n for n, c in enumerate("零一二三四五六七八九十")} | {"〇": 0, "两": 2}
_ENGLISH_NUMERALS = "one two three four five six seven eight nine ten eleven twelve"
_ENGLISH = {word: number for number, word in enumerate(_ENGLISH_NUMERALS.split(), 1)}
_UNIT_NAMES = {
    "日": "日 天 days day",
    "年": "年 years year",
    "月": "个月 か月 ヶ月 カ月 月 months month",
    "周": "周 星期 weeks week",
    "时": "小时 时间 hours hour",
    "次": "次 回 times",
    "人": "人",
    "岁": "岁",
    "元": "元",
    "円": "円",
}
_UNITS = {name: unit for unit, names in _UNIT_NAMES.items() for name in names.split()}
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_WRITTEN = re.compile(
    rf"(?<![百千万亿第])([〇零一二两三四五六七八九十]{{1,3}})"
    rf"(?=\s?(?:个|工作|working )?\s?(?:{_UNIT}))"
    rf"|\b({'|'.join(_ENGLISH)})\b"
)
_HALF_YEAR = re.compile(r"(?<![上下一二三四五六七八九十])半年(?!度)|\bhalf a year\b")
_AMOUNT = re.compile(rf"(\d+)\s?(?:个工作|工作|working |calendar |个)?\s?({_UNIT})")

_NUMBER = r"[0-9〇零一二两三四五六七八九十百千万半]"
_EXPECTED = tuple(
    (re.compile(match_text(asked)), re.compile(match_text(held)))
    for asked, held in (
        (
            "幾天|多少天|幾日|何日|how many (?:[a-z]+ ){0,4}?days|days of",
            rf"{_NUMBER}\s?(?:個)?(?:工作|working |calendar )?\s?(?:天|日|days?|週|星期|weeks?)"
            r"(?!\s?(?:前|before))",
        ),
        (
            "幾週|幾個星期|何週間|how many weeks",
            rf"{_NUMBER}\s?(?:個)?(?:週|星期|weeks?)",
        ),
        (
            "多少錢|多少元|價格|價錢|費用|運費|單價|定價|怎麼算|怎麼計算|いくら|料金|値段|何円"
            "|how much|price|cost",
            rf"{_NUMBER}\s?(?:元|円|圓|dollars?|usd|ntd?|yen)|[$¥￥]\s?\d|分之|(?:價|price|料金).*\d",
        ),
        (
            "幾點|何時|什麼時候|いつ|when|what time|多久|how long|どのくらい",
            rf"{_NUMBER}\s?(?:點|時|年|月|日|天|分|週|days?|hours?|weeks?|months?|years?)|\d:\d\d",
        ),
        ("幾|多少|何人|何回|何個|何度|いくつ|how many", _NUMBER),
    )
)

# what cannot be answered without a sum; a cost may be told otherwise: who pays, by distance
_PRICE = re.compile(
    match_text("多少錢|多少元|幾元|幾塊錢|いくら|何円") + r"|how much (?:does|do|is|are)\b"
)


@dataclass(frozen=True, slots=True)
class Term:
    """One word of the question, or a pair of neighbouring CJK letters, and what it weighs."""

    text: str
    weight: float
    abbreviates: re.Pattern[str] | None = None  # 特休 also stands for 特別休假
    is_carried: bool = False  # of the conversation before a follow-up question


@dataclass(frozen=True, slots=True)
class AskedFor:
    """A question taken apart. `expected` is what an answer looks like, where that can be told.

    `letters` are the single Han letters of its words: 生病 and 疾病 share one.
    """

    terms: tuple[Term, ...]
    letters: frozenset[str]
    expected: re.Pattern[str] | None
    is_price: bool = False


def asked_for(question: str, carried: str = "") -> AskedFor:
    """Take a question apart; no terms where it holds none. Of a pasted page only the start.

    `carried` are words that stand before a follow-up question in the conversation.
    """
    own = _taken_apart(question)
    if not carried:
        return own
    before = _taken_apart(carried)
    known = {term.text for term in own.terms}
    kept = (replace(each, weight=each.weight * _CARRIED, is_carried=True) for each in before.terms)
    more = tuple(each for each in kept if each.text not in known)
    expected = own.expected or before.expected
    return AskedFor((*own.terms, *more), own.letters, expected, own.is_price)


def _taken_apart(question: str) -> AskedFor:
    folded = match_text(question[:_MOST_CHARS])
    text = with_digits(folded)
    found = {term.text: term for term in islice(_terms(text), _MOST_TERMS)}
    kinds = (held for asked, held in _EXPECTED if asked.search(folded))
    letters = frozenset(_HAN_LETTER.findall(_ASKING.sub(" ", text)))
    is_price = _PRICE.search(folded) is not None
    return AskedFor(tuple(found.values()), letters, next(kinds, None), is_price)


def with_digits(folded: str) -> str:
    """Numbers of a folded text that count something, as digits: 滿一年 → 满1年, 半年 → 6个月."""
    return _WRITTEN.sub(lambda match: str(_number(match)), _HALF_YEAR.sub("6个月", folded))


def amounts(text: str) -> frozenset[str]:
    """What is counted in a text `with_digits`, units made one: `7 天`, `7 days` → `7日`."""
    return frozenset(f"{number}{_UNITS[unit]}" for number, unit in _AMOUNT.findall(text))


def words(text: str) -> frozenset[str]:
    """Stems of the Latin words and codes of a folded text."""
    return frozenset(_stem(match[0]) for match in _WORD.finditer(text))


def _terms(text: str) -> Iterator[Term]:
    yield from (Term(amount, 1.5) for amount in sorted(amounts(text)))
    rest = _AMOUNT.sub(" ", text)
    for word in _WORD.findall(rest):
        if word not in _STOP_WORDS and len(word) > 1:
            yield Term(_stem(word), 2.0 if any(map(str.isdigit, word)) else 1.0)
    pairs = [pair for run in _CJK_RUN.findall(_ASKING.sub(" ", rest)) for pair in _pairs(run)]
    weighed = [(pair, weight) for pair in pairs if (weight := _weight(pair))]
    for pair, weight in weighed or [(pair, 1.0) for pair in pairs]:
        yield Term(pair, weight, _abbreviation(pair))


def _pairs(run: str) -> Iterator[str]:
    yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))


def _weight(pair: str) -> float:
    if len(pair) == 1:
        return 0.0 if pair in _PARTICLES or "\u3041" <= pair <= "\u309f" else 0.5
    if _IS_SOLID.fullmatch(pair):
        return 1.0
    return 0.5 if _IS_VERB.fullmatch(pair) and pair[1] not in _PARTICLES else 0.0


def _abbreviation(pair: str) -> re.Pattern[str] | None:
    if not _IS_HAN.fullmatch(pair):
        return None
    return re.compile(f"{pair[0]}[{_HAN}]{{1,3}}{pair[1]}")


def _number(match: re.Match[str]) -> int:
    if match[2]:
        return _ENGLISH[match[2]]
    tens, ten, ones = match[1].rpartition("十")
    if not ten:
        return int("".join(str(_NUMERALS[letter]) for letter in match[1]))
    return (_NUMERALS[tens[-1]] if tens else 1) * 10 + (_NUMERALS[ones[-1]] if ones else 0)


def _stem(word: str) -> str:
    if any(map(str.isdigit, word)):
        return word
    stem = word.removesuffix("'s")
    for suffix, instead in _SUFFIXES:
        if stem.endswith(suffix) and len(stem) - len(suffix) >= _LEAST_STEM:
            stem = stem.removesuffix(suffix) + instead
            break
    if stem.endswith("e") and len(stem) > _LEAST_STEM:
        stem = stem[:-1]
    if len(stem) > _LEAST_STEM and stem[-1] == stem[-2]:
        stem = stem[:-1]  # shipped, ship
    return stem[:_STEM]

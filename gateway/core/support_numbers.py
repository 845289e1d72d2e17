"""The numbers of a text with their units, in one form: 三十日, 30 天 and "thirty days" are one."""

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass

from gateway.core.matching import match_text
from gateway.core.support_spelling import spelled_out
from gateway.core.support_units import CLOCK, DATE, MINUTES, MONTHS, UNITS

OTHER = "other"  # a word follows that is no unit known here
_HALF_DAY, _YEAR, _NEAR, _LEAP = 720, 10_000, 1e-6, 2024  # minutes; dates count as yyyymmdd
_MONEY = frozenset({"usd", "jpy", "twd", "eur", "money"})
_STRICT = _MONEY | {MINUTES, MONTHS, CLOCK, DATE, "percent"}
_TIMES = frozenset({MINUTES, MONTHS})
_COUNTERS = frozenset(match_text("家組次份張件封筆回台本枚個名支間項款級級層"))
_DIGITS = {c: n for n, c in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {match_text(c): n for c, n in (("萬", 10**4), ("万", 10**4), ("億", 10**8))}
_WORDS = {
    word: n
    for n, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen".split()
    )
} | {
    word: 10 * n
    for n, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_ONES = "one|two|three|four|five|six|seven|eight|nine"
_SCALES = {"thousand": 10**3, "k": 10**3, "million": 10**6, "billion": 10**9}
_MONTH_NAMES = {
    name: n
    for n, name in enumerate(
        "january february march april may june july august september october november "
        "december".split(),
        1,
    )
}

_NUMERAL = "".join((*_DIGITS, *_TENS))
_LARGE = "".join(_MYRIADS)
_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_BETWEEN = (  # what stands between a number and its unit: 5 個工作日, 4 business hours
    r"[\s-]*(?:[个箇](?=工作|营业|日历|小时|星期|月))?(?:工作|营业|営业|日历|business |working |"
    r"calendar |full |consecutive |more |(?!per |times |a |an |to |or |and |of |in |at )[a-z]+ )?"
)
# what follows a bare number and is no unit of it
_JOINED = (
    r"(?:per|a|an|to|or|and|at|of|for|in|on|by|is|are|st|nd|rd|th)\b|"
    f"[\u3041-\u309f{match_text('至到以或和與及的之元的')}]"
)
_DATES = re.compile(
    r"(?<![\d.])(?P<y>\d{4})\s*[-/.年]\s*(?P<m>\d{1,2})\s*[-/.月]\s*(?P<d>\d{1,2})日?"
    r"|(?<![\d.])(?P<m2>\d{1,2})\s*月\s*(?P<d2>\d{1,2})\s*[日号]"
    r"|(?<!\d)(?P<m5>1[0-2]|0?[1-9])\s*月\s*(?:末日?|底)|(?<![\d./])(?P<m6>1[0-2]|0?[1-9])/(?P<d6>[12]\d|3[01]|0?[1-9])(?![\d/.%])"
    rf"|(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<n3>{'|'.join(_MONTH_NAMES)})(?:,?\s+(?P<y3>\d{{4}}))?"
    rf"|\b(?P<n4>{'|'.join(_MONTH_NAMES)})\s+(?P<d4>\d{{1,2}})(?!\d)(?:st|nd|rd|th)?"
    r"(?:,?\s+(?P<y4>\d{4}))?"
)
_CLOCKS = re.compile(
    r"(?P<half>上午|下午|午前|午后|午後|晚上)?\s*(?:(?P<h>\d{1,2}):(?P<m>\d{2})"
    rf"|(?P<h2>\d{{1,2}}|[{_NUMERAL}]{{1,3}})\s*(?:[点點](?P<thirty>半)?|[时時](?![间間期季])(?P<thirty2>半)?|\s*(?P<ap>am|pm)\b))"
    r"(?:\s*(?P<ap2>am|pm)\b)?"
)
CODES = re.compile(
    r"(?<![a-z0-9])[a-z]+(?:[-_/.][a-z]*)?\d[a-z0-9]*(?:[-_/.][a-z0-9]+)*|\d+[a-z]{2,}\d\w*"
)
_EACH_UNIT = (
    r"(?P<unit{}>晚|泊|分钟|分间|分|小时|时间|天|日|周|週|月|季|年|minute|night|hour|day|week|month|"
    r"quarter|year)"
)
_EACH = re.compile(
    r"(?:每一?个?|毎|\b(?:a|per|each|every|any) (?:calendar |working |business )?)\s*"
    rf"{_EACH_UNIT.format('')}(?![a-z间後后以])"
    rf"|(?:1|一)?\s*{_EACH_UNIT.format('2')}(?:あたり|当たり|につき)"
    r"|(?P<of>\bannual(?:ly)?\b|\bdaily\b|\bweekly\b|\bmonthly\b|\byearly\b|月额|年额|日额|月額|年額|日額)"
)
_OF = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
    "annual": "year",
    "annually": "year",
}
_PREFIX = r"(?P<prefix>nt\$|us\$|\$|€|¥|usd|twd|ntd|eur|jpy|新台币|美金|日币|百分之)?\s*"
_PREFIXES = {
    "$": "usd", "us$": "usd", "usd": "usd", "美金": "usd", "€": "eur", "eur": "eur", "¥": "jpy",
    "jpy": "jpy", "日币": "jpy", "nt$": "twd", "twd": "twd", "ntd": "twd", "新台币": "twd",
    "百分之": "percent",
}  # fmt: skip
_NUMBERS = re.compile(
    rf"{_PREFIX}(?:(?P<arabic>\d+(?:,\d{{3}})*(?:\.\d+)?)"
    rf"|(?P<han>[{_NUMERAL}][{_NUMERAL}{_LARGE}]*)"
    rf"|(?P<half>半)(?=年|[个個箇]?月|小时|時間|日|天)"
    rf"|\b(?P<word>{'|'.join(_WORDS)})(?:[- ](?P<ones>{_ONES}))?\b)"
    rf"(?:\s*(?P<scale>[{_LARGE}{''.join(_TENS)}]|thousand\b|million\b|billion\b|k\b))?"
    rf"(?:{_BETWEEN}(?P<unit>{_UNIT})(?![a-z])|(?P<other>[\s-]?(?!{_JOINED})(?:[a-z]{{1,4}}|[^\W\d_])))?"
)


_MIXED_PART = re.compile(rf"(\d[\d,]*)\s*([{_LARGE}千百]?)")
_MIXED = re.compile(
    rf"(?<![\d.,])\d+\s*[{_LARGE}千](?:\s*\d+(?:,\d{{3}})*\s*[{_LARGE}千百]?)+(?![\d.,])"
)


@dataclass(frozen=True, slots=True)
class Number:
    """An amount of a dimension, which is empty for a bare number; `at`: where it stands."""

    amount: float
    dimension: str
    at: int
    is_rate: bool = False  # a day, each month
    written: float = 0.0  # without its unit: a bare number is compared with that
    counted: str = ""  # the beginning of the word that follows, where that is no known unit

    def agrees(self, other: "Number") -> bool:
        """The same amount in units that can be one."""
        if self.dimension == other.dimension == CLOCK:
            return (self.amount - other.amount) % _HALF_DAY == 0
        if self.dimension == other.dimension == DATE:
            has_no_year = min(self.amount, other.amount) < _YEAR
            year = _YEAR if has_no_year else _YEAR * _YEAR
            return self.amount % year == other.amount % year
        if self.is_rate == other.is_rate and {self.dimension, other.dimension} == _TIMES:
            return self.minutes == other.minutes
        is_same = self.dimension == other.dimension
        one, two = (self.amount, other.amount) if is_same else (self.written, other.written)
        return self.is_comparable(other) and abs(one - two) <= _NEAR * max(1.0, abs(two))

    @property
    def minutes(self) -> float:
        """A month as 30 days, a year as 365: so people say 90 天 for 三個月."""
        if self.dimension == MINUTES:
            return self.amount
        years, months = divmod(self.amount, 12)
        return (years * 365 + months * 30) * 1440

    def is_comparable(self, other: "Number") -> bool:
        """Their units can be one: the same, a bare number, 元 for a currency, a word unknown."""
        both = {self.dimension, other.dimension}
        if len(both) == 1 or "" in both:
            return True
        if both <= _MONEY:
            return "money" in both
        return OTHER in both and both.isdisjoint(_STRICT)


def numbers(folded: str) -> list[Number]:
    """The numbers of a folded text in order; part numbers like x-200 are none."""
    left = _MIXED.sub(_written_out, spelled_out(folded))
    left, found = _cut(left, _DATES, _date)
    left = CODES.sub(lambda code: _blank(code[0]) if not _is_amount(code[0]) else code[0], left)
    left, clocks = _cut(left, _CLOCKS, _clock)
    left, each = _cut(left, _EACH, _rate)
    found += clocks + each
    found += [number for match in _NUMBERS.finditer(left) if (number := _number(match))]
    return sorted(found, key=lambda number: number.at)


def _written_out(match: re.Match[str]) -> str:
    """2万8千 and 3億5000万 as digits."""
    parts = _MIXED_PART.findall(match[0])
    return str(
        sum(
            int(digits.replace(",", "")) * (_MYRIADS | _TENS).get(scale, 1)
            for digits, scale in parts
        )
    )


def _is_amount(code: str) -> bool:
    return re.fullmatch(r"(?:usd|twd|ntd|eur|jpy)[\d.,]+k?", code) is not None


def _blank(text: str) -> str:
    return " " * len(text)


def is_quantity(word: str) -> bool:
    """A number word or a unit, which says nothing of what a text is about."""
    return word in _WORDS or word in UNITS


def _cut(
    text: str, pattern: re.Pattern[str], read: Callable[[re.Match[str]], Number]
) -> tuple[str, list[Number]]:
    """What the pattern finds, and the text with blanks in its place."""
    found = [read(match) for match in pattern.finditer(text)]
    return pattern.sub(lambda match: _blank(match[0]), text), found


def _date(match: re.Match[str]) -> Number:
    groups = match.groupdict()
    year = groups["y"] or groups["y3"] or groups["y4"] or 0
    month = (
        groups["m"]
        or groups["m2"]
        or groups["m5"]
        or groups["m6"]
        or _MONTH_NAMES.get(groups["n3"] or groups["n4"] or "", 0)
    )
    day = groups["d"] or groups["d2"] or groups["d3"] or groups["d4"] or groups["d6"]
    day = day or monthrange(_LEAP, int(month))[1]
    return Number(int(year) * 10_000 + int(month) * 100 + int(day), DATE, match.start())


def _clock(match: re.Match[str]) -> Number:
    hour = match["h"] or match["h2"]
    hours = float(hour) if hour.isascii() else _han(hour)
    afternoon = match["half"] in {"下午", "午后", "午後", "晚上"} or "pm" in (
        match["ap"],
        match["ap2"],
    )
    minutes = int(match["m"] or 0) or 30 * bool(match["thirty"] or match["thirty2"])
    hours = hours % 12 + 12 if afternoon else hours
    return Number(hours * 60 + minutes, CLOCK, match.start())


def _rate(match: re.Match[str]) -> Number:
    unit = match["unit"] or match["unit2"] or _OF.get(match["of"], match["of"][:1])
    dimension, amount = UNITS[unit]
    return Number(amount, dimension, match.start(), is_rate=True, written=1.0)


def _number(match: re.Match[str]) -> Number | None:
    value = _value(match)
    unit = match["unit"]
    dimension, amount = UNITS[unit] if unit else (OTHER if match["other"] else "", 1.0)
    if _is_part_of_word(match) or (value == 1 and _is_article(match, dimension)):
        return None  # 三角, 一個, one of them
    if match["prefix"]:
        dimension, amount = _PREFIXES[match["prefix"]], 1.0
    counted = (match["other"] or "").strip(" -")
    return Number(value * amount, dimension, match.start(), written=value, counted=counted)


def _is_article(match: re.Match[str], dimension: str) -> bool:
    """A one that counts nothing measured: 一個, one of them, 1 time."""
    return dimension == OTHER or (not match["arabic"] and dimension not in _TIMES)


def _is_part_of_word(match: re.Match[str]) -> bool:
    """A single Han numeral that counts nothing known: the letter of a word, mostly."""
    if not match["han"] or match["unit"] or match["scale"] or len(match["han"]) > 1:
        return False
    return match.string[match.end("han") : match.end("han") + 1] not in _COUNTERS


def _value(match: re.Match[str]) -> float:
    if match["half"]:
        return 0.5
    if match["arabic"]:
        value = float(match["arabic"].replace(",", ""))
    elif match["han"]:
        value = _han(match["han"])
    else:
        value = float(_WORDS[match["word"]] + _WORDS.get(match["ones"] or "", 0))
    scale = match["scale"]
    if scale:
        value *= _SCALES.get(scale) or _MYRIADS.get(scale) or _TENS[scale]
    return value


def _han(numeral: str) -> float:
    """三十, 五千, 一〇五, 十二萬三千, 一千五 for 一千五百."""
    total = section = digit = 0
    if len(numeral) > 2 and numeral[-1] in _DIGITS and (last := _TENS.get(numeral[-2], 0)) > 10:
        return _han(numeral[:-1]) + _DIGITS[numeral[-1]] * last / 10
    if not set(numeral) & {*_TENS, *_MYRIADS}:
        return float("".join(str(_DIGITS[c]) for c in numeral))
    for c in numeral:
        if c in _DIGITS:
            digit = _DIGITS[c]
        elif c in _TENS:
            section += (digit or 1) * _TENS[c]
            digit = 0
        else:
            total += (section + digit) * _MYRIADS[c]
            section = digit = 0
    return float(total + section + digit)

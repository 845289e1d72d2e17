"""Amounts that a text spells without digits, and those that it says without any number."""

import re

from gateway.core.matching import match_text

_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_ORDINAL = re.compile(
    rf"\b({'|'.join(_ORDINALS)})"
    r"(?= (?:(?:calendar|working|business) )?(?:day|floor|of (?:each|every|the)\b))"
)
_HALF_OF = re.compile(r"\bhalf an? (?=minute|hour|day|year|month|litre|liter)")
_AND_A_HALF = re.compile(
    r"(?<![\d.])(\d+|[一二三四五六七八九兩两])(個?|个?)(年|月|小時|小时|日|天|時間|时间)半(?!年|月|日|天)"
)
_HALF_UNIT = re.compile(
    r"(?<![\d.])(\d+|[一二三四五六七八九兩两])[個个]半(?=月|小時|小时|鐘頭|钟头)"
)
_NOON = re.compile(r"(?<=\d)\s?([ap])\.m\.?")
_MIDDAY = re.compile(rf"{match_text('正午')}|\bnoon\b")
_HAN_DATE = re.compile(r"([一二三四五六七八九十]{1,3})月([一二三四五六七八九十]{1,3})(?=[日号])")
_SPEED = re.compile(
    rf"(?<={match_text('時速')})\s?(\d+)\s?(?:キロ|km)(?![a-z/])|\b(\d+)\s?km (?:per|an) hour\b"
)
_QUARTER_OF = re.compile(
    rf"{match_text('第')}([1-4一二三四])(?:四半期|季(?![{match_text('度節')}]))"
    rf"|\b({'|'.join(_ORDINALS[:4])}) quarter\b"
)
_BASEMENT = re.compile(r"(?<![a-z0-9-])b([1-9])f?(?![a-z0-9-])")
_FLOOR = match_text("地下") + r"\1" + match_text("樓")
_DIGIT = {c: n for n, c in enumerate("一二三四五六七八九", 1)} | {"兩": 2, "两": 2}

# what a passage says in words, and how it is told in digits
_IMPLIED = tuple(
    (re.compile("|".join(map(match_text, patterns.split("/")))), as_digits)
    for patterns, as_digits in (
        (r"折半/減半/減半發給/半額/半數/一半/半薪/\bhalf\b", "50%"),
        (r"全額/全薪/全数/\bin full\b/\bfully\b/\bfull (?:pay|refund|amount)\b", "100%"),
        (r"\btwice\b/\bboth\b/雙方", "2"),
        (r"\bonce\b/\bsingle\b", "1"),
        (r"翌日/次日/隔日/隔天/翌營業日/\bnext day\b/\bfollowing day\b", "1 day"),
        (r"免費/無料/不收費/\bfree\b/\bno charge\b", "0"),
        (r"\bfirst year\b/初年度", "1 year"),
        (r"\bfirst month\b", "1 month"),
        (r"\bfirst hour\b", "1 hour"),
        (r"\bweekly\b/毎週/每週", "7 days"),
    )
)


def spelled_out(folded: str) -> str:
    """`first day`, `half an hour` and 一年半 with digits; `5 p.m.`, B2 and Q1 in one form."""
    text = _NOON.sub(r"\1m", _BASEMENT.sub(_FLOOR, _MIDDAY.sub("12:00 ", folded)))
    text = _HAN_DATE.sub(lambda match: f"{_up_to_99(match[1])}月{_up_to_99(match[2])}", text)
    text = _SPEED.sub(lambda match: f"{match[1] or match[2]} km/h", text)
    text = _QUARTER_OF.sub(_quarter, text)
    text = _ORDINAL.sub(lambda match: f"{_ORDINALS.index(match[1]) + 1}th", text)
    text = _HALF_OF.sub("0.5 ", text)
    text = _HALF_UNIT.sub(lambda match: f"{_digits(match[1])}.5个", text)
    return _AND_A_HALF.sub(lambda match: f"{_digits(match[1])}.5{match[2]}{match[3]}", text)


def implied(folded: str) -> str:
    """The amounts that a passage tells without a number (折半 is 50 %), in digits."""
    return " \n ".join(digits for pattern, digits in _IMPLIED if pattern.search(folded))


def _quarter(match: re.Match[str]) -> str:
    name = match[1] or match[2]
    return f"q{_ORDINALS.index(name) + 1 if name in _ORDINALS else _digits(name)}"


def _up_to_99(numeral: str) -> int:
    tens, ten, ones = numeral.rpartition("十")
    return (_DIGIT.get(tens, 1) * 10 if ten else 0) + _DIGIT.get(ones, 0)


def _digits(numeral: str) -> int:
    return int(numeral) if numeral.isdecimal() else _DIGIT[numeral]

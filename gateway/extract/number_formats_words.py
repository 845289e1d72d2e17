"""Month and day names, halves of the day and eras of the languages a date can be shown in."""

from dataclasses import dataclass

_ENGLISH_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_ENGLISH_DAYS = (
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
)  # fmt: skip
_CHINESE_MONTHS = tuple(
    f"{number}月" for number in "一 二 三 四 五 六 七 八 九 十 十一 十二".split()
)
_NUMBERED_MONTHS = tuple(f"{number}月" for number in range(1, 13))
_KOREAN_MONTHS = tuple(f"{number}월" for number in range(1, 13))


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language; days begin with Sunday."""

    months: tuple[str, ...]
    short_months: tuple[str, ...]
    days: tuple[str, ...]
    short_days: tuple[str, ...]
    halves: tuple[str, str]


def _days(first: str, letters: str) -> tuple[str, ...]:
    return tuple(first + letter for letter in letters)


def _japanese_days() -> tuple[str, ...]:
    return tuple(f"{letter}曜日" for letter in "日月火水木金土")


_ENGLISH = Words(
    _ENGLISH_MONTHS,
    tuple(name[:3] for name in _ENGLISH_MONTHS),
    _ENGLISH_DAYS,
    tuple(name[:3] for name in _ENGLISH_DAYS),
    ("AM", "PM"),
)
_CHINESE_DAYS = _days("星期", "日一二三四五六")
_WORDS = {
    "zh-TW": Words(
        _CHINESE_MONTHS, _CHINESE_MONTHS, _CHINESE_DAYS, _days("週", "日一二三四五六"),
        ("上午", "下午"),
    ),
    "zh-CN": Words(
        _CHINESE_MONTHS, _NUMBERED_MONTHS, _CHINESE_DAYS, _days("周", "日一二三四五六"),
        ("上午", "下午"),
    ),
    "ja": Words(
        _NUMBERED_MONTHS, _NUMBERED_MONTHS, _japanese_days(), tuple("日月火水木金土"),
        ("午前", "午後"),
    ),
    "ko": Words(
        _KOREAN_MONTHS, _KOREAN_MONTHS, tuple(f"{letter}요일" for letter in "일월화수목금토"),
        tuple("일월화수목금토"), ("오전", "오후"),
    ),
}  # fmt: skip
_BY_ID = {
    0x404: "zh-TW", 0xC04: "zh-TW", 0x1404: "zh-TW",
    0x804: "zh-CN", 0x1004: "zh-CN", 0x411: "ja", 0x412: "ko",
}  # fmt: skip
_BY_TAG = {"zh-tw": "zh-TW", "zh-hk": "zh-TW", "zh-cn": "zh-CN", "zh-sg": "zh-CN"}


def words(language: str) -> Words:
    return _WORDS.get(language, _ENGLISH)


def language_of(locale: str) -> str:
    """The language of `404`, `30411`, `ja-jp-x-gannen`; "" is none of those with own words."""
    try:
        number = int(locale, 16)
    except ValueError:
        lower = locale.lower()
        named = _BY_TAG.get(lower[:5], "")
        return named or (lower[:2] if lower[:2] in {"ja", "ko"} else "")
    return _BY_ID.get(number & 0xFFFF, "en" if number else "")


_ERAS = (
    ((2019, 5, 1), ("R", "令", "令和")),
    ((1989, 1, 8), ("H", "平", "平成")),
    ((1926, 12, 25), ("S", "昭", "昭和")),
    ((1912, 7, 30), ("T", "大", "大正")),
    ((1868, 1, 1), ("M", "明", "明治")),
)


def era(year: int, month: int, day: int) -> tuple[tuple[str, str, str], int]:
    """(names of one, two and more letters, year of that era) of Japan."""
    for start, names in _ERAS:
        if (year, month, day) >= start:
            return names, year - start[0] + 1
    return ("", "", ""), year


def roc_era(year: int) -> tuple[tuple[str, str, str], int]:
    """The same for 民國; the years before count backwards."""
    if year >= 1912:
        return ("民國", "民國", "中華民國"), year - 1911
    return ("民國前", "民國前", "民國前"), 1912 - year

"""Numbers as Office writes them before headings and list items: 3, III, 三, 參, 丙, ③."""

from collections.abc import Callable, Mapping

MOST = 32_767  # that a list may count to
_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
    (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_PLAIN = "〇一二三四五六七八九"
_TRADITIONAL = "零壹貳參肆伍陸柒捌玖"
_SIMPLIFIED = "零壹贰叁肆伍陆柒捌玖"
_LEGACY = "〇壱弐参四伍六七八九"
_KOREAN = "영일이삼사오육칠팔구"
_STEMS = "甲乙丙丁戊己庚辛壬癸"
_BRANCHES = "子丑寅卯辰巳午未申酉戌亥"
_AIUEO = (
    "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
)
_IROHA = (
    "イロハニホヘトチリヌルヲワカヨタレソツネナラム"
    "ウヰノオクヤマケフコエテアサキユメミシヱヒモセスン"
)
_GANADA = "가나다라마바사아자차카타파하"
_CHOSUNG = "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ"


def counted(number: int, form: str) -> str:
    """The number in that form (`ST_NumberFormat`); in digits where the form is not known."""
    number = max(0, min(number, MOST))
    return _FORMS.get(form, str)(number)


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        times, number = divmod(number, value)
        text += letters * times
    return text


def _letters(number: int) -> str:
    """A to Z, then AA, BB: Office repeats the letter."""
    if not number:
        return ""
    times, letter = divmod(number - 1, 26)
    return chr(ord("A") + letter) * min(times + 1, 20)


def _cycle(signs: str) -> Callable[[int], str]:
    return lambda number: signs[(number - 1) % len(signs)] if number else ""


def _listed(signs: str) -> Callable[[int], str]:
    """What comes after the last sign is written in digits."""
    return lambda number: signs[number - 1] if 0 < number <= len(signs) else str(number)


def _digits(signs: str) -> Callable[[int], str]:
    return lambda number: "".join(signs[int(digit)] for digit in str(number))


def _from(first: str, most: int) -> Callable[[int], str]:
    """Signs that follow each other in Unicode, as ① to ⑳."""
    return lambda number: chr(ord(first) + number - 1) if 0 < number <= most else str(number)


def _spoken(
    digits: str, units: str, *, ten: bool = True, one: bool = True, gap: bool = True
) -> Callable[[int], str]:
    """`ten`: 10 without a one before it; `one`: 100 with one; `gap`: a zero is said inside."""

    def write(number: int) -> str:
        if number < 10:
            return digits[number]
        high, low = divmod(number, 10_000)
        text = write(high) + units[3] if high else ""
        is_gap = False
        for place in (3, 2, 1, 0):
            digit = low // 10**place % 10
            if not digit:
                is_gap = bool(text)
                continue
            text += digits[0] if is_gap and gap else ""
            is_gap = False
            is_said = digit > 1 or not place or (one and (place > 1 or bool(text) or not ten))
            text += (digits[digit] if is_said else "") + (units[place - 1] if place else "")
        return text

    return write


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if 10 < number % 100 < 14 else endings.get(number % 10, "th")
    return f"{number}{ending}"


_CHINESE = _spoken("零一二三四五六七八九", "十百千萬")
_SIMPLE = _spoken("零一二三四五六七八九", "十百千万")
_JAPANESE = _spoken(_PLAIN, "十百千万", one=False, gap=False)
_FORMS: Mapping[str, Callable[[int], str]] = {
    "none": lambda _: "",
    "bullet": lambda _: "",
    "decimalZero": lambda number: f"{number:02}",
    "upperRoman": _roman,
    "lowerRoman": lambda number: _roman(number).lower(),
    "upperLetter": _letters,
    "lowerLetter": lambda number: _letters(number).lower(),
    "ordinal": _ordinal,
    "hex": lambda number: f"{number:X}",
    "numberInDash": lambda number: f"- {number} -",
    "decimalFullWidth": _digits("０１２３４５６７８９"),
    "decimalFullWidth2": _digits("０１２３４５６７８９"),
    "decimalEnclosedCircle": _from("①", 20),
    "decimalEnclosedCircleChinese": _from("①", 20),
    "decimalEnclosedFullstop": _from("⒈", 20),
    "decimalEnclosedParen": _from("⑴", 20),
    "ideographEnclosedCircle": _from("㊀", 10),
    "ideographDigital": _digits(_PLAIN),
    "japaneseDigitalTenThousand": _digits(_PLAIN),
    "taiwaneseDigital": _digits("○一二三四五六七八九"),
    "chineseCounting": _SIMPLE,
    "chineseCountingThousand": _SIMPLE,
    "taiwaneseCounting": _CHINESE,
    "taiwaneseCountingThousand": _CHINESE,
    "japaneseCounting": _JAPANESE,
    "koreanDigital": _digits(_KOREAN),
    "koreanCounting": _spoken(_KOREAN, "십백천만", one=False, gap=False),
    "ideographLegalTraditional": _spoken(_TRADITIONAL, "拾佰仟萬", ten=False),
    "chineseLegalSimplified": _spoken(_SIMPLIFIED, "拾佰仟万", ten=False),
    "japaneseLegal": _spoken(_LEGACY, "拾百阡萬", ten=False, gap=False),
    "ideographTraditional": _listed(_STEMS),
    "ideographZodiac": _listed(_BRANCHES),
    "aiueo": _cycle(_AIUEO),
    "aiueoFullWidth": _cycle(_AIUEO),
    "iroha": _cycle(_IROHA),
    "irohaFullWidth": _cycle(_IROHA),
    "ganada": _cycle(_GANADA),
    "chosung": _cycle(_CHOSUNG),
}

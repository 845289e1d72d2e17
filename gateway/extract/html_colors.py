"""Colours of a page, as far as they tell text that has the colour of what is behind it."""

import re

Color = tuple[int, int, int]
WHITE: Color = (255, 255, 255)
BLACK: Color = (0, 0, 0)
CLEAR = "clear"  # nothing is painted
OTHER = "other"  # a colour that isn't known: equal to none
Paint = Color | str

_NAMES: dict[str, Paint] = {
    "white": WHITE, "snow": (255, 250, 250), "ivory": (255, 255, 240), "azure": (240, 255, 255),
    "ghostwhite": (248, 248, 255), "whitesmoke": (245, 245, 245), "mintcream": (245, 255, 250),
    "floralwhite": (255, 250, 240), "black": BLACK, "gray": (128, 128, 128),
    "grey": (128, 128, 128), "silver": (192, 192, 192), "red": (255, 0, 0), "lime": (0, 255, 0),
    "green": (0, 128, 0), "blue": (0, 0, 255), "navy": (0, 0, 128), "yellow": (255, 255, 0),
    "transparent": CLEAR,
}  # fmt: skip
_HEX = re.compile(r"#?([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")
_CALL = re.compile(r"(rgb|hsl)a?\(([^)]{1,80})\)")
_PART = re.compile(r"([\d.]+)(%?)")
_FIRST = re.compile(r"#[0-9a-f]{3,8}\b|(?:rgb|hsl)a?\([^)]{1,80}\)|[a-z]+\(|[a-z]+")
_LIKE = 48  # the sum of three differences up to which an eye sees one colour
_FAINT = 0.05
_SHORT = 4  # a digit each


def paint(value: str) -> Paint:
    """The colour that a value of CSS or of an old attribute names."""
    if value in _NAMES:
        return _NAMES[value]
    digits = _HEX.fullmatch(value)
    if digits:
        return _of_digits(digits[1])
    call = _CALL.fullmatch(value)
    return _of_call(call[1], call[2]) if call else OTHER


def first_paint(value: str) -> Paint:
    """The colour in a `background`; an image in it can be of any colour."""
    if "url(" in value or "gradient(" in value or "image" in value:
        return OTHER
    found = [paint(word) for word in _FIRST.findall(value)]
    known = [each for each in found if each != OTHER]
    return known[0] if known else CLEAR if value in {"none", "initial"} else OTHER


def is_like(one: Paint, other: Paint) -> bool:
    """Whether text in the one colour can't be read on the other."""
    if one == CLEAR:
        return True
    if isinstance(one, str) or isinstance(other, str):
        return False
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= _LIKE


def _of_digits(digits: str) -> Paint:
    if len(digits) <= _SHORT:
        digits = "".join(digit * 2 for digit in digits)
    red, green, blue, *alpha = (int(digits[at : at + 2], 16) for at in range(0, len(digits), 2))
    return CLEAR if alpha and alpha[0] <= _FAINT * 255 else (red, green, blue)


def _of_call(kind: str, arguments: str) -> Paint:
    parts = [(_number(text), mark) for text, mark in _PART.findall(arguments)]
    if len(parts) < 3:
        return OTHER
    if len(parts) > 3 and parts[3][0] / (100 if parts[3][1] else 1) <= _FAINT:
        return CLEAR
    if kind == "hsl":
        return {100: WHITE, 0: BLACK}.get(round(parts[2][0]), OTHER)
    red, green, blue = (
        min(255, round(number * (2.55 if mark else 1))) for number, mark in parts[:3]
    )
    return (red, green, blue)


def _number(text: str) -> float:
    whole, _, rest = text.partition(".")
    return float(f"{whole or 0}.{rest.replace('.', '') or 0}")

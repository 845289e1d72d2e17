"""Numbers by Excel's rules: General, decimals, thousands, percent, fractions, exponents."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

from gateway.extract.number_formats_parts import Part

_EXACT = Context(prec=2_000, rounding=ROUND_HALF_UP)  # more than any format can ask for
GENERAL_CHARS = 11  # of digits and point; more is rounded or shown with an exponent
_TEN = Decimal(10)


def decimal(value: float) -> Decimal:
    """The number with the 15 digits that Excel keeps, so that 1.005 rounds up."""
    return Decimal(f"{value:.15g}")


def rounded(number: Decimal, places: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-places), context=_EXACT)


def general(value: float) -> str:
    """As the format General shows it in a cell that is wide enough."""
    if not math.isfinite(value):
        return "#NUM!"
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    number = abs(decimal(value))
    power = number.adjusted()
    places = GENERAL_CHARS if power < -4 else max(0, GENERAL_CHARS - 1 - max(1, power + 1))
    text = "" if power >= GENERAL_CHARS else _trimmed(f"{rounded(number, places):f}")
    return sign + (text if 0 < len(text) <= GENERAL_CHARS and text != "0" else _scientific(number))


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _scientific(number: Decimal) -> str:
    power = number.adjusted()
    head = rounded(number.scaleb(-power), 5 if abs(power) < 100 else 4)
    if head >= _TEN:
        head, power = head / 10, power + 1
    return f"{_trimmed(f'{head:f}')}E{'-' if power < 0 else '+'}{abs(power):02}"


@dataclass(frozen=True, slots=True)
class _Plan:
    """The parts of a section by their place about the point."""

    whole: tuple[Part, ...]
    decimals: tuple[Part, ...]
    has_point: bool
    exponent: tuple[Part, ...]  # the sign's part and all behind it
    has_groups: bool
    scale: int  # power of ten that the value is multiplied with

    @property
    def places(self) -> int:
        return sum(part.kind == "digit" for part in self.decimals)


@dataclass(frozen=True, slots=True)
class _Quick:
    """Python's own formatting for what it shows alike, which is nearly everything."""

    before: str
    after: str
    spec: str
    factor: float
    step: float  # to count in the last place that is shown

    def show(self, value: float) -> str:
        """Nothing where the number is large, or half way between two that could be shown."""
        value *= self.factor
        steps = value * self.step
        if not steps < _QUICK_STEPS or abs(steps % 1 - 0.5) < _HALF_WAY:
            return ""
        return f"{self.before}{value:{self.spec}}{self.after}"


_QUICK_STEPS = 1e9
_HALF_WAY = 1e-5


def _quick(plan: _Plan) -> _Quick | None:
    digits = [at for at, part in enumerate(plan.whole) if part.kind == "digit"]
    if plan.exponent or not digits or plan.whole[digits[-1]].shown != "0":
        return None
    first, last = digits[0], digits[-1]
    if last - first + 1 != len(digits) or any(plan.whole[at].shown == "0" for at in digits[:-1]):
        return None
    places = plan.places
    if any(part.shown != "0" for part in plan.decimals[:places]) or plan.has_point != bool(places):
        return None
    return _Quick(
        before="".join(part.shown for part in plan.whole[:first]),
        after="".join(part.shown for part in (*plan.whole[last + 1 :], *plan.decimals[places:])),
        spec=f"{',' if plan.has_groups else ''}.{places}f",
        factor=10.0**plan.scale,
        step=10.0**places,
    )


class NumberSection:
    """A section of a format that is no date; `show` takes what is not below zero."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = tuple(parts)
        self._fraction = _fraction_at(self._parts)
        self._plan = _plan(self._parts)
        self._has_digits = any(part.kind == "digit" for part in parts)
        self._quick = _quick(self._plan) if self._fraction is None and self._has_digits else None

    def show(self, value: float) -> str:
        text = self._quick.show(value) if self._quick else ""
        if not text:
            text = self._slowly(value)
        return text.strip()

    def _slowly(self, value: float) -> str:
        if not self._has_digits:
            return "".join(part.shown for part in self._parts)
        if self._fraction is not None:
            return _as_fraction(self._parts, self._fraction, decimal(value))
        number = _EXACT.scaleb(decimal(value), self._plan.scale)
        return (_as_power if self._plan.exponent else _as_decimal)(self._plan, number)


def _plan(parts: Sequence[Part]) -> _Plan:
    at = next((i for i, part in enumerate(parts) if part.kind == "exponent"), len(parts))
    before, exponent = parts[:at], tuple(parts[at:])
    point = next((i for i, part in enumerate(before) if part.kind == "point"), len(before))
    whole, decimals = list(before[:point]), list(before[point + 1 :])
    has_groups, thousands = _commas(whole)
    _, more = _commas(decimals)
    percents = sum(part.kind == "percent" for part in parts)
    return _Plan(
        whole=tuple(part for part in whole if part.kind != "comma"),
        decimals=tuple(part for part in decimals if part.kind != "comma"),
        has_point=point < len(before),
        exponent=exponent,
        has_groups=has_groups,
        scale=2 * percents - 3 * (thousands + more),
    )


def _commas(parts: list[Part]) -> tuple[bool, int]:
    """(whether thousands are grouped, how many commas behind the digits divide by 1000)."""
    digits = [i for i, part in enumerate(parts) if part.kind == "digit"]
    if not digits:
        return False, 0
    has_groups = any(part.kind == "comma" for part in parts[digits[0] : digits[-1]])
    thousands = 0
    for part in parts[digits[-1] + 1 :]:
        if part.kind != "comma":
            break
        thousands += 1
    return has_groups, thousands


def _as_decimal(plan: _Plan, number: Decimal) -> str:
    whole, _, decimals = f"{rounded(number, plan.places):f}".partition(".")
    text = _filled(plan.whole, whole, has_groups=plan.has_groups)
    if plan.has_point:
        text += "." + _decimals(plan.decimals, decimals)
    return text


def _filled(parts: Sequence[Part], digits: str, *, has_groups: bool = False) -> str:
    """The digits in their places from the right; the first place takes all that are left."""
    digits = digits.lstrip("0")
    shown: list[str] = []
    places = sum(part.kind == "digit" for part in parts)
    count = 0
    for part in reversed(parts):
        if part.kind != "digit":
            shown.append(part.shown)
            continue
        places -= 1
        take = len(digits) if places == 0 else 1
        mine = digits[-take:] if take else ""
        digits = digits[: len(digits) - len(mine)]
        for figure in reversed(mine or {"0": "0", "?": " "}.get(part.shown, "")):
            if has_groups and count and count % 3 == 0 and figure != " ":
                shown.append(",")
            shown.append(figure)
            count += 1
    return "".join(reversed(shown))


def _decimals(parts: Sequence[Part], digits: str) -> str:
    shown: list[str] = []
    places = [part for part in parts if part.kind == "digit"]
    needed = len(digits.rstrip("0"))
    for place, part in enumerate(places):
        needed = max(needed, place + 1) if part.shown == "0" else needed
    figures = iter(enumerate(digits))
    for part in parts:
        if part.kind != "digit":
            shown.append(part.shown)
            continue
        place, figure = next(figures)
        shown.append(figure if place < needed else {"?": " "}.get(part.shown, ""))
    return "".join(shown)


def _as_power(plan: _Plan, number: Decimal) -> str:
    """`0.00E+00`; with several places before the point the power is a multiple of their number."""
    step = max(1, sum(part.kind == "digit" for part in plan.whole))
    power = number.adjusted() // step * step if number else 0
    head = rounded(number.scaleb(-power, _EXACT), plan.places)
    if head.adjusted() >= step:
        power += step
        head = rounded(number.scaleb(-power, _EXACT), plan.places)
    sign, *places = plan.exponent
    minus = "-" if power < 0 else "+" if sign.shown.endswith("+") else ""
    return f"{_as_decimal(plan, head)}E{minus}{_filled(places, str(abs(power)))}"


# ---------------------------------------------------------------- fractions


def _fraction_at(parts: Sequence[Part]) -> int | None:
    """Where the stroke of `# ?/?` or `# ?/8` stands, if there is one."""
    for at, part in enumerate(parts):
        if part.kind == "slash" and 0 < at < len(parts) - 1:
            after = parts[at + 1]
            is_below = after.kind == "digit" or after.shown.isdecimal()
            if parts[at - 1].kind == "digit" and is_below:
                return at
    return None


def _run(parts: Sequence[Part], start: int, step: int) -> int:
    """The end of the run of digits and placeholders that begins at `start`."""
    at = start
    while 0 <= at < len(parts) and (parts[at].kind == "digit" or parts[at].shown.isdecimal()):
        at += step
    return at


def _nearest(value: Fraction, most: int) -> Fraction:
    """The last of the continued fractions whose denominator is small enough, as in Excel."""
    before, last = (0, 1), (1, 0)
    rest = value
    while True:
        whole = rest.numerator // rest.denominator
        above, below = whole * last[0] + before[0], whole * last[1] + before[1]
        if below > most:
            return Fraction(*last)
        before, last = last, (above, below)
        if rest == whole:
            return Fraction(*last)
        rest = 1 / (rest - whole)


def _as_fraction(parts: Sequence[Part], stroke: int, value: Decimal) -> str:
    above, below = _run(parts, stroke - 1, -1) + 1, _run(parts, stroke + 1, 1)
    fixed = "".join(part.shown for part in parts[stroke + 1 : below])
    has_whole = any(part.kind == "digit" for part in parts[:above])
    whole = int(value) if has_whole else 0
    rest = Fraction(value) - whole
    if fixed.isdecimal() and int(fixed):
        bottom = int(fixed)
        top = int(rounded(Decimal(rest.numerator) * bottom / Decimal(rest.denominator), 0))
    else:
        near = _nearest(rest, 10 ** min(6, below - stroke - 1) - 1)
        top, bottom = near.numerator, near.denominator
    if has_whole and top == bottom:
        whole, top = whole + 1, 0
    head = _filled(parts[:above], str(whole) if whole or not top else "")
    if has_whole and not whole and not top:
        head = "0"
    tail = "".join(part.shown for part in parts[below:])
    return f"{head}{f'{top}/{bottom}' if top or not has_whole else ''}{tail}"

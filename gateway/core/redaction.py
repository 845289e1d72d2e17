"""What an operator's rules take out of a text before it leaves this machine."""

import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import regex

CLOUD_KEY = "cloud:"  # with what the keys of models begin that texts leave this machine for
MATCH_S = 1.0  # one rule on one text; an operator's pattern may be a slow one


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and what stands in the place of what it finds; never put back."""

    name: str
    pattern: str
    marker: str = ""

    @property
    def shown(self) -> str:
        """`[EMAIL]`, where no marker is given."""
        return self.marker or f"[{self.name.upper()}]"


@dataclass(frozen=True, slots=True)
class RedactionSettings:
    """`[redaction]` of config.toml. `is_forced_off`: by the environment, whatever the file says."""

    enabled: bool = False
    rules: tuple[Rule, ...] = ()
    is_forced_off: bool = False


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text that may leave, and how often each rule found something."""

    text: str
    found: Mapping[str, int] = field(default_factory=dict)


class RedactionError(Exception):
    """A rule took too long: what it would have found is not known, so the text stays."""


class Redactor:
    """The compiled rules. `problem` says why nothing may leave at all; empty: it may."""

    def __init__(self, settings: RedactionSettings) -> None:
        self._rules: list[tuple[Rule, regex.Pattern[str]]] = []
        self.problem = _problem(settings)
        for rule in settings.rules if not self.problem else ():
            pattern = _compiled(rule)
            if isinstance(pattern, str):
                self.problem = f"redaction.rules.{rule.name}: {pattern}"
                break
            self._rules.append((rule, pattern))

    @property
    def count(self) -> int:
        """How many rules are at work."""
        return 0 if self.problem else len(self._rules)

    def apply(self, text: str, start: int = 0, end: int | None = None) -> Redacted:
        """The text from `start` to `end` with markers for what the rules find in all of it.

        What only begins or ends inside the stretch is taken out as well. RedactionError.
        """
        if self.problem:
            raise RedactionError(self.problem)
        end = len(text) if end is None else end
        spans = [each for each in self._spans(text) if each[0] < end and each[1] > start]
        out: list[str] = []
        at = start
        for first, last, rule in spans:
            out += [text[at : max(at, first)], rule.shown]
            at = min(last, end)
        found = Counter(rule.name for _, _, rule in spans)
        return Redacted("".join(out) + text[at:end], dict(found))

    def _spans(self, text: str) -> list[tuple[int, int, Rule]]:
        """(start, end, rule) in order, none overlapping: the earlier rule has the say, and what
        a later one finds beyond it is taken along.
        """
        taken: list[tuple[int, int, Rule]] = []
        for rule, pattern in self._rules:
            try:
                matches = [match.span() for match in pattern.finditer(text, timeout=MATCH_S)]
            except TimeoutError as error:
                raise RedactionError(f"redaction.rules.{rule.name}: takes too long") from error
            for first, last in matches:
                if first < last:
                    _take(taken, first, last, rule)
        return taken


def counted(settings: RedactionSettings) -> tuple[int, int]:
    """(rules that compile, rules that do not), whether redaction is on or not; for people."""
    broken = sum(isinstance(_compiled(rule), str) for rule in settings.rules)
    return len(settings.rules) - broken, broken


def _compiled(rule: Rule) -> regex.Pattern[str] | str:
    """The pattern, or what is wrong with it."""
    try:
        pattern: regex.Pattern[str] = regex.compile(rule.pattern)
        if not rule.pattern or pattern.search("", timeout=MATCH_S) is not None:
            return "matches nothing at all"
    except (regex.error, ValueError, OverflowError, RecursionError):
        return "does not compile"
    return pattern


def _take(taken: list[tuple[int, int, Rule]], first: int, last: int, rule: Rule) -> None:
    """Put a span in its place; those it touches become one with it, under the first's rule."""
    at = bisect.bisect_left(taken, first, key=lambda span: span[1])
    if at < len(taken) and taken[at][1] == first:
        at += 1
    until = at
    while until < len(taken) and taken[until][0] < last:
        first, last, rule = min(first, taken[until][0]), max(last, taken[until][1]), taken[until][2]
        until += 1
    taken[at:until] = [(first, last, rule)]


def _problem(settings: RedactionSettings) -> str:
    if settings.is_forced_off:
        return "redaction: forced off"
    if not settings.enabled:
        return "redaction.enabled: is false"
    return "" if settings.rules else "redaction.rules: there is none"


def whole_of(texts: Sequence[str], at: int) -> tuple[str, int]:
    """The text of which the one at `at` is a piece, and where it begins there.

    Pieces follow the passage they are cut from; what a rule finds across a cut is found only in
    the whole. A text that is no piece is its own whole.
    """
    for before in range(at - 1, -1, -1):
        if len(texts[before]) > len(texts[at]):
            place = texts[before].find(texts[at])
            return (texts[before], place) if place >= 0 else (texts[at], 0)
    return texts[at], 0

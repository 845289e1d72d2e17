"""Filter expressions of OData, as far as they compare fields with constants (FEATURES E3)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gateway.core.filters import MOST_FIELDS, Both, Either, Filter, Not, OneOf, Value

MOST_CHARS = 4_000
MOST_DEPTH = 32  # of parentheses and `not`
DELIMITERS = " ,"  # of the list in search.in where it names none itself
_TOKEN = re.compile(r"\s*(?:(?P<mark>[(),])|(?P<text>'(?:[^']|'')*')|(?P<word>[^\s(),']+))")
_FIELD = re.compile(r"[^\W\d]\w*(?:/[^\W\d]\w*)*")
_NUMBER = re.compile(r"[+-]?\d+(?P<rest>\.\d+)?(?P<power>[eE][+-]?\d+)?", re.ASCII)
_CONSTANTS: Mapping[str, Value] = {"true": True, "false": False, "null": None}
_OPERATORS = frozenset({"and", "or", "not", "eq", "ne", "in", "search.in"})


class ODataError(ValueError):
    """The expression ends being one at `position`, a character counted from 1."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(f"{message} at character {position}")
        self.position = position
        self.message = message


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # "mark" | "text" | "word" | "end"
    text: str
    position: int


def parse_filter(text: str) -> Filter:
    """Read `field eq value`, `ne`, `in (…)`, `search.in(field, 'a,b')`, `and`, `or`, `not`.

    A word without quotes after an operator is a text, as in the service's own samples.
    ODataError names where it went wrong.
    """
    if len(text) > MOST_CHARS:
        raise ODataError(MOST_CHARS + 1, f"more than {MOST_CHARS} characters")
    reader = _Reader(_tokens(text))
    found = reader.either(0)
    reader.expect_end()
    return found


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:  # the only thing that is no token is a quotation mark without another
            raise ODataError(text.index("'", at) + 1, "a text that does not end")
        kind = match.lastgroup or ""
        found.append(_Token(kind, match[kind], match.start(kind) + 1))
        at = match.end()
    return [*found, _Token("end", "", len(text) + 1)]


class _Reader:
    """Recursive descent: `or` binds less than `and`, `and` less than `not`."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._comparisons = 0

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._next
        self._at += token.kind != "end"
        return token

    def _takes(self, kind: str, text: str) -> bool:
        is_it = (self._next.kind, self._next.text) == (kind, text)
        self._at += is_it
        return is_it

    def _expect(self, mark: str) -> None:
        if not self._takes("mark", mark):
            raise ODataError(self._next.position, f"expected {mark!r}")

    def expect_end(self) -> None:
        if self._next.kind != "end":
            raise ODataError(self._next.position, "expected 'and', 'or' or the end")

    def either(self, depth: int) -> Filter:
        parts = [self._both(depth)]
        while self._takes("word", "or"):
            parts.append(self._both(depth))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _both(self, depth: int) -> Filter:
        parts = [self._one(depth)]
        while self._takes("word", "and"):
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _one(self, depth: int) -> Filter:
        if depth > MOST_DEPTH:
            raise ODataError(self._next.position, f"nested deeper than {MOST_DEPTH}")
        if self._takes("word", "not"):
            return Not(self._one(depth + 1))
        if self._takes("mark", "("):
            found = self.either(depth + 1)
            self._expect(")")
            return found
        self._comparisons += 1
        if self._comparisons > MOST_FIELDS:  # each is a question of its own to the store
            raise ODataError(self._next.position, f"more than {MOST_FIELDS} comparisons")
        if self._takes("word", "search.in"):
            return self._search_in()
        return self._comparison()

    def _comparison(self) -> Filter:
        field = self._field()
        operator = self._take()
        if operator.kind == "word" and operator.text == "eq":
            return OneOf(field, (self._value(),))
        if operator.kind == "word" and operator.text == "ne":
            return Not(OneOf(field, (self._value(),)))
        if operator.kind == "word" and operator.text == "in":
            return OneOf(field, self._listed())
        raise ODataError(operator.position, "expected 'eq', 'ne' or 'in'")

    def _listed(self) -> tuple[Value, ...]:
        self._expect("(")
        values = [self._value()]
        while self._takes("mark", ","):
            values.append(self._value())
        self._expect(")")
        return tuple(values)

    def _search_in(self) -> Filter:
        self._expect("(")
        field = self._field()
        self._expect(",")
        listed, delimiters = self._text(), DELIMITERS
        if self._takes("mark", ","):
            delimiters = self._text()
        self._expect(")")
        for each in delimiters[1:]:
            listed = listed.replace(each, delimiters[0])
        values = listed.split(delimiters[0]) if delimiters else [listed]
        return OneOf(field, tuple(value for value in values if value))

    def _field(self) -> str:
        token = self._take()
        is_name = token.kind == "word" and _FIELD.fullmatch(token.text)
        if not is_name or token.text in _OPERATORS or token.text in _CONSTANTS:
            raise ODataError(token.position, "expected the name of a field")
        return token.text

    def _text(self) -> str:
        token = self._take()
        if token.kind != "text":
            raise ODataError(token.position, "expected a text in quotation marks")
        return _unquoted(token.text)

    def _value(self) -> Value:
        token = self._take()
        if token.kind == "text":
            return _unquoted(token.text)
        if token.kind != "word" or token.text in _OPERATORS:
            raise ODataError(token.position, "expected a value")
        if token.text in _CONSTANTS:
            return _CONSTANTS[token.text]
        number = _NUMBER.fullmatch(token.text)
        if number is None:
            return token.text
        return float(token.text) if number["rest"] or number["power"] else int(token.text)


def _unquoted(text: str) -> str:
    return text[1:-1].replace("''", "'")

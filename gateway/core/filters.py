"""Filters over what is known of a document: a flat set of named values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from gateway.errors import InvalidRequestError

Value = str | int | float | bool | None
MOST_FIELDS = 50


class Filter(Protocol):
    """Whether a document with these values is meant; a field that is missing is None.

    The store knows the forms below, and no others (gateway/store/filtering.py).
    """

    def matches(self, metadata: Mapping[str, Value]) -> bool: ...


@dataclass(frozen=True, slots=True)
class EqualTo:
    """Every one of these fields has exactly this value."""

    wanted: Mapping[str, Value]

    def matches(self, metadata: Mapping[str, Value]) -> bool:
        return all(is_same(metadata.get(name), value) for name, value in self.wanted.items())


@dataclass(frozen=True, slots=True)
class OneOf:
    """The field has one of the values."""

    field: str
    values: tuple[Value, ...]

    def matches(self, metadata: Mapping[str, Value]) -> bool:
        found = metadata.get(self.field)
        return any(is_same(found, value) for value in self.values)


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not match."""

    part: Filter

    def matches(self, metadata: Mapping[str, Value]) -> bool:
        return not self.part.matches(metadata)


@dataclass(frozen=True, slots=True)
class Both:
    """All parts match."""

    parts: tuple[Filter, ...]

    def matches(self, metadata: Mapping[str, Value]) -> bool:
        return all(part.matches(metadata) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Either:
    """At least one part matches."""

    parts: tuple[Filter, ...]

    def matches(self, metadata: Mapping[str, Value]) -> bool:
        return any(part.matches(metadata) for part in self.parts)


def equal_to(mapping: Mapping[str, object]) -> Filter:
    """Flat equality, all of it. InvalidRequestError where a value is a list or a mapping."""
    if len(mapping) > MOST_FIELDS:
        raise InvalidRequestError("filter", reason=f"filters: at most {MOST_FIELDS} fields")
    wanted: dict[str, Value] = {}
    for name, value in mapping.items():
        if value is not None and not isinstance(value, str | int | float | bool):
            reason = f"filters.{name[:100]}: a text, a number, true, false or null"
            raise InvalidRequestError("filter", reason=reason)
        wanted[name] = value
    return EqualTo(wanted)


def spelled(value: Value) -> str:
    """The value as one text: two have the same exactly where `is_same` holds."""
    if isinstance(value, str):
        return f'"{value}'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    is_whole = isinstance(value, int) or value.is_integer()
    return str(int(value)) if is_whole else repr(value)


def is_same(one: Value, other: Value) -> bool:
    """Equality as JSON has it: true is not 1, and 1 is 1.0."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def is_alike(one: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    """The same keys with the same values, in any order."""
    return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)

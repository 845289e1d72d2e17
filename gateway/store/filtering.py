"""Filters as SQL: which documents are meant, decided where they are stored."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

from sqlalchemy import ColumnElement, and_, bindparam, false, func, not_, or_, select, true

from gateway.core.filters import Both, Either, EqualTo, Filter, Not, OneOf, Value, spelled
from gateway.store.json_text import json_list
from gateway.store.passage_rows import CURRENT
from gateway.store.statements import Statement, in_texts
from gateway.store.tables.library import passages, source_fields, sources
from gateway.store.tables.people import collections
from gateway.store.values import clean

NULL = spelled(None)
BUILT_IN: Mapping[str, ColumnElement[str | None]] = {
    "id": sources.c.id,
    "title": sources.c.title,
    "kind": sources.c.kind,
    "media_type": sources.c.media_type,
    "address": sources.c.address,
}


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A field is one of some values; its texts are bound when the statement runs."""

    built_in: str  # its name where the program itself knows something under it, else ""
    with_null: bool


@dataclass(frozen=True, slots=True)
class _Node:
    word: str  # "and" | "or" | "not"
    parts: "tuple[_Form, ...]"


_Form = _Leaf | _Node


def passages_of(within: Filter) -> tuple[Statement, Mapping[str, str]]:
    """Ids of the passages of current revisions that are meant in the collections `scope`, and
    what else is bound.

    In no order: one by id would have SQLite look at every passage there is. TypeError: a filter
    of no known form.
    """
    bound: list[str] = []
    statement = _statement(_form(within, bound))
    return statement, {f"bound_{n}": text for n, text in enumerate(bound)}


@lru_cache(maxsize=256)  # to write one takes longer than to run it
def _statement(form: _Form) -> Statement:
    meant = CURRENT.where(in_texts(collections.c.id, "scope"), _condition(form, count()))
    return Statement(meant.with_only_columns(passages.c.id))


def _form(within: Filter, bound: list[str]) -> _Form:
    match within:
        case EqualTo(wanted):
            each = [_leaf(name, (value,), bound) for name, value in wanted.items()]
            return _Node("and", tuple(each))
        case OneOf(field, values):
            return _leaf(field, values, bound)
        case Not(part):
            return _Node("not", (_form(part, bound),))
        case Both(parts):
            return _Node("and", tuple(_form(part, bound) for part in parts))
        case Either(parts):
            return _Node("or", tuple(_form(part, bound) for part in parts))
        case _:
            raise TypeError(f"no SQL for {type(within).__name__}")


def _leaf(field: str, values: Iterable[Value], bound: list[str]) -> _Leaf:
    wanted = sorted({spelled(value) for value in values})  # as texts: true is not 1
    bound += [clean(field), json_list(wanted)]
    if field in BUILT_IN:
        bound.append(json_list(each[1:] for each in wanted if each.startswith('"')))
    return _Leaf(field if field in BUILT_IN else "", NULL in wanted)


def _condition(form: _Form, numbers: Iterator[int]) -> ColumnElement[bool]:
    """Whether a row of sources is meant: true or false, never null."""
    if isinstance(form, _Leaf):
        return _one_of(form, numbers)
    parts = [_condition(part, numbers) for part in form.parts]
    if form.word == "not":
        return not_(parts[0])
    return and_(true(), *parts) if form.word == "and" else or_(false(), *parts)


def _one_of(leaf: _Leaf, numbers: Iterator[int]) -> ColumnElement[bool]:
    key, values = (f"bound_{next(numbers)}" for _ in range(2))
    noted = select(source_fields.c.source_id).where(source_fields.c.key == bindparam(key))
    is_noted = sources.c.id.in_(noted.where(in_texts(source_fields.c.value, values)))
    if not leaf.built_in:
        return or_(is_noted, sources.c.id.not_in(noted)) if leaf.with_null else is_noted
    is_known = _is_known(BUILT_IN[leaf.built_in], f"bound_{next(numbers)}")
    if leaf.with_null:
        is_known = or_(is_known, BUILT_IN[leaf.built_in].is_(None))
    return or_(is_noted, and_(sources.c.id.not_in(noted), is_known))


def _is_known(column: ColumnElement[str | None], texts: str) -> ColumnElement[bool]:
    return and_(column.is_not(None), in_texts(func.coalesce(column, ""), texts))

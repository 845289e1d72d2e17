"""Filters as SQL: which documents are meant, decided where they are stored."""

from collections.abc import Iterable, Mapping

from sqlalchemy import (
    ColumnElement,
    Text,
    and_,
    bindparam,
    false,
    func,
    not_,
    or_,
    select,
    true,
)

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


def passages_of(within: Filter) -> Statement:
    """Ids of the passages of current revisions that are meant in the collections `scope`.

    In no order: one by id would have SQLite look at every passage there is.
    """
    meant = CURRENT.where(in_texts(collections.c.id, "scope"), condition(within))
    return Statement(meant.with_only_columns(passages.c.id))


def condition(within: Filter) -> ColumnElement[bool]:
    """Whether a row of sources is meant: true or false, never null. TypeError: no such form."""
    match within:
        case EqualTo(wanted):
            return and_(true(), *(_one_of(name, (value,)) for name, value in wanted.items()))
        case OneOf(field, values):
            return _one_of(field, values)
        case Not(part):
            return not_(condition(part))
        case Both(parts):
            return and_(true(), *map(condition, parts))
        case Either(parts):
            return or_(false(), *map(condition, parts))
        case _:
            raise TypeError(f"no SQL for {type(within).__name__}")


def _one_of(field: str, values: Iterable[Value]) -> ColumnElement[bool]:
    wanted = frozenset(map(spelled, values))  # as texts: true is not 1
    named = source_fields.c.key == bindparam(None, clean(field), unique=True)
    noted = select(source_fields.c.source_id).where(named)
    with_value = noted.where(_among(source_fields.c.value, wanted))
    is_noted = sources.c.id.in_(with_value)
    if field not in BUILT_IN:
        return or_(is_noted, sources.c.id.not_in(noted)) if NULL in wanted else is_noted
    return or_(is_noted, and_(sources.c.id.not_in(noted), _is_built_in(BUILT_IN[field], wanted)))


def _is_built_in(column: ColumnElement[str | None], wanted: frozenset[str]) -> ColumnElement[bool]:
    texts = [each[1:] for each in wanted if each.startswith('"')]
    is_one = and_(column.is_not(None), _among(func.coalesce(column, ""), texts))
    return or_(is_one, column.is_(None)) if NULL in wanted else is_one


def _among(column: ColumnElement[str], texts: Iterable[str]) -> ColumnElement[bool]:
    """As in_texts, with the values bound here."""
    listed = bindparam(None, json_list(sorted(texts)), type_=Text, unique=True)
    return column.in_(select(func.json_each(listed).table_valued("value").c.value))

"""Core statements compiled once, run on SQLite's own cursor: no work is repeated per call."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Text,
    bindparam,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import ClauseElement

Row = tuple[Any, ...]

_DIALECT = sqlite.dialect(paramstyle="named")


def raw(connection: Connection) -> Any:
    """The sqlite3 connection under a Core connection."""
    return connection.connection.driver_connection


class Statement:
    """One Core statement, compiled at first use; its parameters are its bindparams by name."""

    def __init__(self, statement: ClauseElement, columns: Sequence[str] | None = None) -> None:
        """`columns` names the columns that a bare `insert(table)` fills."""
        self._statement = statement
        self._columns = columns

    @cached_property
    def _compiled(self) -> tuple[str, dict[str, Any]]:
        """SQL and the parameters it brings along; what else it needs has no value yet."""
        compiled = self._statement.compile(dialect=_DIALECT, column_keys=self._columns)
        defaults = {
            name: value
            for name, value in compiled.params.items()
            if isinstance(value, (str, int, bytes))
        }
        return str(compiled), defaults

    def _execute(self, connection: Connection, values: dict[str, Any]) -> Any:
        sql, defaults = self._compiled
        return raw(connection).execute(sql, defaults | values if defaults else values)

    def all(self, connection: Connection, **values: Any) -> list[Row]:
        rows: list[Row] = self._execute(connection, values).fetchall()
        return rows

    def first(self, connection: Connection, **values: Any) -> Row | None:
        row: Row | None = self._execute(connection, values).fetchone()
        return row

    def scalar(self, connection: Connection, **values: Any) -> Any:
        """First column of the first row; None without a row."""
        row = self.first(connection, **values)
        return None if row is None else row[0]

    def run(self, connection: Connection, **values: Any) -> int:
        """Execute; how many rows changed."""
        count: int = self._execute(connection, values).rowcount
        return count

    def many(self, connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
        """Execute once a row."""
        sql, defaults = self._compiled
        raw(connection).executemany(
            sql, (defaults | dict(row) for row in rows) if defaults else rows
        )


def literal(value: str) -> ColumnElement[Any]:
    """A constant written into the SQL: only so does SQLite use a partial index for it."""
    return literal_column(f"'{value}'")


def in_texts(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """`column` is one of the texts in the JSON list bound as `name`: one SQL for any length."""
    return column.in_(
        select(func.json_each(bindparam(name, type_=Text)).table_valued("value").c.value)
    )


def in_integers(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """`column` is one of the integers in the JSON list bound as `name`."""
    each = func.json_each(bindparam(name, type_=Text)).table_valued("value", joins_implicitly=True)
    return column.in_(select(each.c.value.cast(Integer)))

"""Core statements compiled once, run on SQLite's own cursor: no work is repeated per call."""

from collections.abc import Iterable, Mapping, Sequence
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
    """One Core statement, compiled at import; its parameters are its bindparams by name."""

    def __init__(self, statement: ClauseElement, columns: Sequence[str] | None = None) -> None:
        """`columns` names the columns that a bare `insert(table)` fills."""
        compiled = statement.compile(dialect=_DIALECT, column_keys=columns)
        self.sql = str(compiled)
        self._defaults = {
            name: value
            for name, value in compiled.params.items()
            if isinstance(value, (str, int, bytes))  # the rest are marks of "required"
        }

    def all(self, connection: Connection, **values: Any) -> list[Row]:
        rows: list[Row] = raw(connection).execute(self.sql, self._defaults | values).fetchall()
        return rows

    def first(self, connection: Connection, **values: Any) -> Row | None:
        row: Row | None = raw(connection).execute(self.sql, self._defaults | values).fetchone()
        return row

    def scalar(self, connection: Connection, **values: Any) -> Any:
        """First column of the first row; None without a row."""
        row = self.first(connection, **values)
        return None if row is None else row[0]

    def run(self, connection: Connection, **values: Any) -> int:
        """Execute; how many rows changed."""
        count: int = raw(connection).execute(self.sql, self._defaults | values).rowcount
        return count

    def many(self, connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
        """Execute once a row."""
        defaults = self._defaults
        raw(connection).executemany(
            self.sql, (defaults | dict(row) for row in rows) if defaults else rows
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

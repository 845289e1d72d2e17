"""One database file: its connections, its writer and its readers."""

import asyncio
import os
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from gateway.errors import StoreError
from gateway.store.errors import translated
from gateway.store.migrations import migrate
from gateway.store.statements import raw
from gateway.store.threads import AfterCommit, Readers, Unit, Writer

T = TypeVar("T")

READERS = 2
BUSY_TIMEOUT_MS = 10_000
_WAL_LIMIT_BYTES = 64 * 1024 * 1024


class Database:
    """Writes go through one thread with group commit, reads through two others.

    Own threads rather than an async engine: docs/adr/0010-store-threads.md.
    """

    def __init__(self, path: Path, writer: Writer, readers: Readers, close: Callable[[], None]):
        self.path = path
        self._writer = writer
        self._readers = readers
        self._close = close

    @classmethod
    async def open(
        cls, path: Path, name: str, synchronous: str, after_commit: AfterCommit | None = None
    ) -> "Database":
        """Create or migrate the file. `name` is "inbox" | "knowledge". Raises StoreError."""
        try:
            connections = await asyncio.to_thread(_connect, path, name, synchronous)
        except (OSError, sqlite3.Error, DBAPIError) as error:
            raise _opening_failed(path, error) from error
        look = after_commit or (lambda _connection: None)
        writer = Writer(connections[0], f"{name}-writer", look)
        readers = Readers(connections[1:], f"{name}-reader")
        return cls(path, writer, readers, lambda: _close_all(connections))

    async def write(self, unit: Unit[T]) -> T:
        """Run in a transaction; durable (as `synchronous` says) on return."""
        return await self._writer.run(unit)

    async def read(self, unit: Unit[T]) -> T:
        """Run on one snapshot that holds everything written before the call."""
        return await self._readers.run(unit)

    async def alone(self, unit: Unit[T]) -> T:
        """Run on the writer between transactions: what SQLite allows only there."""
        return await self._writer.run(unit, is_transaction=False)

    async def close(self) -> None:
        await self._readers.close()
        await self._writer.close()
        await asyncio.to_thread(self._close)


def _connect(path: Path, name: str, synchronous: str) -> list[Connection]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    engine = _engine(path, synchronous)
    opened: list[Connection] = []
    with ExitStack() as undo:
        undo.callback(_close_all, opened)
        migrate(_open(engine, opened), name)
        for _ in range(READERS):
            raw(_open(engine, opened)).execute("PRAGMA query_only = ON")
        undo.pop_all()
    return opened


def _open(engine: Engine, opened: list[Connection]) -> Connection:
    connection = engine.connect()
    opened.append(connection)
    connection.begin()  # in SQLAlchemy's eyes one long transaction; ours are begun in SQL
    return connection


def _engine(path: Path, synchronous: str) -> Engine:
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        connect_args={"check_same_thread": False, "cached_statements": 256},
    )

    @event.listens_for(engine, "connect")
    def prepare(driver: sqlite3.Connection, _record: object) -> None:
        for pragma in (
            f"busy_timeout = {BUSY_TIMEOUT_MS}",
            "journal_mode = WAL",
            f"synchronous = {synchronous}",
            "foreign_keys = ON",
            "secure_delete = ON",
            "temp_store = MEMORY",
            "cache_size = -16000",
            f"journal_size_limit = {_WAL_LIMIT_BYTES}",
        ):
            driver.execute(f"PRAGMA {pragma}")

    return engine


def _close_all(connections: list[Connection]) -> None:
    for connection in connections:
        connection.close()


def _opening_failed(path: Path, error: Exception) -> StoreError:
    known = translated(error)
    code = known.code if isinstance(known, StoreError) else "store_unavailable"
    cause = error.orig if isinstance(error, DBAPIError) else error  # without SQLAlchemy's own lines
    return StoreError(f"{path.name}: {cause}", code=code)

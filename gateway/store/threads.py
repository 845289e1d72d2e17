"""The threads that talk to SQLite: one writer with group commit, and readers beside it."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from sqlalchemy import Connection

from gateway.errors import StoreError
from gateway.store.errors import translated
from gateway.store.statements import raw

T = TypeVar("T")
Unit = Callable[[Connection], T]
"""Statements that belong together; it may run again on a new transaction, so it keeps no state."""

AfterCommit = Callable[[Connection], None]
"""Runs on the writer's thread when something was committed, before anybody is told of it."""

BATCH_UNITS = 100
BATCH_S = 0.020


class _Attempt:
    """Keeps what a block raised, for the one who waits for it, so that the thread lives on."""

    error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> bool:
        self.error = error
        return True


@dataclass(slots=True)
class _Task(Generic[T]):
    """A unit and whoever waits for it."""

    unit: Unit[T]
    future: asyncio.Future[T]
    is_transaction: bool = True
    value: T | None = None
    error: BaseException | None = None

    def settle(self) -> None:
        """On the event loop: hand over what came of it."""
        if self.future.done():
            return  # whoever waited was cancelled
        if self.error is not None:
            self.future.set_exception(translated(self.error))
        else:
            self.future.set_result(self.value)  # type: ignore[arg-type]


class _Threads:
    """Threads, their queue, and the loop to which results go."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._threads: list[Thread] = []
        self._queue: SimpleQueue[_Task[Any] | None] = SimpleQueue()
        self._is_closed = False

    async def run(self, unit: Unit[T], *, is_transaction: bool = True) -> T:
        """Await the unit's result; GatewayError for what the database refuses."""
        if self._is_closed:
            raise StoreError("the store is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        task = _Task(unit, future, is_transaction)
        self._queue.put(task)
        return await future

    async def close(self) -> None:
        """Finish what is queued, then end the threads."""
        self._is_closed = True
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    def _start(self, serve: Callable[[Connection], None], connection: Connection) -> None:
        thread = Thread(target=serve, args=(connection,), name=self._name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _settle(self, tasks: list[_Task[Any]]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            self._loop.call_soon_threadsafe(_settle_all, tasks)


def _settle_all(tasks: list[_Task[Any]]) -> None:
    for task in tasks:
        task.settle()


class Writer(_Threads):
    """One `BEGIN IMMEDIATE` a batch, a SAVEPOINT a unit; results go out after COMMIT."""

    def __init__(self, connection: Connection, name: str, after_commit: AfterCommit) -> None:
        super().__init__(name)
        self._after_commit = after_commit
        self._given_back: list[_Task[Any] | None] = []
        self._start(self._serve, connection)

    def _serve(self, connection: Connection) -> None:
        while (task := self._next()) is not None:
            if task.is_transaction:
                batch = self._batch(connection, task)
            else:
                batch = [task]
                with _Attempt() as attempt:
                    task.value = task.unit(connection)
                task.error = attempt.error
            self._settle(batch)

    def _next(self) -> _Task[Any] | None:
        return self._given_back.pop() if self._given_back else self._queue.get()

    def _batch(self, connection: Connection, first: _Task[Any]) -> list[_Task[Any]]:
        with _Attempt() as begin:
            raw(connection).execute("BEGIN IMMEDIATE")
        if begin.error is not None:
            first.error = begin.error
            return [first]
        until = time.monotonic() + BATCH_S
        batch = [first]
        is_whole = _savepoint(connection, first)
        while is_whole and len(batch) < BATCH_UNITS and (task := self._waiting(until)):
            batch.append(task)
            is_whole = _savepoint(connection, task)
        if not (is_whole and _finish(connection, "COMMIT") is None):
            _apart(connection, batch)
        with _Attempt():  # what it cannot do it knows itself
            self._after_commit(connection)
        return batch

    def _waiting(self, until: float) -> _Task[Any] | None:
        """The next unit that may join the batch: only what is there already, in time."""
        if time.monotonic() >= until:
            return None
        try:
            task = self._queue.get_nowait()
        except Empty:
            return None
        if task is None or not task.is_transaction:
            self._given_back.append(task)
            return None
        return task


def _savepoint(connection: Connection, task: _Task[Any]) -> bool:
    """Run one unit; when it raises, only what it wrote itself goes. False: the batch is lost."""
    driver = raw(connection)
    with _Attempt() as attempt:
        driver.execute("SAVEPOINT unit")
        task.value = task.unit(connection)
    task.error = attempt.error
    if not driver.in_transaction:
        return False  # SQLite gave the whole transaction up
    with _Attempt() as end:
        if task.error is not None:
            driver.execute("ROLLBACK TO unit")
        driver.execute("RELEASE unit")
    return end.error is None


def _finish(connection: Connection, how: str) -> BaseException | None:
    """COMMIT or ROLLBACK; whatever happens, no transaction stays open."""
    with _Attempt() as attempt:
        raw(connection).execute(how)
    if raw(connection).in_transaction:
        with _Attempt():
            raw(connection).execute("ROLLBACK")
    return attempt.error


def _apart(connection: Connection, batch: list[_Task[Any]]) -> None:
    """The batch was lost as a whole (disk full): each unit again, for itself."""
    if raw(connection).in_transaction:
        _finish(connection, "ROLLBACK")
    for task in batch:
        with _Attempt() as attempt:
            raw(connection).execute("BEGIN IMMEDIATE")
            task.value = task.unit(connection)
        task.error = attempt.error
        if raw(connection).in_transaction:
            error = _finish(connection, "COMMIT" if task.error is None else "ROLLBACK")
            task.error = task.error or error


class _Reader(_Threads):
    """One thread with a connection; a unit sees one snapshot."""

    def __init__(self, connection: Connection, name: str) -> None:
        super().__init__(name)
        self.waiting = 0  # units given to it and not yet done; counted on the event loop
        self._start(self._serve, connection)

    def _serve(self, connection: Connection) -> None:
        while (task := self._queue.get()) is not None:
            if task.future.cancelled():
                continue
            with _Attempt() as attempt:
                raw(connection).execute("BEGIN")
                task.value = task.unit(connection)
            task.error = attempt.error
            if raw(connection).in_transaction:
                _finish(connection, "COMMIT")
            self._settle([task])


class Readers:
    """Several readers; the first that is free is asked, so that its page cache stays warm."""

    def __init__(self, connections: list[Connection], name: str) -> None:
        self._readers = [_Reader(connection, name) for connection in connections]

    async def run(self, unit: Unit[T]) -> T:
        """Await the unit's result; GatewayError for what the database refuses."""
        reader = min(self._readers, key=lambda each: each.waiting)
        reader.waiting += 1
        try:
            return await reader.run(unit)
        finally:
            reader.waiting -= 1

    async def close(self) -> None:
        for reader in self._readers:
            await reader.close()

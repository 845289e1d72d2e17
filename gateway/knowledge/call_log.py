"""`logs/knowledge-history.jsonl` and `logs/raw/`: what programs asked the library, and got (B5)."""

import asyncio
import contextlib
import errno
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import structlog

from gateway.core.audit import QUERY_KEPT_CHARS
from gateway.errors import GatewayError
from gateway.interfaces import Clock
from gateway.interfaces.workspace import AnswerRecords

log = structlog.get_logger()
HISTORY = "knowledge-history.jsonl"
RAW = "raw"
SEARCHED = "searchknowledge"
MOST_RAW_BYTES = 2**30  # of all answers that are kept; the oldest go
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Called:
    """One call of a tool; `answer` only of a search that found something to keep."""

    tool: str
    namespace: str
    query: str
    hits: int
    duration_ms: int
    error: str | None  # a stable code
    account_id: str | None
    agent_id: str | None
    answer: dict[str, Any] | None = None
    source_ids: tuple[str, ...] = ()


class CallLog:
    """Files that this user alone reads; that none can be written ends no call."""

    def __init__(
        self,
        folder: Path,
        records: AnswerRecords,
        clock: Clock,
        most_raw_bytes: int = MOST_RAW_BYTES,
    ) -> None:
        """`folder` is `<home>/logs`."""
        self._folder = folder
        self._records = records
        self._clock = clock
        self._most_raw_bytes = most_raw_bytes
        self._writing = asyncio.Lock()  # a line, or the file without its old lines
        self._failed: str | None = None  # told once, until it goes well again

    async def start(self) -> None:
        """What a dead process wrote without a row goes: nothing would tell when it has to."""
        known = await self._records.names()
        raw = self._folder / RAW
        names = {path.name for _, _, path in await asyncio.to_thread(_answers, raw)}
        await asyncio.to_thread(_unlink, raw, names - known)

    async def note(self, called: Called) -> None:
        """One line, and of a search its whole answer."""
        at = self._clock.now()
        try:
            raw = None if called.answer is None else await self._keep(called, at)
            line = msgspec.json.encode(_line(called, at, raw)) + b"\n"
            await asyncio.shield(self._write(partial(_append, self._folder, line)))
        except (OSError, GatewayError) as error:
            self._tell(error)
        else:
            self._failed = None

    async def sweep(self) -> None:
        """Remove answers that quote documents which are gone."""
        lost = await self._records.lost()
        if lost:
            await asyncio.to_thread(_unlink, self._folder / RAW, lost)
            await self._records.drop(lost)
            log.info("kept answers removed", answers=len(lost))

    async def purge(self, before: datetime) -> None:
        """Remove what is older, and the oldest answers where they are too many."""
        await asyncio.to_thread(_purge, self._folder / RAW, before, self._most_raw_bytes)
        await self._records.forget(before)
        shorten = partial(_shorten, self._folder / HISTORY, _written(before))
        await asyncio.shield(self._write(shorten))

    async def _write(self, work: Callable[[], None]) -> None:
        """To its end, also when whoever asked gives up: no thread may write beside another."""
        async with self._writing:
            await asyncio.to_thread(work)

    async def _keep(self, called: Called, at: datetime) -> str | None:
        """The name under `raw/`; None where a document of it went meanwhile."""
        raw = self._folder / RAW
        body = _line(called, at, None) | {"query": called.query, "answer": called.answer}
        data = msgspec.json.encode(body)
        name = await asyncio.to_thread(_filed, raw, f"{SEARCHED}-{_stamp(at)}", data)
        # the row last: from its commit on a deletion is seen, and one before it is found here
        if await self._records.put(name, called.source_ids, at):
            return name
        await asyncio.to_thread(_unlink, raw, [name])
        return None

    def _tell(self, error: OSError | GatewayError) -> None:
        code = error.code if isinstance(error, GatewayError) else str(error.errno)
        if code != self._failed:
            log.warning("calls not written down", code=code)
            self._failed = code


def _line(called: Called, at: datetime, raw: str | None) -> dict[str, Any]:
    return {
        "at": _written(at),
        "tool": called.tool,
        "namespace": called.namespace,
        "query": called.query[:QUERY_KEPT_CHARS],
        "hits": called.hits,
        "duration_ms": called.duration_ms,
        "error": called.error,
        "account_id": called.account_id,
        "agent_id": called.agent_id,
        "raw": raw,
    }


def _written(at: datetime) -> str:
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _stamp(at: datetime) -> str:
    return at.strftime("%Y%m%dT%H%M%S%fZ")


def _made(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)


def _append(folder: Path, line: bytes) -> None:
    """A line that could not be written whole is ended, so that the next one is its own."""
    _made(folder)
    descriptor = os.open(folder / HISTORY, _APPEND, 0o600)
    try:
        if os.write(descriptor, line) != len(line):
            os.write(descriptor, b"\n")
            raise OSError(errno.ENOSPC, "half a line")
    finally:
        os.close(descriptor)


def _filed(folder: Path, stem: str, data: bytes) -> str:
    """Write under a name that no other answer has: `stem.json`, `stem-2.json` and so on."""
    _made(folder.parent)
    _made(folder)
    number = 1
    while True:
        name = f"{stem}.json" if number == 1 else f"{stem}-{number}.json"
        try:
            with _new(folder / name) as file:
                file.write(data)
        except FileExistsError:
            number += 1
        except OSError:
            (folder / name).unlink(missing_ok=True)
            raise
        else:
            return name


def _new(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, _NEW, 0o600), "wb")


def _unlink(folder: Path, names: Collection[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)


def _purge(folder: Path, before: datetime, most_bytes: int) -> None:
    found = sorted(_answers(folder))
    room = most_bytes - sum(size for _, size, _ in found)
    for at, size, path in found:
        if at >= before.timestamp() and room >= 0:
            break
        path.unlink(missing_ok=True)
        room += size


def _answers(folder: Path) -> Iterator[tuple[float, int, Path]]:
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                found = entry.stat(follow_symlinks=False)
                yield found.st_mtime, found.st_size, Path(entry.path)


def _shorten(path: Path, before: str) -> None:
    """Leave the older lines out; nothing is written where there is none."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        if not _is_older(file.readline(), before):
            return
        fresh = path.with_name(f".{path.name}.new")
        fresh.unlink(missing_ok=True)
        file.seek(0)
        with _new(fresh) as kept:
            for line in file:
                if not _is_older(line, before):
                    kept.write(line)
    fresh.replace(path)


class _At(msgspec.Struct):
    at: str


def _is_older(line: bytes, before: str) -> bool:
    """A line that cannot be read goes with the old ones; none is no line."""
    if not line:
        return False
    try:
        return msgspec.json.decode(line, type=_At).at < before
    except msgspec.MsgspecError:
        return True

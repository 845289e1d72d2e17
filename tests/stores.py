"""New stores without the wait: a process migrates two empty databases once, then copies them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from gateway.interfaces import Clock, Ids
from gateway.knowledge.filtered import FilteredSearch
from gateway.knowledge.search import Search
from gateway.store import Store, open_store
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock

FILES = (Path("inbox.db"), Path("knowledge") / "knowledge.db")
_empty: dict[Path, bytes] = {}


@asynccontextmanager
async def new_store(home: Path, clock: Clock, ids: Ids) -> AsyncIterator[Store]:
    """`open_store`, of a home that has none yet or of one that stays as it is."""
    await lay_databases(home)
    async with open_store(home, clock, ids) as store:
        yield store


async def lay_databases(home: Path) -> None:
    """Put databases that hold nothing, at the newest schema, where a home has none."""
    if not _empty:
        with TemporaryDirectory() as folder:
            async with open_store(Path(folder), WoundClock(), RealIds()):
                pass
            _empty.update({file: (Path(folder) / file).read_bytes() for file in FILES})
    for file, data in _empty.items():
        path = home / file
        if path.exists():  # the second start of a home
            continue
        if path.exists():
            continue
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o600)


def filtering(search: Search, store: Store) -> FilteredSearch:
    """The search with a filter before it, as turns have it."""
    return FilteredSearch(search, store.passages, store.passages)

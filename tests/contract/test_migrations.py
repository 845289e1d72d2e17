"""The migrations, run from nothing, give exactly the tables of gateway/store/tables."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, create_engine

from gateway.errors import StoreError
from gateway.store import Store, migrations, open_store
from gateway.store.migrations import HEADS
from gateway.store.tables import INBOX, KNOWLEDGE
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock

FILES = (("inbox.db", INBOX), ("knowledge/knowledge.db", KNOWLEDGE))
NOT_TABLES = re.compile(r"alembic_version|passage_(index|terms)|sqlite_")


def declared(file: Path) -> dict[str, str]:
    """Each table and index with its SQL, white space and constraint order aside."""

    def rows() -> Iterator[tuple[str, str]]:
        with closing(sqlite3.connect(file)) as opened:
            yield from opened.execute("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL")

    return {
        name: " ".join(sorted(re.split(r"[\s,]+", sql)))
        for name, sql in rows()
        if not NOT_TABLES.match(name)
    }


@pytest.mark.parametrize(("name", "metadata"), FILES)
async def test_a_fresh_migration_equals_the_tables(
    store: Store, home: Path, tmp_path: Path, name: str, metadata: MetaData
) -> None:
    plain = tmp_path / "plain.db"
    engine = create_engine(f"sqlite:///{plain}")
    metadata.create_all(engine)
    engine.dispose()
    assert declared(home / name) == declared(plain)
    migrated = create_engine(f"sqlite:///{home / name}")
    with migrated.connect() as connection:
        options = {"include_name": lambda name, *_: not (name and NOT_TABLES.match(name))}
        found = compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
    migrated.dispose()
    assert found == []


async def test_opening_again_changes_nothing(home: Path, clock: WoundClock) -> None:
    async with open_store(home, clock, RealIds()):
        pass
    before = [declared(home / name) for name, _ in FILES]
    async with open_store(home, clock, RealIds()) as store:
        assert await store.check() == ()
    assert [declared(home / name) for name, _ in FILES] == before
    assert (home / "inbox.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("database", sorted(HEADS))
def test_the_heads_are_those_of_the_revisions(database: str) -> None:
    config = Config()
    folder = Path(migrations.__file__).parent / database
    config.set_main_option("script_location", str(folder))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_current_head() == HEADS[database]


async def test_a_file_of_a_newer_release_is_refused(home: Path, clock: WoundClock) -> None:
    async with open_store(home, clock, RealIds()):
        pass
    with closing(sqlite3.connect(home / "inbox.db")) as opened:
        opened.execute("UPDATE alembic_version SET version_num = '9999'")
        opened.commit()
    with pytest.raises(StoreError, match="9999"):
        async with open_store(home, clock, RealIds()):
            pass

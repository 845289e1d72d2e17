"""Brings a database file to the newest schema with Alembic, when it is opened."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from gateway.store.statements import raw

_FOLDER = Path(__file__).parent


def migrate(connection: Connection, database: str) -> None:
    """Run what is missing for `database` ("inbox" | "knowledge") in one transaction."""
    config = Config()
    config.set_main_option("script_location", str(_FOLDER / database).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    raw(connection).execute("BEGIN IMMEDIATE")
    try:
        command.upgrade(config, "head")
        raw(connection).execute("COMMIT")
    finally:
        if raw(connection).in_transaction:
            raw(connection).execute("ROLLBACK")

"""Brings a database file to the newest schema with Alembic, when it is opened."""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection

from gateway.errors import StoreError
from gateway.store.statements import raw

_FOLDER = Path(__file__).parent
HEADS = {"inbox": "0002", "knowledge": "0016"}  # a test holds them to the revisions


def migrate(connection: Connection, database: str) -> None:
    """Run what is missing for `database` ("inbox" | "knowledge") in one transaction.

    StoreError when the file was made by a newer release.
    """
    if _revision(connection) == HEADS[database]:
        return  # the usual case, without loading Alembic: a third of a command's start
    _upgrade(connection, database)


def _revision(connection: Connection) -> str | None:
    try:
        row = raw(connection).execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError:  # a new file has no such table
        return None
    return str(row[0]) if row else None


def _upgrade(connection: Connection, database: str) -> None:
    from alembic import command  # noqa: PLC0415 - only where there is something to migrate
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util.exc import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_FOLDER / database).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    raw(connection).execute("BEGIN IMMEDIATE")
    try:
        command.upgrade(config, "head")
        raw(connection).execute("COMMIT")
    except CommandError as error:
        raise StoreError(str(error)) from error
    finally:
        if raw(connection).in_transaction:
            raw(connection).execute("ROLLBACK")

"""Which of our error codes a failure of SQLite is."""

import sqlite3

from sqlalchemy.exc import DBAPIError

from gateway.errors import (
    ConflictError,
    GatewayError,
    InvalidRequestError,
    NotFoundError,
    StoreError,
)

_FULL = frozenset({sqlite3.SQLITE_FULL})
_BROKEN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})
# A write that the file system refuses for any other reason than ENOSPC: a quota, a size limit.
# SHMSIZE: the write-ahead log's index cannot grow, the first thing a full disk refuses at a start.
_REFUSED_WRITES = frozenset(
    {
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_IOERR_TRUNCATE,
        sqlite3.SQLITE_IOERR_SHMSIZE,
    }
)
_PRIMARY = 0xFF


def translated(error: BaseException) -> BaseException:
    """The GatewayError that a database failure stands for; anything else as it is."""
    if isinstance(error, GatewayError):
        return error
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.IntegrityError):
        return _constraint(cause)
    if isinstance(cause, UnicodeEncodeError):
        return InvalidRequestError("text that is not Unicode", reason="Unicode")
    if isinstance(cause, sqlite3.Error):
        return StoreError(str(cause), code=store_code(cause))
    return error


def store_code(error: sqlite3.Error) -> str:
    """`store_full`, `store_broken` or `store_unavailable`."""
    extended = getattr(error, "sqlite_errorcode", None)
    if extended is None:
        return "store_unavailable"
    if extended in _REFUSED_WRITES or extended & _PRIMARY in _FULL:
        return "store_full"
    return "store_broken" if extended & _PRIMARY in _BROKEN else "store_unavailable"


def _constraint(error: sqlite3.IntegrityError) -> GatewayError:
    if error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
        return NotFoundError(str(error))  # it names something that is not there, or no longer
    return ConflictError(str(error))

"""Answers of creating calls by their caller's own key, on SQLite."""

from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from gateway.interfaces import Repeats
from gateway.store.database import Database
from gateway.store.statements import Statement
from gateway.store.tables.record import repeats
from gateway.store.values import micros

_MINE = (
    repeats.c.account_id == bindparam("of_account"),
    repeats.c.key_sha256 == bindparam("of_key"),
)
_FIND = Statement(select(repeats.c.request_sha256, repeats.c.answer).where(*_MINE))
_PUT = Statement(insert(repeats), columns=[column.name for column in repeats.c])
_KEEP = Statement(update(repeats).where(*_MINE).values(answer=bindparam("to_answer")))
_DROP = Statement(delete(repeats).where(*_MINE))
_EXPIRE = Statement(delete(repeats).where(repeats.c.at <= bindparam("until")))


class SqliteRepeats:
    """Those that are too old go with the next claim."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(
        self, account_id: str, key_sha256: str, request_sha256: str, at: datetime, until: datetime
    ) -> tuple[str, bytes | None] | None:
        def unit(connection: Connection) -> tuple[str, bytes | None] | None:
            _EXPIRE.run(connection, until=micros(until))
            row = _FIND.first(connection, of_account=account_id, of_key=key_sha256)
            if row is not None:
                return row[0], row[1]
            _PUT.run(
                connection,
                account_id=account_id,
                key_sha256=key_sha256,
                request_sha256=request_sha256,
                answer=None,
                at=micros(at),
            )
            return None

        return await self._database.write(unit)

    async def keep(self, account_id: str, key_sha256: str, answer: bytes) -> None:
        await self._database.write(
            lambda c: _KEEP.run(c, of_account=account_id, of_key=key_sha256, to_answer=answer)
        )

    async def drop(self, account_id: str, key_sha256: str) -> None:
        await self._database.write(lambda c: _DROP.run(c, of_account=account_id, of_key=key_sha256))


fits: type[Repeats] = SqliteRepeats

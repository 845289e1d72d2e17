"""Requests to link a sender, and the links that hold, on SQLite."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, or_, select

from gateway.core.messages import Sender
from gateway.errors import ConflictError, NotFoundError
from gateway.interfaces import BoundLink, LinkRequest, LinkRequests
from gateway.store.database import Database
from gateway.store.link_rows import LINK_COLUMNS, bind, bound_of, holder, tell, unbind
from gateway.store.statements import Row, Statement
from gateway.store.tables.people import link_requests, links
from gateway.store.values import instant, micros

_open = (
    link_requests.c.account_id == bindparam("account_id"),
    link_requests.c.expires_at > bindparam("now"),
)
_PENDING = Statement(
    select(*link_requests.c).where(*_open).order_by(link_requests.c.at, link_requests.c.id)
)
_FIND = Statement(
    select(*link_requests.c).where(*_open, link_requests.c.id == bindparam("request_id"))
)
_DROP = Statement(delete(link_requests).where(link_requests.c.id == bindparam("request_id")))
_BOUND = Statement(
    select(*LINK_COLUMNS)
    .where(or_(bindparam("account_id").is_(None), links.c.account_id == bindparam("account_id")))
    .order_by(*LINK_COLUMNS[:3])
)


class SqliteLinkRequests:
    """What waits for an account's word, and what it said; each step with its audit row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def pending(self, account_id: str, now: datetime) -> Sequence[LinkRequest]:
        at = micros(now)
        rows = await self._database.read(lambda c: _PENDING.all(c, account_id=account_id, now=at))
        return [_request_of(row) for row in rows]

    async def confirm(self, request_id: str, account_id: str, now: datetime) -> BoundLink:
        """One account at most has a sender: whoever confirmed first, until it is unlinked."""

        def unit(connection: Connection) -> BoundLink:
            request = _take(connection, request_id, account_id, now)
            if holder(connection, request.sender) not in (None, account_id):
                raise ConflictError("the sender is linked to another account")
            link = BoundLink(request.sender, request.sender_name, account_id, now)
            bind(connection, link)
            tell(connection, "link_confirmed", now, account_id, request.sender)
            return link

        return await self._database.write(unit)

    async def reject(self, request_id: str, account_id: str, now: datetime) -> None:
        def unit(connection: Connection) -> None:
            request = _take(connection, request_id, account_id, now)
            tell(connection, "link_rejected", now, account_id, request.sender)

        await self._database.write(unit)

    async def bind(self, link: BoundLink, actor: str) -> None:
        """NotFoundError without the account."""

        def unit(connection: Connection) -> None:
            bind(connection, link)
            tell(connection, "link_added", link.at, link.account_id, link.sender, actor)

        await self._database.write(unit)

    async def remove(self, sender: Sender, owner: str | None, actor: str, at: datetime) -> bool:
        def unit(connection: Connection) -> bool:
            account_id = unbind(connection, sender, owner)
            if account_id is not None:
                tell(connection, "link_removed", at, account_id, sender, actor)
            return account_id is not None

        return await self._database.write(unit)

    async def bound(self, account_id: str | None = None) -> Sequence[BoundLink]:
        rows = await self._database.read(lambda c: _BOUND.all(c, account_id=account_id))
        return [bound_of(row) for row in rows]


def _take(connection: Connection, request_id: str, account_id: str, now: datetime) -> LinkRequest:
    row = _FIND.first(connection, request_id=request_id, account_id=account_id, now=micros(now))
    if row is None:
        raise NotFoundError(request_id)
    _DROP.run(connection, request_id=request_id)
    return _request_of(row)


def _request_of(row: Row) -> LinkRequest:
    sender = Sender(row[2], row[3], row[4])
    return LinkRequest(row[0], row[1], sender, row[5], instant(row[6]), instant(row[7]))


fits: type[LinkRequests] = SqliteLinkRequests

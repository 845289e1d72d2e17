"""Rows of links and of what leads to them, for use inside a transaction."""

from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, select, true
from sqlalchemy.dialects.sqlite import insert

from gateway.core.audit import SecurityEvent
from gateway.core.messages import Sender
from gateway.interfaces import BoundLink
from gateway.store import counters
from gateway.store.audit_rows import put_event
from gateway.store.statements import Row, Statement
from gateway.store.tables.people import accounts, link_requests, links
from gateway.store.values import clean, instant, micros

LINK_COLUMNS = (
    links.c.channel,
    links.c.account_name,
    links.c.sender_id,
    links.c.sender_name,
    links.c.account_id,
    links.c.at,
)
_new = insert(links)
_BIND = Statement(
    _new.on_conflict_do_update(
        index_elements=[links.c.channel, links.c.account_name, links.c.sender_id],
        set_={name: _new.excluded[name] for name in ("account_id", "at", "sender_name")},
    ),
    columns=[column.name for column in LINK_COLUMNS],
)
_sender = (
    links.c.channel == bindparam("channel"),
    links.c.account_name == bindparam("account_name"),
    links.c.sender_id == bindparam("sender_id"),
)
_LINKED = Statement(select(links.c.account_id).where(*_sender))
_HOLDER = Statement(
    select(links.c.account_id)
    .join(accounts, accounts.c.id == links.c.account_id)
    .where(*_sender, accounts.c.is_active == true())
)
_REMOVE = Statement(delete(links).where(*_sender))
_DROP_REQUESTS = Statement(
    delete(link_requests).where(
        link_requests.c.channel == bindparam("channel"),
        link_requests.c.account_name == bindparam("account_name"),
        link_requests.c.sender_id == bindparam("sender_id"),
    )
)


def key_of(sender: Sender) -> dict[str, str]:
    """A sender as the columns that every table of links has."""
    return {
        "channel": sender.channel,
        "account_name": sender.account_name,
        "sender_id": clean(sender.id),
    }


def bound_of(row: Row) -> BoundLink:
    """A row of LINK_COLUMNS."""
    return BoundLink(Sender(row[0], row[1], row[2]), row[3] or "", row[4], instant(row[5]))


def holder(connection: Connection, sender: Sender) -> str | None:
    """The active account that a sender is linked to."""
    found: str | None = _HOLDER.scalar(connection, **key_of(sender))
    return found


def bind(connection: Connection, link: BoundLink) -> None:
    """Make it hold; nobody else's request for this sender stays open."""
    _BIND.run(
        connection,
        **key_of(link.sender),
        sender_name=clean(link.sender_name),
        account_id=link.account_id,
        at=micros(link.at),
    )
    _DROP_REQUESTS.run(connection, **key_of(link.sender))
    counters.add(connection, counters.GENERATION)


def unbind(connection: Connection, sender: Sender, owner: str | None) -> str | None:
    """Whose the link was, or None where there is none, or with `owner` none of that account."""
    found: str | None = _LINKED.scalar(connection, **key_of(sender))
    if found is None or owner not in (None, found):
        return None
    _REMOVE.run(connection, **key_of(sender))
    counters.add(connection, counters.GENERATION)
    return found


def tell(
    connection: Connection,
    event: str,
    at: datetime,
    account_id: str | None,
    sender: Sender | None = None,
    actor: str | None = None,
) -> None:
    """The audit row of a step: which account, which sender; never a code or a name."""
    key = {} if sender is None else key_of(sender)
    details = {"account_id": account_id, **key}
    put_event(connection, SecurityEvent(event, at, actor or account_id or "sender", details))

"""Security events as rows, written in the transaction of the change they tell of."""

import json

import msgspec
from sqlalchemy import Connection, insert

from gateway.core.audit import SecurityEvent
from gateway.store.statements import Row, Statement
from gateway.store.tables.record import security_events
from gateway.store.values import clean, instant, micros

_INSERT = Statement(
    insert(security_events), columns=["event", "at", "actor", "details", "is_exported"]
)


def put_event(connection: Connection, event: SecurityEvent) -> None:
    _INSERT.run(
        connection,
        event=clean(event.event),
        at=micros(event.at),
        actor=clean(event.actor),
        details=_ascii(msgspec.to_builtins(dict(event.details))),
        is_exported=0,
    )


def line_of(row: Row) -> bytes:
    """A row as one line of ASCII: no name in it can end the line, for any reader."""
    at = instant(row[2]).isoformat().replace("+00:00", "Z")
    details = json.loads(row[4])
    line = {"seq": row[0], "event": row[1], "at": at, "actor": row[3], "details": details}
    return _ascii(line) + b"\n"


def _ascii(value: object) -> bytes:
    """JSON in which even half a character stays what it was."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")

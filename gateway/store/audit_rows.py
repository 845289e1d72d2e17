"""Security events as rows, written in the transaction of the change they tell of."""

from sqlalchemy import Connection, insert

from gateway.core.audit import SecurityEvent
from gateway.store.json_text import encoded
from gateway.store.statements import Statement
from gateway.store.tables.record import security_events
from gateway.store.values import micros

_INSERT = Statement(
    insert(security_events), columns=["event", "at", "actor", "details", "is_exported"]
)


def put_event(connection: Connection, event: SecurityEvent) -> None:
    _INSERT.run(
        connection,
        event=event.event,
        at=micros(event.at),
        actor=event.actor,
        details=encoded(dict(event.details)),
        is_exported=0,
    )

"""Messages taken back by who wrote them: their rows, and those that come after their retraction."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, case, insert, literal_column, null, select, update

from gateway.core.messages import Conversation
from gateway.store.statements import Statement, in_texts, literal
from gateway.store.tables.inbox import dedupe, inbox

_DONE = literal("done")
_STANDS = inbox.c.state.in_((literal("waiting"), literal("busy")))
IS_RETRACTED = inbox.c.is_retracted == literal_column("1")  # written as in the partial index

_MARK = Statement(
    insert(dedupe).prefix_with("OR IGNORE", dialect="sqlite"), columns=["account", "key", "at"]
)
_FIND_KEY = Statement(
    select(dedupe.c.at, dedupe.c.row_id).where(
        dedupe.c.account == bindparam("account"), dedupe.c.key == bindparam("key")
    )
)
_RETRACT = Statement(
    update(inbox)
    .where(inbox.c.id == bindparam("row_id"), inbox.c.lane == bindparam("lane"))
    .values(
        is_retracted=literal_column("1"),
        payload=null(),
        answered_at=case((_STANDS, bindparam("now")), else_=inbox.c.answered_at),
        state=case((_STANDS, _DONE), else_=inbox.c.state),
    )
)
_RETRACTED = Statement(select(inbox.c.id).where(IS_RETRACTED).order_by(inbox.c.id))
_RETRACTED_OF = Statement(
    select(inbox.c.id).where(in_texts(inbox.c.id, "ids"), IS_RETRACTED).order_by(inbox.c.id)
)


def freed(otherwise: object) -> dict[str, object]:
    """Values that end a claim: what was taken back meanwhile is done, the rest is `otherwise`."""
    return {
        "state": case((IS_RETRACTED, _DONE), else_=otherwise),
        "answered_at": case((IS_RETRACTED, bindparam("now")), else_=inbox.c.answered_at),
        "claimed_by": null(),
        "claimed_until": null(),
    }


def retract(
    connection: Connection, place: Conversation, keys: Sequence[str], now: int
) -> list[str]:
    """Row ids of those that were here. Only the chat a message came from can take it back."""
    account, had = account_of(place), []
    for key in dict.fromkeys(keys):
        named = {"account": account, "key": _mark(place, key)}
        _MARK.run(connection, **named, at=now)
        found = _FIND_KEY.first(connection, account=account, key=f"m:{key}")
        row_id = found[1] if found else None
        if row_id and _RETRACT.run(connection, row_id=row_id, lane=place.lane, now=now):
            had.append(row_id)
    return had


def is_retracted(connection: Connection, place: Conversation, key: str) -> bool:
    """Whether this message was taken back before it came."""
    found = _FIND_KEY.first(connection, account=account_of(place), key=_mark(place, key))
    return found is not None


def retracted(connection: Connection, ids: str | None) -> list[str]:
    """All rows that were taken back, or those among the JSON list `ids`."""
    rows = _RETRACTED.all(connection) if ids is None else _RETRACTED_OF.all(connection, ids=ids)
    return [row[0] for row in rows]


def account_of(place: Conversation) -> str:
    """Within what a platform's keys are unique."""
    return f"{place.channel}/{place.account_name}"


def _mark(place: Conversation, key: str) -> str:
    return f"r:{place.lane}\n{key}"

"""Long lists page by page: the same operations, with `limit` and `cursor` beside what they take."""

import base64
import binascii
import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args, get_type_hints

from gateway.errors import InvalidRequestError
from gateway.operations.table import Caller, Operation

T = TypeVar("T")
MOST_ROWS = 500
USUAL_ROWS = 100
LISTS = frozenset(
    {
        "accounts.list",
        "agents.keys.list",
        "agents.list",
        "agents.list_all",
        "auth.tokens.list",
        "knowledge.collections.list",
        "knowledge.proposals.list",
        "knowledge.sources.list",
    }
)
_MARK = "p1:"


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list, by id; `next` is the `cursor` of what follows, null at the end."""

    rows: Sequence[T]
    next: str | None


def with_pages(rows: Iterable[Operation]) -> tuple[Operation, ...]:
    """The table, its long lists paged where `limit` or `cursor` is given; else as they were."""
    return tuple(_paged(row) if row.name in LISTS else row for row in rows)


def page_of(rows: Sequence[Any], limit: int | None, cursor: str | None) -> Page[Any]:
    """By `id`, so that what comes or goes meanwhile neither repeats nor hides the rest."""
    most = USUAL_ROWS if limit is None else limit
    if not 1 <= most <= MOST_ROWS:
        raise InvalidRequestError("limit", reason=f"limit: 1 to {MOST_ROWS}")
    after = None if cursor is None else _id_of(cursor)
    left = sorted((each for each in rows if after is None or each.id > after), key=_id)
    shown = left[:most]
    return Page(shown, _cursor(shown[-1].id) if len(left) > most else None)


def _paged(row: Operation) -> Operation:
    page: Any = Page  # its rows are known at run time
    listed: Any = get_type_hints(row.run)["return"]
    request = dataclasses.make_dataclass(
        f"{row.request.__name__}ByPage",
        [("limit", int | None, None), ("cursor", str | None, None)],
        bases=(row.request,),
        frozen=True,
        slots=True,
    )
    request.__doc__ = row.request.__doc__

    async def run(caller: Caller, asked: Any) -> Any:
        found = await row.run(caller, asked)
        if asked.limit is None and asked.cursor is None:
            return found
        return page_of(found, asked.limit, asked.cursor)

    run.__annotations__["return"] = listed | page[get_args(listed)[0]]
    return dataclasses.replace(row, request=request, run=run)


def _id(row: Any) -> str:
    return str(row.id)


def _cursor(last_id: str) -> str:
    return base64.urlsafe_b64encode((_MARK + last_id).encode()).decode().rstrip("=")


def _id_of(cursor: str) -> str:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise InvalidRequestError("cursor", reason="cursor") from error
    if not text.startswith(_MARK) or _cursor(text.removeprefix(_MARK)) != cursor:
        raise InvalidRequestError("cursor", reason="cursor")
    return text.removeprefix(_MARK)

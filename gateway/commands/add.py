"""`add`: files, whole folders and pages of the web into a collection, with how far it is."""

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gateway.catalogue import error_text
from gateway.commands.library import acting_account
from gateway.commands.operator import Operator, operator
from gateway.commands.output import DONE, FAILED, complain, language, say, show
from gateway.commands.tree import Commands
from gateway.config import home_folder
from gateway.core.filenames import READABLE
from gateway.core.metadata import named_value
from gateway.errors import GatewayError

POLL_S = 0.2
SETTLED = ("ready", "failed")
# what one document is refused for; with anything else the others would fare no better
OF_ONE = frozenset(
    {
        "invalid_request", "url_wrong", "too_large", "too_many_chars", "empty_text",
        "quota_sources", "quota_bytes", "quota_chunks",
    }
)  # fmt: skip
HIDDEN, UNSUPPORTED = "hidden", "unsupported"
Row = dict[str, Any]
Tell = Callable[[int, float, str], None]  # documents done, how much of the next, its title


@dataclass(frozen=True, slots=True)
class Item:
    """A file or page to be added, or why a file of a folder is not."""

    name: str
    is_page: bool = False
    skipped: str = ""


def register(commands: Commands) -> None:
    """Add this command."""
    add = commands.add("add", add_documents, account=True)
    add.add_argument("items", nargs="+", metavar="PATH|URL", help=say("opt_items"))
    add.add_argument("--collection", required=True, help=say("opt_collection"))
    add.add_argument(
        "--metadata", action="append", default=[], metavar="KEY=VALUE", help=say("opt_metadata")
    )
    add.add_argument("--no-wait", action="store_true", help=say("opt_no_wait"))


async def add_documents(options: argparse.Namespace) -> int:
    """One document that is refused holds up no other."""
    account, noted = acting_account(options), dict(map(named_value, options.metadata))
    to = {"collection": options.collection, "metadata": noted}
    items = await asyncio.to_thread(lambda: list(found(options.items)))
    async with operator(home_folder(options.home), language()) as gateway:
        rows = [await _add(gateway, item, to, account) for item in items]
        if not options.no_wait:
            async with _bar(len(rows)) as tell:
                await _settle(gateway, rows, account, tell)
    show(options, rows, [_line(row) for row in rows if "error" not in row])
    for row in rows:
        if "error" in row:
            complain(None, _Refused(row))
    return FAILED if any(_has_failed(row) for row in rows) else DONE


def found(names: list[str]) -> Iterator[Item]:
    """What is named, and the readable files of named folders, in order; nothing hidden there."""
    for name in names:
        if name.lower().startswith(("http://", "https://")):
            yield Item(name, is_page=True)
        elif Path(name).is_dir():
            yield from _inside(Path(name).absolute())
        else:
            yield Item(str(Path(name).absolute()))


def _inside(folder: Path) -> Iterator[Item]:
    for place, folders, files in os.walk(folder):
        where = Path(place)
        hidden = sorted(each for each in folders if _is_hidden(each))
        folders[:] = sorted(each for each in folders if not _is_hidden(each))
        yield from (Item(str(where / each), skipped=HIDDEN) for each in hidden)
        for name in sorted(files):
            path = where / name
            is_kind = path.suffix.lower() in READABLE and path.is_file()
            reason = HIDDEN if _is_hidden(name) else "" if is_kind else UNSUPPORTED
            yield Item(str(path), skipped=reason)


def _is_hidden(name: str) -> bool:
    """Also what Office leaves beside an open document."""
    return name.startswith((".", "~$"))


async def _add(gateway: Operator, item: Item, to: Row, account: str) -> Row:
    if item.skipped:
        return {"path": item.name, "skipped": item.skipped}
    try:
        if item.is_page:
            params = {**to, "kind": "url", "url": item.name}
            row: Row = await gateway.call("knowledge.sources.add", params, account)
        else:
            params = {**to, "path": item.name}
            row = await gateway.call("knowledge.sources.add_file", params, account)
    except GatewayError as error:
        if error.code not in OF_ONE:
            raise
        said = getattr(error, "message", None) or error_text(error.code, language(), **error.params)
        return {"path": item.name, "error": {"code": error.code, "message": said}}
    return row


async def _settle(gateway: Operator, rows: list[Row], account: str, tell: Tell) -> None:
    for number, row in enumerate(rows):
        if "source" in row:
            row["source"] = await settled(gateway, row["source"], account, partial(tell, number))
        tell(number + 1, 0.0, "")


async def settled(
    gateway: Operator,
    source: Row,
    account: str,
    tell: Callable[[float, str], None] = lambda share, title: None,
) -> Row:
    """Wait until a source is searched by meaning too, or has failed."""
    while not _is_settled(source):
        tell(_share(source), source["title"])
        await asyncio.sleep(POLL_S)
        source = await gateway.call("knowledge.sources.get", {"source_id": source["id"]}, account)
    return source


def _is_settled(source: Row) -> bool:
    if source["state"] == "failed" or source["error_code"]:
        return True
    return source["state"] in SETTLED and source["status_detail"] is not None


def _share(source: Row) -> float:
    """Of one document: its pages, while they are read."""
    progress = source["progress"]
    return progress["done"] / progress["of"] if progress else 0.0


@asynccontextmanager
async def _bar(total: int) -> AsyncIterator[Tell]:
    """A bar on a terminal; nothing where nobody looks."""
    from rich.progress import Progress  # noqa: PLC0415 - no other command has to wait for it

    with Progress(disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task(say("adding"), total=total)

        def tell(done: int, share: float, title: str) -> None:
            progress.update(
                task, completed=done + share, description=f"{say('adding')} {title[:40]}"
            )

        yield tell


def _has_failed(row: Row) -> bool:
    return "error" in row or ("source" in row and row["source"]["state"] == "failed")


def _line(row: Row) -> str:
    if "skipped" in row:
        return say(f"add_skipped_{row['skipped']}", path=row["path"])
    source = row["source"]
    if source["error_code"]:
        return say("add_failed", title=source["title"], message=source["error_message"])
    key = "added" if row["is_new"] else "already_there"
    line = say(key, title=source["title"], passages=source["passages"], state=source["state"])
    return "\n".join([line, *(f"  ! {warning['message']}" for warning in source["warnings"])])


class _Refused(GatewayError):
    """A row's error, told like any other."""

    def __init__(self, row: Row) -> None:
        super().__init__(row["path"], code=row["error"]["code"])
        self.message = f"{row['path']}: {row['error']['message']}"

"""The pages made from the code's own tables: docs/api.md and docs/errors.md."""

import asyncio
import dataclasses
import inspect
import tempfile
import types
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
from aiohttp import web

from gateway import home as homes
from gateway.app import App, open_app
from gateway.catalogue import error_text
from gateway.errors import TABLE
from gateway.operations.table import Operation, Permission

ROOT = Path(__file__).parents[1]
PAGES = ("docs/api.md", "docs/errors.md")
MADE = "<!-- Made by docs/tools/make-api from the code; a test compares. Do not edit. -->"
NEEDS = {
    Permission.ANYONE: "anyone",
    Permission.SIGNED_IN: "signed in",
    Permission.SIGNED_IN_OR_LOCAL: "signed in, or the operator at this machine",
    Permission.MANAGER: "manager or admin",
    Permission.ADMIN: "admin, or the operator at this machine",
    Permission.LOCAL: "the operator at this machine",
}
INTRO = """
# Operations

`POST /rpc` takes these as JSON-RPC 2.0, alone or up to 50 in a batch; so does the local socket
behind the command line. Programs send `Authorization: Bearer TOKEN`; pages a session cookie with
the header `X-Shutten-CSRF`, whose value `auth.login` gave. Signing in goes alone, not in a batch.
Errors have JSON-RPC's own numbers where it names them, else -32000, and always the code of
docs/errors.md in `error.data.code`.

Who may call an operation at all stands with it; what it may touch is decided inside, by role and
scope. Missing and forbidden are the same `not_found`. Unknown parameters are refused. Ids are
strings, times RFC 3339.
"""
FRAMES = """
# Web chat frames

`GET /ws/chat?conversation_id=NAME&after=TURN_ID`, with a session cookie and the page's Origin. JSON
texts. A question sent again under the same id is answered once. With `after` the finished answers
of later turns come first; a repeated one carries the same turn id.

| direction | frame |
| --- | --- |
| in | `{"type": "user_message", "id", "text", "attachments", "conversation_id", "agent"}`; the last three may be left out |
| out | `{"type": "assistant_delta", "turn_id", "text"}`: a piece of the draft, a preview only |
| out | `{"type": "assistant_done", "turn_id", "text", "citations"}`: its text replaces the deltas; a citation is `{"n", "chunk_id", "source_id", "title", "locator", "excerpt"}` |
| out | `{"type": "error", "code", "message"}` |
"""  # noqa: E501 - rows of a table


async def opened(home: Path) -> Mapping[str, str]:
    """Both pages, by their path, made from a gateway on an empty home."""
    homes.make(home)
    async with open_app(home) as app:
        return {"docs/api.md": api(app), "docs/errors.md": errors()}


def api(app: App) -> str:
    """Every operation with its request and answer, and every HTTP route."""
    rows = app.registry.rows()
    lines = [MADE, INTRO.rstrip(), ""]
    for row in rows:
        lines += [*_operation(row), ""]
    lines += ["# Routes", "", "| route | what |", "| --- | --- |"]
    lines += sorted(set(_routes(app.application())))
    return "\n".join([*lines, FRAMES.rstrip()]) + "\n"


def errors() -> str:
    """Every code with its status, number and sentence."""
    lines = [
        MADE,
        "",
        "# Error codes",
        "",
        "A code is stable; its sentence comes in zh-TW, ja and en. An ellipsis is filled in.",
        "",
        "| code | HTTP | RPC | sentence |",
        "| --- | --- | --- | --- |",
    ]
    for row in TABLE.values():
        sentence = error_text(row.code, "en").replace("|", "\\|").strip()
        lines.append(f"| `{row.code}` | {row.http_status} | {row.rpc_code} | {sentence} |")
    return "\n".join(lines) + "\n"


def _operation(row: Operation) -> Iterator[str]:
    yield f"## `{row.name}`"
    yield ""
    yield f"{row.summary} For: {NEEDS[row.needs]}."
    fields = list(_fields(row.request))
    if fields:
        yield ""
        yield from ("| parameter | type | default |", "| --- | --- | --- |", *fields)
    answer = get_type_hints(row.run).get("return", Any)
    if answer not in (Any, type(None)):
        yield ""
        yield f"Answer: {_type(answer, nested=True)}."


def _fields(request: type[Any]) -> Iterator[str]:
    hints = get_type_hints(request)
    for field in dataclasses.fields(request):
        default = "" if _is_required(field) else f"`{_default(field)}`"
        yield f"| `{field.name}` | {_type(hints[field.name], nested=True)} | {default} |"


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is field.default_factory is dataclasses.MISSING


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return str(field.default_factory())
    value = field.default.value if isinstance(field.default, Enum) else field.default
    return msgspec.json.encode(value).decode()


def _type(hint: Any, *, nested: bool = False) -> str:
    """A type in JSON's words; `nested` spells a request's or answer's own fields out."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_type(each, nested=nested) for each in arguments)
    if origin in (list, tuple, Sequence):
        inside = next((each for each in arguments if each is not Ellipsis), Any)
        return f"list of {_type(inside, nested=nested)}"
    if inspect.isclass(hint) and issubclass(hint, Enum):
        return ", ".join(f"`{each.value}`" for each in hint)
    if dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint)
        inner = ", ".join(
            f"`{field.name}`" if not nested else f"`{field.name}` {_type(hints[field.name])}"
            for field in dataclasses.fields(hint)
        )
        return f"{{{inner}}}"
    return _page(origin, arguments) or _WORDS.get(
        hint, "object" if origin in (dict, Mapping) else "any"
    )


def _page(origin: Any, arguments: tuple[Any, ...]) -> str | None:
    """A page of rows, of whichever kind."""
    if not dataclasses.is_dataclass(origin):
        return None
    return f"{{`rows` list of {_type(arguments[0])}, `next` string or null}}"


_WORDS: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def _routes(application: web.Application) -> Iterator[str]:
    for route in application.router.routes():
        if route.method in ("HEAD", "OPTIONS") or route.resource is None:
            continue
        told = (inspect.getdoc(route.handler) or "").partition("\n")[0]
        yield f"| `{route.method} {route.resource.canonical}` | {told} |"


def main() -> None:
    """Write both pages."""
    with tempfile.TemporaryDirectory() as folder:
        made = asyncio.run(opened(Path(folder)))
    for path, text in made.items():
        (ROOT / path).write_text(text, "utf-8")


if __name__ == "__main__":
    main()

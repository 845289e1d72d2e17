"""What commands print: words for people, JSON for programs, errors as one sentence."""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from gateway import catalogue
from gateway.catalogue import DEFAULT_LANGUAGE, LANGUAGES, error_text
from gateway.config import environment
from gateway.errors import GatewayError

DONE, FAILED, BAD_USAGE = 0, 1, 2
# all but tab and newline; also what turns the direction of reading, and half characters
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def language() -> str:
    """SHUTTEN_LANGUAGE, else what LANG says, else zh-TW."""
    wanted = environment("SHUTTEN_LANGUAGE")
    if wanted in LANGUAGES:
        return str(wanted)
    prefix = (environment("LANG") or "")[:2]
    return {"ja": "ja", "en": "en"}.get(prefix, DEFAULT_LANGUAGE)


def say(key: str, **params: str | int) -> str:
    """A sentence of catalogue/cli.toml in the operator's language."""
    return catalogue.text(f"cli.{key}", language(), **params)


def _harmless(text: str) -> str:
    """Without what a terminal would obey: names and answers are other people's words."""
    return _CONTROLS.sub("", text)


def show(options: argparse.Namespace, data: Any, lines: Iterable[str]) -> int:
    """Print `data` as JSON with --json, else the lines."""
    if options.json:
        json.dump(data, sys.stdout, ensure_ascii=False, indent=2)
        print()
    else:
        for line in lines:
            print(_harmless(line))
    return DONE


def show_table(options: argparse.Namespace, rows: Sequence[dict[str, Any]], *columns: str) -> int:
    """Print rows as a table of the named columns, or all of them as JSON."""
    if options.json:
        return show(options, rows, ())
    from rich.console import Console  # noqa: PLC0415 - only where a table is shown
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(
            *(
                Text(_harmless(str(row.get(column) if row.get(column) is not None else "")))
                for column in columns
            )
        )
    Console(width=None if sys.stdout.isatty() else 200).print(table)
    return DONE


def complain(options: argparse.Namespace | None, error: GatewayError) -> int:
    """Print the error's sentence with its code to standard error."""
    sentence = getattr(error, "message", None) or error_text(error.code, language(), **error.params)
    if options is not None and getattr(options, "json", False):
        json.dump(
            {"error": {"code": error.code, "message": sentence}}, sys.stdout, ensure_ascii=False
        )
        print()
    print(_harmless(f"shutten: {sentence} ({error.code})"), file=sys.stderr)
    return FAILED

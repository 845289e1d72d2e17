"""`doctor`: what works here and what does not, each with a sentence."""

import argparse
from typing import Any

from gateway.catalogue import STRINGS
from gateway.commands.output import DONE, FAILED, say, show
from gateway.commands.tree import Commands
from gateway.config import home_folder
from gateway.errors import GatewayError


def register(commands: Commands) -> None:
    """Add this command."""
    commands.add("doctor", run_doctor)


async def run_doctor(options: argparse.Namespace) -> int:
    from gateway.commands.doctor_inside import CHECKS  # noqa: PLC0415 - the whole program
    from gateway.commands.doctor_outside import outside_checks  # noqa: PLC0415

    home = home_folder(options.home)
    rows: list[dict[str, Any]] = []
    for name, check in CHECKS.items():
        try:
            rows.append({"check": name, "ok": True, "detail": await check(home)})
        except GatewayError as error:
            rows.append({"check": name, "ok": False, "detail": f"{error} ({error.code})"})
    rows += [_told(view) for view in await outside_checks(home)]
    lines = [
        f"{'✓' if row['ok'] else '✗'} {_named(row)}: {row['detail'] or say('check_ok')}"
        for row in rows
    ]
    show(options, rows, lines)
    return DONE if all(row["ok"] for row in rows) else FAILED


def _told(view: dict[str, Any]) -> dict[str, Any]:
    return {
        "check": view["kind"],
        "name": view["name"],
        "what": view["check"],
        "ok": view["is_ok"],
        "detail": view["detail"],
    }


def _named(row: dict[str, Any]) -> str:
    """The row's head: our own checks by name, the others also whose and what."""
    if "what" not in row:
        return say(f"check_{row['check']}")
    key = f"what_{row['what']}"
    what = say(key) if f"cli.{key}" in STRINGS else row["what"]
    return say(f"check_{row['check']}", name=row["name"], what=what)

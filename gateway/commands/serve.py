"""`init` and `serve`: make a home, run the gateway."""

import argparse
import asyncio
import secrets
import signal
import sys
from importlib import resources
from pathlib import Path

from gateway import home as homes
from gateway.commands.operator import operator
from gateway.commands.output import DONE, language, say, show
from gateway.commands.tree import Commands
from gateway.config import environment, home_folder

SWITCH_S = 0.0002  # the event loop waits no longer for threads that read the store
PASSWORD_VARIABLE = "SHUTTEN_PASSWORD"  # noqa: S105 - the variable's name


def register(commands: Commands) -> None:
    """Add these commands."""
    init = commands.add("init", init_home)
    init.add_argument("--admin", default="admin", metavar="LOGIN")
    serve = commands.add("serve", serve_home)
    serve.add_argument("--host", help=say("opt_host"))
    serve.add_argument("--port", type=int, help=say("opt_port"))


def make_home(home: Path) -> bool:
    """Lay the folders and a config.toml; whether the home is new."""
    homes.make(home)
    config = home / "config.toml"
    if config.exists():
        return False
    example = resources.files("gateway").joinpath("home_config.toml").read_text("utf-8")
    config.write_text(example, "utf-8")
    config.chmod(0o600)
    return True


async def init_home(options: argparse.Namespace) -> int:
    home = home_folder(options.home)
    make_home(home)
    lines = [say("home_made", path=str(home))]
    given = environment(PASSWORD_VARIABLE)
    made = None if given else secrets.token_urlsafe(12)
    async with operator(home, language()) as gateway:
        people = await gateway.call("accounts.list", {}, None)
        if not people:
            params = {
                "login": options.admin,
                "display_name": options.admin,
                "password": given or made,
                "role": "admin",
            }
            await gateway.call("accounts.create", params, None)
            shown = made or f"→ {PASSWORD_VARIABLE}"  # what was given is known already
            lines.append(say("admin_made", login=options.admin, password=shown))
    told: dict[str, object] = {"home": str(home), "new_admin": not people}
    if made is not None and not people:
        told["admin_password"] = made
    return show(options, told, lines)


async def serve_home(options: argparse.Namespace) -> int:
    await run_gateway(home_folder(options.home), options.host, options.port)
    return DONE


async def run_gateway(home: Path, host: str | None, port: int | None) -> None:
    """Serve until SIGINT or SIGTERM; HomeError when another gateway has the home."""
    from gateway import tidying  # noqa: PLC0415 - help and other commands should not wait for these
    from gateway.app import open_app  # noqa: PLC0415

    homes.require(home)
    sys.setswitchinterval(SWITCH_S)
    tidying.begin()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    with homes.lock(home):
        async with open_app(home) as app:
            loop.add_signal_handler(signal.SIGHUP, app.watcher.look)
            await app.serve(stop, host=host, port=port, on_ready=_announce)


def _announce(url: str) -> None:
    print(say("serving", url=url), flush=True)
    sys.stdout.flush()

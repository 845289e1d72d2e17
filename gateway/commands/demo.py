"""`demo`: a fictional company in one command, then the gateway or one answer."""

import argparse
import sys
from pathlib import Path

from gateway.commands.add import settled
from gateway.commands.ask import answer_lines
from gateway.commands.model import install_model
from gateway.commands.operator import operator
from gateway.commands.output import DONE, language, say, show
from gateway.commands.serve import make_home, run_gateway
from gateway.commands.tree import Commands
from gateway.config import home_folder
from gateway.demo.company import AGENT, PASSWORDS, PEOPLE, passwords, set_up

MODEL = "multilingual-e5-small"
MEMBER = "member"
READY = "demo-ready"


def register(commands: Commands) -> None:
    """Add this command."""
    demo = commands.add("demo", run_demo)
    demo.add_argument("--ask", metavar="QUESTION", help=say("opt_ask"))
    demo.add_argument("--host", help=say("opt_host"))
    demo.add_argument("--port", type=int, help=say("opt_port"))
    demo.add_argument("--models-from", type=Path, metavar="DIR", help=say("opt_from"))


async def run_demo(options: argparse.Namespace) -> int:
    home = home_folder(options.home)
    if make_home(home):
        print(say("demo_setting_up"), file=sys.stderr)
    if options.models_from is not None:  # one build serves the demo and the tests
        await install_model(MODEL, options.models_from, None)
    await install_model(MODEL, home / "models" / "embedding", options.models_from)
    made, is_new = passwords(home)
    async with operator(home, language()) as gateway:
        if not (home / READY).exists():
            for added in await set_up(gateway.call, made):
                await settled(gateway, added["source"], "admin")
            (home / READY).touch()  # later runs leave what people changed alone
        if options.ask is not None:
            params = {"text": options.ask, "agent": AGENT}
            answer = await gateway.call("chat.ask", params, MEMBER)
            return show(options, answer, answer_lines(answer))
    _introduce(home, made if is_new else {})
    await run_gateway(home, options.host, options.port)
    return DONE


def _introduce(home: Path, made: dict[str, str]) -> None:
    print(say("demo_ready"))
    for person in PEOPLE:
        password = made.get(person.login, f"→ {PASSWORDS}")
        who = f"{person.name}，{say(person.who)}"
        print(say("demo_account", login=person.login, who=who, password=password))
    print(say("demo_passwords_kept", path=str(home / PASSWORDS)), flush=True)

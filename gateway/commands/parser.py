"""The tree of commands and their options."""

import argparse
from collections.abc import Callable

from gateway.commands import (
    add,
    agents,
    ask,
    calibration,
    demo,
    doctor,
    evaluation,
    library,
    links,
    mcp,
    memory,
    model,
    people,
    serve,
    tokens,
)
from gateway.commands.output import say
from gateway.commands.tree import Commands


def parser() -> argparse.ArgumentParser:
    """Build the whole tree; every command sets `run`, a coroutine function of the options."""
    root = argparse.ArgumentParser(prog="shutten", description=say("help_shutten"))
    root.add_argument("--home", metavar="DIR", help=say("opt_home"))
    root.add_argument("--verbose", action="store_true", help=say("opt_verbose"))
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")
    registers: tuple[Callable[[Commands], None], ...] = (
        serve.register,
        demo.register,
        ask.register,
        add.register,
        library.register,
        evaluation.register,
        calibration.register,
        model.register,
        people.register,
        agents.register,
        tokens.register,
        links.register,
        memory.register,
        mcp.register,
        doctor.register,
    )
    tree = Commands(commands)
    for register in registers:
        register(tree)
    return root

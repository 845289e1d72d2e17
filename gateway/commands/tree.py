"""Adds commands to the parser; help sentences come from the catalogue."""

import argparse
from collections.abc import Awaitable, Callable

from gateway.commands.output import say

Run = Callable[[argparse.Namespace], Awaitable[int]]


class Commands:
    """`add("user add", …)` makes `shutten user add`; groups appear as they are needed."""

    def __init__(self, root: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
        self._root = root
        self._groups: dict[str, argparse._SubParsersAction[argparse.ArgumentParser]] = {}

    def add(self, path: str, run: Run, *, account: bool = False) -> argparse.ArgumentParser:
        """Make one command; with `account` it takes --as."""
        *groups, name = path.split()
        parent = self._group(groups) if groups else self._root
        sentence = say(f"help_{path.replace(' ', '_').replace('-', '_')}")
        command = parent.add_parser(
            name,
            help=sentence,
            description=sentence,
            allow_abbrev=False,  # or `--password WORD` would pass for a file's name
        )
        command.add_argument(  # also after the command; SUPPRESS keeps one given before it
            "--home", metavar="DIR", default=argparse.SUPPRESS, help=say("opt_home")
        )
        command.add_argument("--json", action="store_true", help=say("opt_json"))
        if account:
            command.add_argument("--as", dest="account", metavar="ACCOUNT", help=say("opt_as"))
        command.set_defaults(run=run)
        return command

    def _group(self, words: list[str]) -> "argparse._SubParsersAction[argparse.ArgumentParser]":
        name = " ".join(words)
        if name not in self._groups:
            parent = self._group(words[:-1]) if words[:-1] else self._root
            sentence = say(f"help_{name.replace(' ', '_').replace('-', '_')}")
            group = parent.add_parser(words[-1], help=sentence, description=sentence)
            self._groups[name] = group.add_subparsers(
                dest="subcommand", required=True, metavar="COMMAND"
            )
        return self._groups[name]

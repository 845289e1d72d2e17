"""`token`, `agent key`: what lets a program in as an account, or to one agent."""

import argparse
import sys
from typing import Any

from gateway.commands.library import acting_account
from gateway.commands.operator import operator
from gateway.commands.output import language, say, show, show_table
from gateway.commands.tree import Commands
from gateway.config import home_folder


def register(commands: Commands) -> None:
    """Add these commands."""
    create = commands.add("token create", create_token, account=True)
    create.add_argument("label", help=say("opt_token_label"))
    create.add_argument("--days", type=int, default=90, help=say("opt_token_days"))
    commands.add("token list", list_tokens, account=True)
    commands.add("token revoke", revoke_token, account=True).add_argument("id")
    _register_keys(commands)


def _register_keys(commands: Commands) -> None:
    create = commands.add("agent key create", create_key, account=True)
    create.add_argument("agent")
    create.add_argument("label", help=say("opt_token_label"))
    create.add_argument("--days", type=int, default=90, help=say("opt_token_days"))
    commands.add("agent key list", list_keys, account=True).add_argument("agent")
    commands.add("agent key revoke", revoke_key, account=True).add_argument("id")


async def create_token(options: argparse.Namespace) -> int:
    """The secret alone goes to standard output, so that it can go to a file."""
    account = acting_account(options)
    async with operator(home_folder(options.home), language()) as gateway:
        params = {"label": options.label, "expires_in_days": options.days}
        made = await gateway.call("auth.tokens.create", params, account)
    return _show_secret(options, made, "token_made")


def _show_secret(options: argparse.Namespace, made: dict[str, Any], sentence: str) -> int:
    if not options.json:
        told = say(sentence, id=made["id"], expires_at=made["expires_at"])
        print(told, file=sys.stderr)
    return show(options, made, [made["secret"]])


async def list_tokens(options: argparse.Namespace) -> int:
    async with operator(home_folder(options.home), language()) as gateway:
        rows = await gateway.call("auth.tokens.list", {}, options.account)
    return show_table(options, rows, "id", "account_id", "label", "created_at", "expires_at")


async def revoke_token(options: argparse.Namespace) -> int:
    async with operator(home_folder(options.home), language()) as gateway:
        await gateway.call("auth.tokens.revoke", {"id": options.id}, options.account)
    return show(options, {"revoked": options.id}, [say("token_revoked", id=options.id)])


async def create_key(options: argparse.Namespace) -> int:
    """As above: the secret alone goes to standard output."""
    account = acting_account(options)
    async with operator(home_folder(options.home), language()) as gateway:
        params = {
            "agent_id": options.agent,
            "label": options.label,
            "expires_in_days": options.days,
        }
        made = await gateway.call("agents.keys.create", params, account)
    return _show_secret(options, made, "agent_key_made")


async def list_keys(options: argparse.Namespace) -> int:
    async with operator(home_folder(options.home), language()) as gateway:
        rows = await gateway.call("agents.keys.list", {"agent_id": options.agent}, options.account)
    return show_table(options, rows, "id", "account_id", "label", "created_at", "expires_at")


async def revoke_key(options: argparse.Namespace) -> int:
    async with operator(home_folder(options.home), language()) as gateway:
        await gateway.call("agents.keys.revoke", {"id": options.id}, options.account)
    return show(options, {"revoked": options.id}, [say("agent_key_revoked", id=options.id)])

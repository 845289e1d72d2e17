"""`link`: which chat senders are which accounts."""

import argparse
from typing import Any

from gateway.commands.library import acting_account
from gateway.commands.operator import operator
from gateway.commands.output import language, say, show, show_table
from gateway.commands.tree import Commands
from gateway.config import home_folder


def register(commands: Commands) -> None:
    """Add these commands."""
    code = commands.add("link code", make_code, account=True)
    code.add_argument("--channel", help=say("opt_link_channel"))
    commands.add("link pending", list_pending, account=True)
    commands.add("link confirm", confirm, account=True).add_argument("id")
    commands.add("link reject", reject, account=True).add_argument("id")
    commands.add("link list", list_links, account=True)
    remove = commands.add("link remove", remove_link, account=True)
    add = commands.add("link add", add_link)
    for command in (remove, add):
        command.add_argument("channel", help=say("opt_channel"))
        command.add_argument("sender", help=say("opt_sender"))
    add.add_argument("account")


async def _one(
    options: argparse.Namespace, method: str, params: dict[str, Any], account: str | None
) -> Any:
    async with operator(home_folder(options.home), language()) as gateway:
        return await gateway.call(method, params, account)


def _place(channel: str | None) -> dict[str, str | None]:
    """`line` is every account of the platform, `line/main` this one."""
    platform, _, name = (channel or "").partition("/")
    return {"channel": platform or None, "account_name": name or None}


def _address(options: argparse.Namespace) -> dict[str, str]:
    channel, _, name = options.channel.partition("/")
    return {"channel": channel, "account_name": name or "main", "sender": options.sender}


async def make_code(options: argparse.Namespace) -> int:
    made = await _one(options, "links.code", _place(options.channel), acting_account(options))
    return show(options, made, [say("link_code", code=made["code"])])


async def list_pending(options: argparse.Namespace) -> int:
    rows = await _one(options, "links.pending", {}, acting_account(options))
    return show_table(options, rows, "id", "channel", "account_name", "sender_name", "tail")


async def confirm(options: argparse.Namespace) -> int:
    made = await _one(options, "links.confirm", {"request_id": options.id}, acting_account(options))
    return show(options, made, [say("link_confirmed", sender=made["sender"])])


async def reject(options: argparse.Namespace) -> int:
    await _one(options, "links.reject", {"request_id": options.id}, acting_account(options))
    return show(options, {"rejected": options.id}, [say("link_rejected", id=options.id)])


async def list_links(options: argparse.Namespace) -> int:
    rows = await _one(options, "links.list", {}, options.account)
    return show_table(
        options, rows, "channel", "account_name", "sender", "sender_name", "account_id"
    )


async def remove_link(options: argparse.Namespace) -> int:
    await _one(options, "links.remove", _address(options), options.account)
    return show(options, {"removed": True}, [say("link_removed", sender=options.sender)])


async def add_link(options: argparse.Namespace) -> int:
    params = {**_address(options), "account": options.account}
    made = await _one(options, "links.add", params, None)
    return show(options, made, [say("link_added", sender=options.sender, account=options.account)])

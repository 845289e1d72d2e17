"""`ask`, `scope explain`, `dead-letter …`: a question, why it was answered so, what is left."""

import argparse
from typing import Any

from gateway.commands.library import acting_account
from gateway.commands.operator import operator
from gateway.commands.output import language, say, show, show_table
from gateway.commands.tree import Commands
from gateway.config import home_folder


def register(commands: Commands) -> None:
    """Add these commands."""
    ask = commands.add("ask", ask_question, account=True)
    ask.add_argument("question")
    ask.add_argument("--agent", help=say("opt_agent"))
    explain = commands.add("scope explain", explain_scope, account=True)
    explain.add_argument("--agent", help=say("opt_agent"))
    explain.add_argument("--channel", help=say("opt_channel"))
    explain.add_argument("--sender", help=say("opt_sender"))
    explain.add_argument("--conversation", help=say("opt_conversation"))
    explain.add_argument("--for-ask", action="store_true", help=say("opt_for_ask"))
    letters = commands.add("dead-letter list", list_dead_letters)
    letters.add_argument("--limit", type=int, default=100)
    replay = commands.add("dead-letter replay", replay_dead_letter)
    replay.add_argument("id")
    replay.add_argument("--unknown", action="store_true", help=say("opt_unknown"))


async def ask_question(options: argparse.Namespace) -> int:
    account = acting_account(options)
    params = {"text": options.question, "agent": options.agent}
    async with operator(home_folder(options.home), language()) as gateway:
        answer = await gateway.call("chat.ask", params, account)
    return show(options, answer, answer_lines(answer))


def answer_lines(answer: dict[str, Any]) -> list[str]:
    """The answer with its footer, as a channel would show it."""
    footer = answer["footer"]
    return [answer["text"], *(["", footer] if footer else [])]


async def explain_scope(options: argparse.Namespace) -> int:
    params = {
        "agent": options.agent,
        "account": options.account,
        "channel": options.channel,
        "sender": options.sender,
        "conversation": options.conversation,
        "is_chat": not options.for_ask,
    }
    async with operator(home_folder(options.home), language()) as gateway:
        told = await gateway.call("scope.explain", params, None)
    lines = [say("audience", audience=told["audience"], direct="1:1" if told["is_direct"] else "-")]
    lines += [
        f"{'✓' if reason['is_readable'] else '✗'} {reason['slug']}: {reason['message']}"
        for reason in told["reasons"]
    ]
    return show(options, told, lines)


async def list_dead_letters(options: argparse.Namespace) -> int:
    params = {"states": ["dead", "unknown"], "limit": options.limit}
    async with operator(home_folder(options.home), language()) as gateway:
        rows = await gateway.call("outbox.list", params, None)
    return show_table(options, rows, "id", "state", "conversation", "reason", "attempts")


async def replay_dead_letter(options: argparse.Namespace) -> int:
    params = {"id": options.id, "unknown": options.unknown}
    async with operator(home_folder(options.home), language()) as gateway:
        await gateway.call("outbox.replay", params, None)
    return show(options, {"id": options.id}, [say("replayed", id=options.id)])

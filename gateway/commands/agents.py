"""`agent`: AI employees, the people bound to them, and which collections they use."""

import argparse
from pathlib import Path
from typing import Any

from gateway.commands.output import say, show, show_table
from gateway.commands.people import one
from gateway.commands.tree import Commands
from gateway.core.access import BindingRole
from gateway.core.agents import AnswerMode

MODES = [mode.value for mode in AnswerMode]


def register(commands: Commands) -> None:
    """Add these commands."""
    add = commands.add("agent add", add_agent)
    add.add_argument("id")
    add.add_argument("--name", default="", help=say("opt_name"))
    add.add_argument("--department", default="", help=say("opt_department"))
    add.add_argument("--model", default="extractive", help=say("opt_model"))
    add.add_argument("--persona-file", type=Path, help=say("opt_persona_file"))
    add.add_argument("--collections", help=say("opt_collections"))
    add.add_argument("--answer-mode", choices=MODES, default="assist", help=say("opt_answer_mode"))
    commands.add("agent list", list_agents)
    bind = commands.add("agent bind", bind_agent)
    bind.add_argument("id")
    bind.add_argument("account")
    bind.add_argument(
        "--role",
        choices=[*(role.value for role in BindingRole), "none"],
        default="viewer",
        help=say("opt_binding_role"),
    )
    commands.add("agent show", show_agent).add_argument("id")
    commands.add("agent archive", archive_agent).add_argument("id")
    commands.add("agent restore", restore_agent).add_argument("id")
    hand = commands.add("agent hand-over", hand_over)
    hand.add_argument("id")
    hand.add_argument("account")
    hand.add_argument("--no-archive", action="store_true", help=say("opt_no_archive"))
    _register_settings(commands)


def _register_settings(commands: Commands) -> None:
    update = commands.add("agent update", update_agent)
    update.add_argument("id")
    update.add_argument("--name", help=say("opt_name"))
    update.add_argument("--department", help=say("opt_department"))
    update.add_argument("--model", action="append", help=say("opt_model"))
    update.add_argument("--persona-file", type=Path, help=say("opt_persona_file"))
    update.add_argument("--answer-mode", choices=MODES, help=say("opt_answer_mode"))
    knowledge = commands.add("agent knowledge", agent_knowledge)
    knowledge.add_argument("id")
    which = knowledge.add_mutually_exclusive_group()
    which.add_argument("--collections", help=say("opt_collections"))
    which.add_argument("--all", action="store_true", help=say("opt_all_shared"))
    which.add_argument("--none", action="store_true", help=say("opt_none_shared"))
    knowledge.add_argument("--answer-mode", choices=MODES, help=say("opt_answer_mode"))
    knowledge.add_argument("--auto-retrieve", choices=["yes", "no"], help=say("opt_auto_retrieve"))
    knowledge.add_argument("--top-k", type=int, help=say("opt_top_k"))
    knowledge.add_argument("--inject-budget-chars", type=int, help=say("opt_inject_budget"))
    knowledge.add_argument("--replace", action="store_true", help=say("opt_replace"))


async def add_agent(options: argparse.Namespace) -> int:
    params = {
        "id": options.id,
        "display_name": options.name,
        "department": options.department,
        "model": options.model,
        "persona": _persona(options) or "",
        "collections": None if options.collections is None else _slugs(options.collections),
        "answer_mode": options.answer_mode,
    }
    made = await one(options, "agents.create", params)
    return show(options, made, [say("agent_added", id=made["id"])])


def _slugs(text: str) -> list[str]:
    return [slug.strip() for slug in text.split(",") if slug.strip()]


def _persona(options: argparse.Namespace) -> str | None:
    return options.persona_file.read_text("utf-8") if options.persona_file else None


async def list_agents(options: argparse.Namespace) -> int:
    rows = await one(options, "agents.list_all", {})
    return show_table(
        options, rows, "id", "display_name", "department", "is_archived", "is_folder_missing"
    )


async def bind_agent(options: argparse.Namespace) -> int:
    role = None if options.role == "none" else options.role
    params = {"agent_id": options.id, "account": options.account, "role": role}
    await one(options, "agents.bind", params)
    return show(options, params, [say("agent_bound", id=options.id, account=options.account)])


async def show_agent(options: argparse.Namespace) -> int:
    found = await one(options, "agents.get", {"agent_id": options.id})
    lines = [f"{name}: {value}" for name, value in found["agent"].items()]
    lines += [f"model: {name}" for name in found["models"]]
    lines += _knowledge_lines(found["knowledge"] or {})
    lines += [f"{each['role']}: {each['login']}" for each in found["bindings"]]
    return show(options, found, lines)


async def archive_agent(options: argparse.Namespace) -> int:
    made = await one(options, "agents.archive", {"agent_id": options.id})
    return show(options, made, [say("agent_archived", id=options.id)])


async def restore_agent(options: argparse.Namespace) -> int:
    made = await one(options, "agents.restore", {"agent_id": options.id})
    return show(options, made, [say("agent_restored", id=options.id)])


async def hand_over(options: argparse.Namespace) -> int:
    params = {"agent_id": options.id, "to": options.account, "archive": not options.no_archive}
    made = await one(options, "agents.hand_over", params)
    told = say("agent_handed_over", id=options.id, account=options.account)
    return show(options, made, [told])


async def update_agent(options: argparse.Namespace) -> int:
    params = {
        "agent_id": options.id,
        "display_name": options.name,
        "department": options.department,
        "models": options.model,
        "persona": _persona(options),
        "answer_mode": options.answer_mode,
    }
    made = await one(options, "agents.update", params)
    return show(options, made, [say("agent_changed", id=options.id)])


async def agent_knowledge(options: argparse.Namespace) -> int:
    now = await one(options, "agents.knowledge.get", {"agent_id": options.id})
    changes = _knowledge_changes(options)
    if changes:
        params = {"agent_id": options.id, "collections": now["collections"], **changes}
        now = await one(options, "agents.knowledge.set", params)
    return show(options, now, _knowledge_lines(now))


def _knowledge_changes(options: argparse.Namespace) -> dict[str, Any]:
    """Only what was given; without anything the command shows."""
    changes: dict[str, Any] = {
        "answer_mode": options.answer_mode,
        "auto_retrieve": None if options.auto_retrieve is None else options.auto_retrieve == "yes",
        "top_k": options.top_k,
        "inject_budget_chars": options.inject_budget_chars,
        "replace": options.replace or None,
    }
    given = {name: value for name, value in changes.items() if value is not None}
    if options.all:
        given["collections"] = None
    elif options.none:
        given["collections"] = []
    elif options.collections is not None:
        given["collections"] = _slugs(options.collections)
    return given


def _knowledge_lines(knowledge: dict[str, Any]) -> list[str]:
    return [f"{name}: {value}" for name, value in knowledge.items() if name != "agent_id"]

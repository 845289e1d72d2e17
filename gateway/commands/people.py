"""`user`, `agent`: people and AI employees."""

import argparse
import getpass
import secrets
import sys
from pathlib import Path
from typing import Any

from gateway.commands.operator import operator
from gateway.commands.output import language, say, show, show_table
from gateway.commands.tree import Commands
from gateway.config import environment, home_folder
from gateway.core.access import AccountRole, BindingRole
from gateway.core.agents import AnswerMode

PASSWORD_VARIABLE = "SHUTTEN_PASSWORD"  # noqa: S105 - the variable's name
ROLES = [role.value for role in AccountRole]


def register(commands: Commands) -> None:
    """Add these commands."""
    add = commands.add("user add", add_user)
    add.add_argument("login")
    add.add_argument("--name", default="", help=say("opt_name"))
    add.add_argument("--role", choices=ROLES, default="member", help=say("opt_role"))
    add.add_argument("--department", default="", help=say("opt_department"))
    add.add_argument("--language", choices=["zh-TW", "ja", "en"], help=say("opt_language"))
    add.add_argument("--password-file", type=Path, help=say("opt_password_file"))
    commands.add("user list", list_users)
    agent = commands.add("agent add", add_agent)
    agent.add_argument("id")
    agent.add_argument("--name", default="", help=say("opt_name"))
    agent.add_argument("--department", default="", help=say("opt_department"))
    agent.add_argument("--model", default="extractive", help=say("opt_model"))
    agent.add_argument("--persona-file", type=Path, help=say("opt_persona_file"))
    agent.add_argument("--collections", help=say("opt_collections"))
    agent.add_argument(
        "--answer-mode",
        choices=[mode.value for mode in AnswerMode],
        default="assist",
        help=say("opt_answer_mode"),
    )
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


def read_password(options: argparse.Namespace) -> str:
    """From --password-file, SHUTTEN_PASSWORD or the terminal; never from the command line."""
    if options.password_file is not None:
        return str(options.password_file.read_text("utf-8").strip())
    given = environment(PASSWORD_VARIABLE)
    if given:
        return given
    if sys.stdin.isatty():
        return getpass.getpass(say("password_prompt"))
    made = secrets.token_urlsafe(12)
    print(say("password_made", password=made), file=sys.stderr)
    return made


async def _one(options: argparse.Namespace, method: str, params: dict[str, Any]) -> Any:
    async with operator(home_folder(options.home), language()) as gateway:
        return await gateway.call(method, params, None)


async def add_user(options: argparse.Namespace) -> int:
    params = {
        "login": options.login,
        "display_name": options.name,
        "password": read_password(options),
        "role": options.role,
        "department": options.department,
        "language": options.language,
    }
    made = await _one(options, "accounts.create", params)
    return show(options, made, [say("user_added", login=made["login"], id=made["id"])])


async def list_users(options: argparse.Namespace) -> int:
    rows = await _one(options, "accounts.list", {})
    return show_table(options, rows, "login", "display_name", "role", "department", "id")


async def add_agent(options: argparse.Namespace) -> int:
    persona = options.persona_file.read_text("utf-8") if options.persona_file else ""
    params = {
        "id": options.id,
        "display_name": options.name,
        "department": options.department,
        "model": options.model,
        "persona": persona,
        "collections": None if options.collections is None else _slugs(options.collections),
        "answer_mode": options.answer_mode,
    }
    made = await _one(options, "agents.create", params)
    return show(options, made, [say("agent_added", id=made["id"])])


def _slugs(text: str) -> list[str]:
    return [slug.strip() for slug in text.split(",") if slug.strip()]


async def list_agents(options: argparse.Namespace) -> int:
    rows = await _one(options, "agents.list_all", {})
    return show_table(options, rows, "id", "display_name", "department", "is_archived")


async def bind_agent(options: argparse.Namespace) -> int:
    role = None if options.role == "none" else options.role
    params = {"agent_id": options.id, "account": options.account, "role": role}
    await _one(options, "agents.bind", params)
    return show(options, params, [say("agent_bound", id=options.id, account=options.account)])

"""`user`: the people who can sign in."""

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
from gateway.core.access import AccountRole

PASSWORD_VARIABLE = "SHUTTEN_PASSWORD"  # noqa: S105 - the variable's name
ROLES = [role.value for role in AccountRole]
LANGUAGES = ["zh-TW", "ja", "en"]


def register(commands: Commands) -> None:
    """Add these commands."""
    add = commands.add("user add", add_user)
    add.add_argument("login")
    add.add_argument("--name", default="", help=say("opt_name"))
    add.add_argument("--role", choices=ROLES, default="member", help=say("opt_role"))
    add.add_argument("--department", default="", help=say("opt_department"))
    add.add_argument("--language", choices=LANGUAGES, help=say("opt_language"))
    add.add_argument("--password-file", type=Path, help=say("opt_password_file"))
    commands.add("user list", list_users)
    update = commands.add("user update", update_user)
    update.add_argument("login")
    update.add_argument("--name", help=say("opt_name"))
    update.add_argument("--role", choices=ROLES, help=say("opt_role"))
    update.add_argument("--department", help=say("opt_department"))
    update.add_argument("--language", choices=LANGUAGES, help=say("opt_language"))
    commands.add("user deactivate", deactivate_user).add_argument("login")
    commands.add("user activate", activate_user).add_argument("login")
    password = commands.add("user password", set_password)
    password.add_argument("login")
    password.add_argument("--password-file", type=Path, help=say("opt_password_file"))
    commands.add("user departments", list_departments)
    commands.add("user sessions", list_sessions).add_argument("login", nargs="?")
    commands.add("user sign-out", sign_out).add_argument("id")


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


async def one(options: argparse.Namespace, method: str, params: dict[str, Any]) -> Any:
    """Run one operation as the operator."""
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
    made = await one(options, "accounts.create", params)
    return show(options, made, [say("user_added", login=made["login"], id=made["id"])])


async def list_users(options: argparse.Namespace) -> int:
    rows = await one(options, "accounts.list", {})
    return show_table(
        options, rows, "login", "display_name", "role", "department", "is_active", "id"
    )


async def update_user(options: argparse.Namespace) -> int:
    params = {
        "account": options.login,
        "display_name": options.name,
        "role": options.role,
        "department": options.department,
        "language": options.language,
    }
    made = await one(options, "accounts.update", params)
    return show(options, made, [say("user_changed", login=made["login"])])


async def deactivate_user(options: argparse.Namespace) -> int:
    made = await one(options, "accounts.deactivate", {"account": options.login})
    return show(options, made, [say("user_deactivated", login=made["login"])])


async def activate_user(options: argparse.Namespace) -> int:
    made = await one(options, "accounts.activate", {"account": options.login})
    return show(options, made, [say("user_activated", login=made["login"])])


async def set_password(options: argparse.Namespace) -> int:
    params = {"account": options.login, "password": read_password(options)}
    await one(options, "accounts.set_password", params)
    return show(options, {"login": options.login}, [say("password_set", login=options.login)])


async def list_departments(options: argparse.Namespace) -> int:
    names = await one(options, "accounts.departments", {})
    return show(options, names, names)


async def list_sessions(options: argparse.Namespace) -> int:
    rows = await one(options, "auth.sessions.list", {"account": options.login})
    return show_table(options, rows, "id", "account_id", "created_at", "expires_at")


async def sign_out(options: argparse.Namespace) -> int:
    await one(options, "auth.sessions.revoke", {"id": options.id})
    return show(options, {"revoked": options.id}, [say("session_revoked", id=options.id)])

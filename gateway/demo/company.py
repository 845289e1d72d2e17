"""Sets up the fictional company: people, an agent, three collections, documents, grants."""

import json
import os
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

Call = Callable[[str, dict[str, Any], str | None], Awaitable[Any]]

AGENT = "xiaohe"
DEPARTMENT_HR, DEPARTMENT_SALES = "人力資源部", "業務部"
PASSWORDS = "demo-accounts.json"
PERSONA = "你是禾光茶業的內部助理小禾，回答簡短、親切，只根據公司文件回答。\n"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody one can sign in as; `who` is a key of catalogue/cli.toml."""

    login: str
    name: str
    role: str
    department: str
    who: str


@dataclass(frozen=True, slots=True)
class Shelf:
    """A collection, its documents' folder and who gets which role."""

    slug: str
    name: str
    sensitivity: str
    grants: tuple[tuple[str, str, str], ...]


PEOPLE = (
    Person("admin", "林管理", "admin", "資訊部", "demo_admin"),
    Person("hr", "陳人資", "manager", DEPARTMENT_HR, "demo_hr"),
    Person("member", "王小明", "member", DEPARTMENT_SALES, "demo_member"),
)
TO_AGENT = ("agent", AGENT, "viewer")
SHELVES = (
    Shelf(
        "products",
        "產品資料",
        "public",
        (
            TO_AGENT,
            ("department", DEPARTMENT_SALES, "viewer"),
            ("user", "hr", "editor"),
            ("channel", "line", "viewer"),
        ),
    ),
    Shelf(
        "handbook",
        "員工手冊",
        "internal",
        (
            TO_AGENT,
            ("department", DEPARTMENT_SALES, "viewer"),
            ("department", DEPARTMENT_HR, "editor"),
        ),
    ),
    Shelf("salary", "薪資與考核", "personal", (TO_AGENT, ("user", "hr", "owner"))),
)


def passwords(home: Path) -> tuple[dict[str, str], bool]:
    """The demo's passwords, random per home, in a file only its owner reads; (…, is new)."""
    path = home / PASSWORDS
    if path.exists():
        return json.loads(path.read_text("utf-8")), False
    made = {person.login: secrets.token_urlsafe(9) for person in PEOPLE}
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(made, file)
    return made, True


async def set_up(call: Call, made: dict[str, str]) -> list[dict[str, Any]]:
    """Add what is missing; running it again changes nothing. Returns the documents added."""
    known = {row["login"] for row in await call("accounts.list", {}, None)}
    for person in PEOPLE:
        if person.login not in known:
            await call("accounts.create", _account(person, made[person.login]), None)
    agents = {row["id"] for row in await call("agents.list_all", {}, None)}
    if AGENT not in agents:
        params = {"id": AGENT, "display_name": "小禾", "persona": PERSONA}
        await call("agents.create", params, None)
    for person in PEOPLE:
        role = "owner" if person.role == "admin" else "viewer"
        await call("agents.bind", {"agent_id": AGENT, "account": person.login, "role": role}, None)
    have = {row["slug"] for row in await call("knowledge.collections.list", {}, "admin")}
    for shelf in SHELVES:
        if shelf.slug not in have:
            await _make(call, shelf)
    return [added for shelf in SHELVES for added in await _fill(call, shelf)]


def _account(person: Person, password: str) -> dict[str, Any]:
    return {
        "login": person.login,
        "display_name": person.name,
        "password": password,
        "role": person.role,
        "department": person.department,
    }


async def _make(call: Call, shelf: Shelf) -> None:
    params = {"name": shelf.name, "slug": shelf.slug, "sensitivity": shelf.sensitivity}
    await call("knowledge.collections.create", params, "admin")
    now = await call("knowledge.grants.list", {"collection": shelf.slug}, "admin")
    lines = now["grants"] + [
        {"subject_kind": kind, "subject_id": subject, "role": role}
        for kind, subject, role in shelf.grants
    ]
    params = {"collection": shelf.slug, "version": now["version"], "grants": lines}
    await call("knowledge.grants.replace", params, "admin")


async def _fill(call: Call, shelf: Shelf) -> list[dict[str, Any]]:
    folder = resources.files("gateway.demo").joinpath("documents", shelf.slug)
    have = {
        row["title"]
        for row in await call("knowledge.sources.list", {"collection": shelf.slug}, "admin")
    }
    added = []
    for document in sorted(folder.iterdir(), key=lambda file: file.name):
        if document.name not in have:
            params = {"collection": shelf.slug, "path": str(document)}
            added.append(await call("knowledge.sources.add_file", params, "admin"))
    return added

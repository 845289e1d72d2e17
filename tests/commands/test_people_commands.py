"""`shutten user …`, `agent …`, `token …`: with a gateway that runs, and without one."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.commands.conftest import CommandLine

pytestmark = pytest.mark.timeout(300)  # a dozen processes, each a start of its own


async def run(shutten: CommandLine, *arguments: str) -> Any:
    """The JSON of a command that runs beside the gateway."""
    ran = await asyncio.to_thread(shutten.ok, *arguments, "--json")
    return ran.json


async def me(url: str, secret: str) -> int:
    call = {"jsonrpc": "2.0", "id": 1, "method": "auth.me"}
    headers = {"Authorization": f"Bearer {secret}"}
    async with aiohttp.request("POST", f"{url}/rpc", json=call, headers=headers) as response:
        return response.status


async def test_a_token_made_at_the_command_line_lets_a_program_in_until_it_ends(
    stocked: CommandLine,
) -> None:
    async with stocked.serving() as gateway:
        made = await asyncio.to_thread(stocked.ok, "token", "create", "ci", "--as", "anna")
        secret = made.out.strip()
        assert secret not in made.err
        assert await me(gateway.url, secret) == 200
        (listed,) = await run(stocked, "token", "list", "--as", "anna")
        assert await run(stocked, "token", "list", "--as", "bob") == []
        refused = await asyncio.to_thread(stocked, "token", "revoke", listed["id"], "--as", "bob")
        assert (refused.code, "not_found" in refused.err) == (1, True)
        await run(stocked, "token", "revoke", listed["id"])
        assert await me(gateway.url, secret) == 401
        again = (await run(stocked, "token", "create", "ci", "--as", "anna"))["secret"]
        await run(stocked, "user", "deactivate", "anna")
        await run(stocked, "user", "activate", "anna")
        assert await me(gateway.url, again) == 401


def test_people_without_a_gateway(shutten: CommandLine, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("from a file\n", "utf-8")
    shutten.ok("user", "add", "anna", "--password-file", str(secret))
    changed = shutten.ok("user", "update", "anna", "--role", "manager", "--department", "業務部")
    assert "anna" in changed.out
    assert shutten.ok("user", "departments").out.strip() == "業務部"
    shutten.ok("user", "password", "anna", "--password-file", str(secret))
    short = shutten("user", "password", "anna", SHUTTEN_PASSWORD="short")
    assert (short.code, "invalid_request" in short.err) == (1, True)
    shutten.ok("user", "deactivate", "anna")
    rows = {row["login"]: row["is_active"] for row in shutten.ok("user", "list", "--json").json}
    assert rows == {"admin": True, "anna": False}
    for arguments in (("deactivate", "admin"), ("update", "admin", "--role", "member")):
        refused = shutten("user", *arguments)
        assert (refused.code, "last_admin" in refused.err) == (1, True)
    assert shutten("token", "create", "x", "--as", "anna").code == 1  # she is locked
    assert shutten("token", "create", "x").code == 1  # whose would it be?
    assert shutten("user", "sign-out", "0" * 32).code == 1
    assert shutten.ok("user", "sessions", "--json").json == []
    assert shutten("user", "password", "anna", "--password", "x").code == 2


def test_an_agents_life_at_the_command_line(stocked: CommandLine) -> None:
    ask = ("ask", "到職滿一年的特休有幾天？", "--agent", "helper", "--as", "anna")
    assert "七日" in stocked.ok(*ask).out
    shown = stocked.ok("agent", "knowledge", "helper", "--none", "--json").json
    assert (shown["collections"], shown["is_readable"]) == ([], True)
    assert "七日" not in stocked.ok(*ask).out
    refused = stocked("agent", "knowledge", "helper", "--collections", "no-such")
    assert (refused.code, "invalid_request" in refused.err) == (1, True)
    stocked.ok("agent", "knowledge", "helper", "--collections", "handbook", "--top-k", "3")
    assert "七日" in stocked.ok(*ask).out
    stocked.ok("agent", "update", "helper", "--name", "小幫手", "--model", "extractive")
    found = stocked.ok("agent", "show", "helper", "--json").json
    assert (found["agent"]["display_name"], found["knowledge"]["top_k"]) == ("小幫手", 3)
    assert "小幫手" in stocked.ok("agent", "show", "helper").out
    stocked.ok("agent", "hand-over", "helper", "bob")
    assert stocked(*ask).code == 1
    stocked.ok("agent", "restore", "helper")
    assert "七日" in stocked.ok(*ask).out
    stocked.ok("agent", "archive", "helper")
    assert stocked(*ask).code == 1
    (row,) = stocked.ok("agent", "list", "--json").json
    assert (row["is_archived"], row["is_folder_missing"]) == (True, False)

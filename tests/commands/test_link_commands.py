"""`shutten link …`: through a running gateway while people chat, and without one."""

import asyncio
from typing import Any

import aiohttp
import pytest

from tests.commands.conftest import CommandLine, Ran, eventually
from tests.simulators.line import LineSimulator

pytestmark = pytest.mark.timeout(300)  # a dozen processes, each a start of its own
ANNA, STRANGER = "U" + "a" * 32, "U" + "b" * 32
QUESTION = "到職滿一年的特休有幾天？"


async def run(shutten: CommandLine, *arguments: str) -> Any:
    """The JSON of a command that runs beside the gateway."""
    ran: Ran = await asyncio.to_thread(shutten.ok, *arguments, "--json")
    return ran.json


async def test_a_code_links_its_sender_and_unlinking_ends_it_without_a_restart(
    stocked: CommandLine,
) -> None:
    line = LineSimulator()
    async with line.running():
        with (stocked.home / "config.toml").open("a", encoding="utf-8") as config:
            config.write(
                "\n[channels.line.main]\n"
                f'agent = "helper"\nchannel_secret = "{line.secret}"\n'
                f'channel_access_token = "{line.access_token}"\napi_base_url = "{line.url}"\n'
            )
        async with stocked.serving() as gateway, aiohttp.ClientSession() as session:

            async def say(words: str, user: str = ANNA) -> str:
                before = len(line.deliveries)
                body = line.body(line.text_event(words, user))
                address, headers = f"{gateway.url}/webhooks/line/main", line.headers(body)
                async with session.post(address, data=body, headers=headers) as answer:
                    assert answer.status == 200
                await line.wait_for(before + 1)
                return "\n".join(line.deliveries[-1].texts)

            made = await run(stocked, "link", "code", "--as", "anna", "--channel", "line/main")
            assert "七日" not in await say(QUESTION)
            assert ANNA[-6:] in await say(f"/link {made['code']}")
            (request,) = await run(stocked, "link", "pending", "--as", "anna")
            assert await run(stocked, "link", "pending", "--as", "bob") == []
            wrong = await asyncio.to_thread(
                stocked, "link", "confirm", request["id"], "--as", "bob"
            )
            assert (wrong.code, "not_found" in wrong.err) == (1, True)
            assert "七日" not in await say(QUESTION)
            await run(stocked, "link", "confirm", request["id"], "--as", "anna")
            assert "七日" in await say(QUESTION)
            (link,) = await run(stocked, "link", "list")
            assert (link["sender"], link["account_name"]) == (ANNA, "main")
            await run(stocked, "link", "remove", "line", ANNA, "--as", "anna")
            assert "七日" not in await say(QUESTION)
            audit = stocked.home / "security_audit.jsonl"  # written by a chore of the gateway
            await eventually(lambda: "link_confirmed" in audit.read_text("utf-8"))
    assert line.violations == []
    events = audit.read_text("utf-8")
    for event in ("link_code_created", "link_requested", "link_confirmed"):
        assert event in events
    assert made["code"] not in events


def test_links_without_a_gateway(stocked: CommandLine) -> None:
    made = stocked.ok("link", "code", "--as", "anna")
    assert "/link " in made.out
    assert stocked("link", "code").code == 1  # whose would it be?
    stocked.ok("link", "add", "line", ANNA, "anna")
    assert stocked("link", "remove", "line", ANNA, "--as", "bob").code == 1
    assert [row["sender"] for row in stocked.ok("link", "list", "--json").json] == [ANNA]
    assert stocked.ok("link", "list", "--as", "bob", "--json").json == []
    assert stocked("link", "reject", "nothing", "--as", "anna").code == 1
    stocked.ok("link", "remove", "line", ANNA)
    assert stocked.ok("link", "list", "--json").json == []

"""Dead letters: listed, put back by a person, sent by the running gateway, written down."""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.commands.conftest import CommandLine, eventually
from tests.simulators.line import Fault, LineSimulator

pytestmark = pytest.mark.timeout(300)  # processes, each a start of its own
LINE = """
[channels.line.main]
agent = "helper"
channel_secret = "line-secret"
channel_access_token = "line-token"
api_base_url = "{url}"
"""


@pytest.fixture
async def line() -> AsyncIterator[LineSimulator]:
    async with LineSimulator().running() as simulator:
        yield simulator


def configure(shutten: CommandLine, line: LineSimulator) -> None:
    config = shutten.home / "config.toml"
    config.write_text(config.read_text("utf-8") + LINE.format(url=line.url), "utf-8")


async def say(line: LineSimulator, url: str, text: str) -> None:
    """Somebody writes to the account."""
    body = line.body(line.text_event(text))
    async with aiohttp.ClientSession() as session:
        post = session.post(f"{url}/webhooks/line/main", data=body, headers=line.headers(body))
        async with post as response:
            assert response.status == 200


async def letters(shutten: CommandLine) -> list[dict[str, Any]]:
    ran = await asyncio.to_thread(shutten, "dead-letter", "list", "--json")
    return list(ran.json)


async def until_listed(shutten: CommandLine, state: str) -> dict[str, Any]:
    """The one letter, once its call has ended so."""

    def has_ended() -> bool:
        with contextlib.closing(sqlite3.connect(shutten.home / "inbox.db")) as database:
            return database.execute("SELECT state FROM outbox").fetchall() == [(state,)]

    await eventually(has_ended)
    [row] = await letters(shutten)
    return row


async def test_a_dead_letter_is_sent_by_the_running_gateway_at_once(
    stocked: CommandLine, line: LineSimulator
) -> None:
    configure(stocked, line)
    async with stocked.serving() as gateway:
        line.faults.extend([Fault.FORBIDDEN] * 9)  # of the loading animation too
        await say(line, gateway.url, "到職滿一年的特休有幾天？")
        row = await until_listed(stocked, "dead")
        assert "403" in row["reason"]
        line.faults.clear()
        ran = await asyncio.to_thread(stocked, "dead-letter", "replay", row["id"])
        assert ran.code == 0
        await line.wait_for(1, timeout_s=10.0)  # far less than the sender's own poll
        again = await asyncio.to_thread(stocked, "dead-letter", "replay", row["id"])
        audit = stocked.home / "security_audit.jsonl"  # written by a chore of the gateway
        await eventually(lambda: "dead_letter_replayed" in audit.read_text("utf-8"))
    assert (again.code, "not_found" in again.err) == (1, True)
    assert len(line.deliveries) == 1
    events = audit.read_text("utf-8").splitlines()
    replayed = [e for e in map(json.loads, events) if e["event"] == "dead_letter_replayed"]
    assert [event["details"]["call_id"] for event in replayed] == [row["id"]]


async def test_one_of_unknown_outcome_only_when_told_to(
    stocked: CommandLine, line: LineSimulator
) -> None:
    configure(stocked, line)
    async with stocked.serving() as gateway:
        line.faults.extend([Fault.CLOSE_AFTER] * 9)
        await say(line, gateway.url, "到職滿一年的特休有幾天？")
        row = await until_listed(stocked, "unknown")
        line.faults.clear()
        refused = await asyncio.to_thread(stocked, "dead-letter", "replay", row["id"])
        assert (refused.code, "outcome_unknown" in refused.err) == (1, True)
        assert [each["state"] for each in await letters(stocked)] == ["unknown"]
        told = await asyncio.to_thread(stocked, "dead-letter", "replay", row["id"], "--unknown")
        assert told.code == 0
        await line.wait_for(2, timeout_s=10.0)
    assert await letters(stocked) == []


async def test_what_is_not_there_is_one_sentence(shutten: CommandLine) -> None:
    ran = await asyncio.to_thread(shutten, "dead-letter", "replay", "nothing")
    assert (ran.code, "not_found" in ran.err, "Traceback" in ran.err) == (1, True, False)

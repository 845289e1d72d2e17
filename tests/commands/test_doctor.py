"""doctor asks every platform and provider, without sending anything and without a secret shown."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.commands.conftest import CommandLine, Ran
from tests.simulators.anthropic import AnthropicSimulator, anthropic_simulator
from tests.simulators.line import LineSimulator
from tests.simulators.openai import OpenAISimulator, openai_simulator
from tests.simulators.scripted import Say

pytestmark = pytest.mark.timeout(300)  # processes, each a start of its own
LINE = """
[channels.line.main]
agent = "helper"
channel_secret = "line-secret"
channel_access_token = "{token}"
api_base_url = "{url}"
"""
PROVIDERS = """
[providers.house]
base_url = "{house}"
api_key = "sk-house-1"
[providers.cloud]
kind = "anthropic"
base_url = "{cloud}"
api_key = "sk-cloud-1"
"""


@pytest.fixture
async def line() -> AsyncIterator[LineSimulator]:
    async with LineSimulator().running() as simulator:
        yield simulator


@pytest.fixture
async def house() -> AsyncIterator[OpenAISimulator]:
    async with openai_simulator(Say("好")) as simulator:
        simulator.valid_key = "Bearer sk-house-1"
        yield simulator


@pytest.fixture
async def cloud() -> AsyncIterator[AnthropicSimulator]:
    async with anthropic_simulator(Say("好")) as simulator:
        simulator.valid_key = "sk-cloud-1"
        yield simulator


def configure(shutten: CommandLine, *parts: str) -> None:
    config = shutten.home / "config.toml"
    config.write_text(config.read_text("utf-8") + "".join(parts), "utf-8")


async def doctor(shutten: CommandLine, **environment: str) -> Ran:
    return await asyncio.to_thread(shutten, "doctor", "--json", **environment)


def outside(ran: Ran) -> dict[tuple[str, str], Any]:
    """(name, what) -> the row, of what others were asked."""
    return {(row["name"], row["what"]): row for row in ran.json if "what" in row}


async def test_all_is_well_and_nothing_was_sent(
    shutten: CommandLine, line: LineSimulator, house: OpenAISimulator, cloud: AnthropicSimulator
) -> None:
    urls = {"house": house.base_url, "cloud": cloud.base_url}
    configure(shutten, LINE.format(token=line.access_token, url=line.url), PROVIDERS.format(**urls))
    ran = await doctor(shutten)
    rows = outside(ran)
    assert {key: row["ok"] for key, row in rows.items()} == {
        ("line/main", "credentials"): True,
        ("line/main", "webhook"): True,
        ("house", "credentials"): True,
        ("cloud", "credentials"): True,
    }
    assert (line.calls, line.violations) == ([], [])
    assert house.requests == cloud.requests == []
    for secret in ("line-secret", line.access_token, "sk-house-1", "sk-cloud-1"):
        assert secret not in ran.out + ran.err


async def test_each_wrong_thing_is_a_row_and_the_others_are_asked_all_the_same(
    shutten: CommandLine, line: LineSimulator, house: OpenAISimulator
) -> None:
    line.webhook = None
    house.valid_key = "Bearer another"
    configure(
        shutten,
        LINE.format(token=line.access_token, url=line.url),
        LINE.replace("main", "wrong").format(token="wrong-token", url=line.url),
        LINE.replace("main", "empty").format(token="", url=line.url),
        '[channels.pigeon.main]\nagent = "helper"\n',
        PROVIDERS.format(house=house.base_url, cloud="http://127.0.0.1:9"),
        '[providers.nokey]\nkind = "anthropic"\n',
    )
    ran = await doctor(shutten)
    rows = outside(ran)
    assert ran.code == 1
    assert {key: row["ok"] for key, row in rows.items()} == {
        ("line/main", "credentials"): True,
        ("line/main", "webhook"): False,
        ("line/wrong", "credentials"): False,
        ("line/empty", "settings"): False,
        ("pigeon/main", "settings"): False,
        ("house", "credentials"): False,
        ("cloud", "credentials"): False,
        ("nokey", "settings"): False,
    }
    assert "channels.line.empty.channel_access_token" in rows["line/empty", "settings"]["detail"]
    assert "providers.nokey.api_key" in rows["nokey", "settings"]["detail"]
    assert "sk-house-1" not in ran.out + ran.err
    for language, words in {
        "zh-TW": "頻道 line/main，webhook",
        "ja": "チャンネル line/main",
    }.items():
        told = await asyncio.to_thread(shutten, "doctor", SHUTTEN_LANGUAGE=language)
        assert words in told.out


async def test_a_running_gateway_asks_with_the_secrets_of_its_own_environment(
    shutten: CommandLine, line: LineSimulator
) -> None:
    table = LINE.replace("channel_access_token =", "channel_access_token_env =")
    configure(shutten, table.format(token="THE_TOKEN", url=line.url))
    alone = outside(await doctor(shutten))
    assert "THE_TOKEN" in alone["line/main", "settings"]["detail"]
    async with shutten.serving(THE_TOKEN=line.access_token):
        beside = outside(await doctor(shutten))
    assert {key: row["ok"] for key, row in beside.items()} == {
        ("line/main", "credentials"): True,
        ("line/main", "webhook"): True,
    }

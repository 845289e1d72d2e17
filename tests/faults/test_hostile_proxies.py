"""Proxies named in the environment hear nothing of any platform: neither texts nor tokens."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from aiohttp import web

from channels.discord.channel import DiscordChannel, DiscordSettings
from channels.line.channel import LineChannel, LineSettings
from channels.odoolivechat.channel import OdooLiveChatChannel, OdooLiveChatSettings
from channels.slack.channel import SlackChannel, SlackSettings
from channels.telegram.channel import Mode, TelegramChannel, TelegramSettings
from gateway.core.messages import Attachment, Conversation, Delivered, OutboundCall
from gateway.core.secrets import Secret
from gateway.interfaces import Channel
from tests.faults.test_hostile_sockets import running
from tests.simulators.discord import DM_ID, DiscordSimulator
from tests.simulators.line import LineSimulator
from tests.simulators.line_files import File, LineFiles
from tests.simulators.livechat import LiveChatSimulator
from tests.simulators.slack import DIRECT, RemoteFile, SlackSimulator
from tests.simulators.telegram import TelegramSimulator

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
CONTENT = b"%PDF-1.7 leave"


@pytest.fixture
async def heard(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[bytes]]:
    """What a proxy hears that every variable names."""
    lines: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append(await reader.readline())
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for name in ("http_proxy", "https_proxy", "all_proxy", "ws_proxy", "wss_proxy"):
        monkeypatch.setenv(name, url)
        monkeypatch.setenv(name.upper(), url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    async with server:
        yield lines


@dataclass
class Case:
    """A channel on its simulated platform."""

    channel: Channel
    chat: str
    file: str | None = None  # the handle of one that holds CONTENT


async def line(stack: AsyncExitStack) -> Case:
    simulator = await stack.enter_async_context(LineSimulator().running())
    files = await stack.enter_async_context(LineFiles(files={"7": File(CONTENT)}).running())
    settings = LineSettings(
        "main",
        "helper",
        Secret(simulator.secret),
        Secret(simulator.access_token),
        api_base_url=simulator.url,
        api_data_base_url=files.url,
    )
    return Case(LineChannel(settings), "U" + "1" * 32, "7")


async def telegram(stack: AsyncExitStack) -> Case:
    simulator = await stack.enter_async_context(TelegramSimulator().running())
    simulator.files["F1"] = ("documents/file_1.pdf", CONTENT)
    settings = TelegramSettings(
        "main", "helper", Secret(simulator.token), mode=Mode.POLLING, api_base_url=simulator.url
    )
    return Case(TelegramChannel(settings), "1001", "F1")


async def slack(stack: AsyncExitStack) -> Case:
    simulator = await stack.enter_async_context(SlackSimulator().running())
    simulator.files["/files/x.pdf"] = RemoteFile(CONTENT, "application/pdf")
    settings = SlackSettings(
        "main",
        "helper",
        Secret(simulator.token),
        Secret(simulator.secret),
        api_base_url=simulator.api_url,
    )
    return Case(SlackChannel(settings), DIRECT, f"F1 {simulator.url}/files/x.pdf")


async def discord(stack: AsyncExitStack) -> Case:
    simulator = await stack.enter_async_context(DiscordSimulator().running())
    simulator.files["x.pdf"] = web.Response(body=CONTENT)
    settings = DiscordSettings(
        "main",
        "helper",
        Secret(simulator.token),
        api_base_url=simulator.url,
        gateway_url=simulator.gateway.url,
    )
    return Case(DiscordChannel(settings), DM_ID, simulator.url.replace("/api/v10", "/files/x.pdf"))


async def livechat(stack: AsyncExitStack) -> Case:
    simulator = await stack.enter_async_context(LiveChatSimulator().running())
    settings = OdooLiveChatSettings("main", "helper", Secret(simulator.secret), simulator.url)
    return Case(OdooLiveChatChannel(settings), "session-1")


@pytest.mark.parametrize("make", [line, telegram, slack, discord, livechat])
async def test_no_channel_asks_a_proxy_of_the_environment(make: object, heard: list[bytes]) -> None:
    assert callable(make)
    async with AsyncExitStack() as stack:
        case: Case = await make(stack)
        channel = case.channel
        async with running(channel):
            place = Conversation(channel.name, "main", case.chat, is_direct=True)
            key = str(uuid.UUID(int=7))
            call = OutboundCall("1", "2", 0, place, ("answer",), key, NOW)
            outcome = await channel.send(call, channel.method(call, NOW))
            assert isinstance(outcome, Delivered), outcome
            checks = await channel.check()
            assert all(each.is_ok for each in checks if each.name == "credentials"), checks
            if case.file is not None:
                media_type = "application/pdf"
                attachment = Attachment(case.file, "a.pdf", media_type, len(CONTENT))
                assert b"".join([each async for each in channel.fetch(attachment)]) == CONTENT
    assert heard == []

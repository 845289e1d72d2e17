"""Files of LINE messages through the official SDK's session and the simulated host of files."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web

from channels.line.channel import LineChannel, LineSettings
from channels.line.client import LineClient
from gateway.core.messages import Attachment
from gateway.core.secrets import Secret
from gateway.errors import GatewayError
from gateway.fetching import FetchLimits, GuardedFetch
from tests.simulators.line_files import Body, File, LineFiles

HANDLE = "325708"
CAP = 100_000


@dataclass
class World:
    """The host of files and a channel that reads from it."""

    line: LineFiles
    channel: LineChannel

    async def read(self, handle: str = HANDLE, cap: int = CAP) -> bytes:
        data = b""
        async with aclosing(self.channel.fetch(Attachment(handle, "x"))) as chunks:
            async for chunk in chunks:
                data += chunk
                if len(data) > cap:
                    break
        return data

    async def code(self, handle: str = HANDLE) -> str:
        with pytest.raises(GatewayError) as caught:
            await self.read(handle)
        assert self.line.access_token not in str(caught.value)
        return caught.value.code


@asynccontextmanager
async def world(
    token: str = "line-token", outside: GuardedFetch | None = None
) -> AsyncIterator[World]:
    async with LineFiles().running() as line:
        settings = LineSettings(
            "main", "helper", Secret("s"), Secret(token), api_data_base_url=line.url
        )
        channel = LineChannel(settings, outside)
        yield World(line, channel)
        await channel.close()
    assert line.violations == []


@pytest.mark.parametrize("body", [Body.WHOLE, Body.CHUNKED])
async def test_a_file_comes_as_it_is(body: Body) -> None:
    data = bytes(range(256)) * 300
    async with world() as here:
        here.line.files[HANDLE] = File(data, body)
        assert await here.read() == data
        assert await here.read() == data
    assert here.line.calls == [f"/v2/bot/message/{HANDLE}/content"] * 2


async def test_an_endless_file_is_left_where_the_reader_stops() -> None:
    async with world() as here:
        here.line.files[HANDLE] = File(body=Body.ENDLESS)
        data = await here.read()
        assert CAP < len(data) <= CAP + 64 * 1024
        here.line.files["2"] = File(b"next")
        assert await here.read("2") == b"next"


@pytest.mark.parametrize(
    "file",
    [
        None,
        File(body=Body.SHORT),
        File(is_failed=True),
        File(b"http://169.254.169.254/", Body.REDIRECT),
    ],
)
async def test_what_cannot_be_had_is_unavailable(file: File | None) -> None:
    async with world() as here:
        if file is not None:
            here.line.files[HANDLE] = file
        assert await here.code() == "attachment_unavailable"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 429, 500, 503])
async def test_any_refusal_is_unavailable(status: int) -> None:
    async with world() as here:
        here.line.gone = status
        assert await here.code() == "attachment_unavailable"


async def test_a_length_of_ten_before_an_endless_body_is_ten_bytes_or_unavailable() -> None:
    async with world() as here:
        here.line.files[HANDLE] = File(body=Body.LYING)
        async with asyncio.timeout(10):
            try:
                said = str(len(await here.read()))
            except GatewayError as error:
                said = error.code
    assert said in {"10", "attachment_unavailable"}


async def test_a_wrong_token_is_unavailable_and_a_platform_that_is_down_too() -> None:
    async with world(token="other") as here:
        here.line.files[HANDLE] = File()
        assert await here.code() == "attachment_unavailable"
    nowhere = LineSettings(
        "main", "helper", Secret("s"), Secret("t"), api_data_base_url="http://127.0.0.1:9"
    )
    channel = LineChannel(nowhere)
    assert await World(LineFiles(), channel).code() == "attachment_unavailable"
    await channel.close()


@pytest.mark.parametrize("handle", ["", "..", "../../x", "1/../2", "1?x=2", "%2e%2e", "１", "a b"])
async def test_a_handle_that_is_no_message_id_asks_nothing(handle: str) -> None:
    async with world() as here:
        assert await here.code(handle) == "attachment_unavailable"
    assert here.line.calls == []


async def test_a_large_file_is_waited_for_and_not_for_ever() -> None:
    async with LineFiles().running() as line:
        client = LineClient(
            Secret("line-token"), "http://127.0.0.1:9", line.url, transcoding_pause_s=0.001
        )
        line.files["1"] = File(b"film", processing=3)
        assert b"".join([chunk async for chunk in client.content("1")]) == b"film"
        assert line.calls.count("/v2/bot/message/1/content/transcoding") == 4
        line.files["2"] = File(b"film", processing=1000)
        with pytest.raises(GatewayError) as caught:
            await anext(client.content("2"))
        await client.close()
    assert caught.value.code == "attachment_unavailable"
    assert line.calls.count("/v2/bot/message/2/content/transcoding") == 10
    assert line.violations == []


async def test_only_a_guarded_way_leads_to_other_hosts() -> None:
    app = web.Application()
    asked: list[str] = []

    async def serve(request: web.Request) -> web.Response:
        asked.append(request.headers.get("Authorization", "none"))
        return web.Response(body=b"picture")

    app.router.add_get("/{path:.*}", serve)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    over: dict[str, Any] = {"has_plain_http": True, "resolve": resolve}
    guard = GuardedFetch(FetchLimits(), allow={("127.0.0.1", port)}, **over)
    async with world(outside=guard) as here:
        assert await here.read(f"url:http://pictures.example:{port}/a.jpg") == b"picture"
        assert await here.code("url:http://169.254.169.254/") == "url_blocked"
        assert await here.code(f"url:http://127.0.0.2:{port}/") == "url_blocked"
        assert await here.code("url:") == "url_blocked"
    async with world() as here:  # as it is in production: https, and public addresses alone
        for url in (f"http://127.0.0.1:{port}/", f"https://127.0.0.1:{port}/", "https://[::1]/"):
            assert await here.code(f"url:{url}") == "url_blocked"
    assert asked == ["none"]  # our token goes to LINE alone
    assert here.line.calls == []
    await runner.cleanup()

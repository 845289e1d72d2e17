"""What a visitor's socket outlasts and what ends it: expiry, new settings, silence."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import WSCloseCode, web

from channels.widget.channel import WidgetChannel, WidgetSettings
from channels.widget.parse import Entry
from gateway.app_channels import read_channels
from gateway.config import load
from gateway.core.visitors import VALID_FOR
from gateway.errors import ConfigError
from gateway.interfaces import Clock
from gateway.surfaces import http
from gateway.surfaces.session import HttpCallers
from gateway.surfaces.widget_door import WidgetDoor
from gateway.surfaces.widget_socket import OVER, WidgetSockets
from tests.surfaces.serving import World, serving
from tests.surfaces.visiting import ASK, SITE, WIDGET, configured, guest, refused, socket_of, toml


@pytest.fixture(scope="module")
def site(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "home"
    return configured(template, folder, channels__widget__site=WIDGET)


class Ahead:
    """A clock that can be put forward."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.by = timedelta()

    def now(self) -> datetime:
        return self._clock.now() + self.by

    def monotonic(self) -> float:
        return self._clock.monotonic()


@asynccontextmanager
async def door(world: World, clock: Clock, patience_s: float = 10.0) -> AsyncIterator[World]:
    """A second door to the same gateway, by a clock of ours."""
    app = world.app
    callers = HttpCallers(app.sign_in, frozenset({"127.0.0.1"}))
    at = WidgetDoor(app.channels, app.operations.visitors, callers)
    sockets = WidgetSockets(at, app.lanes.accept, b"k" * 32, clock, hello_within_s=patience_s)
    application = http.build(callers, sockets.routes(), on_shutdown=[sockets.close])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    try:
        yield World(app, f"http://{host}:{port}", world.passwords)
    finally:
        await runner.cleanup()


@asynccontextmanager
async def told_the_time(world: World) -> AsyncIterator[tuple[World, Ahead]]:
    ahead = Ahead(world.app.clock)
    async with door(world, ahead) as second:
        yield second, ahead


async def test_a_token_is_looked_at_with_every_frame(site: Path, home: Path) -> None:
    async with serving(site, home) as plain, told_the_time(plain) as (world, ahead):
        async with guest(world) as visitor:
            assert (await visitor.ask(ASK))["citations"]
            ahead.by = VALID_FOR + timedelta(seconds=1)
            await visitor.socket.send_json({"type": "user_message", "id": "late", "text": ASK})
            assert (await visitor.socket.receive()).data == OVER
        async with guest(world, visitor.token, after="") as other:  # nothing of before comes
            assert other.token != visitor.token
            done = await other.ask("運費怎麼算？")
            assert "免運費" in done["text"]


async def test_an_answer_that_comes_when_the_token_is_over_is_not_shown(
    site: Path, home: Path
) -> None:
    async with (
        serving(site, home) as plain,
        told_the_time(plain) as (world, ahead),
        guest(world) as asking,
        guest(world, asking.token) as watching,
    ):
        ahead.by = VALID_FOR + timedelta(seconds=1)
        channel = world.app.channels["widget", "site"]
        assert isinstance(channel, WidgetChannel)
        entry = Entry(asking.token.split(".")[1], "1", ASK)
        await world.app.lanes.accept(channel.parse(*channel.seal(entry), world.app.clock.now()))
        for each in (asking, watching):
            assert (await each.socket.receive(timeout=10)).data == OVER


async def reconfigure(world: World, **tables: Any) -> None:
    config = world.app.home / "config.toml"
    text = config.read_text("utf-8").partition("[channels.")[0]
    for name, values in tables.items():
        text += "\n" + toml(name.replace("__", "."), values) + "\n"
    config.write_text(text, "utf-8")
    await world.app.channels.replace(read_channels(load(config)))


async def test_new_settings_hold_without_a_restart_and_nothing_is_lost(
    site: Path, home: Path
) -> None:
    async with serving(site, home) as world, guest(world) as visitor:
        first = await visitor.ask(ASK)
        other = {**WIDGET, "origins": ["https://new.example"]}
        await reconfigure(world, channels__widget__site=other)
        frame = {"type": "user_message", "id": "q2", "text": "運費怎麼算？"}
        if not visitor.socket.closed:
            await visitor.socket.send_json(frame)
        message = await visitor.socket.receive(timeout=10)
        assert message.data == WSCloseCode.GOING_AWAY
        assert (await refused(world, Origin=SITE))[0] == 403
        new = {"origin": "https://new.example"}
        async with guest(world, visitor.token, headers=new, after=first["turn_id"]) as again:
            assert again.token == visitor.token
            await again.socket.send_json(frame)
            assert "免運費" in (await again.end())["text"]
        await reconfigure(world)
        assert (await refused(world, Origin="https://new.example"))[0] == 404


async def test_whoever_says_nothing_is_not_waited_for(site: Path, home: Path) -> None:
    async with (
        serving(site, home) as plain,
        door(plain, plain.app.clock, patience_s=0.05) as world,
        guest(world) as visitor,
        socket_of(world) as mute,
    ):
        message = await mute.receive(timeout=10)
        assert message.type is aiohttp.WSMsgType.CLOSE
        assert message.data == WSCloseCode.POLICY_VIOLATION
        assert (await visitor.ask(ASK))["type"] == "assistant_done"  # though the time is over


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("origins", {"origins": ()}),
    ("origins", {"origins": ("*",)}),
    ("origins", {"origins": ("https://*.example.com",)}),
    ("origins", {"origins": ("https://a.example", "www.example.com")}),
    ("origins", {"origins": ("https://a.example/",)}),
    ("origins", {"origins": ("https://a.example; script-src *",)}),
    ("origins", {"origins": ("https://a.example\n",)}),
    ("origins", {"origins": ("",)}),
    ("origins", {"origins": ("null",)}),
    ("per_visitor_per_minute", {"per_visitor_per_minute": 0}),
    ("per_address_per_minute", {"per_address_per_minute": -1}),
    ("most_visitors", {"most_visitors": 0}),
    ("language", {"language": "fr"}),
    ("trusted_proxies", {"trusted_proxies": ("proxy.example",)}),
    ("trusted_proxies", {"trusted_proxies": ("10.0.0.1/8",)}),
]


@pytest.mark.parametrize(("key", "over"), WRONG)
def test_odd_settings_are_refused_by_their_key(key: str, over: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refusal:
        WidgetSettings(**{"name": "site", "agent": "helper", "origins": (SITE,), **over})
    assert refusal.value.params["path"] == f"channels.widget.site.{key}"


def test_an_origin_with_its_usual_port_is_the_same_origin() -> None:
    settings = WidgetSettings("site", "helper", ("https://a.example:443", "http://b.example:80"))
    channel = WidgetChannel(settings)
    assert channel.allows("https://a.example")
    assert channel.allows("http://b.example")
    assert not channel.allows("https://b.example")

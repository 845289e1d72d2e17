"""Signed webhooks with odd values in every place: no 5xx, no lane held up, no identity gained."""

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from channels.line.channel import LineChannel, LineSettings
from channels.odoolivechat.channel import OdooLiveChatChannel, OdooLiveChatSettings
from channels.slack.channel import SlackChannel, SlackSettings
from channels.telegram.channel import TelegramChannel, TelegramSettings
from gateway.core.messages import InboundMessage
from gateway.core.secrets import Secret
from gateway.interfaces import Channel, Claimed
from gateway.surfaces.webhooks import Webhooks
from tests.fakes.times import RealClock
from tests.journeys.durable import durable
from tests.simulators.line import LineSimulator
from tests.simulators.livechat import LiveChatSimulator
from tests.simulators.slack import BOT_USER, TEAM, SlackSimulator
from tests.simulators.telegram import TelegramSimulator

NOWHERE = "http://127.0.0.1:9"
GOOD = "good"
ODD = (  # as they stand in the body
    "null", "true", "0", "-1", "1.5", "1e400", str(2**64), "1" + "0" * 5000,
    '""', '"x"', '"\\u0000"', '"\\ud800"', '"../../x"', f'"{"9" * 400}"',
    "[]", "[null]", "{}", '{"id": {}, "id": 5}', "[" * 700 + "]" * 700,
)  # fmt: skip
WHOLE = (
    b"", b"{", b"null", b"5", b'"x"', b"[]", b"{}", b"\xff\xfe", b"\x00", b'{"a":1}{"a":1}',
    b"[" * 100_000, b"{" * 100_000, b'{"a":' * 50_000, b'"' + b"x" * 1_000_000, b" " * 1_000_000,
    b'{"\\ud800": "\\udc00"}', b'{"events": 5, "update_id": 5, "type": "event_callback"}',
)  # fmt: skip


@dataclass
class Platform:
    """A channel, what its platform brings, and how that is signed."""

    channel: Channel
    payload: Callable[[str], dict[str, Any]]  # a direct message with everything in it
    signed: Callable[[bytes], Mapping[str, str]]


def line() -> Platform:
    simulator = LineSimulator()
    secrets = Secret(simulator.secret), Secret(simulator.access_token)

    def payload(text: str) -> dict[str, Any]:
        mention = {"index": 0, "length": 1, "type": "user", "userId": "U1", "isSelf": True}
        said = {"mention": {"mentionees": [mention]}, "quoteToken": "q"}
        event = simulator.text_event(text, message=said)
        file = simulator.text_event("", message={"type": "file", "fileName": "a.pdf"})
        file["message"] |= {"contentProvider": {"type": "external", "originalContentUrl": "x"}}
        return {"destination": "U0", "events": [event, file, simulator.link_event("U2", "nonce")]}

    return Platform(
        LineChannel(LineSettings("main", "a", *secrets, NOWHERE)), payload, simulator.headers
    )


def telegram() -> Platform:
    simulator = TelegramSimulator()
    token, secret = Secret(simulator.token), Secret(simulator.secret)
    channel = TelegramChannel(TelegramSettings("main", "a", token, secret, api_base_url=NOWHERE))

    def payload(text: str) -> dict[str, Any]:
        file = {"file_id": "F", "file_unique_id": "U", "file_size": 5, "file_name": "a.pdf"}
        return simulator.message(
            text,
            entities=[{"type": "text_mention", "offset": 0, "length": 1, "user": {"id": 1}}],
            document=file,
            photo=[file | {"width": 5}],
            reply_to_message={"from": {"id": 4242}, "message_id": 1},
        )

    return Platform(channel, payload, lambda _: simulator.headers())


def slack() -> Platform:
    simulator = SlackSimulator()
    token, secret = Secret(simulator.token), Secret(simulator.secret)
    settings = SlackSettings("main", "a", token, secret, api_base_url=NOWHERE, team_id=TEAM)

    def payload(text: str) -> dict[str, Any]:
        blocks = [{"type": "rich_text", "elements": [{"type": "user", "user_id": BOT_USER}]}]
        file = {"id": "F1", "name": "a.pdf", "url_private": "https://files.slack.com/a", "size": 5}
        profile = {"team": TEAM, "display_name": "Mei"}
        event = simulator.event(text, blocks=blocks, files=[file], user_profile=profile)
        return simulator.envelope(event)

    return Platform(SlackChannel(settings), payload, simulator.headers)


def livechat() -> Platform:
    simulator = LiveChatSimulator()
    settings = OdooLiveChatSettings("main", "a", Secret(simulator.secret), NOWHERE)
    return Platform(
        OdooLiveChatChannel(settings), simulator.event, lambda body: simulator.signed(body)[0]
    )


def paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*before, key)
        if isinstance(item, dict | list):
            yield from paths(item, (*before, key))


def with_odd_values(payload: dict[str, Any]) -> Iterator[bytes]:
    """The payload with each of its values replaced by each odd one, and with each left out."""
    for path in paths(payload):
        changed = copy.deepcopy(payload)
        place: Any = changed
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = "@@"
        text = json.dumps(changed)
        yield from (text.replace('"@@"', value).encode() for value in ODD)
        del place[path[-1]]
        yield json.dumps(changed).encode()


@dataclass
class House:
    """The webhook's real entrance and what comes behind it."""

    client: TestClient[web.Request, web.Application]
    platform: Platform
    taken: list[InboundMessage] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def post(self, body: bytes) -> int:
        path = f"/webhooks/{self.platform.channel.name}/main"
        headers = self.platform.signed(body)
        async with self.client.post(path, data=body, headers=headers) as answer:
            return answer.status

    async def until_answered(self, text: str) -> None:
        async with asyncio.timeout(20):
            while not any(message.text == text for message in self.taken):
                self.news.clear()
                await self.news.wait()


@asynccontextmanager
async def house(home: Path, platform: Platform) -> AsyncIterator[House]:
    async with durable(home, platform.channel) as half:
        app = web.Application()
        channels = {(platform.channel.name, "main"): platform.channel}
        app.add_routes(Webhooks(channels, half.lanes.accept, RealClock()).routes())
        async with TestClient(TestServer(app)) as client:
            it = House(client, platform)

            async def turn(claimed: Claimed, _: Channel) -> None:
                it.taken.append(claimed.message)
                it.news.set()

            async with half.running(turn):
                yield it
    await platform.channel.close()


PLATFORMS = [line, telegram, slack, livechat]


@pytest.mark.parametrize("make", PLATFORMS)
async def test_no_value_in_any_place_fails_or_holds_up_anything(
    tmp_path: Path, make: Callable[[], Platform]
) -> None:
    async with house(tmp_path, make()) as it:
        for body in with_odd_values(it.platform.payload("odd")):
            assert await it.post(body) < 500, body[:300]
        assert await it.post(json.dumps(it.platform.payload(GOOD)).encode()) == 200
        await it.until_answered(GOOD)
        for message in it.taken:
            # whoever is direct is named, and in the chat that is their own
            assert message.sender is not None or not message.conversation.is_direct
            assert message.is_visitor is (message.conversation.channel == "odoolivechat")


@pytest.mark.parametrize("make", PLATFORMS)
async def test_no_body_of_any_kind_fails(tmp_path: Path, make: Callable[[], Platform]) -> None:
    async with house(tmp_path, make()) as it:
        for body in WHOLE:
            assert await it.post(body) in (200, 400, 413), body[:40]
        assert it.taken == []

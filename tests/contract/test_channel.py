"""One suite over all channels: the eight rows of each channel's scorecard, held by tests.

A new channel joins by one more `Case`; its package's docstring states the rows.
"""

import html
import importlib
import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from channels.discord.channel import DiscordChannel, DiscordSettings
from channels.line.channel import LineChannel, LineSettings
from channels.odoolivechat.channel import OdooLiveChatChannel, OdooLiveChatSettings
from channels.slack.channel import SlackChannel, SlackSettings
from channels.sockets import Seat
from channels.telegram.channel import TelegramChannel, TelegramSettings
from channels.webchat.channel import WebChatChannel
from channels.webchat.parse import Entry
from channels.widget import parse as widget_parse
from channels.widget.channel import WidgetChannel, WidgetSettings
from gateway.core.messages import (
    Conversation,
    Delivered,
    Limits,
    OutboundCall,
    Refused,
    ReplyHandle,
    RetryLater,
    SendMethod,
    Unit,
)
from gateway.core.secrets import Secret
from gateway.errors import SignatureError
from gateway.interfaces import Channel
from tests.simulators import discord as discord_simulator
from tests.simulators import livechat as livechat_simulator
from tests.simulators import slack as slack_simulator
from tests.simulators import telegram as telegram_simulator
from tests.simulators.line import Fault, LineSimulator

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
PERSON, GROUP = "U" + "1" * 32, "C" + "2" * 32
ROWS = (
    "signature check",
    "redelivery",
    "ordering",
    "splitting unit",
    "rate limit",
    "group identity",
    "footer",
    "known limits",
)


@dataclass
class Platform:
    """One channel with its simulated platform, in words that all platforms share."""

    channel: Channel
    direct: Callable[[str], tuple[Mapping[str, str], bytes]]  # a signed direct message
    in_group: Callable[[str], tuple[Mapping[str, str], bytes]]  # in a group, sender not named
    arrived: Callable[[], list[tuple[str, tuple[str, ...]]]]  # (chat, texts)
    rate_limited: Callable[[float], None]  # the next call is refused for so many seconds
    handle: Callable[[], str | None]  # a one-time reply right, where the platform has one
    person: str = PERSON  # who writes directly, and the direct chat's id
    direct_chat: str = ""  # that id, where it is another

    @property
    def chat(self) -> str:
        """Where an answer to the direct message goes."""
        return self.direct_chat or self.person


@asynccontextmanager
async def line() -> AsyncIterator[Platform]:
    async with LineSimulator().running() as simulator:
        secret, token = Secret(simulator.secret), Secret(simulator.access_token)
        settings = LineSettings("main", "helper", secret, token, simulator.url)
        channel = LineChannel(settings)

        def signed(event: dict[str, Any]) -> tuple[Mapping[str, str], bytes]:
            body = simulator.body(event)
            return simulator.headers(body), body

        def rate_limited(wait_s: float) -> None:
            simulator.faults.append(Fault.RATE)
            simulator.retry_after_s = wait_s

        group = {"type": "group", "groupId": GROUP}
        yield Platform(
            channel=channel,
            direct=lambda text: signed(simulator.text_event(text, PERSON)),
            in_group=lambda text: signed(simulator.text_event(text, source=group)),
            arrived=lambda: [(each.to, each.texts) for each in simulator.deliveries],
            rate_limited=rate_limited,
            handle=lambda: simulator.text_event("x", PERSON)["replyToken"],
        )
        await channel.close()
    assert simulator.violations == []


@asynccontextmanager
async def telegram() -> AsyncIterator[Platform]:
    async with telegram_simulator.TelegramSimulator().running() as simulator:
        secret, token = Secret(simulator.secret), Secret(simulator.token)
        settings = TelegramSettings("main", "helper", token, secret, api_base_url=simulator.url)
        channel = TelegramChannel(settings)

        def signed(update: dict[str, Any]) -> tuple[Mapping[str, str], bytes]:
            return simulator.headers(), simulator.body(update)

        def rate_limited(wait_s: float) -> None:
            simulator.faults.append(telegram_simulator.Fault.RATE)
            simulator.retry_after_s = int(wait_s)

        anonymous: dict[str, Any] = {"sender_chat": {"id": -1001234, "type": "supergroup"}}
        yield Platform(
            channel=channel,
            direct=lambda text: signed(simulator.message(text, 1001)),
            in_group=lambda text: signed(simulator.in_group(text, **anonymous)),
            arrived=lambda: [(each.chat, (each.text,)) for each in simulator.deliveries],
            rate_limited=rate_limited,
            handle=lambda: None,
            person="1001",
        )
        await channel.close()
    assert simulator.violations == []


@asynccontextmanager
async def slack() -> AsyncIterator[Platform]:
    async with slack_simulator.SlackSimulator().running() as simulator:
        token, secret = Secret(simulator.token), Secret(simulator.secret)
        settings = SlackSettings("main", "helper", token, secret, api_base_url=simulator.api_url)
        channel = SlackChannel(settings)

        def signed(event: dict[str, Any]) -> tuple[Mapping[str, str], bytes]:
            body = simulator.body(event)
            return simulator.headers(body, NOW.timestamp()), body

        def rate_limited(wait_s: float) -> None:
            simulator.faults.append(slack_simulator.Fault.RATE)
            simulator.retry_after_s = str(int(wait_s))

        yield Platform(
            channel=channel,
            direct=lambda text: signed(simulator.event(text)),
            in_group=lambda text: signed(simulator.in_channel(text, user=None)),
            arrived=lambda: [(each.channel, (each.text,)) for each in simulator.messages],
            rate_limited=rate_limited,
            handle=lambda: None,
            person=f"{slack_simulator.TEAM}:{slack_simulator.PERSON}",
            direct_chat=slack_simulator.DIRECT,
        )
        await channel.close()
    assert simulator.violations == []


@asynccontextmanager
async def discord() -> AsyncIterator[Platform]:
    async with discord_simulator.DiscordSimulator().running() as simulator:
        token, address = Secret(simulator.token), simulator.url
        channel = DiscordChannel(DiscordSettings("main", "helper", token, address))
        direct = discord_simulator.DM_ID

        def rate_limited(wait_s: float) -> None:
            simulator.faults.append(discord_simulator.Fault.RATE)
            simulator.retry_after_s = wait_s

        yield Platform(
            channel=channel,
            direct=lambda text: channel.seal(simulator.frame(simulator.said(text))),
            in_group=lambda text: channel.seal(
                simulator.frame(simulator.in_guild(text, flags=1 << 6))
            ),
            arrived=lambda: [(direct, (text,)) for text in simulator.ours(direct)],
            rate_limited=rate_limited,
            handle=lambda: None,
            person=discord_simulator.PERSON_ID,
            direct_chat=direct,
        )
        await channel.close()
    assert simulator.violations == []


@asynccontextmanager
async def webchat() -> AsyncIterator[Platform]:
    channel, seat = WebChatChannel(), Seat()
    channel.hub.join(seat, PERSON)
    numbers = itertools.count()

    def sealed(text: str, conversation: str) -> tuple[Mapping[str, str], bytes]:
        entry = Entry(PERSON, "helper", conversation, f"frame {next(numbers)}", text)
        return channel.seal(entry)

    def arrived() -> list[tuple[str, tuple[str, ...]]]:
        frames = [json.loads(frame.text) for frame in seat.waiting]
        return [(PERSON, (frame["text"],)) for frame in frames]

    yield Platform(
        channel=channel,
        direct=lambda text: sealed(text, "main"),
        in_group=lambda text: sealed(text, "another"),
        arrived=arrived,
        rate_limited=lambda _: None,
        handle=lambda: None,
    )
    await channel.close()


@asynccontextmanager
async def widget() -> AsyncIterator[Platform]:
    channel, seat = WidgetChannel(WidgetSettings("site", "helper", ("https://a.example",))), Seat()
    channel.hub.join(seat, PERSON)
    numbers = itertools.count()

    def sealed(text: str, visitor: str) -> tuple[Mapping[str, str], bytes]:
        return channel.seal(widget_parse.Entry(visitor, f"frame {next(numbers)}", text))

    yield Platform(
        channel=channel,
        direct=lambda text: sealed(text, PERSON),
        in_group=lambda text: sealed(text, "another visitor"),
        arrived=lambda: [(PERSON, (json.loads(each.text)["text"],)) for each in seat.waiting],
        rate_limited=lambda _: None,
        handle=lambda: None,
    )
    await channel.close()


@asynccontextmanager
async def odoolivechat() -> AsyncIterator[Platform]:
    simulator = livechat_simulator.LiveChatSimulator(now=NOW.timestamp)
    async with simulator.running():
        settings = OdooLiveChatSettings("shop", "helper", Secret(simulator.secret), simulator.url)
        channel = OdooLiveChatChannel(settings, lambda: int(NOW.timestamp()) * 10**9)

        def rate_limited(wait_s: float) -> None:
            simulator.faults.append(livechat_simulator.Fault.RATE)
            simulator.retry_after = f"{wait_s}"

        yield Platform(
            channel=channel,
            direct=lambda text: simulator.signed(simulator.event(text, PERSON)),
            in_group=lambda text: simulator.signed(simulator.event(text, GROUP)),
            arrived=lambda: [(each["session_id"], (each["text"],)) for each in simulator.replies],
            rate_limited=rate_limited,
            handle=lambda: None,
        )
        await channel.close()
    assert simulator.violations == []


@dataclass(frozen=True)
class Case:
    """A channel's package, how to run it, and what it promises to carry."""

    package: str
    platform: Callable[[], AbstractAsyncContextManager[Platform]]
    limits: Limits
    has_platform: bool = True  # our own page: no groups, no rate of somebody else's, no footer
    signs_body: bool = True  # else a secret comes with the body, whatever that is
    has_people: bool = True  # else a website's visitors, whom nobody knows


CASES = [
    Case("channels.line", line, Limits(Unit.UTF16, 5000, 5, 1200, shows_drafts=False)),
    Case(
        "channels.telegram",
        telegram,
        Limits(Unit.UTF16, 4096, 1, 1200, max_calls=8, typing_every_s=4.0),
        signs_body=False,
    ),
    Case(
        "channels.discord",
        discord,
        Limits(Unit.CODE_POINTS, 2000, 1, 600, max_calls=10, has_markdown=True, typing_every_s=8.0),
    ),
    Case(
        "channels.slack",
        slack,
        Limits(Unit.SLACK_ESCAPED, 3900, 1, 1200, max_calls=10, has_markdown=True),
    ),
    Case(
        "channels.webchat",
        webchat,
        Limits(Unit.CODE_POINTS, 100_000, 1, 0, has_markdown=True),
        has_platform=False,
    ),
    Case(
        "channels.widget",
        widget,
        Limits(Unit.CODE_POINTS, 100_000, 1, 0, has_markdown=True),
        has_platform=False,
        has_people=False,
    ),
    Case(
        "channels.odoolivechat",
        odoolivechat,
        Limits(Unit.CODE_POINTS, 20_000, 1, 1200, shows_drafts=False),
        has_people=False,
    ),
]
OF_PLATFORMS = [case for case in CASES if case.has_platform]
each_channel = pytest.mark.parametrize("case", CASES, ids=[case.package for case in CASES])
each_platform = pytest.mark.parametrize(
    "case", OF_PLATFORMS, ids=[case.package for case in OF_PLATFORMS]
)
OF_PEOPLE = [case for case in OF_PLATFORMS if case.has_people]
each_with_people = pytest.mark.parametrize(
    "case", OF_PEOPLE, ids=[case.package for case in OF_PEOPLE]
)
OF_WEBSITES = [case for case in CASES if not case.has_people]
each_website = pytest.mark.parametrize(
    "case", OF_WEBSITES, ids=[case.package for case in OF_WEBSITES]
)
UNITS: dict[Unit, Callable[[str], int]] = {
    Unit.CODE_POINTS: len,
    Unit.UTF16: lambda text: len(text.encode("utf-16-le")) // 2,
    Unit.BYTES: lambda text: len(text.encode()),
    Unit.SLACK_ESCAPED: lambda text: len(html.escape(text, quote=False).encode("utf-16-le")) // 2,
}


def owed(platform: Platform, *parts: str, with_handle: bool = True) -> OutboundCall:
    token = platform.handle() if with_handle else None
    place = Conversation(platform.channel.name, platform.channel.account_name, platform.chat)
    return OutboundCall(
        id="00000000-0000-4000-8000-000000000001",
        turn_id="00000000-0000-4000-8000-000000000002",
        seq=0,
        conversation=place,
        parts=parts,
        idempotency_key="00000000-0000-4000-8000-000000000003",
        created_at=NOW,
        reply_handle=ReplyHandle(token, NOW + timedelta(seconds=45)) if token else None,
    )


@each_channel
def test_the_scorecard_states_all_eight_rows(case: Case) -> None:
    stated = dict(
        line.split(": ", 1)
        for line in (importlib.import_module(case.package).__doc__ or "").splitlines()
        if ": " in line
    )
    assert [row for row in ROWS if not stated.get(row, "").strip()] == []


@each_channel
async def test_signature_check(case: Case) -> None:
    async with case.platform() as platform:
        headers, body = platform.direct("hello")
        assert len(platform.channel.parse(headers, body, NOW)) == 1
        for other in ({}, dict.fromkeys(headers, "x"), dict.fromkeys(headers, "")):
            with pytest.raises(SignatureError):
                platform.channel.parse(other, body, NOW)
        if not case.signs_body:
            return
        flipped = bytes([body[0], body[1] ^ 1]) + body[2:]
        with pytest.raises(SignatureError):
            platform.channel.parse(headers, flipped, NOW)


@each_channel
async def test_redelivery_carries_the_same_keys(case: Case) -> None:
    async with case.platform() as platform:
        event, other = platform.direct("hello"), platform.direct("hello")
        [first], [again], [next_one] = (
            platform.channel.parse(*each, NOW) for each in (event, event, other)
        )
        assert (first.delivery_id, first.message_key) == (again.delivery_id, again.message_key)
        assert first.delivery_id != next_one.delivery_id
        assert first.message_key != next_one.message_key


@each_channel
async def test_ordering_one_chat_is_one_lane(case: Case) -> None:
    async with case.platform() as platform:
        [first] = platform.channel.parse(*platform.direct("one"), NOW)
        [second] = platform.channel.parse(*platform.direct("two"), NOW)
        [elsewhere] = platform.channel.parse(*platform.in_group("three"), NOW)
        assert first.conversation == second.conversation
        assert elsewhere.conversation.lane != first.conversation.lane
        assert first.conversation.lane.startswith(
            f"{platform.channel.name}/{platform.channel.account_name}/"
        )


@each_channel
async def test_splitting_unit_is_what_the_platform_takes(case: Case) -> None:
    async with case.platform() as platform:
        limits = platform.channel.limits
        assert limits == case.limits
        wide = "😀" * limits.part_units
        while UNITS[limits.unit](wide) > limits.part_units:
            wide = wide[: len(wide) // 2]
        fill = limits.part_units - UNITS[limits.unit](wide)
        full = wide + "x" * fill
        parts = (full,) * limits.parts_per_call
        assert isinstance(
            await platform.channel.send(owed(platform, *parts), SendMethod.PUSH), Delivered
        )
        assert platform.arrived() == [(platform.chat, parts)]
        too_much = [owed(platform, full + "x"), owed(platform, *parts, "x"), owed(platform, "")]
        for call in too_much:
            assert isinstance(await platform.channel.send(call, SendMethod.PUSH), Refused)
        assert len(platform.arrived()) == 1


@each_platform
async def test_rate_limit_waits_as_told(case: Case) -> None:
    async with case.platform() as platform:
        platform.rate_limited(7.0)
        call = owed(platform, "hello")
        outcome = await platform.channel.send(call, platform.channel.method(call, NOW))
        assert isinstance(outcome, RetryLater)
        assert outcome.after_s == 7.0
        assert isinstance(
            await platform.channel.send(call, platform.channel.method(call, NOW)), Delivered
        )


@each_with_people
async def test_group_identity_is_only_what_was_signed(case: Case) -> None:
    async with case.platform() as platform:
        [direct] = platform.channel.parse(*platform.direct("hello"), NOW)
        assert direct.conversation.is_direct
        assert direct.sender is not None
        assert direct.sender.id == platform.person
        [group] = platform.channel.parse(*platform.in_group("hello"), NOW)
        assert not group.conversation.is_direct
        assert not group.is_addressed
        assert group.sender is None


@each_website
async def test_a_websites_visitor_is_nobody_and_never_direct(case: Case) -> None:
    async with case.platform() as platform:
        for signed in (platform.direct("hello"), platform.in_group("hello")):
            [message] = platform.channel.parse(*signed, NOW)
            assert message.is_visitor
            assert message.is_addressed
            assert not message.conversation.is_direct
            assert (message.sender, message.account_id) == (None, None)


@each_platform
async def test_footer_fits_a_part(case: Case) -> None:
    async with case.platform() as platform:
        limits = platform.channel.limits
        assert 0 < limits.footer_units < limits.part_units
        assert limits.parts_per_call * limits.max_calls >= 1


@each_channel
async def test_a_one_time_handle_is_used_while_it_is_young_only(case: Case) -> None:
    async with case.platform() as platform:
        call = owed(platform, "hello")
        bare = owed(platform, "hello", with_handle=False)
        late = NOW + timedelta(minutes=2)
        assert platform.channel.method(call, late) is not SendMethod.REPLY
        assert platform.channel.method(bare, NOW) is not SendMethod.REPLY
        outcome = await platform.channel.send(call, platform.channel.method(call, NOW))
        assert isinstance(outcome, Delivered)
        assert platform.arrived() == [(platform.chat, ("hello",))]


async def test_our_own_page_names_the_account_that_is_signed_in() -> None:
    async with webchat() as platform:
        [message] = platform.channel.parse(*platform.direct("hello"), NOW)
        assert message.conversation.is_direct
        assert (message.sender, message.account_id) == (None, PERSON)
        assert message.conversation.id.startswith(f"{PERSON}.")


def fits(channel: LineChannel | SlackChannel | TelegramChannel) -> Channel:
    """mypy proves that each channel still speaks the protocol."""
    return channel

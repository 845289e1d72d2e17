"""Identity and security: what is not proven does nothing, whatever it looks like and weighs.

Held elsewhere: who reads what from where (`test_hostile_access`), odd values in signed bodies
(`test_hostile_webhooks`, `test_hostile_sockets`), what proves a 1:1 chat (`tests/journeys/`
`test_*_parse.py`), guessing codes (`tests/contract/test_linking.py`, `tests/journeys/`
`test_linking.py`), endless files, file names and addresses (`test_attachments`, `test_taken_back`,
`test_fetching`), visitors' sessions (`tests/surfaces/test_widget.py`), a missing intent
(`test_discord`), programs that answer each other (`test_lanes`).
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from channels.discord.channel import DiscordSettings
from channels.line.channel import LineSettings
from channels.odoolivechat.channel import OdooLiveChatSettings
from channels.slack.channel import Mode as SlackMode
from channels.slack.channel import SlackSettings
from channels.telegram.channel import Mode, TelegramSettings
from gateway.core.secrets import Secret
from gateway.errors import ConfigError, SignatureError
from gateway.surfaces.webhooks import BodyLimits
from tests.fakes.times import RealClock
from tests.faults.doors import (
    DIRECT,
    Delivery,
    Door,
    Open,
    Platform,
    discord,
    door,
    each_channel,
    each_webhook,
    line,
    odoolivechat,
    slack,
    telegram,
    until,
)
from tests.simulators import discord as discords
from tests.simulators import slack as slacks
from tests.simulators import telegram as telegrams

PROOFS = {  # the header that proves a delivery, and the one that dates it
    "line": ("X-Line-Signature", None),
    "telegram": (telegrams.SECRET_HEADER, None),
    "slack": ("X-Slack-Signature", "X-Slack-Request-Timestamp"),
    "odoolivechat": ("X-Livechat-Signature", "X-Livechat-Timestamp"),
}
HUGE = b"A" * 7_000
HOSTILE: list[bytes] = [
    b"", b" ", b"abc", b"\x01", b"\xff\xfe", b"\xc3\xa9", b"\xed\xa0\x80", b"v0=", b"v1=",
    b"v0=\xff", b"=" * 44, HUGE, b"null", b"0", b"[]", b'["a", "b"]', b"%00", b"\xe2\x80\xae",
    b"=?utf-8?q?x?=",
]  # fmt: skip
DATES: list[bytes] = [
    b"", b"abc", b"1.5", b"-1", b"+1772355600", b"1e9", b"0x10", b"NaN", b"inf", b"\xef\xbc\x91",
    b"\xd9\xa1", b"1_000", b"9" * 400, b"0", b"1772355600,1772355600", HUGE,
]  # fmt: skip


async def raw(here: Door, head: list[bytes], body: bytes, *, is_chunked: bool = False) -> int:
    """The status of a request whose bytes are all our own; 0 where we were hung up on."""
    server = here.client.server
    reader, writer = await asyncio.open_connection(server.host, server.port)
    length = b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: %d" % len(body)
    lines = [b"POST " + here.path.encode() + b" HTTP/1.1", b"Host: x", b"Connection: close"]
    try:
        writer.write(b"\r\n".join([*lines, length, *head, b"", b""]) + body)
        async with asyncio.timeout(20):
            answer = await reader.readline()
    except ConnectionError:
        return 0
    finally:
        writer.close()
    return int(answer.split()[1]) if answer else 0


def as_lines(headers: Mapping[str, str]) -> dict[str, bytes]:
    return {name: value.encode() for name, value in headers.items()}


def variants(name: str, headers: Mapping[str, str]) -> list[tuple[str, list[bytes]]]:
    """Everything that headers can be but right."""
    given = as_lines(headers)
    proof, date = PROOFS[name]
    others = [f"{key}: ".encode() + value for key, value in given.items() if key != proof]
    good = given[proof]
    key = proof.encode()
    odd = [*HOSTILE, good[:-1], good + b"A", good[::-1], good.swapcase(), good + b", " + good]
    found = [("missing", others), ("named otherwise", [b"X-" + key + b": " + good, *others])]
    found += [(f"proof {value[:20]!r}", [key + b": " + value, *others]) for value in odd]
    found += [("twice, wrong first", [key + b": x", key + b": " + good, *others])]
    found += [("with a NUL", [key + b": " + good + b"\0", *others])]
    found += [("folded", [key + b": " + good[:5] + b"\r\n " + good[5:], *others])]
    if date is not None:
        rest = [f"{key}: ".encode() + value for key, value in given.items() if key != date]
        found += [("undated", rest)]
        found += [(f"date {v[:20]!r}", [date.encode() + b": " + v, *rest]) for v in DATES]
    return found


@each_webhook
async def test_no_header_of_any_kind_is_a_proof_or_a_failure(
    platform: Open, tmp_path: Path
) -> None:
    async with platform() as opened, door(opened, tmp_path) as here:
        headers, body = opened.says("forged", DIRECT)
        for what, head in variants(opened.channel.name, headers):
            assert await raw(here, head, body) in (400, 401), what
        for name in headers:  # in any letters
            for spelled in (name.lower(), name.upper()):
                delivery = opened.says(f"real {name} {spelled}", DIRECT)
                proofs = dict(delivery[0])
                proofs[spelled] = proofs.pop(name)
                lines = [f"{each}: ".encode() + v for each, v in as_lines(proofs).items()]
                assert await raw(here, lines, delivery[1]) == 200, spelled
        await until(lambda: len(here.texts()) == 2 * len(headers))
        assert set(await here.half.settled()) == {"sent"}
        assert all(said.startswith("re: real") for said in here.texts())


@each_webhook
def test_no_text_as_a_header_raises_anything_but_that_it_proves_nothing(platform: Open) -> None:
    """As a caller might hand it over that decodes headers otherwise than our server does."""

    async def tried() -> None:
        async with platform() as opened:
            headers, body = opened.says("hello", DIRECT)
            proof, date = PROOFS[opened.channel.name]
            for name in filter(None, (proof, date)):
                for odd in ("\ud800", "\udcff", "\0", "é", "１２３", "٣", "\n", "a" * 10**6):
                    with pytest.raises(SignatureError):
                        opened.channel.parse({**headers, name: odd}, body, RealClock().now())

    asyncio.run(tried())


SIGNED = {"line": line, "slack": slack, "odoolivechat": odoolivechat}


@pytest.mark.parametrize("platform", SIGNED.values(), ids=SIGNED)
async def test_the_bytes_are_what_is_signed(platform: Open, tmp_path: Path) -> None:
    """Any spelling of the JSON is right as it came, and no other spelling of it is."""
    async with platform() as opened, door(opened, tmp_path) as here:
        _, body = opened.says("hello 🤨", DIRECT)
        value = json.loads(body)
        spellings = [
            json.dumps(value).replace("\\ud83e\\udd28", "\\uD83E\\uDD28"),
            json.dumps(value, ensure_ascii=False, indent=3, separators=(" ,\t", "  :\r\n")),
            "\n " + json.dumps(value) + "\t\n",
        ]
        for text in spellings:
            raw_body = text.encode()
            headers = signed(opened, raw_body)
            assert await here.post(headers, raw_body) == 200
            for other in {*spellings, text + " ", text.swapcase()} - {text}:
                assert await here.post(headers, other.encode()) == 401
            for at in range(0, len(raw_body), 1 + len(raw_body) // 40):
                flipped = raw_body[:at] + bytes([raw_body[at] ^ 1]) + raw_body[at + 1 :]
                assert await here.post(headers, flipped) == 401
        await until(here.texts)
        assert await here.half.settled() == ["sent"]
        assert here.texts() == ["re: hello 🤨"]


def signed(opened: Platform, body: bytes) -> Mapping[str, str]:
    if opened.channel.name == "odoolivechat":
        headers: Mapping[str, str] = opened.simulator.signed(body)[0]
        return headers
    found: Mapping[str, str] = opened.simulator.headers(body)
    return found


@each_channel
async def test_another_accounts_proof_is_none_of_ours(platform: Open, tmp_path: Path) -> None:
    """Of a second account of the same platform, whose secret is another."""
    async with platform() as ours, platform() as theirs, door(ours, tmp_path) as here:
        if ours.simulator is not None:
            theirs.simulator.secret = "another-secret"
        if ours.has_webhook:
            assert await here.post(*theirs.says("hello", DIRECT)) == 401
            return
        with pytest.raises(SignatureError):
            here.channel.parse(*theirs.says("hello", DIRECT), RealClock().now())


BLANK = ["", " ", "\n", "\t \r\n", "\u3000", "\u00a0"]
SECRETS: list[tuple[str, Callable[[Secret], object]]] = [
    ("line.main.channel_secret", lambda s: LineSettings("main", "a", s, Secret("t"))),
    ("line.main.channel_access_token", lambda s: LineSettings("main", "a", Secret("s"), s)),
    ("telegram.main.bot_token", lambda s: TelegramSettings("main", "a", s, Secret("s"))),
    ("telegram.main.secret_token", lambda s: TelegramSettings("main", "a", Secret("1:a"), s)),
    (
        "telegram.main.bot_token",
        lambda s: TelegramSettings("main", "a", s, mode=Mode.POLLING),
    ),
    ("slack.main.bot_token", lambda s: SlackSettings("main", "a", s, Secret("s"))),
    ("slack.main.signing_secret", lambda s: SlackSettings("main", "a", Secret("t"), s)),
    (
        "slack.main.app_token",
        lambda s: SlackSettings(
            "main", "a", Secret("t"), Secret("s"), app_token=s, mode=SlackMode.SOCKET
        ),
    ),
    ("discord.main.bot_token", lambda s: DiscordSettings("main", "a", s)),
    (
        "odoolivechat.main.secret",
        lambda s: OdooLiveChatSettings("main", "a", s, "https://shop.example/replies"),
    ),
]


@pytest.mark.parametrize("blank", BLANK)
@pytest.mark.parametrize(("key", "make"), SECRETS, ids=[row[0] for row in SECRETS])
def test_a_blank_secret_is_refused_by_its_key(
    key: str, make: Callable[[Secret], object], blank: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        make(Secret(blank))
    assert refused.value.params["path"] == f"channels.{key}"


# ---------------------------------------------------------------- floods

CHUNK = b"10000\r\n" + b"x" * 65536 + b"\r\n"
PATIENCE = BodyLimits(small_bytes=4_096, large_at_once=2, within_s=0.5)


@asynccontextmanager
async def flooded(here: Door, connections: int, chunks: int) -> AsyncIterator[list[int]]:
    """So many unsigned bodies without a length, each beginning so and never ending."""
    statuses: list[int] = []

    async def one() -> None:
        statuses.append(await raw(here, [], CHUNK * chunks, is_chunked=True))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(connections):
            tasks.create_task(one())
        yield statuses


@each_webhook
@pytest.mark.parametrize("chunks", [1, 8, 20], ids=["small", "large", "over the cap"])
async def test_bodies_that_never_end_hold_up_nothing_and_are_ended(
    platform: Open, tmp_path: Path, chunks: int
) -> None:
    loop = asyncio.get_running_loop()
    async with door(platform, tmp_path, limits=PATIENCE) as here:
        begun_s = loop.time()
        async with flooded(here, 30, chunks) as statuses:
            for n in range(5):
                asked_s = loop.time()
                assert await here.ask(f"real {n}") == 200
                assert loop.time() - asked_s < 2.0
        assert loop.time() - begun_s < 15.0
        assert set(statuses) <= {0, 413, 503}
        assert len(statuses) == 30
        await until(lambda: len(here.texts()) == 5)


async def test_a_body_that_comes_byte_by_byte_is_not_waited_for(tmp_path: Path) -> None:
    async with door(line, tmp_path, limits=PATIENCE) as here:
        server = here.client.server
        reader, writer = await asyncio.open_connection(server.host, server.port)
        path = here.path.encode()
        writer.write(b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n")

        async def trickle() -> None:
            while not writer.is_closing():
                writer.write(b"x")
                await asyncio.sleep(0.02)

        async with asyncio.TaskGroup() as tasks:
            trickling = tasks.create_task(trickle())
            async with asyncio.timeout(10):
                assert b" 503 " in await reader.readline()
            trickling.cancel()
        writer.close()
        assert await here.ask("real") == 200


@pytest.mark.parametrize("length", [b"50000000", b"1048577", b"9" * 18])
async def test_what_says_it_is_too_long_is_refused_unread(length: bytes, tmp_path: Path) -> None:
    async with door(line, tmp_path) as here:
        server = here.client.server
        reader, writer = await asyncio.open_connection(server.host, server.port)
        head = b"POST " + here.path.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: " + length
        writer.write(head + b"\r\n\r\nx")
        async with asyncio.timeout(10):
            assert b" 413 " in await reader.readline()
        writer.close()


# ---------------------------------------------------------------- bots, and ourselves

US = {"id": telegrams.BOT_ID, "is_bot": True, "first_name": "Shutten"}
A_BOT = {"id": 77, "is_bot": True, "first_name": "Other"}
DISCORD_US = {"id": discords.BOT_ID, "username": "helper", "bot": True}
NAMED = f"@{telegrams.BOT_NAME} hello"


def of_telegram(**over: Any) -> Callable[[Platform], Delivery]:
    def made(opened: Platform) -> Delivery:
        told = opened.simulator
        return told.headers(), told.body(told.in_group("/ask hello", **over))

    return made


def of_slack(**over: Any) -> Callable[[Platform], Delivery]:
    def made(opened: Platform) -> Delivery:
        told = opened.simulator
        event = {**told.event(f"<@{slacks.BOT_USER}> hello"), **over}
        body = told.body({key: value for key, value in event.items() if value is not None})
        return told.headers(body), body

    return made


def of_discord(**over: Any) -> Callable[[Platform], Delivery]:
    def made(opened: Platform) -> Delivery:
        told = opened.simulator
        data = told.in_guild(f"<@{discords.BOT_ID}> hello", mentions=[DISCORD_US], **over)
        delivery: Delivery = opened.channel.seal(told.frame(data))  # type: ignore[attr-defined]
        return delivery

    return made


def of_livechat(author: Any) -> Callable[[Platform], Delivery]:
    def made(opened: Platform) -> Delivery:
        delivery: Delivery = opened.simulator.signed(opened.simulator.event("hi", author=author))
        return delivery

    return made


BOTS: list[tuple[str, Open, Callable[[Platform], Delivery]]] = [
    ("telegram, our own", telegram, of_telegram(**{"from": US})),
    ("telegram, another bot", telegram, of_telegram(**{"from": A_BOT})),
    ("telegram, ours that denies it", telegram, of_telegram(**{"from": US | {"is_bot": False}})),
    ("slack, our own", slack, of_slack(user=slacks.BOT_USER, bot_id=slacks.BOT)),
    ("slack, our own without its mark", slack, of_slack(user=slacks.BOT_USER)),
    ("slack, another bot", slack, of_slack(bot_id="B0000OTHR", user="U0000OTHR")),
    ("slack, a bot without a user", slack, of_slack(bot_id="B0000OTHR", user=None)),
    ("slack, a bot by its profile", slack, of_slack(bot_profile={"id": "B0000OTHR"})),
    ("slack, a bot's own kind", slack, of_slack(subtype="bot_message", bot_id="B0000OTHR")),
    ("slack, a bot that mentions us", slack, of_slack(type="app_mention", bot_id="B0000OTHR")),
    ("slack, Slackbot", slack, of_slack(user="USLACKBOT")),
    ("discord, our own", discord, of_discord(author=DISCORD_US)),
    ("discord, our own without its mark", discord, of_discord(author={"id": discords.BOT_ID})),
    ("discord, another bot", discord, of_discord(author={"id": "6", "bot": True})),
    ("discord, a webhook", discord, of_discord(webhook_id="5", author={"id": "5"})),
    ("discord, the system", discord, of_discord(author={"id": "7", "system": True})),
    ("live chat, a colleague", odoolivechat, of_livechat("operator")),
    ("live chat, a bot", odoolivechat, of_livechat("bot")),
    ("live chat, nobody", odoolivechat, of_livechat("")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("platform", "made"), [row[1:] for row in BOTS], ids=[row[0] for row in BOTS]
)
async def test_bots_and_our_own_words_are_met_with_silence(
    platform: Open, made: Callable[[Platform], Delivery], tmp_path: Path
) -> None:
    async with platform() as opened, door(opened, tmp_path) as here:
        assert await here.bring(made(opened)) == 200
        assert await here.ask("a person's") == 200
        await until(here.platform.posts)
        assert await here.half.settled() == ["sent"]
        assert [text for _, text in here.platform.posts()] == ["re: a person's"]

"""`links.*` as the right and the wrong person, and the linking page against foreign hands."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from gateway.core.messages import Conversation, InboundMessage, Sender
from gateway.errors import GatewayError
from tests.fakes.times import RealClock, RealIds
from tests.surfaces.serving import Person, World, operate, serving

CHANNEL = """
[channels.line.main]
agent = "assistant"
channel_secret = "line-secret"
channel_access_token = "line-token"
api_base_url = "http://127.0.0.1:9"
"""
ME = Sender("line", "main", "U" + "1" * 26 + "abcdef")
ADDRESS = {"channel": "line", "account_name": "main", "sender": ME.id}


@pytest.fixture
async def world(template: Path, home: Path, tmp_path: Path) -> AsyncIterator[World]:
    with_line = tmp_path / "with-line"
    shutil.copytree(template, with_line)
    config = with_line / "config.toml"
    config.write_text(config.read_text("utf-8") + CHANNEL, "utf-8")
    async with serving(with_line, home) as opened:
        yield opened


async def send(world: World, code: str) -> str:
    """As the chat would: the outcome."""
    message = InboundMessage(
        conversation=Conversation("line", "main", ME.id, is_direct=True),
        delivery_id="d1",
        message_key="m1",
        text="",
        received_at=RealClock().now(),
        sender=ME,
        sender_name="小林",
    )
    return await world.app.dispatcher.linking.redeem(RealIds().new(), message, code)


async def test_a_person_links_and_unlinks_by_rpc(world: World) -> None:
    async with world.person("member") as member, world.person("hr") as other:
        made = await member.rpc("links.code")
        assert await send(world, made["code"]) == "requested"
        (request,) = await member.rpc("links.pending")
        shown = ("channel", "account_name", "sender_name", "tail")
        assert [request[key] for key in shown] == ["line", "main", "小林", "abcdef"]
        assert ME.id not in str(request)  # the whole id is nobody's business before it is one's own
        reference = {"request_id": request["id"]}
        assert await other.rpc("links.pending") == []
        for name in ("links.confirm", "links.reject"):
            assert await other.rpc(name, reference) == "!not_found"
        assert (await member.rpc("links.confirm", reference))["sender"] == ME.id
        assert await other.rpc("links.list") == []
        assert await other.rpc("links.remove", ADDRESS) == "!not_found"
        assert [row["sender"] for row in await member.rpc("links.list")] == [ME.id]
        assert await member.rpc("links.remove", ADDRESS) is None
        assert await member.rpc("links.remove", ADDRESS) == "!not_found"
        assert await member.rpc("links.list") == []


async def test_an_admin_sees_and_ends_all_links_but_confirms_none_of_others(world: World) -> None:
    async with world.person("member") as member, world.person("admin") as admin:
        made = await member.rpc("links.code", {"channel": "line", "account_name": "main"})
        assert await send(world, made["code"]) == "requested"
        (request,) = await member.rpc("links.pending")
        assert await admin.rpc("links.pending") == []
        refused = await admin.rpc("links.confirm", {"request_id": request["id"]})
        assert refused == "!not_found"
        await member.rpc("links.confirm", {"request_id": request["id"]})
        assert [row["sender"] for row in await admin.rpc("links.list")] == [ME.id]
        assert await admin.rpc("links.list", {"own": True}) == []
        assert await admin.rpc("links.remove", ADDRESS) is None
        assert await member.rpc("links.add", {**ADDRESS, "account": "member"}) == "!not_found"
        added = await admin.rpc("links.add", {**ADDRESS, "account": "member"})
        assert added["tail"] == "abcdef"


NAMES = ["code", "pending", "confirm", "reject", "list", "remove"]


@pytest.mark.parametrize("name", NAMES)
async def test_nobody_gets_nothing(world: World, name: str) -> None:
    params: dict[str, Any] = {
        "confirm": {"request_id": "x"},
        "reject": {"request_id": "x"},
        "remove": ADDRESS,
    }.get(name, {})
    async with world.nobody() as stranger:
        assert await stranger.rpc(f"links.{name}", params) == "!not_signed_in"


async def test_the_operator_lists_and_removes_without_an_account_but_makes_no_code(
    world: World,
) -> None:
    await operate(world.app, "links.add", {**ADDRESS, "account": "member"}, None)
    listed = await operate(world.app, "links.list", {}, None)
    assert [row["sender"] for row in listed] == [ME.id]
    assert await operate(world.app, "links.list", {}, "hr") == []
    await operate(world.app, "links.remove", ADDRESS, None)
    with pytest.raises(GatewayError, match="not_signed_in"):
        await operate(world.app, "links.code", {}, None)


# ------------------------------------------------------------ the page of LINE's own flow

PATH = "/link/line/main"
TOKEN = {"linkToken": "NMZTNuVrPTqlr2IF8Bnymkb7rXfYv5EY"}


async def go(person: Person, path: str = PATH, json: Any = TOKEN, **options: Any) -> Any:
    """Status and answer of the page's button."""
    async with person.post(path, json=json, **options) as response:
        return response.status, await response.json()


async def test_the_button_leads_to_lines_dialog_with_a_new_nonce(world: World) -> None:
    async with world.person("member") as member:
        seen = set()
        for _ in range(2):
            status, answer = await go(member)
            url = urlsplit(answer["url"])
            query = parse_qs(url.query)
            assert (status, url.netloc) == (200, "access.line.me")
            assert query["linkToken"] == [TOKEN["linkToken"]]
            (nonce,) = query["nonce"]
            assert 10 <= len(nonce) <= 255
            seen.add(nonce)
        assert len(seen) == 2


async def test_the_page_tells_a_stranger_nothing(world: World) -> None:
    async with world.nobody() as stranger:
        async with stranger.session.get(f"{world.url}{PATH}?linkToken=x") as response:
            page = await response.text()
            assert response.status == 200
            assert "script-src" not in response.headers["Content-Security-Policy"]
            assert response.headers["Referrer-Policy"] == "no-referrer"
        assert "main" not in page
        assert (await go(stranger))[0] == 401


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"X-Shutten-CSRF": "wrong"}, "origin_refused"),
        ({"X-Shutten-CSRF": ""}, "origin_refused"),
        ({"Origin": "https://evil.example"}, "origin_refused"),
        ({"Origin": "null"}, "origin_refused"),
    ],
)
async def test_no_other_site_makes_a_nonce(
    world: World, headers: dict[str, str], code: str
) -> None:
    async with world.person("member") as member:
        _, answer = await go(member, headers=headers)
        assert answer["error"]["code"] == code


async def test_a_programs_token_makes_no_nonce(world: World) -> None:
    bearer = {"Authorization": f"Bearer {await world.token('member')}"}
    async with world.nobody() as program:
        assert (await go(program, headers=bearer))[0] == 401


@pytest.mark.parametrize("path", ["/link/line/other", "/link/webchat/web", "/link/slack/main"])
async def test_only_a_platform_with_a_flow_of_its_own_has_the_page(world: World, path: str) -> None:
    async with world.person("member") as member:
        status, answer = await go(member, path)
        assert (status, answer["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    "body", [{}, [], {"linkToken": 7}, {"linkToken": ""}, {"linkToken": "x" * 600}, "x", None]
)
async def test_an_odd_wish_is_refused(world: World, body: Any) -> None:
    async with world.person("member") as member:
        assert (await go(member, json=body))[0] == 400


async def test_what_is_no_wish_at_all_is_refused(world: World) -> None:
    deep = b'{"x": ' + b"[" * 9_000 + b"]" * 9_000 + b"}"
    async with world.person("member") as member:
        for body in (b"", b"{", b"\xff", b'{"linkToken": "\\ud800"}', deep):
            assert (await go(member, json=None, data=body))[0] == 400, body[:20]


async def test_a_token_cannot_add_to_the_address_it_is_put_into(world: World) -> None:
    async with world.person("member") as member:
        _, answer = await go(member, json={"linkToken": "a&nonce=evil#x"})
        query = parse_qs(urlsplit(answer["url"]).query)
        assert query["linkToken"] == ["a&nonce=evil#x"]
        assert len(query["nonce"]) == 1
        assert query["nonce"] != ["evil"]

"""The public widget through the whole program: who is let in, what is read, who is apart."""

import asyncio
import json
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.surfaces.visitor_key import KEY_FILE
from gateway.surfaces.widget_socket import FRAMES, MAX_FRAME_BYTES, MOST_REFUSED, OVER
from tests.surfaces.serving import World, operate, serving
from tests.surfaces.visiting import (
    ASK,
    OF_STAFF,
    SITE,
    WIDGET,
    Guest,
    change,
    configured,
    guest,
    refused,
    socket_of,
)


@pytest.fixture(scope="module")
def site(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "home"
    return configured(template, folder, channels__widget__site=WIDGET)


async def searches(world: World) -> int:
    """How often the library was searched."""
    return len(await world.app.store.audit.entries(None, 1_000))


async def test_a_visitor_asks_and_sees_where_the_answer_stands(site: Path, home: Path) -> None:
    async with serving(site, home) as world, guest(world) as visitor:
        await visitor.socket.send_json({"type": "user_message", "id": "1", "text": ASK})
        first = await visitor.socket.receive_json()
        assert first["type"] == "assistant_delta"
        done = await visitor.end()
        assert set(done) == {"type", "turn_id", "text", "citations"}
        assert done["turn_id"] == first["turn_id"]
        assert "兩年" in done["text"]
        assert "[1]" in done["text"]
        [citation, *_] = done["citations"]
        assert set(citation) == {"n", "title", "locator", "excerpt"}  # no id that opens anything
        assert citation["title"] == "產品常見問題.md"
        turn = await world.app.store.turns.find(done["turn_id"])
        assert turn is not None
        assert (turn.audience.value, turn.account_id, turn.sender) == ("visitor", None, None)
        assert not turn.is_direct


READS = [
    ("public and granted to the widget and the agent", ASK, "兩年", True),
    ("internal, granted to both all the same", OF_STAFF, "七日", False),
    ("personal", "績效考核的等第怎麼分？", "等第", False),
]


@pytest.mark.parametrize(("what", "question", "word", "is_read"), READS)
async def test_a_visitor_reads_what_is_public_alone(
    site: Path, home: Path, what: str, question: str, word: str, is_read: bool
) -> None:
    async with serving(site, home) as world, guest(world) as visitor:
        done = await visitor.ask(question)
        assert (word in done["text"], bool(done["citations"])) == (is_read, is_read), what


@pytest.mark.parametrize("without", ["widget", "xiaohe"])
async def test_what_is_public_is_read_only_where_site_and_agent_have_it(
    site: Path, home: Path, without: str
) -> None:
    async with serving(site, home) as world, guest(world) as visitor:
        assert (await visitor.ask(ASK))["citations"]
        await change(world.app, "products", without=without)
        done = await visitor.ask(ASK, id="again")
        assert done["citations"] == []
        assert "兩年" not in done["text"]
        await change(world.app, "products", add=("telegram", "slack"))
        assert (await visitor.ask(ASK, id="third"))["citations"] == []


async def test_a_grant_to_this_very_widget_is_enough(site: Path, home: Path) -> None:
    async with serving(site, home) as world, guest(world) as visitor:
        await change(world.app, "products", without="widget", add=("widget/site",))
        assert (await visitor.ask(ASK))["citations"]


async def test_only_pages_of_the_list_open_a_socket(site: Path, home: Path) -> None:
    async with serving(site, home) as world:
        foreign = (
            "https://evil.example",
            "https://www.example.com.evil.example",
            "https://www.example.com:8443",
            "http://www.example.com",
            "https://WWW.example.com/",
            "https://example.com",
            "null",
            "",
            "http://127.0.0.1:1",
        )
        for origin in foreign:
            status, body = await refused(world, Origin=origin)
            assert (status, json.loads(body)["error"]["code"]) == (403, "origin_refused"), origin
        status, _ = await refused(world)  # a browser names its page
        assert status == 403
        for origin in (SITE, world.url):
            async with socket_of(world, origin=origin):
                pass


async def test_unknown_disabled_and_archived_agents_look_alike(site: Path, home: Path) -> None:
    async with serving(site, home) as world:
        await operate(world.app, "agents.create", {"id": "quiet", "display_name": "靜"}, None)
        agent = await world.app.store.agents.find("xiaohe")
        assert agent is not None
        await world.app.store.agents.put(replace(agent, is_archived=True))
        seen = set()
        for name in ("xiaohe", "quiet", "nobody", "..%2Fxiaohe", "xiaohe%00", "%E5%B0%8F"):
            for origin in (SITE, "https://evil.example"):
                seen.add(await refused(world, name, Origin=origin))
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"{world.url}/widget/{name}") as page,
            ):
                seen.add((page.status, await page.text()))
        [(status, body)] = seen
        assert (status, json.loads(body)["error"]["code"]) == (404, "not_found")
        await world.app.store.agents.put(agent)
        async with guest(world) as visitor:
            assert (await visitor.ask(ASK))["citations"]


async def test_a_session_is_the_servers_word(site: Path, home: Path) -> None:
    """Another's id without its token, a token that was bent, another's account: nothing."""
    async with serving(site, home) as world, guest(world) as visitor:
        secret = await visitor.ask(ASK)
        _, visitor_id, expires, seal = visitor.token.split(".")
        bent = [
            visitor_id,
            f"v1.{visitor_id}.{expires}.{'0' * 64}",
            f"v1.{visitor_id}.{int(expires) + 1}.{seal}",
            f"v1.{'A' * 43}.{expires}.{seal}",
            visitor.token + "0",
            "v1...",
            "\0",
            "é" * 43,
            "x" * 100_0,
        ]
        for token in bent:
            claims: dict[str, Any] = {
                "visitor_id": visitor_id,
                "session_id": visitor_id,
                "user_id": "admin",
            }
            async with guest(world, token, after="", **claims) as other:
                assert other.token.split(".")[1] != visitor_id
                done = await other.ask(ASK, conversation_id=visitor_id, **claims)
                assert done["type"] == "assistant_done"
                assert done["turn_id"] != secret["turn_id"]
                turn = await world.app.store.turns.find(done["turn_id"])
                assert turn is not None
                assert turn.conversation.endswith(other.token.split(".")[1])
                assert (turn.account_id, turn.sender) == (None, None)
        with pytest.raises(TimeoutError):  # and the first one heard of none of it
            await visitor.socket.receive(timeout=0.05)


async def test_a_token_holds_for_its_own_widget_and_agent(template: Path, tmp_path: Path) -> None:
    both = await asyncio.to_thread(
        configured,
        template,
        tmp_path / "two",
        channels__widget__site=WIDGET,
        channels__widget__other={**WIDGET, "agent": "second"},
    )
    async with serving(both, tmp_path / "home") as world, guest(world) as visitor:
        await operate(world.app, "agents.create", {"id": "second", "display_name": "二"}, None)
        async with socket_of(world, "second") as socket:
            await socket.send_json({"type": "hello", "token": visitor.token})
            session = await socket.receive_json()
        assert session["token"].split(".")[1] != visitor.token.split(".")[1]


async def test_no_token_stands_in_an_address(site: Path, home: Path) -> None:
    """A token in the query string opens nothing: the first frame alone counts."""
    async with serving(site, home) as world, guest(world) as visitor:
        await visitor.ask(ASK)
        async with socket_of(world, f"xiaohe?token={visitor.token}") as socket:
            await socket.send_json({"type": "hello", "after": ""})
            session = await socket.receive_json()
        assert session["token"] != visitor.token


async def test_a_question_before_the_greeting_is_not_asked(site: Path, home: Path) -> None:
    async with serving(site, home) as world, socket_of(world) as socket:
        before = await searches(world)
        for _ in range(2):
            await socket.send_json({"type": "user_message", "id": "1", "text": ASK})
            error = await socket.receive_json()
            assert (error["type"], error["code"]) == ("error", "invalid_request")
        await socket.send_json({"type": "hello"})
        assert (await socket.receive_json())["type"] == "session"
        await socket.send_json({"type": "hello"})
        assert (await socket.receive_json())["code"] == "invalid_request"
        assert await searches(world) == before


async def test_a_visitor_comes_back_to_what_was_said(site: Path, home: Path) -> None:
    async with serving(site, home) as world:
        async with guest(world) as visitor:
            first = await visitor.ask(ASK)
            frame = {"type": "user_message", "id": "q2", "text": "運費怎麼算？"}
            await visitor.socket.send_json(frame)
        async with guest(world, visitor.token, after=first["turn_id"]) as again:
            assert again.token == visitor.token
            await again.socket.send_json(frame)  # it cannot know whether the first one arrived
            second = await again.end()
            assert "免運費" in second["text"]
        async with guest(world, visitor.token) as reloaded:  # a new page, the same tab
            history = await reloaded.socket.receive_json()
            assert history["type"] == "history"
            said = [(turn["turn_id"], turn["question"]) for turn in history["turns"]]
            assert said == [(first["turn_id"], ASK), (second["turn_id"], "運費怎麼算？")]
            assert history["turns"][0]["citations"] == first["citations"]


@pytest.mark.parametrize("how", ["not granted any more", "its document deleted"])
async def test_what_may_not_be_read_any_more_is_not_shown_again(
    site: Path, home: Path, how: str
) -> None:
    async with serving(site, home) as world:
        async with guest(world) as visitor:
            assert "兩年" in (await visitor.ask(ASK))["text"]
        if how == "not granted any more":
            await change(world.app, "products", without="widget")
        else:
            listed = await operate(
                world.app, "knowledge.sources.list", {"collection": "products"}, "admin"
            )
            for source in listed:
                reference = {"source_id": source["id"]}
                await operate(world.app, "knowledge.sources.delete", reference, "admin")
        async with guest(world, visitor.token) as reloaded:
            history = await reloaded.socket.receive_json()
            assert [turn["question"] for turn in history["turns"]] == [ASK]
            assert [turn["citations"] for turn in history["turns"]] == [[]]
            assert "兩年" not in json.dumps(history, ensure_ascii=False)
        async with guest(world, visitor.token, after="") as returning:
            done = await returning.end()
            assert (done["citations"], "兩年" in done["text"]) == ([], False)


async def test_a_session_outlasts_a_restart(site: Path, home: Path, tmp_path: Path) -> None:
    async with serving(site, home) as world, guest(world) as visitor:
        first = await visitor.ask(ASK)
    key = home / KEY_FILE
    assert key.stat().st_mode & 0o777 == 0o600
    assert visitor.token.encode() not in key.read_bytes()
    async with serving(home, tmp_path / "again") as world:
        async with guest(world, visitor.token, after="") as again:
            assert (await again.end())["turn_id"] == first["turn_id"]
        (tmp_path / "again" / KEY_FILE).write_bytes(b"short")
    async with (
        serving(tmp_path / "again", tmp_path / "third") as world,
        guest(world, visitor.token) as stranger,
    ):
        assert stranger.token != visitor.token


ODD: list[tuple[str, Any, str]] = [
    ("no JSON", "{", "parse_error"),
    ("lone surrogate", r'{"type":"user_message","id":"1","text":"\ud800"}', "parse_error"),
    ("deep", '{"type":"user_message","x":' + "[" * 30_000, "parse_error"),
    ("a list", "[]", "invalid_request"),
    ("no text", '{"type":"user_message","id":"1"}', "invalid_request"),
    ("empty", '{"type":"user_message","id":"1","text":" \\n"}', "invalid_request"),
    ("no id", '{"type":"user_message","id":"","text":"a"}', "invalid_request"),
    ("long id", f'{{"type":"user_message","id":"{"x" * 101}","text":"a"}}', "invalid_request"),
    ("other type", '{"type":"assistant_done","id":"1","text":"a"}', "invalid_request"),
    ("no type", '{"id":"1","text":"a"}', "invalid_request"),
    ("a number for a text", '{"type":"user_message","id":"1","text":7}', "invalid_request"),
    ("binary", b"\xff\xfe", "parse_error"),
]


async def test_odd_frames_are_answered_and_the_socket_stays(site: Path, home: Path) -> None:
    async with serving(site, home) as world, guest(world) as visitor:
        for name, frame, code in ODD:
            sending = visitor.socket.send_bytes
            await (sending if isinstance(frame, bytes) else visitor.socket.send_str)(frame)
            error = await visitor.socket.receive_json()
            assert (error["type"], error["code"]) == ("error", code), name
            assert error["message"], name
        assert (await visitor.ask(ASK))["type"] == "assistant_done"
        await visitor.socket.send_str("x" * (MAX_FRAME_BYTES + 1))
        assert (await visitor.socket.receive()).type is aiohttp.WSMsgType.CLOSE


async def test_a_flood_of_frames_is_slowed_down_and_then_cut_off(site: Path, home: Path) -> None:
    async with serving(site, home) as world, guest(world) as visitor:
        codes = []
        while True:
            await visitor.socket.send_str("{")
            message = await visitor.socket.receive()
            if message.type is not aiohttp.WSMsgType.TEXT:
                break
            codes.append(json.loads(message.data)["code"])
        assert codes[: FRAMES - 1] == ["parse_error"] * (FRAMES - 1)  # one was the greeting
        assert set(codes[FRAMES - 1 :]) == {"too_many_requests"}
        assert len(codes) <= FRAMES + MOST_REFUSED


async def test_questions_are_counted_per_visitor_a_hundred_at_once(
    template: Path, tmp_path: Path
) -> None:
    few = {**WIDGET, "per_visitor_per_minute": 3, "language": "ja"}
    made = await asyncio.to_thread(
        configured, template, tmp_path / "few", channels__widget__site=few
    )
    async with serving(made, tmp_path / "home") as world, AsyncExitStack() as opened:
        visitor = await opened.enter_async_context(guest(world))
        sockets = [await opened.enter_async_context(guest(world, visitor.token)) for _ in range(90)]

        async def outcome(same: Guest) -> str:
            answers = 0
            while (frame := await same.end())["type"] != "error":
                answers += 1
                if answers == 3:
                    return "answered"
            assert frame["message"].startswith("リクエストが多すぎます")
            return str(frame["code"])

        for n, each in enumerate(sockets):
            await each.socket.send_json({"type": "user_message", "id": f"{n}", "text": ASK})
        outcomes = await asyncio.gather(*map(outcome, sockets))
        assert Counter(outcomes) == {"answered": 3, "too_many_requests": 87}
        async with guest(world) as other:  # somebody else is not slowed down
            assert (await other.ask(ASK))["type"] == "assistant_done"


async def test_questions_are_counted_per_address_behind_our_own_proxies_alone(
    template: Path, tmp_path: Path
) -> None:
    few = {**WIDGET, "per_address_per_minute": 2}
    proxied = {**few, "trusted_proxies": ["127.0.0.0/8"]}

    async def codes(name: str, widget: dict[str, Any], forwarded: list[str]) -> list[str]:
        made = await asyncio.to_thread(
            configured, template, tmp_path / f"{name}-made", channels__widget__site=widget
        )
        async with serving(made, tmp_path / name) as world:
            found = []
            for n, each in enumerate(forwarded):
                headers = {"X-Forwarded-For": each}
                async with guest(world, headers=headers) as visitor:
                    frame = await visitor.ask(ASK, id=str(n))
                    found.append(frame.get("code", "answered"))
            return found

    made_up = ["203.0.113.1", "203.0.113.2", "203.0.113.3"]
    assert await codes("bare", few, made_up) == ["answered"] * 2 + ["too_many_requests"]
    assert await codes("proxied", proxied, made_up) == ["answered"] * 3
    lying = [f"198.51.100.{n}, 203.0.113.9" for n in range(3)]  # what a client wrote itself
    assert await codes("lying", proxied, lying) == ["answered"] * 2 + ["too_many_requests"]


async def test_no_more_visitors_than_the_setting_says(template: Path, tmp_path: Path) -> None:
    few = {**WIDGET, "most_visitors": 2}
    made = await asyncio.to_thread(
        configured, template, tmp_path / "made", channels__widget__site=few
    )
    async with serving(made, tmp_path / "home") as world:
        async with guest(world), guest(world):
            status, body = await refused(world, Origin=SITE)
            assert (status, json.loads(body)["error"]["code"]) == (429, "too_many_requests")
        async with guest(world) as visitor:
            assert (await visitor.ask(ASK))["type"] == "assistant_done"


async def test_the_unsigned_cannot_speak_for_a_visitor(site: Path, home: Path) -> None:
    entry = {"visitor_id": "x", "id": "1", "text": ASK}
    async with serving(site, home) as world, aiohttp.ClientSession() as session:
        for headers in ({}, {"X-Widget-Seal": "0" * 64}, {"X-Widget-Seal": "é"}):
            address = f"{world.url}/webhooks/widget/site"
            async with session.post(address, json=entry, headers=headers) as response:
                assert response.status == 401


async def test_the_script_may_be_loaded_anywhere_the_frame_on_the_list_alone(
    site: Path, home: Path
) -> None:
    async with serving(site, home) as world, aiohttp.ClientSession() as session:
        async with session.get(f"{world.url}/widget.js") as script:
            assert script.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
            assert script.headers["Content-Type"].startswith("text/javascript")
            assert "http://" not in (await script.text()).replace("http://www.w3.org/2000/svg", "")
        async with session.get(f"{world.url}/widget/xiaohe?language=ja") as page:
            policy = page.headers["Content-Security-Policy"]
            text = await page.text()
            assert "Set-Cookie" not in page.headers
        assert policy.endswith(f"frame-ancestors {SITE}")
        assert "unsafe" not in policy
        assert '<html lang="ja">' in text
        assert "質問を入力" in text
        async with session.get(f"{world.url}/") as page:
            assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]


async def test_a_title_of_the_settings_is_text(template: Path, tmp_path: Path) -> None:
    odd = {**WIDGET, "title": "<script>alert(1)</script>", "greeting": "{x} <b> ' &"}
    made = await asyncio.to_thread(
        configured, template, tmp_path / "made", channels__widget__site=odd
    )
    async with (
        serving(made, tmp_path / "home") as world,
        aiohttp.ClientSession() as session,
        session.get(f"{world.url}/widget/xiaohe") as page,
    ):
        text = await page.text()
    assert text.count("<script") == 1
    assert "<b>" not in text


async def test_sockets_that_say_nothing_do_not_hold_up_the_end(site: Path, home: Path) -> None:
    async with serving(site, home) as world:
        mute, spoken = socket_of(world), guest(world)
        socket = await mute.__aenter__()
        visitor = await spoken.__aenter__()
        stopping = world.app.clock.monotonic()
    assert world.app.clock.monotonic() - stopping < 5
    assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
    assert (await visitor.socket.receive()).data != OVER
    await mute.__aexit__(None, None, None)
    await spoken.__aexit__(None, None, None)


@pytest.mark.parametrize(
    "words", ["/link ABCD-EFGH-JKLM", "綁定 ABCD-EFGH-JKLM", "/unlink", "/help"]
)
async def test_a_visitor_has_nobody_to_bind_to(site: Path, home: Path, words: str) -> None:
    """Commands of people who have accounts do nothing here, and codes are not told again."""
    async with serving(site, home) as world, guest(world) as visitor:
        done = await visitor.ask(words)
        assert done["type"] == "assistant_done"
        assert done["text"].strip()
        assert "ABCD" not in done["text"]
        assert await world.app.store.links.list() == []
        assert (await visitor.ask(ASK))["citations"]

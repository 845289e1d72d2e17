"""Web chat, signed in: question, drafts, answer with sources, and who else may see it."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from channels.webchat.parse import Entry
from gateway import catalogue
from gateway.core.access import BindingRole
from gateway.core.messages import CitationView
from gateway.surfaces.chat_socket import FRAMES, MAX_FRAME_BYTES, SIGNED_OUT
from tests.surfaces.serving import World, answer, operate, serving

ASK = "到職滿一年的特休有幾天？"
SALARY = "績效考核的等第怎麼分？"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def test_a_question_its_answer_its_sources_and_the_passage(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        async with person.chat() as socket:
            *deltas, done = await answer(socket, ASK)
        assert deltas
        assert {frame["turn_id"] for frame in deltas} == {done["turn_id"]}
        assert set(done) == {"type", "turn_id", "text", "citations"}
        assert "滿一年者七日" in done["text"]
        assert "[1]" in done["text"]
        citation = done["citations"][0]
        assert set(citation) == set(CitationView.__slots__)
        assert citation["title"] == "員工手冊.docx"
        opened = await person.rpc(
            "knowledge.passages.get", {"chunk_id": citation["chunk_id"], "context": 1}
        )
        [asked] = [passage for passage in opened if passage["is_asked_for"]]
        assert "七日" in asked["text"]
        assert len(opened) > 1
        [turn] = await person.rpc("chat.history", {"conversation_id": "c1"})
        assert (turn["question"], turn["text"]) == (ASK, done["text"])
        assert turn["citations"][0]["chunk_id"] == citation["chunk_id"]
        [conversation] = await person.rpc("chat.conversations")
        assert conversation["conversation_id"] == "c1"


async def test_nobody_else_sees_a_conversation(template: Path, home: Path) -> None:
    async with (
        serving(template, home) as world,
        world.person("hr") as hr,
        hr.chat() as socket,
        world.person("member") as member,
    ):
        async with member.chat() as other:
            done = (await answer(socket, SALARY))[-1]
            [citation, *_] = done["citations"]
            asked = {"chunk_id": citation["chunk_id"]}
            assert await member.rpc("knowledge.passages.get", asked) == "!not_found"
            assert await member.rpc("chat.history", {"conversation_id": "c1"}) == []
            assert await member.rpc("chat.conversations") == []
            own = (await answer(other, ASK))[-1]  # nothing of the other's came before it
            assert own["turn_id"] != done["turn_id"]
            account = await world.app.store.accounts.find_by_login("hr")
            assert account is not None
            name = f"../{account.id}.c1"
            assert await member.rpc("chat.history", {"conversation_id": name}) == []
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await member.chat("a.b")
        assert refused.value.status == 400


async def test_a_frame_speaks_for_its_own_session_whatever_it_claims(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        hr = await world.app.store.accounts.find_by_login("hr")
        member = await world.app.store.accounts.find_by_login("member")
        assert hr is not None
        assert member is not None
        names = ("user_id", "account_id", "account", "sender", "session", "token")
        claims: dict[str, Any] = {
            **dict.fromkeys(names, hr.id),
            "audience": "account",
            "is_direct": True,
            "role": "admin",
        }
        async with person.chat() as socket:
            [*_, done] = await answer(socket, SALARY, **claims)
        assert "薪資與考核" not in json.dumps(done, ensure_ascii=False)
        turn = await world.app.store.turns.find(done["turn_id"])
        assert turn is not None
        assert turn.account_id == member.id


async def test_a_member_gets_nothing_of_what_only_hr_may_read(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        async with person.chat() as socket:
            frames = await answer(socket, SALARY)
        assert all("薪資與考核" not in json.dumps(frame, ensure_ascii=False) for frame in frames)


async def test_a_revoked_or_deleted_source_shows_no_more_than_its_title(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("hr") as person:
        async with person.chat() as socket:
            first = (await answer(socket, ASK))[-1]
            second = (await answer(socket, SALARY))[-1]
        handbook = first["citations"][0]["source_id"]
        await operate(world.app, "knowledge.sources.delete", {"source_id": handbook}, "admin")
        now = await operate(world.app, "knowledge.grants.list", {"collection": "salary"}, "admin")
        kept = [line for line in now["grants"] if line["role"] == "owner"][:1]
        change = {"collection": "salary", "version": now["version"], "grants": kept}
        await operate(world.app, "knowledge.grants.replace", change, "admin")
        restored = await person.rpc("knowledge.citations.for_session", {"conversation_id": "c1"})
        of_first = [each for each in restored if each["turn_id"] == first["turn_id"]]
        of_second = [each for each in restored if each["turn_id"] == second["turn_id"]]
        assert (of_first[0]["title"], of_first[0]["is_deleted"]) == ("員工手冊.docx", True)
        assert of_first[0]["excerpt"] is None
        assert all(each["title"] is None for each in of_second)
        async with person.chat(after="") as socket:
            again = [await socket.receive_json() for _ in range(2)]
        assert [frame["turn_id"] for frame in again] == [first["turn_id"], second["turn_id"]]
        assert [frame["citations"] for frame in again] == [[], []]
        withheld = [catalogue.text("chat.no_passage", "zh-TW")] * 2
        assert [frame["text"] for frame in again] == withheld
        turns = await person.rpc("chat.history", {"conversation_id": "c1"})
        assert [turn["text"] for turn in turns] == withheld


async def test_a_lost_connection_resumes_by_the_last_turn(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        async with person.chat() as socket:
            first = (await answer(socket, ASK))[-1]
            frame = {"type": "user_message", "id": "q2", "text": "遠距工作一週幾天？"}
            await socket.send_json(frame)
        async with person.chat(after=first["turn_id"]) as socket:
            await socket.send_json(frame)  # it cannot know whether the first one arrived
            async with asyncio.timeout(20):
                while (done := await socket.receive_json())["type"] != "assistant_done":
                    assert done["type"] == "assistant_delta"
        turns = await person.rpc("chat.history", {"conversation_id": "c1"})
        assert [turn["turn_id"] for turn in turns] == [first["turn_id"], done["turn_id"]]
        async with person.chat(after=first["turn_id"]) as socket:
            again = await socket.receive_json()
        assert {**again, "citations": None} == {**done, "citations": None}
        assert again["citations"] == done["citations"]


async def test_one_frame_sent_twice_is_one_turn(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        async with person.chat() as socket:
            await answer(socket, ASK, id="same")
            frame = {"type": "user_message", "id": "same", "text": ASK}
            await socket.send_json(frame)
            await answer(socket, "遠距工作一週幾天？", id="next")
        turns = await person.rpc("chat.history", {"conversation_id": "c1"})
        assert [turn["question"] for turn in turns] == [ASK, "遠距工作一週幾天？"]
        async with world.person("hr") as other, other.chat() as socket:  # ids are an account's own
            assert (await answer(socket, ASK, id="same"))[-1]["type"] == "assistant_done"


@pytest.mark.parametrize(
    ("options", "login", "status"),
    [
        ({}, None, 401),
        ({"headers": {"Origin": "http://evil.example"}}, "member", 403),
        ({"headers": {"Origin": "http://127.0.0.1:1"}}, "member", 403),
        ({"headers": {"Host": "evil.example"}}, "member", 403),
        ({"headers": {"Authorization": "Bearer nope"}}, "member", 401),
    ],
)
async def test_who_gets_no_socket(
    template: Path, home: Path, options: dict[str, Any], login: str | None, status: int
) -> None:
    async with (
        serving(template, home) as world,
        world.person(login) if login else world.nobody() as person,
    ):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await person.chat(**options)
        assert refused.value.status == status


@pytest.mark.parametrize("origin", [None, "own"])
async def test_our_own_page_and_programs_get_one(
    template: Path, home: Path, origin: str | None
) -> None:
    async with serving(template, home) as world:
        headers = {"Origin": world.url} if origin else {}
        async with world.person("member") as person, person.chat(headers=headers) as socket:
            assert (await answer(socket, ASK))[-1]["type"] == "assistant_done"
        headers["Authorization"] = f"Bearer {await world.token('member')}"
        async with world.nobody() as program, program.chat(headers=headers) as socket:
            assert (await answer(socket, ASK, id="x"))[-1]["type"] == "assistant_done"


async def test_only_agents_one_may_talk_to_answer(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        params = {"id": "secret", "display_name": "秘"}
        await operate(world.app, "agents.create", params, None)
        assert [each["id"] for each in await person.rpc("chat.agents")] == ["xiaohe"]
        async with person.chat() as socket:
            answers = [
                (await answer(socket, ASK, id=f"a{n}", agent=agent))[-1]
                for n, agent in enumerate(["secret", "nobody", "../x", "xiaohe"])
            ]
            assert [each.get("code") for each in answers] == ["not_found"] * 3 + [None]
            assert answers[0] == answers[1]
            bind = {"agent_id": "secret", "account": "member", "role": BindingRole.VIEWER.value}
            await operate(world.app, "agents.bind", bind, None)
            allowed = (await answer(socket, ASK, id="b", agent="secret"))[-1]
            assert allowed["type"] == "assistant_done"


ODD: list[tuple[str, Any, str]] = [
    ("no JSON", "{", "parse_error"),
    ("lone surrogate", r'{"type":"user_message","id":"1","text":"\ud800"}', "parse_error"),
    ("deep", '{"type":"user_message","x":' + "[" * 100_000, "parse_error"),
    ("a list", "[]", "invalid_request"),
    ("no text", '{"type":"user_message","id":"1"}', "invalid_request"),
    ("empty", '{"type":"user_message","id":"1","text":" \\n"}', "invalid_request"),
    ("no id", '{"type":"user_message","id":"","text":"a"}', "invalid_request"),
    ("long id", f'{{"type":"user_message","id":"{"x" * 101}","text":"a"}}', "invalid_request"),
    ("other type", '{"type":"assistant_done","id":"1","text":"a"}', "invalid_request"),
    (
        "odd conversation",
        '{"type":"user_message","id":"1","text":"a","conversation_id":"../b"}',
        "invalid_request",
    ),
    ("binary", b"\xff\xfe", "parse_error"),
]


async def test_odd_frames_are_answered_and_the_socket_stays(template: Path, home: Path) -> None:
    async with (
        serving(template, home) as world,
        world.person("member") as person,
        person.chat() as socket,
    ):
        for name, frame, code in ODD:
            sending = socket.send_bytes if isinstance(frame, bytes) else socket.send_str
            await sending(frame)
            error = await socket.receive_json()
            assert (error["type"], error["code"]) == ("error", code), name
            assert error["message"], name
        assert (await answer(socket, ASK))[-1]["type"] == "assistant_done"


async def test_a_long_question_is_answered_a_huge_frame_is_not_read(
    template: Path, home: Path
) -> None:
    async with (
        serving(template, home) as world,
        world.person("member") as person,
        person.chat() as socket,
    ):
        long = ASK + "字" * 100_000
        assert (await answer(socket, long, id="long"))[-1]["type"] == "assistant_done"
        await socket.send_str("x" * (MAX_FRAME_BYTES + 1))
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE


async def test_a_flood_is_slowed_down(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        async with person.chat() as socket:
            for _ in range(FRAMES + 1):
                await socket.send_str("{")
            codes = [(await socket.receive_json())["code"] for _ in range(FRAMES + 1)]
        assert codes == ["parse_error"] * FRAMES + ["too_many_requests"]


async def test_the_socket_ends_with_the_session_and_with_the_account(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        async with person.chat() as socket, person.chat("c2") as other:
            await person.rpc("auth.logout")
            assert (await answer(socket, ASK))[-1]["code"] == "not_signed_in"
            assert (await socket.receive()).data == SIGNED_OUT
            # an answer that comes when the session is over is not shown either
            account = await world.app.store.accounts.find_by_login("member")
            assert account is not None
            await say(world, account.id, "c2")
            assert (await other.receive_json())["code"] == "not_signed_in"
        async with world.person("hr") as hr, hr.chat() as socket:
            account = await world.app.store.accounts.find_by_login("hr")
            assert account is not None
            await world.app.store.accounts.put(replace(account, is_active=False))
            assert (await answer(socket, ASK))[-1]["code"] == "not_signed_in"


async def say(world: World, account_id: str, conversation: str) -> None:
    """A message that came in by an earlier socket."""
    channel = world.app.web_chat
    entry = Entry(account_id, "xiaohe", conversation, "late", ASK)
    await world.app.lanes.accept(channel.parse(*channel.seal(entry), world.app.clock.now()))


async def test_a_hundred_sockets_at_once(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("member") as person:

        async def one(n: int) -> str:
            async with person.chat(f"c{n}") as socket:
                return str((await answer(socket, ASK, id=f"q{n}"))[-1]["turn_id"])

        turn_ids = await asyncio.gather(*(one(n) for n in range(100)))
        assert len(set(turn_ids)) == 100
        assert len(world.app.web_chat.hub) == 0


async def test_two_sockets_of_one_conversation_see_the_same(template: Path, home: Path) -> None:
    async with (
        serving(template, home) as world,
        world.person("member") as person,
        person.chat() as first,
        person.chat() as second,
    ):
        frames = await answer(first, ASK)
        assert [await second.receive_json() for _ in frames] == frames


async def test_open_sockets_do_not_hold_up_the_end(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.nobody() as person:
        program = {"Authorization": f"Bearer {await world.token('member')}"}
        socket = await person.chat(headers=program)
        world.app.web_chat.hub.close()
        async with asyncio.timeout(5):
            assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE

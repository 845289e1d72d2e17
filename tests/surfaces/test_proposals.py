"""「加入知識庫」 from the signed webhook to the search, and everybody who may not."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gateway.catalogue import error_text, text
from gateway.core.access import Audience, AudienceKind
from gateway.core.audit import AccessAction
from gateway.core.messages import Sender
from gateway.errors import NotFoundError
from gateway.operations.table import Caller
from tests.fakes.times import RealIds
from tests.simulators.line import LineSimulator
from tests.simulators.line_files import File, LineFiles
from tests.surfaces.serving import Person, World, answer, operate, ready, serving

LINE = """
[channels.line.main]
agent = "xiaohe"
channel_secret = "line-secret"
channel_access_token = "line-token"
api_base_url = "{line}"
api_data_base_url = "{files}"
"""
MEMBER, STRANGER = "U" + "1" * 32, "U" + "2" * 32
GROUP = "C" + "3" * 32
COMMAND = "加入知識庫 handbook"
PARKING = "員工停車位每月租金為八百元，每年三月抽籤一次。".encode()
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MENTION = {"mention": {"mentionees": [{"index": 0, "length": 4, "type": "user", "isSelf": True}]}}


@dataclass
class Office:
    """The whole program with LINE on its other side; `MEMBER` is linked to the demo's member."""

    world: World
    line: LineSimulator
    files: LineFiles
    home: Path
    person: Person  # carries the webhook calls

    async def post(self, event: dict[str, Any], replies: int = 1) -> str:
        before = len(self.line.deliveries)
        body = self.line.body(event)
        url, headers = f"{self.world.url}/webhooks/line/main", self.line.headers(body)
        async with self.person.session.post(url, data=body, headers=headers) as got:
            assert got.status == 200
        if not replies:
            return ""
        await self.line.wait_for(before + replies)
        return "\n".join(self.line.deliveries[-1].texts)

    async def say(self, words: str, user: str = MEMBER, **over: Any) -> str:
        return await self.post(self.line.text_event(words, user, **over))

    async def send(
        self, name: str = "停車辦法.txt", data: bytes = PARKING, user: str = MEMBER, **over: Any
    ) -> str:
        """A file without a word; in a group nobody answers it."""
        event = self.line.text_event("", user, **over)
        self.files.files[event["message"]["id"]] = File(data)
        message = {"id": event["message"]["id"], "type": "file", "fileName": name}
        event["message"] = message | {"fileSize": len(data)}
        return await self.post(event, replies=0 if "source" in over else 1)

    def kept(self) -> list[str]:
        folder = self.home / "knowledge" / "proposals"
        return sorted(each.name for each in folder.iterdir())


@asynccontextmanager
async def office(template: Path, home: Path, tmp_path: Path) -> AsyncIterator[Office]:
    async with LineSimulator().running() as line, LineFiles().running() as files:
        with_line = tmp_path / "with-line"
        shutil.copytree(template, with_line)
        config = with_line / "config.toml"
        channel = LINE.format(line=line.url, files=files.url)
        config.write_text(config.read_text("utf-8") + channel, "utf-8")
        async with serving(with_line, home) as world, world.nobody() as person:
            account = await world.app.store.accounts.find_by_login("member")
            assert account is not None
            now = world.app.clock.now()
            await world.app.store.links.bind(Sender("line", "main", MEMBER), account.id, now)
            yield Office(world, line, files, home, person)
    assert (line.violations, files.violations) == ([], [])


@pytest.fixture
async def here(template: Path, home: Path, tmp_path: Path) -> AsyncIterator[Office]:
    async with office(template, home, tmp_path) as opened:
        yield opened


def proposed(reply: str) -> list[str]:
    """The ids in the sentence, which says nothing else of the cards."""
    ids = UUID.findall(reply)
    assert ids, reply
    assert reply == text("proposals.proposed", "zh-TW", count=len(ids), ids=", ".join(ids))
    return ids


async def test_a_file_from_a_chat_is_found_once_an_editor_approved_it(here: Office) -> None:
    await here.send()
    (card_id,) = proposed(await here.say(COMMAND))
    assert here.kept() == [card_id]
    async with here.world.person("hr") as hr, here.world.person("member") as member:
        (card,) = await hr.rpc("knowledge.proposals.list")
        shown = ("id", "collection", "title", "size_bytes", "audience", "channel", "proposer_name")
        title = card["title"]
        assert [card[key] for key in shown] == [
            card_id, "handbook", title, len(PARKING), "linked", "line", "王小明",
        ]  # fmt: skip
        assert title.endswith(".txt")
        assert card["preview"] == PARKING.decode()
        search = {"query": "停車位 租金", "collections": ["handbook"]}
        assert (await member.rpc("knowledge.search", search))["is_relevant"] is False
        assert await member.rpc("knowledge.proposals.list") == []
        decision = {"id": card_id, "approve": True}
        assert await member.rpc("knowledge.proposals.decide", decision) == "!not_found"
        done = await hr.rpc("knowledge.proposals.decide", decision)
        assert (done["state"], done["is_new"], done["source"]["title"]) == ("approved", True, title)
        await ready(here.world.app, done["source"]["id"])
        hits = (await member.rpc("knowledge.search", search))["hits"]
        assert hits[0]["title"] == title
        assert await hr.rpc("knowledge.proposals.list") == []
        assert await hr.rpc("knowledge.proposals.decide", decision) == "!proposal_decided"
    assert here.kept() == []
    reply = await here.say("員工停車位每月租金多少？")
    assert "八百元" in reply


async def test_files_of_one_command_are_one_batch_and_the_same_turn_proposes_once(
    here: Office,
) -> None:
    for n in range(6):  # the sixth pushes the first out
        await here.send(f"{n}.txt", f"第 {n} 份".encode())
    event = here.line.text_event(COMMAND, MEMBER)
    ids = proposed(await here.post(event))
    assert len(ids) == 5
    await here.post(event | {"deliveryContext": {"isRedelivery": True}}, replies=0)
    assert proposed(await here.say(COMMAND)) == ids  # another turn: the same files still wait
    assert here.kept() == sorted(ids)
    async with here.world.person("admin") as admin:
        cards = await admin.rpc("knowledge.proposals.list")
        assert [card["preview"] for card in cards] == [f"第 {n} 份" for n in range(1, 6)]


async def test_the_eleventh_is_refused_with_its_sentence(here: Office) -> None:
    for n in range(10):
        await here.send(f"{n}.txt", f"第 {n} 份".encode())
        if n in (4, 9):  # all that the shelf holds
            proposed(await here.say(COMMAND))
    await here.send("10.txt", "第 10 份".encode())
    assert await here.say(COMMAND) == error_text("proposal_limit", "zh-TW", limit=10)
    assert len(here.kept()) == 10
    async with here.world.person("hr") as hr:
        cards = await hr.rpc("knowledge.proposals.list")
        await hr.rpc("knowledge.proposals.decide", {"id": cards[0]["id"], "approve": False})
    assert len(proposed(await here.say(COMMAND))) == 5


REFUSED = text("proposals.refused", "zh-TW")


async def test_missing_and_forbidden_collections_are_refused_byte_for_byte_alike(
    here: Office,
) -> None:
    await here.send()
    await operate(
        here.world.app, "knowledge.collections.create", {"name": "秘密", "slug": "secret"}, "admin"
    )
    store, said, logged = here.world.app.store, [], []
    for slug in ("secret", "no-such", "salary"):
        before = len(await store.audit.entries(None, 1_000, denied_only=True))
        said.append(await here.say(f"加入知識庫 {slug}"))
        rows = await store.audit.entries(None, 1_000, denied_only=True)
        logged.append([(row.action, row.results, row.channel) for row in rows[: -before or None]])
    assert said == [REFUSED] * 3
    assert logged == [[(AccessAction.DENIED, (), "line")]] * 3
    assert here.kept() == []


async def test_whoever_is_not_linked_is_refused_with_the_same_sentence(here: Office) -> None:
    await here.send(user=STRANGER)
    for words in (COMMAND, "加入知識庫 no-such", "加入知識庫"):
        assert await here.say(words, STRANGER) == REFUSED
    sender = Sender("line", "main", MEMBER)
    await here.send()
    await here.world.app.store.links.remove(sender)
    assert await here.say(COMMAND) == REFUSED
    account = await here.world.app.store.accounts.find_by_login("member")
    assert account is not None
    await here.world.app.store.links.bind(sender, account.id, here.world.app.clock.now())
    await here.world.app.store.accounts.put(replace(account, is_active=False))
    assert await here.say(COMMAND) == REFUSED
    assert here.kept() == []


async def test_in_a_group_ones_own_files_alone_and_only_for_what_the_group_may_know(
    here: Office,
) -> None:
    def group(user: str) -> dict[str, Any]:
        return {"type": "group", "groupId": GROUP, "userId": user}

    await here.send("別人的.txt", "別人的".encode(), source=group(STRANGER))
    in_group: dict[str, Any] = {"source": group(MEMBER), "message": MENTION}
    nothing = text("proposals.no_file", "zh-TW", minutes=30)
    assert await here.say(f"@Bot {COMMAND}", **in_group) == nothing
    await here.send(source=group(MEMBER))
    grants = await operate(
        here.world.app, "knowledge.grants.list", {"collection": "salary"}, "admin"
    )
    account = await here.world.app.store.accounts.find_by_login("member")
    assert account is not None
    line = {"subject_kind": "user", "subject_id": account.id, "role": "viewer"}
    change = {"collection": "salary", "version": grants["version"]}
    change["grants"] = [*grants["grants"], line]
    await operate(here.world.app, "knowledge.grants.replace", change, "admin")
    assert await here.say("@Bot 加入知識庫 salary", **in_group) == REFUSED  # personal
    (card_id,) = proposed(await here.say(f"@Bot {COMMAND}", **in_group))
    assert here.kept() == [card_id]
    assert await here.say(COMMAND) == nothing  # another chat
    await here.send()
    assert len(proposed(await here.say("加入知識庫 salary"))) == 1  # 1:1


async def test_names_and_paths_typed_in_a_message_are_nothing(here: Office) -> None:
    nothing = text("proposals.no_file", "zh-TW", minutes=30)
    for words in (
        "/etc/passwd",
        "file:///etc/passwd",
        "https://kb.example.com/a.txt",
        "config.toml",
    ):
        assert await here.say(f"{COMMAND} {words}") == nothing
    assert here.kept() == []
    assert await here.say("加入知識庫") == text("proposals.how", "zh-TW")
    assert await here.say("ナレッジに追加 handbook") == text("proposals.no_file", "ja", minutes=30)


async def test_files_from_before_a_restart_are_not_taken(here: Office) -> None:
    await here.send()
    await here.world.app.shelf.start()  # what a start does
    here.world.app.shelf._entries.clear()  # a new process remembers none
    assert await here.say(COMMAND) == text("proposals.no_file", "zh-TW", minutes=30)
    assert here.kept() == []


async def test_web_chat_takes_no_files_and_says_where_to_upload(here: Office) -> None:
    async with here.world.person("member") as member, member.chat() as socket:
        attachment = [{"id": "../../etc/passwd", "name": "a.txt"}]
        (done,) = await answer(socket, COMMAND, attachments=attachment)
        assert done["text"] == text("proposals.upload_in_page", "zh-TW")
        (done,) = await answer(socket, "加入知識庫 salary")
        assert done["text"] == REFUSED
    assert here.kept() == []


async def test_no_turn_and_no_agent_decides(here: Office) -> None:
    await here.send()
    (card_id,) = proposed(await here.say(COMMAND))
    app = here.world.app
    admin = await app.store.accounts.find_by_login("admin")
    assert admin is not None
    dashboard = Audience(AudienceKind.DASHBOARD, admin, is_direct=True)
    agent = await app.store.agents.find("xiaohe")
    assert agent is not None
    callers = [
        Caller(admin, replace(dashboard, kind=kind), "mcp")
        for kind in AudienceKind
        if kind is not AudienceKind.DASHBOARD
    ]
    callers.append(Caller(admin, dashboard, "rpc", turn_id=RealIds().new()))
    for caller in callers:
        for method, params in (
            ("knowledge.proposals.list", {}),
            ("knowledge.proposals.decide", {"id": card_id, "approve": True}),
        ):
            with pytest.raises(NotFoundError):
                await app.registry.call(caller, method, params)
    assert here.kept() == [card_id]
    assert await here.say("核准") != ""  # a word in the chat is a question
    assert here.kept() == [card_id]


async def test_missing_and_forbidden_proposals_are_the_same_answer(here: Office) -> None:
    await here.send()
    (card_id,) = proposed(await here.say(COMMAND))
    async with here.world.person("member") as member:
        said = []
        for each in (card_id, RealIds().new()):
            for approve in (True, False):
                body = {"jsonrpc": "2.0", "id": 1, "method": "knowledge.proposals.decide"}
                body["params"] = {"id": each, "approve": approve}
                async with member.post("/rpc", json=body) as got:
                    said.append((got.status, await got.read()))
    assert len(set(said)) == 1


async def test_two_editors_at_once_and_a_hundred_times(here: Office) -> None:
    await here.send()
    (card_id,) = proposed(await here.say(COMMAND))
    async with here.world.person("hr") as hr, here.world.person("admin") as admin:
        decision = {"id": card_id, "approve": True}
        calls = [(hr, admin)[n % 2].rpc("knowledge.proposals.decide", decision) for n in range(100)]
        outcomes = await asyncio.gather(*calls)
    (won,) = (each for each in outcomes if each != "!proposal_decided")
    assert won["state"] == "approved"
    listed = await operate(
        here.world.app, "knowledge.sources.list", {"collection": "handbook"}, "admin"
    )
    assert len([row for row in listed if row["id"] == card_id]) == 1

"""Files sent and messages unsent in LINE: from the signed webhook to what is left on disk."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from channels.line.channel import LineChannel, LineSettings
from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.scopes import ScopeService
from gateway.app import open_app
from gateway.attachments import AttachmentShelf
from gateway.catalogue import text
from gateway.core.access import Agent
from gateway.core.agents import AgentSettings
from gateway.core.calibration import Calibration
from gateway.core.chat import Draft, Speaker
from gateway.core.messages import Conversation, InboundMessage, Reply, Sender
from gateway.core.secrets import Secret
from gateway.downloads import DownloadLimits, Downloads
from gateway.home import make
from gateway.inbox import InboxLanes, LaneOptions
from gateway.interfaces import Channel, Claimed
from gateway.knowledge.search import Search
from gateway.outbox import OutboxSender
from gateway.reading import TurnReader
from gateway.retraction import Retraction
from gateway.store import Store
from gateway.surfaces.webhooks import Webhooks
from gateway.turn import TurnRunner
from tests.fakes.knowledge import FakeEncoder
from tests.fakes.models import ScriptedModel
from tests.fakes.times import RealClock, RealIds
from tests.simulators.line import LineSimulator
from tests.simulators.line_files import Body, File, LineFiles, file_event, unsent
from tests.stores import filtering, new_store

USER, OTHER, GROUP = "U" + "1" * 32, "U" + "2" * 32, "C" + "3" * 32
IN_GROUP = {"type": "group", "groupId": GROUP, "userId": USER}
CAP = 50_000
SECRET = "ZEBRA 的密碼是 1234"


@dataclass
class World:
    """LINE and its files on one side; store, lanes, turns and the shelf on the other."""

    line: LineSimulator
    files: LineFiles
    store: Store
    shelf: AttachmentShelf
    retraction: Retraction
    channel: LineChannel
    client: TestClient[web.Request, web.Application]
    folder: Path
    model: ScriptedModel
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    may_end: asyncio.Event = field(default_factory=asyncio.Event)

    async def post(self, *events: dict[str, Any]) -> None:
        body = self.line.body(*events)
        headers = self.line.headers(body)
        async with self.client.post("/webhooks/line/main", data=body, headers=headers) as answer:
            assert answer.status == 200

    def file(self, held: File | None, user: str = USER, **over: Any) -> dict[str, Any]:
        event = file_event(self.line.text_event("x", user, **over))
        if held is not None:
            self.files.files[event["message"]["id"]] = held
        return event

    async def told(self, count: int, chat: str = USER) -> list[str]:
        await self.line.wait_for(count)
        return [each for texts in self.line.texts_to(chat) for each in texts]

    async def kept(self, chat: str = USER, user: str = USER) -> list[str]:
        place = Conversation("line", "main", chat, is_direct=chat == user)
        found = await self.shelf.files(place, Sender("line", "main", user), self.channel)
        return [each.name for each in found]

    async def questions(self, chat: str = USER) -> list[str]:
        turns = await self.store.turns.of_conversation(f"line/main/{chat}", 99)
        return [turn.question for turn in turns]

    async def queries(self) -> set[str]:
        return {each.query for each in await self.store.audit.entries(None, 99)}

    async def slow_draft(self) -> Draft:
        self.begun.set()
        await self.may_end.wait()
        return Draft("好的。")


async def language_of(message: InboundMessage) -> str | None:
    return "en"


def named_evil(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*evil*"))


def no_calibration(_model_key: str) -> Calibration | None:
    return None


def reading(store: Store, home: Path, model: ScriptedModel, sender: OutboxSender) -> TurnRunner:
    clock, encoder = RealClock(), FakeEncoder()
    scopes = ScopeService(store.accounts, store.links, store.grants)
    search = Search(store.passages, store.vectors, encoder, store.audit, clock, no_calibration)
    agents = AgentFolder(home / "agents", store.agents)
    reader = TurnReader(
        scopes,
        store.collections,
        filtering(search, store),
        store.passages,
        clock,
        agents,
        store.turns,
    )
    return TurnRunner(scopes, agents, reader, model, store.turns, sender, clock)


@asynccontextmanager
async def world(home: Path, *, is_slow: bool = False) -> AsyncIterator[World]:
    clock, ids, model = RealClock(), RealIds(), ScriptedModel([Draft("好的。")])
    async with (
        LineSimulator().running() as line,
        LineFiles().running() as files,
        new_store(home, clock, ids) as store,
    ):
        secret, token = Secret(line.secret), Secret(line.access_token)
        settings = LineSettings(
            "main", "a1", secret, token, line.url, prefix="/ask", api_data_base_url=files.url
        )
        channel = LineChannel(settings)
        await store.agents.put(Agent("a1", "小禾"))
        await AgentFolder(home / "agents", store.agents).create(AgentSettings("a1", "小禾"))
        channels: dict[tuple[str, str], Channel] = {("line", "main"): channel}
        sender = OutboxSender(store.outbox, store.inbox, channels, clock)
        turns = reading(store, home, model, sender)
        folder = home / "run" / "attachments"
        downloads = Downloads(folder, ids, DownloadLimits(file_bytes=CAP))
        shelf = AttachmentShelf(downloads, clock, language_of)
        await shelf.start()
        retraction = Retraction(store.inbox, store.turns, shelf)
        options = LaneOptions(
            first_pause_s=0.001, grace_s=0.05, on_notice=retraction.retract, note=shelf.note
        )
        lanes = InboxLanes(store.inbox, sender, channels, clock, ids, options)

        async def run(claimed: Claimed, channel: Channel) -> None:
            sentence = await shelf.receive(claimed, channel)
            if sentence is None:
                await turns.run(claimed, channel)
            else:
                reply = Reply(claimed.id, (sentence,), sentence)
                await sender.put(claimed.id, claimed.message, reply)

        app = web.Application()
        app.add_routes(Webhooks(channels, lanes.accept, clock).routes())
        async with TestClient(TestServer(app)) as client, asyncio.TaskGroup() as tasks:
            tasks.create_task(lanes.run(run))
            tasks.create_task(sender.run())
            parts = line, files, store, shelf, retraction, channel, client, folder, model
            here = World(*parts)
            if is_slow:
                model.script = [here.slow_draft]
            yield here
            here.may_end.set()
            lanes.stop()
            sender.stop()
        await channel.close()
    assert line.violations + files.violations == []


# ---------------------------------------------------------------- files

KEPT = text("attachments.kept", "en", count=1, minutes=30)
TOO_LARGE = text("attachments.too_large", "en", limit_mb=0)
GONE = text("attachments.unavailable", "en")


@pytest.mark.parametrize(
    ("held", "reply"),
    [
        (File(b"%PDF"), KEPT),
        (File(b"%PDF", Body.CHUNKED), KEPT),
        (File(b"%PDF", processing=0), KEPT),
        (File(body=Body.ENDLESS), TOO_LARGE),
        (File(b"x" * CAP), KEPT),
        (File(b"x" * (CAP + 1)), TOO_LARGE),
        (File(b"x" * (CAP + 1), Body.CHUNKED), TOO_LARGE),
        (File(body=Body.SHORT), GONE),
        (None, GONE),
    ],
)
async def test_a_file_without_a_word_is_answered(
    tmp_path: Path, held: File | None, reply: str
) -> None:
    async with world(tmp_path) as here:
        await here.post(here.file(held))
        assert await here.told(1) == [reply]
        assert len(await here.kept()) == len(list(here.folder.iterdir())) == int(reply == KEPT)
        assert await here.questions() == []  # no turn was made of it


async def test_a_length_of_ten_and_no_end_is_cut_or_told_to_be_unavailable(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.post(here.file(File(body=Body.LYING)))
        assert (await here.told(1))[0] in {KEPT, GONE}
        assert all(each.stat().st_size <= 10 for each in here.folder.iterdir())


async def test_a_hostile_file_name_and_address_reach_no_path_and_no_inside_host(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        named = here.file(File())
        named["message"]["fileName"] = "../../../evil.pdf"
        inside = file_event(here.line.text_event("x", USER), "image")
        url = f"{here.files.url}/v2/bot/message/1/content"
        inside["message"]["contentProvider"] = {"type": "external", "originalContentUrl": url}
        meta = file_event(here.line.text_event("x", USER), "image")
        meta["message"]["contentProvider"] = {
            "type": "external",
            "originalContentUrl": "http://169.254.169.254/latest/meta-data",
        }
        await here.post(named, inside, meta)
        assert await here.told(3) == [KEPT, GONE, GONE]
        assert await here.kept() == [f"line-file-{named['message']['id']}.pdf"]
        assert len(here.files.calls) == 1  # the one with a message id
    assert named_evil(tmp_path) == []


async def test_a_group_file_is_noted_in_silence_and_belongs_to_its_sender(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.post(here.file(File(), source=IN_GROUP))
        await here.post(here.line.text_event("/ask 你好", source=IN_GROUP))
        assert await here.told(1, GROUP) == ["好的。"]
        assert here.files.calls == []
        assert await here.kept(GROUP, OTHER) == []
        assert len(await here.kept(GROUP, USER)) == 1


async def test_a_hundred_files_at_once_are_each_answered(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        users = [f"U{n:032d}" for n in range(100)]
        events = [here.file(File(b"x" * 1000), user) for user in users]
        for n in range(0, 100, 10):
            await here.post(*events[n : n + 10])
        await here.line.wait_for(100)
        for user in users:
            assert here.line.texts_to(user) == [(KEPT,)]
        assert len(list(here.folder.iterdir())) == 100


# ---------------------------------------------------------------- unsent


async def test_an_answered_question_is_wiped_and_left_out_of_the_history(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        secret, other = here.line.text_event(SECRET, USER), here.line.text_event("你好嗎", USER)
        await here.post(secret)
        await here.told(1)
        await here.post(other)
        await here.told(2)
        await here.post(unsent(secret))
        await here.post(unsent(secret))  # and once more
        assert await here.questions() == ["", "你好嗎"]
        assert not any("ZEBRA" in query for query in await here.queries())
        await here.post(here.line.text_event("還記得嗎？", USER))
        await here.told(3)
        prompt = here.model.prompts[-1]
        assert next(each.text for each in prompt if each.speaker is Speaker.USER) == "你好嗎"
        assert not any("ZEBRA" in each.text for each in prompt)


async def test_a_waiting_question_is_never_asked(tmp_path: Path) -> None:
    async with world(tmp_path, is_slow=True) as here:
        first, secret = here.line.text_event("你好", USER), here.line.text_event(SECRET, USER)
        await here.post(first, secret)
        await here.begun.wait()
        await here.post(unsent(secret))
        here.may_end.set()
        await here.post(here.line.text_event("再見", USER))
        assert await here.told(2) == ["好的。", "好的。"]
        assert await here.questions() == ["你好", "再見"]
    assert not any("ZEBRA" in each.text for prompt in here.model.prompts for each in prompt)


async def test_a_running_turn_ends_and_keeps_no_question(tmp_path: Path) -> None:
    async with world(tmp_path, is_slow=True) as here:
        secret = here.line.text_event(SECRET, USER)
        await here.post(secret)
        await here.begun.wait()
        await here.post(unsent(secret))
        here.may_end.set()
        assert await here.told(1) == ["好的。"]
        assert await here.questions() == [""]
        assert not any("ZEBRA" in query for query in await here.queries())


async def test_what_comes_after_its_own_retraction_is_not_read(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        secret, file = here.line.text_event(SECRET, USER), here.file(File())
        await here.post(unsent(secret), unsent(file, 2))
        await here.post(secret, file)
        await here.post(here.line.text_event("你好", USER))
        assert await here.told(1) == ["好的。"]
        assert await here.questions() == ["你好"]
        assert await here.kept() == []
    assert here.files.calls == []


async def test_only_the_chat_it_was_written_in_takes_a_message_back(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        secret, file = here.line.text_event(SECRET, USER), here.file(File())
        await here.post(secret, file)
        await here.told(2)
        foreign: dict[str, Any] = {"source": {"type": "user", "userId": OTHER}}
        await here.post(unsent(secret, **foreign), unsent(file, 2, **foreign))
        await here.post(unsent(secret, 3, source=IN_GROUP))
        assert await here.questions() == [SECRET]
        assert len(await here.kept()) == 1


async def test_an_unsent_file_is_gone_with_its_bytes(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        file, noted = here.file(File()), here.file(File(), source=IN_GROUP)
        await here.post(file, noted)
        await here.told(1)
        await here.post(unsent(file), unsent(noted, 2))
        assert await here.kept() == await here.kept(GROUP, USER) == []
        assert list(here.folder.iterdir()) == []
        await here.post(noted)  # delivered once more
        assert await here.kept(GROUP, USER) == []


async def test_a_file_unsent_while_it_comes_in_is_not_kept(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.files.held = asyncio.Event()
        file = here.file(File())
        await here.post(file)
        await here.files.asked.wait()
        await here.post(unsent(file))
        here.files.held.set()
        await here.told(1)
        assert list(here.folder.iterdir()) == []
        assert await here.kept() == []


async def test_a_crash_after_the_mark_is_made_good_at_the_next_start(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        secret = here.line.text_event(SECRET, USER)
        await here.post(secret)
        await here.told(1)
        place = Conversation("line", "main", USER, is_direct=True)
        await here.store.inbox.retract(place, [secret["message"]["id"]])  # and then it dies
        assert await here.questions() == [SECRET]
    async with world(tmp_path) as again:
        await again.retraction.sweep()
        assert await again.questions() == [""]
        assert not any("ZEBRA" in query for query in await again.queries())


# ---------------------------------------------------------------- the whole program


async def test_the_whole_program_keeps_files_and_forgets_what_was_unsent(tmp_path: Path) -> None:
    home, ready, stop = tmp_path / "home", asyncio.Queue[str](), asyncio.Event()
    make(home)
    stale = home / "run" / "attachments"
    stale.mkdir(mode=0o755)
    (stale / "from-before").write_text("x")
    async with LineSimulator().running() as line, LineFiles().running() as files:
        (home / "config.toml").write_text(
            f'[channels.line.main]\nagent = "a1"\nchannel_secret = "{line.secret}"\n'
            f'channel_access_token = "{line.access_token}"\napi_base_url = "{line.url}"\n'
            f'api_data_base_url = "{files.url}"\nlanguage = "en"\n'
        )
        async with open_app(home) as app, asyncio.TaskGroup() as tasks:
            tasks.create_task(app.serve(stop, port=0, on_ready=ready.put_nowait))
            url = await ready.get()
            secret, file = line.text_event(SECRET, USER), file_event(line.text_event("x", USER))
            files.files[file["message"]["id"]] = File()
            async with aiohttp.ClientSession() as session:
                for event in (secret, file):
                    await post(session, url, line, event)
                await line.wait_for(2, 40)
                names = await asyncio.to_thread(listed, stale)
                await post(session, url, line, unsent(secret))
                await post(session, url, line, unsent(file, 2))
            [turn] = await app.store.turns.of_conversation(f"line/main/{USER}", 9)
            stop.set()
        assert line.texts_to(USER)[1] == (KEPT,)
    assert (len(names), "from-before" in names) == (1, False)
    assert (turn.question, await asyncio.to_thread(listed, stale)) == ("", [])


def listed(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


async def post(
    session: aiohttp.ClientSession, url: str, line: LineSimulator, event: dict[str, Any]
) -> None:
    body = line.body(event)
    address = f"{url}/webhooks/line/main"
    async with session.post(address, data=body, headers=line.headers(body)) as answer:
        assert answer.status == 200

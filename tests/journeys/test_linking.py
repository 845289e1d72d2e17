"""Linking as it happens: a code or LINE's own flow, over the signed webhook and the real store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from channels.line.channel import LineChannel, LineSettings
from gateway.accounts.linking import Linking
from gateway.accounts.scopes import ScopeService
from gateway.catalogue import text
from gateway.core.access import Account, AccountRole
from gateway.core.chat import Draft, ToolCall
from gateway.core.chat_commands import Command, CommandKind
from gateway.core.messages import Attachment, Conversation, Sender
from gateway.core.secrets import Secret
from gateway.dispatch import Attachments, Dispatcher
from gateway.errors import UpstreamError
from gateway.inbox import InboxLanes
from gateway.interfaces import Channel, Claimed
from gateway.outbox import OutboxSender
from gateway.store import Store
from gateway.surfaces.webhooks import Webhooks
from tests.fakes.channels import FakeChannel, said
from tests.fakes.models import ScriptedModel
from tests.fakes.times import RealClock, RealIds
from tests.journeys.durable import FAST_LANES, FAST_SENDING
from tests.journeys.test_turn_store import House, house  # noqa: F401 - a fixture
from tests.simulators.line import Fault, LineSimulator
from tests.stores import new_store

USER, OTHER = "U" + "1" * 26 + "abcdef", "U" + "2" * 32
GROUP = "C" + "3" * 32
ME = Sender("line", "main", USER)
PAGE = "https://kb.example.com"
MENTION = {"mention": {"mentionees": [{"index": 0, "length": 4, "type": "user", "isSelf": True}]}}
IN_GROUP: dict[str, Any] = {
    "source": {"type": "group", "groupId": GROUP, "userId": USER},
    "message": MENTION,
}


@dataclass
class Office:
    """LINE on one side, the store with its people on the other."""

    line: LineSimulator
    store: Store
    linking: Linking
    client: TestClient[web.Request, web.Application]
    asked: list[str] = field(default_factory=list)  # what went to a turn

    async def post(self, *events: dict[str, Any]) -> None:
        body = self.line.body(*events)
        headers = self.line.headers(body)
        async with self.client.post("/webhooks/line/main", data=body, headers=headers) as answer:
            assert answer.status == 200

    async def say(self, words: str, user: str = USER, **over: Any) -> str:
        """Send it and wait for the reply."""
        before = len(self.line.deliveries)
        await self.post(self.line.text_event(words, user, **over))
        await self.line.wait_for(before + 1)
        return "\n".join(self.line.deliveries[-1].texts)

    async def account(self, login: str = "ken", language: str | None = None) -> Account:
        account = Account(RealIds().new(), login, login, AccountRole.MEMBER, language=language)
        await self.store.accounts.put(account)
        return account


@asynccontextmanager
async def office(home: Path, public_url: str = "") -> AsyncIterator[Office]:
    clock = RealClock()
    async with LineSimulator().running() as line, new_store(home, clock, RealIds()) as store:
        channel = LineChannel(
            LineSettings("main", "a1", Secret(line.secret), Secret(line.access_token), line.url)
        )
        channels = {("line", "main"): channel}
        sender = OutboxSender(store.outbox, store.inbox, channels, clock, FAST_SENDING)
        linking = Linking(store.link_codes, store.link_requests, clock)
        options = replace(FAST_LANES, on_notice=linking.line_linked)
        lanes = InboxLanes(store.inbox, sender, channels, clock, RealIds(), options)
        app = web.Application()
        app.add_routes(Webhooks(channels, lanes.accept, clock).routes())
        async with TestClient(TestServer(app)) as client, asyncio.TaskGroup() as tasks:
            here = Office(line, store, linking, client)

            async def turn(claimed: Claimed, _: Channel) -> None:
                here.asked.append(claimed.message.text)

            scopes = ScopeService(store.accounts, store.links, store.grants)
            dispatcher = Dispatcher(turn, linking, scopes, sender, public_url=public_url)
            tasks.create_task(lanes.run(dispatcher.run))
            tasks.create_task(sender.run())
            yield here
            lanes.stop()
            sender.stop()
        await channel.close()
    assert line.violations == []


def sentence(key: str, language: str = "zh-TW", **params: str) -> str:
    return text(key, language, **params)


async def test_a_code_sent_in_a_direct_chat_links_after_the_account_confirms(
    tmp_path: Path,
) -> None:
    async with office(tmp_path) as here:
        ken = await here.account()
        code = (await here.linking.make_code(ken)).code
        reply = await here.say(f"綁定 {code}")
        assert reply == sentence("links.requested", tail="abcdef")
        assert await here.store.links.find(ME) is None
        (request,) = await here.linking.pending(ken)
        await here.linking.confirm(ken, request.id)
        assert await here.store.links.find(ME) == ken.id
        assert await here.say("/link") == sentence("links.linked")
    assert here.asked == []


NOT_DIRECT = ["not_direct", "not_direct"]
FAULTS: list[tuple[str, dict[str, Any], list[str]]] = [
    # what, how it is sent, and what becomes of sending the code in that way twice
    ("good code in a group", IN_GROUP, NOT_DIRECT),
    ("no user in the event", {**IN_GROUP, "source": {"type": "user"}}, NOT_DIRECT),
    ("no user in a group", {**IN_GROUP, "source": {"type": "group", "groupId": "C"}}, NOT_DIRECT),
    ("an unknown place", {**IN_GROUP, "source": {"type": "orbit", "userId": USER}}, NOT_DIRECT),
    ("the same code twice", {}, ["requested", "wrong"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("how", "outcomes"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS]
)
async def test_pairing_faults_refuse_and_never_echo_the_code(
    tmp_path: Path, how: dict[str, Any], outcomes: list[str]
) -> None:
    async with office(tmp_path) as here:
        ken = await here.account()
        code = (await here.linking.make_code(ken)).code
        words = f"@Bot 綁定 {code}" if how else f"綁定 {code}"
        said_back = [await here.say(words, **how) for _ in outcomes]
        assert said_back == [sentence(f"links.{each}", tail="abcdef") for each in outcomes]
        assert await here.say(f"綁定 {code}", OTHER) == sentence("links.wrong")
        for reply in said_back:
            assert code.replace("-", "") not in reply.replace("-", "")
        assert len(await here.linking.pending(ken)) == outcomes.count("requested")
        assert await here.store.links.list() == []
    assert here.asked == []


async def test_twenty_guesses_lock_the_sender_out(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        ken = await here.account()
        code = (await here.linking.make_code(ken)).code
        said_back = [await here.say(f"綁定 {n:010d}") for n in range(20)]
        assert said_back == [sentence("links.wrong")] * 5 + [sentence("links.locked")] * 15
        assert await here.say(f"綁定 {code}") == sentence("links.locked")
        reply = await here.say(f"綁定 {code}", OTHER)
        assert reply == sentence("links.requested", tail=OTHER[-6:])


async def test_a_code_made_for_another_channel_is_wrong_here(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        ken = await here.account()
        for place in (("telegram", None), ("line", "second")):
            code = (await here.linking.make_code(ken, *place)).code
            assert await here.say(f"綁定 {code}") == sentence("links.wrong")


async def test_a_linked_sender_cannot_spend_anothers_code(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        ken, eve = await here.account("ken"), await here.account("eve", "ja")
        await here.linking.bind(ME, eve, "operator")
        code = (await here.linking.make_code(ken)).code
        assert await here.say(f"綁定 {code}") == sentence("links.linked", "ja")
        assert await here.store.links.find(ME) == eve.id
        assert "abcdef" not in await here.say(f"綁定 {code}", OTHER)
        assert len(await here.linking.pending(ken)) == 1


async def test_a_redelivered_code_is_answered_once(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        ken = await here.account()
        event = here.line.text_event(f"綁定 {(await here.linking.make_code(ken)).code}", USER)
        for again in (False, True):
            await here.post(event | {"deliveryContext": {"isRedelivery": again}})
            await here.line.wait_for(1)
        await here.say("/help")
        assert len(here.line.deliveries) == 2
        assert len(await here.linking.pending(ken)) == 1


@pytest.mark.parametrize(
    ("words", "language"),
    [("綁定 AAAAA-BBBBB", "zh-TW"), ("連携 AAAAA-BBBBB", "ja"), ("/link AAAAA-BBBBB", "zh-TW")],
)
async def test_the_reply_speaks_the_language_of_the_command(
    tmp_path: Path, words: str, language: str
) -> None:
    async with office(tmp_path) as here:
        assert await here.say(words) == sentence("links.wrong", language)


async def test_a_bare_mention_start_and_help_get_the_short_help(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        assert await here.say("@Bot", **IN_GROUP) == sentence("chat.help")
        assert await here.say("/start") == sentence("chat.help")
        assert await here.say("/help") == sentence("chat.help")
        assert await here.say("加入知識庫 handbook") == sentence("chat.proposals_unavailable")
    assert here.asked == []


async def test_without_a_public_address_the_command_alone_explains_the_code(
    tmp_path: Path,
) -> None:
    async with office(tmp_path) as here:
        assert await here.say("綁定") == sentence("links.how")
        assert await here.say("@Bot 綁定", **IN_GROUP) == sentence("links.not_direct")
    assert here.line.link_tokens == {}


async def test_lines_own_flow_binds_who_opened_the_page(tmp_path: Path) -> None:
    async with office(tmp_path, PAGE) as here:
        ken = await here.account()
        reply = await here.say("綁定")
        (token,) = here.line.link_tokens
        assert reply == sentence("links.open_page", url=f"{PAGE}/link/line/main?linkToken={token}")
        nonce = await here.linking.make_nonce(ken, "line", "main")
        dialog = f"https://access.line.me/x?linkToken={token}&nonce={nonce}"
        event = here.line.follow_dialog(dialog, opened_by=USER)
        await here.post(event)
        assert await here.store.links.find(ME) == ken.id  # when LINE hears 200 it holds
        await here.post(event)
        assert await here.store.links.list() == [(ME, ken.id)]


@pytest.mark.parametrize("spoil", ["failed", "nonce", "group", "nobody", "standby", "twice used"])
async def test_an_account_link_event_that_proves_nothing_changes_nothing(
    tmp_path: Path, spoil: str
) -> None:
    async with office(tmp_path, PAGE) as here:
        ken = await here.account()
        nonce = await here.linking.make_nonce(ken, "line", "main")
        event = here.line.link_event(USER, nonce)
        if spoil == "failed":
            event = here.line.link_event(USER, nonce, "failed")
        elif spoil == "nonce":
            event = here.line.link_event(USER, nonce[:-1])
        elif spoil == "group":
            event["source"] = {"type": "group", "groupId": GROUP, "userId": USER}
        elif spoil == "nobody":
            event["source"] = {"type": "user"}
        elif spoil == "standby":
            event["mode"] = "standby"
        else:
            await here.post(here.line.link_event(OTHER, nonce))
        await here.post(event, {"type": "accountLink"}, {"type": "accountLink", "link": 7})
        assert await here.store.links.find(ME) is None


async def test_somebody_elses_token_opened_by_a_victim_links_nobody(tmp_path: Path) -> None:
    async with office(tmp_path, PAGE) as here:
        victim = await here.account("victim")
        await here.say("綁定", OTHER)  # the attacker asks for a token and passes the address on
        (token,) = here.line.link_tokens
        nonce = await here.linking.make_nonce(victim, "line", "main")
        dialog = f"https://access.line.me/x?linkToken={token}&nonce={nonce}"
        await here.post(here.line.follow_dialog(dialog, opened_by=USER))
        assert await here.store.links.list() == []


async def test_line_that_gives_no_token_leaves_the_code(tmp_path: Path) -> None:
    async with office(tmp_path, PAGE) as here:
        here.line.faults.append(Fault.SERVER_ERROR)
        assert await here.say("綁定") == sentence("links.how_at", url=PAGE)


# ------------------------------------------------------------ the dispatcher alone


class Shelf:
    """Keeps files, and says so."""

    def __init__(self, sentence: str | None = "kept") -> None:
        self.sentence = sentence
        self.kept: list[str] = []
        self.error: UpstreamError | None = None

    async def receive(self, claimed: Claimed, channel: Channel) -> str | None:
        self.kept.append(claimed.id)
        if self.error is not None:
            raise self.error
        return self.sentence


fits: type[Attachments] = Shelf


@dataclass
class Desk:
    """A dispatcher over the real store and a channel in memory."""

    store: Store
    shelf: Shelf = field(default_factory=Shelf)
    channel: FakeChannel = field(default_factory=FakeChannel)
    asked: list[str] = field(default_factory=list)
    obeyed: list[Command] = field(default_factory=list)
    n: int = 0

    async def send(self, words: str, **over: Any) -> list[str]:
        """What is said back."""
        self.n += 1
        clock = RealClock()
        turn_id, now = RealIds().new(), clock.now()
        await self.store.inbox.put([(turn_id, said(words, self.n, **over))], 20)
        (claimed,) = await self.store.inbox.claim("t", now, now, 1)
        channels = {("fake", "main"): self.channel, ("webchat", "web"): self.channel}
        replies = OutboxSender(self.store.outbox, self.store.inbox, channels, clock)

        async def turn(claimed: Claimed, _: Channel) -> None:
            self.asked.append(claimed.message.text)

        async def add(_: Claimed, command: Command, language: str) -> str | None:
            self.obeyed.append(command)
            return None if command.argument == "quiet" else f"added {language}"

        dispatcher = Dispatcher(
            turn,
            Linking(self.store.link_codes, self.store.link_requests, clock),
            ScopeService(self.store.accounts, self.store.links, self.store.grants),
            replies,
            attachments=self.shelf,
            handlers={CommandKind.ADD_SOURCE: add},
        )
        await dispatcher.run(claimed, self.channel)
        await self.store.inbox.answered(claimed.id, (), now)
        now = clock.now()
        due = await self.store.outbox.claim("t", now, now, 9)
        for each in due:
            await self.store.outbox.sent(each.call.id, now)
        return [part for each in due for part in each.call.parts]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with new_store(tmp_path, RealClock(), RealIds()) as store:
        yield Desk(store)


FILE = (Attachment("h1", "a.pdf"),)


async def test_files_without_a_word_are_kept_and_their_keeper_answers(desk: Desk) -> None:
    assert await desk.send("", attachments=FILE) == ["kept"]
    desk.shelf.sentence = None
    assert await desk.send("\u200b", attachments=FILE) == []
    assert (len(desk.shelf.kept), desk.asked) == (2, [])


async def test_files_beside_a_question_are_kept_and_the_question_is_answered(desk: Desk) -> None:
    assert await desk.send("特休有幾天？", attachments=FILE) == []
    desk.shelf.error = UpstreamError("gone", code="attachment_unavailable")
    assert await desk.send("再問", attachments=FILE) == []
    assert await desk.send("沒有檔案") == []
    assert desk.asked == ["特休有幾天？", "再問", "沒有檔案"]
    assert len(desk.shelf.kept) == 2


async def test_a_file_that_cannot_be_kept_fails_its_own_turn(desk: Desk) -> None:
    desk.shelf.error = UpstreamError("gone", code="attachment_unavailable")
    with pytest.raises(UpstreamError):
        await desk.send("", attachments=FILE)


async def test_a_command_goes_to_its_handler_with_its_files_kept_first(desk: Desk) -> None:
    assert await desk.send("加入知識庫 handbook", attachments=FILE) == ["added zh-TW"]
    assert await desk.send("加入知識庫 quiet") == []
    assert [command.argument for command in desk.obeyed] == ["handbook", "quiet"]
    assert len(desk.shelf.kept) == 1


@pytest.mark.parametrize("words", ["綁定 AAAAA-BBBBB", "綁定"])
async def test_web_chat_needs_no_link_and_voids_no_code(desk: Desk, words: str) -> None:
    chat = Conversation("webchat", "web", "c1", is_direct=True)
    person = Account("ken", "ken", "ken", AccountRole.MEMBER)
    await desk.store.accounts.put(person)
    over = {"sender": None, "account_id": "ken", "conversation": chat}
    assert await desk.send(words, **over) == [text("links.web_chat", "zh-TW")]


async def test_a_visitor_is_told_that_linking_is_for_direct_chats(desk: Desk) -> None:
    for words in ("綁定", "綁定 AAAAA-BBBBB"):
        over = {"sender": None, "is_visitor": True}
        assert await desk.send(words, **over) == [text("links.not_direct", "zh-TW")]


# ------------------------------------------------------------ unlinking in a running turn


@pytest.mark.parametrize("is_unlinked", [False, True])
async def test_an_unlinked_sender_reads_nothing_more_inside_a_running_turn(
    house: House,  # noqa: F811 - the fixture
    is_unlinked: bool,
) -> None:
    is_waiting, may_go_on = asyncio.Event(), asyncio.Event()

    async def wait_then_search() -> Draft:
        is_waiting.set()
        await may_go_on.wait()
        return Draft("", (ToolCall("c1", "knowledge_search", '{"query": "特休 幾天"}'),))

    model = ScriptedModel([wait_then_search, Draft("滿一年者七日。[1]")])
    house.model = model
    linking = Linking(house.store.link_codes, house.store.link_requests, house.world.clock)
    sender = said("", 0).sender
    assert sender is not None
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(house.ask("嗨"))
        await is_waiting.wait()
        if is_unlinked:
            assert await linking.remove(sender, house.person, house.person.id)
        may_go_on.set()
    read = "".join(message.text for prompt in model.prompts for message in prompt)
    assert ("特別休假" in read) != is_unlinked
    assert ("[1]" in asking.result()) != is_unlinked

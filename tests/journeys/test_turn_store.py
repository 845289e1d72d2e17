"""A whole turn over the real store, scopes, search, agent files, lanes and outbox."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.scopes import ScopeService
from gateway.catalogue import text
from gateway.core.access import (
    Account,
    Agent,
    Collection,
    Grant,
    Role,
    Sensitivity,
    SubjectKind,
)
from gateway.core.agents import AgentSettings, AnswerMode
from gateway.core.audit import AccessAction
from gateway.core.calibration import Calibration, Logistic
from gateway.core.chat import Draft, Speaker
from gateway.core.documents import Source
from gateway.core.messages import Conversation, InboundMessage
from gateway.core.passages import NoVectors
from gateway.interfaces import LanguageModels
from gateway.knowledge.search import Search
from gateway.llm.registry import ModelRegistry
from gateway.outbox import OutboxSender
from gateway.reading import TurnReader
from gateway.rechecking import Rechecking
from gateway.store import Store
from gateway.turn import TurnRunner
from tests.contract.world import World
from tests.fakes.channels import FakeChannel, said
from tests.fakes.knowledge import FakeEncoder
from tests.fakes.models import ScriptedModel
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.stores import filtering, new_store

QUESTION = "到職滿一年的特休有幾天？"
LEAVE = "同仁到職滿半年者，給予特別休假三日；滿一年者七日。特休應於一週前申請。"
FILLERS = ("費用應於三十日內填單。", "離開座位應鎖定螢幕。", "公司位於臺北。", "會議室須先預約。")
BY_WORDS = Logistic(bias=-1.0, weights={"coverage": 4.0}, cut=0.5)
WORDS = Calibration("keyword", BY_WORDS, BY_WORDS, BY_WORDS)


@dataclass
class House:
    """A home with one agent, one linked person and one collection both may read."""

    store: Store
    world: World
    home: Path
    owner: Account
    person: Account
    handbook: Collection
    model: LanguageModels

    def __post_init__(self) -> None:
        self.channel = FakeChannel()
        self.encoder = FakeEncoder()
        self.encoder.reason = NoVectors.MODEL_MISSING
        self.files = AgentFolder(self.home / "agents", self.store.agents)
        self.claims = 0

    @property
    def runner(self) -> TurnRunner:
        store, clock = self.store, self.world.clock
        scopes = ScopeService(store.accounts, store.links, store.grants)
        calibrations = {"keyword": WORDS}.get
        search = Search(
            store.passages, store.vectors, self.encoder, store.audit, clock, calibrations
        )
        reader = TurnReader(
            scopes,
            store.collections,
            filtering(search, store),
            store.passages,
            clock,
            self.files,
            store.turns,
        )
        channels = {("fake", "main"): self.channel}
        replies = OutboxSender(store.outbox, store.inbox, channels, clock)
        return TurnRunner(scopes, self.files, reader, self.model, store.turns, replies, clock)

    async def ask(self, question: str = QUESTION, chat: Conversation | None = None) -> str:
        """The text of the reply; it counts as delivered."""
        self.claims += 1
        message = said(question, self.claims, agent_id="a1")
        message = replace(message, conversation=chat) if chat else message
        return await self.answer(message)

    async def answer(self, message: InboundMessage) -> str:
        now = self.world.clock.wind(seconds=10)
        turn_id = RealIds().new()
        await self.store.inbox.put([(turn_id, message)], 20)
        (claimed,) = await self.store.inbox.claim("t", now, now, 1)
        await self.runner.run(claimed, self.channel)
        for due in await self.store.outbox.claim("t", now, now, 9):
            await self.store.outbox.sent(due.call.id, now)
        record = await self.store.turns.find(claimed.id)
        assert record is not None
        return record.answer

    async def share(self, *readers: Account) -> None:
        grants = [
            Grant(self.handbook.id, SubjectKind.USER, self.owner.id, Role.OWNER),
            Grant(self.handbook.id, SubjectKind.AGENT, "a1", Role.VIEWER),
            *(Grant(self.handbook.id, SubjectKind.USER, each.id, Role.VIEWER) for each in readers),
        ]
        now = await self.store.collections.find(self.handbook.id)
        assert now is not None
        await self.store.grants.replace(self.handbook.id, grants, version=now.version)

    async def source(self) -> Source:
        sources = await self.store.sources.list(self.handbook.id)
        return next(source for source in sources if source.title == "員工手冊.docx")

    async def employ(self, mode: AnswerMode = AnswerMode.ASSIST) -> None:
        settings = AgentSettings("a1", "小禾")
        knowledge = replace(settings.knowledge, answer_mode=mode)
        await self.store.agents.put(Agent("a1", "小禾"))
        await self.files.create(replace(settings, knowledge=knowledge))


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    clock = WoundClock()
    async with new_store(tmp_path, clock, RealIds()) as store:
        world = World(store, clock)
        owner, person = await world.account("owner"), await world.account("lin")
        handbook = await world.collection(owner, "handbook")
        made = House(store, world, tmp_path, owner, person, handbook, ModelRegistry({}))
        sender = said("", 0).sender
        assert sender is not None
        await store.links.bind(sender, person.id, clock.now())
        await world.text(handbook, LEAVE, title="員工手冊.docx")
        for filler in FILLERS:  # words are rare only among other words
            await world.text(handbook, filler)
        await made.employ()
        await made.share(person)
        yield made


async def test_from_inbox_to_outbox_within_the_grants_of_now(house: House) -> None:
    assert await house.ask() == "同仁到職滿半年者，給予特別休假三日；滿一年者七日。[1]"
    (row,) = await house.store.audit.entries(None, 9)
    assert (row.action, row.account_id) == (AccessAction.AUTO_INJECT, house.person.id)
    await house.share()
    assert await house.ask() == text("chat.no_answer", "zh-TW")


async def test_a_grant_revoked_in_mid_turn_stops_the_reply(house: House) -> None:
    for is_revoked in (False, True):

        async def step(is_revoked: bool = is_revoked) -> Draft:
            if is_revoked:
                await house.share()
            return Draft("七日。[1]")

        house.model = ScriptedModel([step])
        expected = text("chat.no_passage", "zh-TW") if is_revoked else "七日。[1]"
        assert await house.ask() == expected


async def test_a_document_deleted_in_mid_turn_stops_the_reply(house: House) -> None:
    source = await house.source()

    async def step() -> Draft:
        await house.store.sources.remove(source.id, house.world.clock.now())
        return Draft("七日。[1]")

    house.model = ScriptedModel([step])
    assert await house.ask() == text("chat.no_passage", "zh-TW")


@pytest.mark.parametrize("loss", ["nothing", "the grant", "the link", "the account", "the group"])
async def test_a_reply_that_waited_is_sent_only_to_who_may_still_read_it(
    house: House, loss: str
) -> None:
    house.model = ScriptedModel([Draft("七日。[1]")])
    turn_id, store, now = RealIds().new(), house.store, house.world.clock.now()
    await store.inbox.put([(turn_id, said(QUESTION, 1, agent_id="a1"))], 20)
    [claimed] = await store.inbox.claim("t", now, now, 1)
    await house.runner.run(claimed, house.channel)
    [due] = await store.outbox.claim("t", now, now, 9)
    call = due.call
    if loss == "the grant":
        await house.share()
    elif loss == "the link":
        assert claimed.message.sender is not None
        await store.links.remove(claimed.message.sender)
    elif loss == "the account":
        await store.accounts.put(replace(house.person, is_active=False))
    elif loss == "the group":  # the chat is no longer 1:1 and the document is personal
        secret = await store.collections.find(house.handbook.id)
        assert secret is not None
        personal = replace(secret, sensitivity=Sensitivity.PERSONAL)
        await store.collections.replace(personal, version=secret.version)
        call = replace(call, conversation=replace(call.conversation, is_direct=False))
    scopes = ScopeService(store.accounts, store.links, store.grants)
    look = Rechecking(store.turns, house.files, scopes, store.passages)
    seen = await look(call)
    assert seen is not None
    if loss == "nothing":
        assert seen == call
        return
    assert seen.parts == (text("chat.no_passage", "zh-TW"),)
    assert (seen.id, seen.reply_handle) == (call.id, call.reply_handle)
    assert await look(replace(call, seq=1)) is None  # nothing of the rest either


async def test_history_follows_deletions_and_stays_in_its_chat(house: House) -> None:
    model = ScriptedModel([Draft("七日。[1]"), Draft("好")])
    house.model = model

    def past() -> list[str]:
        return [each.text for each in model.prompts[-1] if each.speaker is Speaker.ASSISTANT]

    await house.ask()
    await house.ask("謝謝")
    assert past() == ["七日。[1]"]
    await house.ask("謝謝", Conversation("fake", "main", "g1"))
    assert past() == []
    await house.ask("謝謝", Conversation("fake", "main", "c1"))  # the chat became a group
    assert past() == []
    source = await house.source()
    await house.store.sources.remove(source.id, house.world.clock.now())
    await house.ask("謝謝")
    assert "七日。[1]" not in past()


async def test_kb_only_over_the_store(house: House) -> None:
    house.model = ScriptedModel([Draft("七日。[1]")])
    toml = house.home / "agents" / "a1" / "agent.toml"
    toml.write_text('[knowledge]\nanswer_mode = "kb_only"\n', "utf-8")
    assert await house.ask() == "七日。[1]"
    assert await house.ask("今天天氣如何") == text("chat.no_passage", "zh-TW")
    await house.share()
    assert await house.ask() == text("chat.no_collection", "zh-TW")
    toml.write_text("[knowledge]\ncollections = 7\n", "utf-8")  # unreadable: nothing
    assert await house.ask() == "七日。"  # in assist again, with nothing to cite
    assert isinstance(house.model, ScriptedModel)
    assert house.model.offered[-1] == ()

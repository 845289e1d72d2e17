"""One agent, one person and one document in the whole program, and every way to lose it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from gateway import home as homes
from gateway.app import App, open_app
from gateway.catalogue import text
from gateway.consulting import Consulting
from gateway.core.access import (
    Account,
    AccountRole,
    Agent,
    BindingRole,
    Collection,
    Grant,
    Role,
    Sensitivity,
    SubjectKind,
)
from gateway.core.agents import AgentSettings
from gateway.core.calibration import Calibration, Logistic
from gateway.core.chat import ChatMessage, Draft, Tool, ToolCall
from gateway.core.messages import (
    Conversation,
    InboundMessage,
    Limits,
    OutboundCall,
    RetryLater,
    Sender,
    SendMethod,
    SendOutcome,
    Unit,
)
from gateway.interfaces import LanguageModel, LanguageModels, OnDelta
from gateway.knowledge.search import Search
from gateway.outbox import OutboxSender
from gateway.rechecking import Rechecking
from gateway.sending import SendingOptions
from gateway.turn import TurnRunner
from tests.contract.world import World as Filling
from tests.fakes.channels import FakeChannel, said
from tests.fakes.knowledge import FakeEncoder
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.stores import filtering
from tests.surfaces.serving import CONFIG, operate

QUESTION = "到職滿一年的特休有幾天？"
SECRET = "七日"
LEAVE = f"同仁到職滿半年者，給予特別休假三日；滿一年者{SECRET}。"
LOST = text("chat.no_passage", "zh-TW")
ALWAYS = Logistic(bias=9.0, weights={}, cut=0.5)
CALIBRATION = Calibration("any", ALWAYS, ALWAYS, ALWAYS)
SENDER = Sender("fake", "main", "s1")
DIRECT = Conversation("fake", "main", "c1", is_direct=True)
GROUP = Conversation("fake", "main", "g1")
IDS = RealIds()
Moment = Callable[[], Awaitable[None]]


class Chat(FakeChannel):
    """Edits one message while the draft grows; keeps what anybody there could read, in order."""

    def __init__(self) -> None:
        super().__init__()
        self._limits = Limits(Unit.CODE_POINTS, 4_000, 5, 400)
        self.seen: list[str] = []
        self.waits = 0  # answers with 429 as often
        self.asked_to_wait = asyncio.Event()

    async def show_delta(self, message: InboundMessage, turn_id: str, text: str) -> None:
        self.previews.setdefault(turn_id, f"preview of {turn_id}")
        self.seen.append(text)
        self._news.set()

    def method(self, call: OutboundCall, now: datetime) -> SendMethod:
        handle = call.reply_handle
        is_preview = handle is not None and handle.token.startswith("preview")
        return SendMethod.EDIT if is_preview else SendMethod.PUSH

    async def send(self, call: OutboundCall, method: SendMethod) -> SendOutcome:
        if self.waits:
            self.waits -= 1
            self.asked_to_wait.set()
            return RetryLater(0.5, "429")
        self.seen.append("\n".join(call.parts))
        return await super().send(call, method)


class Pausing:
    """The passage index, with a pause between the two reads of a search."""

    def __init__(self, index: Any, moment: Moment) -> None:
        self._index = index
        self._moment = moment

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    async def lexical(self, *args: Any, **kw: Any) -> Any:
        found = await self._index.lexical(*args, **kw)
        await self._moment()
        return found


@dataclass
class Model:
    """Says its pieces one by one, or that it does not know what no prompt told it.

    `searching` first asks for the passages by itself.
    """

    pieces: Sequence[str]
    before: Moment
    between: Moment
    searching: str = ""
    prompts: list[tuple[ChatMessage, ...]] = field(default_factory=list)

    async def complete(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], on_delta: OnDelta
    ) -> Draft:
        self.prompts.append(tuple(messages))
        await self.before()
        if self.searching and len(self.prompts) == 1:
            return Draft("", (ToolCall("t1", "knowledge_search", self.searching),))
        pieces = self.pieces if self.knows or SECRET not in "".join(self.pieces) else ["不知道。"]
        for n, piece in enumerate(pieces):
            if n:
                await self.between()
            await on_delta(piece)
        return Draft("".join(pieces))

    @property
    def knows(self) -> bool:
        """Whether it was told."""
        return any(SECRET in message.text for prompt in self.prompts for message in prompt)

    def find(self, model: str, *fallbacks: str) -> LanguageModel:
        return self


async def nothing() -> None:
    """No moment at all."""


@dataclass
class Scene:
    """The program around one document."""

    app: App
    clock: WoundClock
    boss: Account
    person: Account
    shelf: Collection
    source_id: str
    chat: Chat = field(default_factory=Chat)
    place: Conversation = DIRECT
    ended: bool = False
    seen_before: int = 0  # how much the chat had seen when access had ended

    async def do(self, method: str, **params: Any) -> Any:
        """As an administrator does it."""
        return await operate(self.app, method, params, self.boss.id)

    async def share(self, *others: tuple[str, str]) -> None:
        """By the operation, as the page does: the owner, and these (kind, id) as viewers."""
        await self.share_as(*((kind, subject, "viewer") for kind, subject in others))

    async def share_as(self, *others: tuple[str, str, str]) -> None:
        now = await self.do("knowledge.grants.list", collection=self.shelf.id)
        lines = [("user", self.boss.id, "owner"), *others]
        names = ("subject_kind", "subject_id", "role")
        await self.do(
            "knowledge.grants.replace",
            collection=self.shelf.id,
            version=now["version"] if isinstance(now, dict) else now.version,
            grants=[dict(zip(names, line, strict=True)) for line in lines],
        )

    def sender(self, chat: Chat | None = None) -> OutboxSender:
        """A way out, as a process that has just begun has it."""
        store, turns = self.app.store, self.app.turns
        has_library = self.app.knowledge.switches.enabled
        recheck = Rechecking(
            store.turns, turns.agents, turns.scopes, store.passages, has_library=has_library
        )
        options = SendingOptions(
            recheck=recheck,
            generation=store.access.now,
            first_pause_s=0.001,
            longest_pause_s=0.01,
        )
        channels = {("fake", "main"): chat or self.chat}
        return OutboxSender(store.outbox, store.inbox, channels, self.clock, options)

    def runner(self, model: LanguageModels, replies: OutboxSender, in_search: Moment) -> TurnRunner:
        store = self.app.store
        index: Any = Pausing(store.passages, in_search)
        search = Search(
            index, store.vectors, FakeEncoder(), store.audit, self.clock, lambda _: CALIBRATION
        )
        reader = replace(
            self.app.turns.reader, retriever=filtering(search, store), clock=self.clock
        )
        consulting = Consulting(self.app.turns.agents, IDS, self.clock)
        return replace(
            self.app.turns,
            reader=reader,
            models=model,
            replies=replies,
            clock=self.clock,
            consulting=consulting,
        )

    async def run(
        self,
        model: LanguageModels,
        in_search: Moment = nothing,
        replies: OutboxSender | None = None,
        question: str = QUESTION,
    ) -> str:
        """One turn, to its row in the outbox; the turn's id."""
        turn_id, now = IDS.new(), self.clock.now()
        keys: dict[str, Any] = {"delivery_id": turn_id, "message_key": turn_id, "received_at": now}
        message = said(question, 0, agent_id="a1", conversation=self.place, **keys)
        await self.app.store.inbox.put([(turn_id, message)], 20)
        [claimed] = await self.app.store.inbox.claim("t", now, now, 1)
        runner = self.runner(model, replies or self.sender(), in_search)
        await runner.run(claimed, self.chat)
        return turn_id

    async def send(self, sender: OutboxSender, while_it_waits: Moment | None = None) -> None:
        """Until nothing is owed any more."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(sender.run())
            try:
                if while_it_waits is not None:
                    async with asyncio.timeout(20):
                        await self.chat.asked_to_wait.wait()
                    await self._has_state("pending")
                    await while_it_waits()
                    self.clock.wind(seconds=1)
                    sender.wake()
                await self._has_state(None)
            finally:
                sender.stop()

    async def _has_state(self, state: str | None) -> None:
        """Wait until the store says so; None: nothing is owed."""
        async with asyncio.timeout(20):
            while True:
                rows = await self.app.store.outbox.listed(["pending", "sending"], 9)
                states = {row["state"] for row in rows}
                if states == (set() if state is None else {state}):
                    return
                await asyncio.sleep(0.005)

    async def state(self) -> list[str]:
        every = ["pending", "sending", "sent", "unknown", "dead"]
        return [row["state"] for row in await self.app.store.outbox.listed(every, 99)]


@asynccontextmanager
async def scene(home: Path, config: str = "") -> AsyncIterator[Scene]:
    """A home where person and agent read the document each by one grant of their own."""
    homes.make(home)
    (home / "config.toml").write_text(CONFIG + config, "utf-8")
    async with open_app(home, serves=False) as app:
        yield await _settled(app)


@asynccontextmanager
async def again(before: Scene, home: Path, config: str = "") -> AsyncIterator[Scene]:
    """The same home after a restart, with other settings."""
    (home / "config.toml").write_text(config, "utf-8")
    async with open_app(home, serves=False) as app:
        yield replace(before, app=app)


async def _settled(app: App) -> Scene:
    store, clock = app.store, WoundClock()
    boss = Account(IDS.new(), "boss", "Boss", AccountRole.ADMIN)
    person = Account(IDS.new(), "lin", "Lin", AccountRole.MEMBER, department="Sales")
    for account in (boss, person):
        await store.accounts.put(account)
    await store.links.bind(SENDER, person.id, clock.now())
    await store.agents.put(Agent("a1", "小禾", department="Front"))
    await store.agents.bind("a1", boss.id, BindingRole.OWNER)
    await app.turns.agents.create(AgentSettings("a1", "小禾", department="Front"))
    draft = Collection(IDS.new(), 0, "handbook", "Handbook", Sensitivity.INTERNAL)
    shelf = await store.collections.create(draft, boss.id)
    source = await Filling(store, clock).text(shelf, LEAVE, title="員工手冊.docx")
    return Scene(app, clock, boss, person, shelf, source.id)


# ---------------------------------------------------------------- ways to lose it

Readers = Callable[[Scene], Sequence[tuple[str, str]]]


def by_name(it: Scene) -> Sequence[tuple[str, str]]:
    return (("user", it.person.id), ("agent", "a1"))


def by_department(it: Scene) -> Sequence[tuple[str, str]]:
    return (("department", "Sales"), ("department", "Front"))


@dataclass(frozen=True)
class Way:
    """How access ends; a control only looks like it."""

    name: str
    act: Callable[[Scene], Awaitable[Any]]
    readers: Readers = by_name
    is_lost: bool = True
    place: Conversation = DIRECT
    seconds: float = 0.0  # until the program can know


async def _by_hand(it: Scene) -> None:
    path = it.app.home / "agents" / "a1" / "agent.toml"
    path.write_text('[agent]\nname = "小禾"\n[knowledge]\ncollections = []\n', "utf-8")


async def _folder_gone(it: Scene) -> None:
    (it.app.home / "agents" / "a1" / "agent.toml").unlink()


async def _raise(it: Scene, sensitivity: str) -> None:
    now = await it.app.store.collections.find(it.shelf.id)
    assert now is not None
    await it.do(
        "knowledge.collections.update",
        collection=it.shelf.id,
        version=now.version,
        sensitivity=sensitivity,
    )


async def _chat_grant(it: Scene) -> None:
    """The room's own grant goes; nobody there is linked."""
    now = await it.app.store.collections.find(it.shelf.id)
    assert now is not None
    grants = [Grant(it.shelf.id, SubjectKind.USER, it.boss.id, Role.OWNER)]
    await it.app.store.grants.replace(it.shelf.id, grants, version=now.version)


WAYS = [
    Way("nothing ends", lambda it: asyncio.sleep(0), is_lost=False),
    Way(
        "the person's role is lowered to viewer",
        lambda it: it.share_as(("user", it.person.id, "viewer"), ("agent", "a1", "viewer")),
        is_lost=False,
    ),
    Way(
        "an unrelated change",
        lambda it: it.do("accounts.update", account="lin", department="X"),
        is_lost=False,
    ),
    Way("the person's grant is taken", lambda it: it.share(("agent", "a1"))),
    Way("the agent's grant is taken", lambda it: it.share(("user", it.person.id))),
    Way("the whole batch is replaced", lambda it: it.share()),
    Way(
        "the person moves to another department",
        lambda it: it.do("accounts.update", account="lin", department="HR"),
        by_department,
    ),
    Way(
        "the agent moves to another department",
        lambda it: it.do("agents.update", agent_id="a1", department="HR"),
        by_department,
    ),
    Way(
        "the link is removed",
        lambda it: it.do("links.remove", channel="fake", account_name="main", sender="s1"),
    ),
    Way("the account is deactivated", lambda it: it.do("accounts.deactivate", account="lin")),
    Way("the agent is archived", lambda it: it.do("agents.archive", agent_id="a1")),
    Way(
        "the agent's list is narrowed",
        lambda it: it.do("agents.knowledge.set", agent_id="a1", collections=[]),
    ),
    Way("the agent's file is edited by hand", _by_hand, seconds=6.0),
    Way("the agent's file is removed by hand", _folder_gone, seconds=6.0),
    Way("the collection becomes personal", lambda it: _raise(it, "personal"), place=GROUP),
    Way("the collection becomes restricted", lambda it: _raise(it, "restricted"), place=GROUP),
    Way(
        "the collection is deleted",
        lambda it: it.do(
            "knowledge.collections.delete", collection=it.shelf.id, confirm_name="Handbook"
        ),
    ),
    Way(
        "the document is deleted",
        lambda it: it.do("knowledge.sources.delete", source_id=it.source_id),
    ),
]

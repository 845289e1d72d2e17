"""「加入知識庫」 beside files: which of them are meant, who is refused, what a re-run says."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from gateway.accounts.scopes import ScopeService
from gateway.attachments import AttachmentShelf
from gateway.catalogue import text
from gateway.core.access import (
    Account,
    AccountRole,
    Agent,
    Collection,
    Grant,
    Role,
    Sensitivity,
    SubjectKind,
)
from gateway.core.agents import AgentSettings
from gateway.core.chat_commands import Command, CommandKind, parse
from gateway.core.limits import KnowledgeLimits
from gateway.core.messages import Attachment, Conversation, InboundMessage, Sender
from gateway.downloads import Downloads
from gateway.errors import ChannelError
from gateway.interfaces import Claimed
from gateway.knowledge.proposal_files import ProposalFolder
from gateway.knowledge.proposals import Proposals
from gateway.proposing import AddSource
from gateway.store import Store
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.journeys.test_attachments import Files, language_of
from tests.stores import new_store

IDS = RealIds()
PLACE = Conversation("fake", "main", "c1", is_direct=True)
KEN = Sender("fake", "main", "ken")
NOTHING = text("proposals.no_file", "en", minutes=30)
REFUSED = text("proposals.refused", "en")


@dataclass
class Agents:
    """One agent without a list of its own."""

    is_archived: bool = False
    asked: list[str] = field(default_factory=list)

    async def load(self, agent_id: str) -> AgentSettings | None:
        self.asked.append(agent_id)
        settings = AgentSettings("a1", "小禾", is_archived=self.is_archived)
        return settings if agent_id == "a1" else None

    async def create(self, settings: AgentSettings) -> None:
        raise AssertionError(settings)


@dataclass
class Office:
    """The command over the real shelf and the real store."""

    store: Store
    home: Path
    clock: WoundClock

    def __post_init__(self) -> None:
        self.channel, self.agents = Files(), Agents()
        self.n = 0
        self.restart()

    def restart(self) -> None:
        downloads = Downloads(self.home / "run" / "attachments", IDS)
        self.shelf = AttachmentShelf(downloads, self.clock, language_of)
        scopes = ScopeService(self.store.accounts, self.store.links, self.store.grants)
        self.proposals = Proposals(
            cards=self.store.proposals,
            folder=ProposalFolder(self.home / "knowledge" / "proposals"),
            scopes=scopes,
            collections=self.store.collections,
            audit=self.store.audit,
            clock=self.clock,
            ids=IDS,
            limits=KnowledgeLimits(),
            agents=self.home / "agents",
        )
        channels = {("fake", "main"): self.channel}
        self.command = AddSource(self.proposals, scopes, self.agents, self.shelf, channels)

    def message(self, words: str = "", *handles: str, **over: Any) -> InboundMessage:
        self.n += 1
        files = tuple(Attachment(each, f"{each}.txt", "text/plain") for each in handles)
        message = InboundMessage(
            PLACE, f"d{self.n}", f"m{self.n}", words, self.clock.now(), KEN, agent_id="a1",
            attachments=files,
        )  # fmt: skip
        return replace(message, **over)

    async def receive(self, message: InboundMessage) -> None:
        self.shelf.note(message)
        await self.shelf.receive(Claimed("t", message, 1), self.channel)

    async def say(self, message: InboundMessage, turn_id: str = "") -> str | None:
        """As the dispatcher would: files first, then the command."""
        command = parse(message.text)
        assert command is not None
        await self.receive(message)
        return await self.command(Claimed(turn_id or IDS.new(), message, 1), command, "en")

    async def names(self) -> list[str]:
        cards = await self.store.proposals.decidable("ken", self.clock.now())
        return [card.proposal.name for card in cards]


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    clock = WoundClock()
    async with new_store(tmp_path, clock, IDS) as store:
        office = Office(store, tmp_path, clock)
        await office.shelf.start()
        await office.proposals.start()
        await store.accounts.put(Account("ken", "ken", "Ken", AccountRole.MEMBER))
        await store.agents.put(Agent("a1", "小禾"))
        await store.links.bind(KEN, "ken", clock.now())
        draft = Collection(IDS.new(), 0, "handbook", "手冊", Sensitivity.INTERNAL)
        made = await store.collections.create(draft, "ken")
        grants = [
            Grant(made.id, SubjectKind.USER, "ken", Role.OWNER),
            Grant(made.id, SubjectKind.AGENT, "a1", Role.VIEWER),
        ]
        await store.grants.replace(made.id, grants, version=made.version)
        yield office


async def test_a_messages_own_files_are_meant_and_no_earlier_ones(office: Office) -> None:
    await office.receive(office.message("", "earlier"))
    said = await office.say(office.message("加入知識庫 handbook", "a", "b"))
    assert said is not None
    assert said.startswith("I have proposed 2 file(s).")
    assert await office.names() == ["a.txt", "b.txt"]


async def test_without_own_files_the_senders_last_half_hour_here_is_meant(office: Office) -> None:
    await office.receive(office.message("", "old"))
    office.clock.wind(minutes=29)
    await office.receive(office.message("", "new"))
    await office.receive(office.message("", "elsewhere", conversation=replace(PLACE, id="c2")))
    await office.receive(office.message("", "hers", sender=Sender("fake", "main", "mei")))
    office.clock.wind(minutes=2)
    await office.say(office.message("加入知識庫 handbook"))
    assert await office.names() == ["new.txt"]


async def test_own_files_that_cannot_be_had_are_not_replaced_by_others(office: Office) -> None:
    await office.receive(office.message("", "earlier"))
    office.channel.failures["a"] = ChannelError("gone", code="attachment_unavailable")
    assert await office.say(office.message("加入知識庫 handbook", "a")) == NOTHING
    assert await office.names() == []


async def test_of_more_than_five_the_first_are_taken_and_the_rest_is_told(office: Office) -> None:
    said = await office.say(office.message("加入知識庫 handbook", *"abcdefg"))
    assert said is not None
    assert said.endswith(text("proposals.only_first", "en", count=5))
    assert await office.names() == [f"{each}.txt" for each in "abcde"]


async def test_a_turn_run_again_says_the_same_though_the_files_are_gone(office: Office) -> None:
    message, turn_id = office.message("加入知識庫 handbook", "a"), IDS.new()
    first = await office.say(message, turn_id)
    office.restart()
    await office.shelf.start()
    command = Command(CommandKind.ADD_SOURCE, "handbook", None)
    again = await office.command(Claimed(turn_id, message, 2), command, "en")
    assert again == first
    assert len(await office.names()) == 1


async def test_files_of_before_a_restart_have_to_be_sent_again(office: Office) -> None:
    await office.receive(office.message("", "a"))
    office.restart()
    await office.shelf.start()
    assert await office.say(office.message("加入知識庫 handbook")) == NOTHING


async def test_an_archived_or_unknown_agent_takes_nothing(office: Office) -> None:
    office.agents.is_archived = True
    assert await office.say(office.message("加入知識庫 handbook", "a")) == REFUSED
    office.agents.is_archived = False
    for agent_id in (None, "a2"):
        message = office.message("加入知識庫 handbook", "a", agent_id=agent_id)
        assert await office.say(message) == REFUSED
    assert await office.names() == []


@pytest.mark.parametrize("who", ["visitor", "nobody", "unlinked", "inactive"])
async def test_whoever_is_not_known_is_refused_for_any_collection(office: Office, who: str) -> None:
    ways: dict[str, dict[str, Any]] = {
        "visitor": {"is_visitor": True},
        "nobody": {"sender": None},
        "unlinked": {"sender": Sender("fake", "main", "mei")},
        "inactive": {},
    }
    over = ways[who]
    if who == "inactive":
        ken = await office.store.accounts.find("ken")
        assert ken is not None
        await office.store.accounts.put(replace(ken, is_active=False))
    for slug in ("handbook", "no-such", ""):
        assert await office.say(office.message(f"加入知識庫 {slug}", "a", **over)) == REFUSED
    assert await office.store.proposals.pending() == frozenset()

"""A random company in the real store, its turns run whole, and all that they touch noted."""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.delegation import Delegation
from gateway.accounts.scopes import ScopeService
from gateway.app_turns import answering
from gateway.asked import Asked
from gateway.core.access import (
    Account,
    AccountRole,
    Agent,
    Audience,
    AudienceKind,
    BindingRole,
    Collection,
    Grant,
    Role,
    Sensitivity,
    SubjectKind,
)
from gateway.core.calibration import Calibration, Logistic
from gateway.core.chat import ChatMessage, Draft, ToolCall
from gateway.core.messages import Conversation, InboundMessage, Sender
from gateway.core.passages import COLLECTION_SHIFT
from gateway.core.scope_origin import delegated
from gateway.core.turns import TurnRecord
from gateway.errors import NotFoundError
from gateway.interfaces import LexicalHits, PassageVectors
from gateway.knowledge.lists import Lists
from gateway.knowledge.search import Search
from gateway.operations.dispatching import Dispatching, DispatchRequest
from gateway.operations.table import Caller
from gateway.outbox import OutboxSender
from gateway.reading import TurnReader
from gateway.store import Store
from gateway.store.statements import raw
from gateway.turn import TurnRunner
from tests.contract.world import World as Filling
from tests.fakes.channels import FakeChannel
from tests.fakes.knowledge import FakeEncoder, letter_vector
from tests.fakes.models import ScriptedModel
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.knowledge.tripwire import Tripwire
from tests.proof.bridge import account_of
from tests.proof.reference import Employee, Share, Shelf, Turn, World
from tests.stores import filtering

TOP_K = 8  # of every agent: the most there is
QUESTION = "差旅 報支 規定"
ALWAYS = Logistic(bias=9.0, weights={}, cut=0.5)
CALIBRATION = Calibration("any", ALWAYS, ALWAYS, ALWAYS)
LOOK = ToolCall("t1", "knowledge_search", json.dumps({"query": QUESTION, "limit": 20}))
CITE = "依規定辦理。" + "".join(f"[{n}]" for n in range(1, 13))
MARK = re.compile(r"mark(\d+)q")  # in each passage: its collection's number
KEEPER = Account("keeper", "keeper", "Keeper", AccountRole.MEMBER)
IDS = RealIds()


@dataclass
class Seen:
    """Numbers of collections: found by a search, loaded, shown to the model, cited."""

    scored: set[int] = field(default_factory=set)
    loaded: set[int] = field(default_factory=set)
    prompted: set[int] = field(default_factory=set)
    injected: set[int] = field(default_factory=set)
    cited: set[int] = field(default_factory=set)
    record: TurnRecord | None = None


class Noting(Tripwire):
    """A wire that nothing trips: it notes what comes back from the passage index."""

    def __init__(self) -> None:
        super().__init__(0, is_after=False)
        self.seen = Seen()

    async def pass_through(self, call: Callable[..., Awaitable[Any]], *args: Any, **kw: Any) -> Any:
        result = await call(*args, **kw)
        if isinstance(result, LexicalHits):
            self.seen.scored |= numbers([passage_id for passage_id, _ in result.hits])
        elif isinstance(result, (list, tuple)):
            self.seen.loaded |= numbers([each.id for each in result if hasattr(each, "text")])
        return result


class NotingSearch(Search):
    """Notes what the vectors and the fusion looked at, too."""

    noting: Noting

    async def _lists(self, *args: Any, **kw: Any) -> Lists:
        lists = await super()._lists(*args, **kw)
        ids = [*(each[0] for each in lists.nearest.ranked), *lists.nearest.cosines]
        self.noting.seen.scored |= numbers(ids)
        return lists


def numbers(passage_ids: Sequence[int]) -> set[int]:
    return {passage_id >> COLLECTION_SHIFT for passage_id in passage_ids}


class Company:
    """One home in which one random world after the other lives."""

    def __init__(self, store: Store, home: Path, clock: WoundClock) -> None:
        self.store, self.clock = store, clock
        self.agents = home / "agents"
        self.files = AgentFolder(self.agents, store.agents)
        self.scopes = ScopeService(store.accounts, store.links, store.grants)
        self.delegation = Delegation(store.turns, store.accounts, clock)
        self.filling = Filling(store, clock)
        self.noting = Noting()
        index: Any = self.noting.wrap(store.passages)
        search = NotingSearch(
            index, store.vectors, FakeEncoder(), store.audit, clock, lambda _key: CALIBRATION
        )
        search.noting = self.noting
        replies = OutboxSender(store.outbox, store.inbox, {("fake", "main"): FakeChannel()}, clock)
        reader = TurnReader(
            self.scopes,
            store.collections,
            filtering(search, store),
            index,
            clock,
            self.files,
            store.turns,
        )
        self.runner = TurnRunner(
            self.scopes, self.files, reader, ScriptedModel([]), store.turns, replies, clock
        )
        self.no: dict[str, int] = {}  # collection id -> number
        self.sensitive: set[int] = set()

    # ------------------------------------------------------------ its world

    async def settle(self, world: World) -> None:
        """People first; then what is shared, whole grants and broken ones."""
        await self.store.accounts.put(KEEPER)
        for person in world.people.values():
            await self.store.accounts.put(account_of(person))
        for employee in world.employees.values():
            await self._employ(employee, list(world.people))
        for shelf in world.shelves:
            await self._stock(shelf, [each for each in world.shares if each.shelf == shelf.id])
        missing = await self.store.vectors.without_vectors(FakeEncoder.KEY, None, 1_000)
        rows = [
            PassageVectors(each.id, each.collection_id, "zh", letter_vector(each.text)[None])
            for each in missing
        ]
        await self.store.vectors.put(FakeEncoder.KEY, rows)

    async def leave(self, world: World) -> None:
        """What is deleted must never be read by the worlds that follow."""
        for shelf in world.shelves:
            await self.store.collections.remove(shelf.id)

    async def _employ(self, employee: Employee, people: Sequence[str]) -> None:
        agent = Agent(employee.id, employee.id, is_archived=employee.is_archived)
        await self.store.agents.put(agent)
        await self.store.agents.bind(employee.id, KEEPER.id, BindingRole.OWNER)
        for person in people:
            await self.store.agents.bind(employee.id, person, BindingRole.VIEWER)
        slugs = employee.slugs
        listed = "" if slugs is None else f"collections = {json.dumps(list(slugs))}\n"
        if isinstance(slugs, str):
            listed = 'collections = "all of them"\n'
        folder = self.agents / employee.id
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "agent.toml").write_text(
            f"[agent]\ndepartment = {json.dumps(employee.department)}\n"
            f"[knowledge]\ntop_k = {TOP_K}\n{listed}",
            "utf-8",
        )

    async def _stock(self, shelf: Shelf, shares: Sequence[Share]) -> None:
        draft = Collection(shelf.id, 0, shelf.slug, shelf.slug, Sensitivity(shelf.sensitivity))
        made = await self.store.collections.create(draft, KEEPER.id)
        self.no[shelf.id] = made.no
        owner = Grant(shelf.id, SubjectKind.USER, KEEPER.id, Role.OWNER)
        once = {(each.kind, each.subject): each for each in reversed(shares)}
        grants = [
            Grant(shelf.id, SubjectKind(each.kind), each.subject, Role(each.role))
            for each in once.values()
        ]
        await self.store.grants.replace(shelf.id, [owner, *grants], version=made.version)
        await self.store._knowledge.write(lambda c: _break_in(c, shelf.id, set(once)))
        await self.filling.text(made, f"{QUESTION} mark{made.no}q")

    # ------------------------------------------------------------ its turns

    async def run(self, world: World, turn: Turn) -> Seen:
        """What a turn read on its way from the question to the record."""
        self.noting.seen = Seen()
        model = ScriptedModel([Draft("", (LOOK,)), Draft(CITE)])
        turn_id = await self._ask(world, turn, replace(self.runner, models=model))
        seen = self.noting.seen
        for prompt in model.prompts:
            seen.prompted |= marks(prompt)
        seen.injected = marks(model.prompts[0]) if model.prompts else set()
        seen.record = None if turn_id is None else await self.store.turns.find(turn_id)
        if seen.record is not None:
            seen.cited = numbers([each.passage_id for each in seen.record.citations])
        return seen

    async def _ask(self, world: World, turn: Turn, runner: TurnRunner) -> str | None:
        if turn.door == "dispatch":
            return await self._dispatch(world, turn, runner)
        audience, undo = await self._audience(world, turn)
        for sender in undo:
            await self.store.links.remove(sender)
        return await self._answer(runner, audience, turn.employee)

    async def _answer(self, runner: TurnRunner, audience: Audience, agent: str | None) -> str:
        turn_id = IDS.new()
        asked = Asked(turn_id, QUESTION, audience, agent, f"ask/{turn_id}", self.clock.now())
        await runner.answer(asked)
        return turn_id

    async def _dispatch(self, world: World, turn: Turn, runner: TurnRunner) -> str | None:
        """By the operation where a signed-in person can; else as the asking agent's ticket does."""
        desk = Dispatching(
            self.store.agents,
            self.files,
            self.delegation,
            answering(runner, self.clock, IDS),
        )
        request = DispatchRequest(turn.employee or "nobody", QUESTION)
        quiet = replace(self.runner, models=ScriptedModel([Draft("好")]))
        asker = world.people.get(turn.person or "")
        account = KEEPER if asker is None else account_of(asker)
        if turn.record == "none":
            account = KEEPER
        elif turn.record == "lost":
            request = replace(request, turn_id=IDS.new())
        elif turn.record == "old":
            before = replace(turn, door="webchat", is_private=True)
            request = replace(request, turn_id=await self._ask(world, before, quiet))
            await self._age(request.turn_id or "")
        elif turn.upstream is not None:
            above = await self._ask(world, turn.upstream, quiet)
            if above is None:
                return None
            self.noting.seen = Seen()
            record = await self.store.turns.find(above)
            assert record is not None
            assert record.provenance is not None
            if record.account_id is None:
                first = await self.delegation.audience(record.provenance.origin)
                return await self._answer(runner, delegated(first, above), turn.employee)
            person = world.people[record.account_id]
            account, request = account_of(person), replace(request, turn_id=above)
        self.noting.seen = Seen()
        caller = Caller(account, Audience(AudienceKind.DASHBOARD, account, is_direct=True), "rpc")
        try:
            return (await desk.dispatch(caller, request)).turn_id
        except NotFoundError:
            return None

    async def _age(self, turn_id: str) -> None:
        record = await self.store.turns.find(turn_id)
        assert record is not None
        old = record.asked_at - timedelta(hours=24, seconds=1)
        await self.store.turns.record(replace(record, asked_at=old))

    async def _audience(self, world: World, turn: Turn) -> tuple[Audience, list[Sender]]:
        """From a message where there is one; and the links that end once it was decided."""
        person = world.people.get(turn.person or "")
        account = None if person is None else account_of(person)
        if turn.door in ("dashboard", "key"):
            is_dashboard = turn.door == "dashboard"
            kind = AudienceKind.DASHBOARD if is_dashboard else AudienceKind.ACCOUNT_DOOR
            return Audience(kind, account, is_direct=is_dashboard), []
        if turn.door == "system":
            return Audience(AudienceKind.SYSTEM), []
        if turn.door == "webchat":
            chat = Conversation("webchat", "web", "c", is_direct=turn.is_private)
            return await self.scopes.audience(self._message(chat, turn, None)), []
        assert turn.chat is not None
        platform, name, conversation, parent = turn.chat
        chat = Conversation(platform, name, conversation, parent, is_direct=turn.is_private)
        sender = Sender(platform, name, f"s-{IDS.new()}")
        if turn.door == "chat" and person is not None:
            await self.store.links.bind(sender, person.id, self.clock.now())
        is_named = turn.door != "unregistered"
        message = self._message(chat, turn, sender if is_named else None)
        ended = [] if turn.is_link_whole else [sender]
        return await self.scopes.audience(message), ended

    def _message(self, chat: Conversation, turn: Turn, sender: Sender | None) -> InboundMessage:
        return InboundMessage(
            chat,
            "d",
            "m",
            QUESTION,
            self.clock.now(),
            sender,
            account_id=(turn.person or "nobody") if turn.door == "webchat" else None,
            is_visitor=turn.door == "visitor",
        )


def marks(prompt: Sequence[ChatMessage]) -> set[int]:
    return {int(no) for message in prompt for no in MARK.findall(message.text)}


def _break_in(connection: Connection, shelf: str, taken: set[tuple[str, str]]) -> None:
    """Rows that no editor wrote, and nobody can read."""
    rows = [
        (shelf, "user", "somebody else", "superuser"),
        (shelf, "everyone", "*", "viewer"),
        (shelf, "department", "HR ", "viewer"),
    ]
    raw(connection).executemany("INSERT INTO grants VALUES (?, ?, ?, ?)", rows)
    assert not {(row[1], row[2]) for row in rows} & taken

"""An agent's own documents over the real store and files: killed in between, broken, away."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gateway.accounts.agent_editing import AgentEditor
from gateway.accounts.agent_files import AgentFolder
from gateway.core.access import Account, AccountRole, Agent, BindingRole, Sensitivity
from gateway.core.agents import AgentKnowledge, AgentSettings, ListChange, SettingsChange
from gateway.errors import ConflictError, NotFoundError, StoreError
from gateway.interfaces import AgentEditing
from gateway.knowledge.own_documents import Ensured, OwnDocuments, OwnSeams
from gateway.store import Store
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.stores import new_store

INTERNAL = Sensitivity.INTERNAL


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Deadly:
    """An editor that dies before or after it added a collection to the list."""

    editor: AgentEditing
    is_after: bool

    async def list_collection(self, agent_id: str, slug: str) -> ListChange:
        if self.is_after:
            await self.editor.list_collection(agent_id, slug)
        raise Killed

    async def present(self, agent_ids: Iterable[str]) -> frozenset[str]:
        return await self.editor.present(agent_ids)

    async def knowledge(self, agent_id: str) -> AgentKnowledge | None:
        return await self.editor.knowledge(agent_id)

    async def update(self, agent_id: str, change: SettingsChange) -> None:
        await self.editor.update(agent_id, change)

    async def set_knowledge(
        self, agent_id: str, knowledge: AgentKnowledge, *, replace: bool = False
    ) -> bool:
        return await self.editor.set_knowledge(agent_id, knowledge, replace=replace)


@dataclass
class Breaking(Deadly):
    """Whose file a person breaks in the very moment in which it is read and edited."""

    file: Path = field(default_factory=Path)

    async def list_collection(self, agent_id: str, slug: str) -> ListChange:
        self.file.write_text("[knowledge\n", "utf-8")
        return await self.editor.list_collection(agent_id, slug)


@dataclass
class Refusing:
    """A store that refuses to archive or restore."""

    store: Any

    async def settle(self, *_: object, **__: object) -> bool:
        raise StoreError("disk", code="store_full")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


@dataclass
class Bench:
    """A home with one agent and its owner."""

    home: Path
    store: Store
    owner: Account
    editor: AgentEditor

    @property
    def file(self) -> Path:
        return self.home / "agents" / "hana" / "agent.toml"

    def documents(self, editing: AgentEditing | None = None, own: Any = None) -> OwnDocuments:
        """As a newly started process would have it."""
        return OwnDocuments(
            OwnSeams(
                own or self.store.own_collections,
                self.store.agents,
                editing or self.editor,
                self.store.collections,
                self.store.audit,
                WoundClock(),
                RealIds(),
                50,
            )
        )

    async def ensure(self, documents: OwnDocuments | None = None) -> Ensured:
        chosen = documents or self.documents()
        return await chosen.ensure(self.owner, "hana", INTERNAL, with_bound=True)

    async def listed(self) -> frozenset[str] | None:
        knowledge = await self.editor.knowledge("hana")
        assert knowledge is not None
        return knowledge.collections

    async def events(self) -> list[str]:
        file = self.home / "audit.jsonl"
        await self.store.audit.export(file)
        return events_in(file)


def events_in(file: Path) -> list[str]:
    text = file.read_text("ascii") if file.exists() else ""
    return [line.split('"event":"')[1].split('"')[0] for line in text.splitlines()]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    home = tmp_path / "home"
    async with new_store(home, WoundClock(), RealIds()) as store:
        owner = Account("ken", "ken", "Ken", AccountRole.MEMBER)
        await store.accounts.put(owner)
        await store.agents.put(Agent("hana", "小花"))
        await store.agents.bind("hana", "ken", BindingRole.OWNER)
        folder = AgentFolder(home / "agents", store.agents)
        await folder.create(AgentSettings("hana", "小花"))
        yield Bench(home, store, owner, AgentEditor(folder))


def knowledge(bench: Bench, text: str) -> None:
    bench.file.write_text(f'[agent]\nname = "小花"  # kept\n{text}\n', "utf-8")


@pytest.mark.parametrize(
    ("before", "change", "others"),
    [
        ("", ListChange.NO_LIST, None),
        ("[knowledge]\ncollections = []", ListChange.ONLY_ONE, set()),
        ('[knowledge]\ncollections = ["faq"]', ListChange.LISTED, {"faq"}),
    ],
)
async def test_the_agents_list_is_touched_once(
    bench: Bench, before: str, change: ListChange, others: set[str] | None
) -> None:
    knowledge(bench, before)
    made = await bench.ensure()
    assert (made.is_new, made.listed) == (True, change)
    slug = made.own.collection.slug
    assert await bench.listed() == (None if others is None else frozenset(others | {slug}))
    assert "# kept" in bench.file.read_text("utf-8")
    told = await bench.events()
    assert ("knowledge_agent_binding_changed" in told) is (others is not None)
    knowledge(bench, '[knowledge]\ncollections = ["other"]')  # its owner took it off
    again = await bench.ensure()
    assert (again.is_new, again.listed) == (False, None)
    await bench.documents().reconcile()
    assert await bench.listed() == frozenset({"other"})


@pytest.mark.parametrize("text", ["[knowledge", "knowledge = 3", "[knowledge]\ncollections = 1"])
async def test_where_the_section_cannot_be_read_nothing_is_made(bench: Bench, text: str) -> None:
    bench.file.write_text(text, "utf-8")
    with pytest.raises(ConflictError) as refused:
        await bench.ensure()
    assert refused.value.code == "agent_file_broken"
    assert await bench.store.own_collections.list() == []
    assert await bench.events() == []


async def test_a_file_broken_in_the_very_moment_leaves_no_collection(bench: Bench) -> None:
    knowledge(bench, "[knowledge]\ncollections = []")
    with pytest.raises(ConflictError):
        await bench.ensure(bench.documents(Breaking(bench.editor, False, bench.file)))
    assert await bench.store.own_collections.list() == []
    assert (await bench.events())[-1] == "knowledge_collection_deleted"


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("repaired_by", ["start", "next upload"])
async def test_a_kill_between_store_and_file_ends_right(
    bench: Bench, is_after: bool, repaired_by: str
) -> None:
    knowledge(bench, "[knowledge]\ncollections = []")
    with pytest.raises(Killed):
        await bench.ensure(bench.documents(Deadly(bench.editor, is_after)))
    if repaired_by == "start":
        await bench.documents().reconcile()
    made = await bench.ensure()
    assert not made.is_new
    assert await bench.listed() == frozenset({made.own.collection.slug})
    (own,) = await bench.store.own_collections.list()
    assert not own.owes_listing
    assert len([each for each in await bench.events() if each.endswith("created")]) == 1


async def test_a_list_that_cannot_be_read_stays_owed_until_it_can(bench: Bench) -> None:
    knowledge(bench, "[knowledge]\ncollections = []")
    with pytest.raises(Killed):
        await bench.ensure(bench.documents(Deadly(bench.editor, is_after=False)))
    bench.file.write_text("[knowledge", "utf-8")
    await bench.documents().reconcile()
    knowledge(bench, "[knowledge]\ncollections = []")
    await bench.documents().reconcile()
    made = await bench.ensure()
    assert await bench.listed() == frozenset({made.own.collection.slug})


async def test_a_hundred_uploads_at_once_make_one(bench: Bench) -> None:
    knowledge(bench, '[knowledge]\ncollections = ["faq"]')
    documents = bench.documents()
    made = await asyncio.gather(*(bench.ensure(documents) for _ in range(100)))
    assert sum(each.is_new for each in made) == 1
    assert len({each.own.collection.id for each in made}) == 1
    assert len(await bench.listed() or ()) == 2
    others = await asyncio.gather(*(bench.ensure(bench.documents()) for _ in range(20)))
    assert not any(each.is_new for each in others)


async def test_a_slug_that_is_taken_gets_another(bench: Bench) -> None:
    await bench.store.agents.put(Agent("hana", "FAQ"))
    first = await bench.ensure()
    assert first.own.collection.slug == "faq"
    await bench.store.agents.put(Agent("hana2", "FAQ"))
    await bench.store.agents.bind("hana2", "ken", BindingRole.OWNER)
    folder = AgentFolder(bench.home / "agents", bench.store.agents)
    await folder.create(AgentSettings("hana2", "FAQ"))
    second = await bench.documents().ensure(bench.owner, "hana2", INTERNAL, with_bound=False)
    assert second.own.collection.slug.startswith("faq-")
    assert second.own.collection.name == first.own.collection.name == "FAQ 的資料"


async def test_the_start_follows_what_happened_to_agents_meanwhile(bench: Bench) -> None:
    made = await bench.ensure()
    away = bench.file.with_name("moved.toml")
    bench.file.rename(away)
    await bench.documents().reconcile()
    assert await is_archived(bench)
    away.rename(bench.file)
    await bench.store.agents.put(Agent("hana", "小花", is_archived=True))
    await bench.documents().reconcile()
    assert await is_archived(bench)
    await bench.store.agents.put(Agent("hana", "改名"))
    await bench.documents().reconcile()
    assert not await is_archived(bench)
    again = await bench.ensure()
    assert again.own.collection.id == made.own.collection.id
    assert again.own.collection.name == "小花 的資料"
    assert (await bench.events())[-2:] == [
        "knowledge_own_collection_archived",
        "knowledge_own_collection_restored",
    ]


async def is_archived(bench: Bench) -> bool:
    (own,) = await bench.store.own_collections.list()
    return own.collection.is_archived


async def test_what_fails_is_told_and_made_good_at_the_next_start(bench: Bench) -> None:
    await bench.ensure()
    failing = bench.documents(own=Refusing(bench.store.own_collections))
    await bench.store.agents.put(Agent("hana", "小花", is_archived=True))
    await failing.settle("hana")
    assert (await bench.events())[-1] == "knowledge_own_collection_archived_failed"
    await bench.documents().reconcile()
    assert await is_archived(bench)
    await bench.store.agents.put(Agent("hana", "小花"))
    await failing.settle("hana")
    assert (await bench.events())[-1] == "knowledge_own_collection_restored_failed"
    await bench.documents().reconcile()
    assert not await is_archived(bench)


async def test_nobody_else_makes_one_and_an_unknown_agent_looks_alike(bench: Bench) -> None:
    stranger = Account("mei", "mei", "Mei", AccountRole.MANAGER)
    await bench.store.accounts.put(stranger)
    for agent_id in ("hana", "nobody"):
        with pytest.raises(NotFoundError):
            await bench.documents().ensure(stranger, agent_id, INTERNAL, with_bound=True)
    await bench.documents().settle("nobody")
    assert await bench.store.own_collections.list() == []
    assert await bench.events() == []

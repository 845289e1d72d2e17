"""agent.toml changed by the program: atomic, comments kept, broken ones left alone (A5)."""

import asyncio
import tempfile
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.accounts.agent_editing import AgentEditor
from gateway.accounts.agent_files import AgentFolder
from gateway.core.access import Agent
from gateway.core.agents import (
    AgentKnowledge,
    AgentSettings,
    AnswerMode,
    ListChange,
    SettingsChange,
)
from gateway.errors import ConflictError, NotFoundError
from gateway.store import Store

COMMENTED = """# ours, do not touch
[agent]
name = "Anna" # shown in chats
department = "業務部"
model = "extractive"
temperature = 0.2

# what she reads
[knowledge]
collections = ["hr"] # only these
top_k = 99

[other]
kept = true
"""


class Desk:
    """Anna's files, read as a turn reads them and changed as the program changes them."""

    def __init__(self, home: Path, store: Any) -> None:
        self.files = AgentFolder(home / "agents", store)
        self.editor = AgentEditor(self.files)
        self.folder = home / "agents" / "anna"

    def write(self, text: str) -> None:
        (self.folder / "agent.toml").write_text(text, "utf-8")

    def text(self) -> str:
        return (self.folder / "agent.toml").read_text("utf-8")

    async def settings(self) -> AgentSettings:
        found = await self.files.load("anna")
        assert found is not None
        return found


class OneAgent:
    """Agents that know Anna alone."""

    async def find(self, agent_id: str) -> Agent | None:
        return Agent("anna", "Anna") if agent_id == "anna" else None


@pytest.fixture
async def desk(tmp_path: Path, store: Store) -> Desk:
    made = Desk(tmp_path, store.agents)
    await made.files.create(AgentSettings("anna", "Anna", "業務部", persona="親切"))
    await store.agents.put(Agent("anna", "Anna"))
    made.write(COMMENTED)
    return made


async def test_comments_and_what_is_not_ours_stay(desk: Desk) -> None:
    knowledge = AgentKnowledge(frozenset({"faq", "hr"}), answer_mode=AnswerMode.KB_ONLY, top_k=8)
    await desk.editor.set_knowledge("anna", knowledge)
    await desk.editor.update("anna", SettingsChange("花子", models=("a/b", "c/d"), persona="新"))
    found = await desk.settings()
    assert found.knowledge == knowledge
    assert (found.display_name, found.model, found.fallbacks) == ("花子", "a/b", ("c/d",))
    assert (found.department, found.persona) == ("業務部", "新")
    for kept in ("# ours, do not touch", "# shown in chats", "# what she reads", "kept = true"):
        assert kept in desk.text()
    assert tomllib.loads(desk.text())["agent"]["temperature"] == 0.2
    assert "top_k = 99" in desk.text(), "what reads the same is not written anew"


async def test_the_list_can_be_taken_away_and_emptied(desk: Desk) -> None:
    now = (await desk.settings()).knowledge
    await desk.editor.set_knowledge("anna", replace(now, collections=None))
    assert (await desk.settings()).knowledge.collections is None
    await desk.editor.set_knowledge("anna", replace(now, collections=frozenset()))
    assert (await desk.settings()).knowledge.collections == frozenset()


BROKEN_SECTIONS = [
    '[agent]\nname = "Anna"\n[knowledge]\ncollections = "hr"',
    'knowledge = 5\n[agent]\nname = "Anna"',
    '[agent]\nname = "Anna"\n[[knowledge]]\ntop_k = 3',
    '[agent]\nname = "Anna"\n[knowledge]\nanswer_mode = "maybe"',
]


@pytest.mark.parametrize("text", BROKEN_SECTIONS)
async def test_a_section_that_cannot_be_read_is_written_over_by_wish_alone(
    desk: Desk, text: str
) -> None:
    desk.write(text)
    wanted = AgentKnowledge(frozenset({"faq"}))
    assert await desk.editor.knowledge("anna") is None
    for call in (
        desk.editor.set_knowledge("anna", wanted),
        desk.editor.list_collection("anna", "faq"),
        desk.editor.update("anna", SettingsChange(answer_mode=AnswerMode.KB_ONLY)),
    ):
        with pytest.raises(ConflictError) as caught:
            await call
        assert caught.value.code == "agent_file_broken"
    assert desk.text() == text
    assert await desk.editor.set_knowledge("anna", wanted, replace=True) is False
    found = await desk.settings()
    assert (found.display_name, found.knowledge) == ("Anna", wanted)


@pytest.mark.parametrize("data", [b"[knowledge", b"\x00", b"\xff\xfe", b"a = " + b"[" * 5_000])
async def test_a_whole_file_that_cannot_be_read_is_put_aside(desk: Desk, data: bytes) -> None:
    (desk.folder / "agent.toml").write_bytes(data)
    assert (await desk.settings()).knowledge.collections == frozenset()
    with pytest.raises(ConflictError):
        await desk.editor.set_knowledge("anna", AgentKnowledge())
    assert await desk.editor.set_knowledge("anna", AgentKnowledge(), replace=True) is True
    assert (await desk.settings()).knowledge == AgentKnowledge()
    assert (desk.folder / "agent.toml.broken").read_bytes() == data


@pytest.mark.parametrize(
    ("text", "change", "listed"),
    [
        ("", ListChange.NO_LIST, None),
        ("[knowledge]\ncollections = []", ListChange.ONLY_ONE, {"own"}),
        ('[knowledge]\ncollections = ["hr"]', ListChange.LISTED, {"hr", "own"}),
        ('[knowledge]\ncollections = ["own"]', ListChange.LISTED, {"own"}),
    ],
)
async def test_a_collection_is_added_to_a_list_where_there_is_one(
    desk: Desk, text: str, change: ListChange, listed: set[str] | None
) -> None:
    desk.write(text)
    assert await desk.editor.list_collection("anna", "own") is change
    found = (await desk.settings()).knowledge.collections
    assert found == (None if listed is None else frozenset(listed))


async def test_additions_side_by_side_are_all_there(desk: Desk) -> None:
    others = [AgentEditor(desk.files) for _ in range(8)]
    await asyncio.gather(*(each.list_collection("anna", f"c{n}") for n, each in enumerate(others)))
    found = (await desk.settings()).knowledge.collections
    assert found == frozenset({"hr", *(f"c{n}" for n in range(8))})


async def test_an_addition_that_was_given_up_is_whole_before_the_next_begins(desk: Desk) -> None:
    desk.write(f"{COMMENTED}\n" + "# a note\n" * 20_000)  # which takes a while to read
    given_up = asyncio.create_task(desk.editor.list_collection("anna", "first"))
    await asyncio.sleep(0.01)
    given_up.cancel()
    await desk.editor.list_collection("anna", "second")
    found = (await desk.settings()).knowledge.collections
    assert found == frozenset({"hr", "first", "second"})


async def test_an_agent_whose_folder_or_file_was_taken_away_is_absent_until_it_is_back(
    desk: Desk,
) -> None:
    assert await desk.editor.present(["anna", "bob", "../anna"]) == {"anna"}
    away = desk.folder.rename(desk.folder.with_name("away"))
    assert await desk.files.load("anna") is None
    assert await desk.editor.present(["anna"]) == frozenset()
    for call in (
        desk.editor.knowledge("anna"),
        desk.editor.set_knowledge("anna", AgentKnowledge(), replace=True),
        desk.editor.update("anna", SettingsChange("x")),
        desk.editor.list_collection("../away", "x"),
    ):
        with pytest.raises(NotFoundError):
            await call
    assert not desk.folder.exists()
    away.rename(desk.folder)
    assert (await desk.settings()).knowledge.collections == frozenset({"hr"})
    (desk.folder / "agent.toml").unlink()
    assert await desk.files.load("anna") is None, "no file is no permission to read everything"


KEYS = st.sampled_from(["collections", "auto_retrieve", "answer_mode", "top_k", "note", "name"])
VALUES = st.one_of(
    st.integers(-5, 20_000),
    st.booleans(),
    st.sampled_from(["assist", "kb_only", "hr", "[knowledge]", "#", '"', "知識"]),
    st.lists(st.sampled_from(["hr", "faq", "#x"]), max_size=3),
)
FILES = st.dictionaries(
    st.sampled_from(["agent", "knowledge", "other"]),
    st.dictionaries(KEYS, VALUES, max_size=5) | VALUES,
    max_size=3,
)
WANTED = st.builds(
    AgentKnowledge,
    collections=st.none() | st.frozensets(st.sampled_from(["hr", "faq", "a-b"])),
    auto_retrieve=st.booleans(),
    answer_mode=st.sampled_from(AnswerMode),
    top_k=st.integers(1, 8),
    inject_budget_chars=st.integers(500, 12_000),
)


@settings(max_examples=40)
@given(content=FILES, wanted=WANTED, replaces=st.booleans())
def test_what_is_written_is_what_a_turn_reads_and_nothing_else_changes(
    content: dict[str, Any], wanted: AgentKnowledge, replaces: bool
) -> None:
    async def run(home: Path) -> None:
        desk = Desk(home, OneAgent())
        desk.folder.mkdir(parents=True)
        desk.write(tomlkit.dumps(content))
        was_readable = await desk.editor.knowledge("anna") is not None
        try:
            await desk.editor.set_knowledge("anna", wanted, replace=replaces)
        except ConflictError:
            assert not was_readable
            assert not replaces
            assert tomllib.loads(desk.text()) == content
            return
        assert (await desk.settings()).knowledge == wanted
        after = tomllib.loads(desk.text())
        after.pop("knowledge", None)
        assert after == {key: value for key, value in content.items() if key != "knowledge"}

    with tempfile.TemporaryDirectory() as home:
        asyncio.run(run(Path(home)))

"""agent.toml: defaults, narrowing, and a broken [knowledge] that reads as nothing (A5)."""

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.accounts.agent_files import AgentFolder
from gateway.core.access import Agent
from gateway.core.agents import AgentKnowledge, AgentSettings, AnswerMode
from gateway.core.filters import EqualTo
from gateway.core.knowledge_tool import DESCRIPTION_CHARS, KnowledgeBaseTool
from gateway.errors import InvalidRequestError
from gateway.store import Store

NOTHING = AgentKnowledge(collections=frozenset())


@pytest.fixture
async def files(tmp_path: Path, store: Store) -> AgentFolder:
    folder = AgentFolder(tmp_path / "agents", store.agents)
    await folder.create(AgentSettings("anna", "Anna", "業務部", persona="親切"))
    await store.agents.put(Agent("anna", "Anna"))
    return folder


async def read(files: AgentFolder, tmp_path: Path, text: str) -> AgentKnowledge:
    (tmp_path / "agents" / "anna" / "agent.toml").write_text(text, "utf-8")
    found = await files.load("anna")
    assert found is not None
    return found.knowledge


async def test_what_is_created_is_read_back(files: AgentFolder) -> None:
    found = await files.load("anna")
    assert found is not None
    assert (found.display_name, found.department, found.persona) == ("Anna", "業務部", "親切")
    assert found.knowledge == AgentKnowledge()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", AgentKnowledge()),
        ("[knowledge]\n", AgentKnowledge()),
        ('[knowledge]\ncollections = ["hr", "faq"]', AgentKnowledge(frozenset({"hr", "faq"}))),
        ("[knowledge]\ncollections = []", NOTHING),
        ('[knowledge]\ncollections = "hr"', NOTHING),
        ("[knowledge]\ncollections = [1]", NOTHING),
        ("knowledge = 5", NOTHING),
        ('[knowledge]\nanswer_mode = "maybe"', NOTHING),
        ('[knowledge]\nauto_retrieve = "yes"', NOTHING),
        ("[knowledge", NOTHING),
        ("\x00", NOTHING),
        ('[knowledge]\nanswer_mode = "kb_only"', AgentKnowledge(answer_mode=AnswerMode.KB_ONLY)),
        ("[knowledge]\ntop_k = 99\ninject_budget_chars = 1", AgentKnowledge(
            top_k=8, inject_budget_chars=500)),
        ("[knowledge]\ntop_k = 0", AgentKnowledge(top_k=1)),
        ("[knowledge]\ntop_k = true", AgentKnowledge()),
    ],
)  # fmt: skip
async def test_the_knowledge_section(
    files: AgentFolder, tmp_path: Path, text: str, expected: AgentKnowledge
) -> None:
    assert await read(files, tmp_path, text) == expected


async def test_an_archived_agent_says_so_and_an_unknown_one_is_absent(
    files: AgentFolder, store: Store, tmp_path: Path
) -> None:
    await store.agents.put(Agent("anna", "Anna", is_archived=True))
    found = await files.load("anna")
    assert found is not None
    assert found.is_archived
    assert await files.load("bob") is None
    (tmp_path / "agents" / "bob").mkdir()
    assert await files.load("bob") is None, "a folder alone is no agent"


@pytest.mark.parametrize(
    "agent_id", ["../anna", "", "Anna", "folders", "documents", "a" * 65, "a/b"]
)
async def test_ids_that_could_be_a_path_or_a_route_are_refused(
    files: AgentFolder, agent_id: str
) -> None:
    with pytest.raises(InvalidRequestError):
        await files.create(AgentSettings(agent_id, "x"))
    assert await files.load(agent_id) is None


@pytest.mark.parametrize(
    ("text", "model", "fallbacks"),
    [
        ("", "extractive", ()),
        ('model = "local/qwen"', "local/qwen", ()),
        ('model = ["local/qwen", "cloud/claude"]', "local/qwen", ("cloud/claude",)),
        ("model = []", "extractive", ()),
        ('model = [3, "cloud/claude", ""]', "cloud/claude", ()),
        ("model = 3", "extractive", ()),
    ],
)
async def test_a_model_or_several_in_order(
    files: AgentFolder,
    store: Store,
    tmp_path: Path,
    text: str,
    model: str,
    fallbacks: tuple[str, ...],
) -> None:
    (tmp_path / "agents" / "anna" / "agent.toml").write_text(f"[agent]\n{text}\n", "utf-8")
    found = await files.load("anna")
    assert found is not None
    assert (found.model, found.fallbacks) == (model, fallbacks)
    await files.create(replace(found, agent_id="ben"))
    await store.agents.put(Agent("ben", "Ben"))
    copied = await files.load("ben")
    assert copied is not None
    assert (copied.model, copied.fallbacks) == (model, fallbacks)


TOOL = "[tools.knowledge_base]\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("[tools]\n", None),
        (TOOL, KnowledgeBaseTool()),
        (TOOL + 'filters = {category = "billing", year = 2026, ok = true}',
            KnowledgeBaseTool(EqualTo({"category": "billing", "year": 2026, "ok": True}))),
        (TOOL + "filters = {}", KnowledgeBaseTool()),
        (TOOL + 'filters = "billing"', None),
        (TOOL + 'filters = {category = ["a", "b"]}', None),
        (TOOL + "filters = {day = 2026-01-01}", None),
        (TOOL + "top_k = 0", KnowledgeBaseTool(top_k=1)),
        (TOOL + "top_k = 99", KnowledgeBaseTool(top_k=20)),
        (TOOL + 'top_k = "3"', KnowledgeBaseTool()),
        (TOOL + "top_k = 2.5", KnowledgeBaseTool()),
        (TOOL + "timeout_s = 2", KnowledgeBaseTool(timeout_s=2.0)),
        (TOOL + "timeout_s = 0", KnowledgeBaseTool(timeout_s=0.1)),
        (TOOL + "timeout_s = inf", KnowledgeBaseTool(timeout_s=60.0)),
        (TOOL + "timeout_s = nan", KnowledgeBaseTool()),
        (TOOL + "timeout_s = true", KnowledgeBaseTool()),
        (TOOL + 'description = " 只查保單。 "', KnowledgeBaseTool(description="只查保單。")),
        (TOOL + 'description = " "', KnowledgeBaseTool()),
        (TOOL + "description = 3", None),
        (TOOL + f'description = "{"x" * (DESCRIPTION_CHARS + 1)}"', None),
        (TOOL + "is_background = true", KnowledgeBaseTool(is_background=True)),
        (TOOL + 'is_background = "yes"', None),
        ("tools = 3", None),
        ("[tools]\nknowledge_base = true", None),
        ("[tools", None),
    ],
)  # fmt: skip
async def test_the_section_of_the_tool(
    files: AgentFolder, tmp_path: Path, text: str, expected: KnowledgeBaseTool | None
) -> None:
    (tmp_path / "agents" / "anna" / "agent.toml").write_text(text, "utf-8")
    found = await files.load("anna")
    assert found is not None
    assert found.knowledge_base == expected
    is_whole = text != "[tools"
    assert found.knowledge == (AgentKnowledge() if is_whole else NOTHING)

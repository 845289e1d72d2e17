"""A retrieval that the agent's model answers: from what was found, and from nothing else."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.demo.company import AGENT
from tests.simulators.openai import OpenAISimulator, Say, Trouble, openai_simulator
from tests.simulators.retrieval_spec import RetrievalSpec
from tests.simulators.scripted import Step
from tests.simulators.shared import shared
from tests.surfaces.test_retrieve import LEAVE, Client, asked, client, searches

PLAN = Say(json.dumps({"queries": [LEAVE]}), tokens=(50, 9))
NO_PASSAGE = "知識庫查無相關資料"
MODEL = """
[providers.p]
kind = "openai"
base_url = "{url}"
api_key = "sk-test"
"""


@asynccontextmanager
async def synthesis(
    template: Path, home: Path, *script: Step, settings: str = 'answer = "synthesis"'
) -> AsyncIterator[tuple[Client, OpenAISimulator]]:
    async with openai_simulator(*script) as model:
        config = MODEL.replace("{url}", model.base_url)
        async with client(template, home, config=config) as here:
            file = home / "agents" / AGENT / "agent.toml"
            text = re.sub(r"(?m)^model = .*$", 'model = "p/m"', file.read_text("utf-8"))
            file.write_text(f"{text}\n[retrieve]\n{settings}\n", "utf-8")
            yield here, model


async def writing(model: OpenAISimulator) -> None:
    """Wait until the model has planned and is asked for the answer."""
    async with asyncio.timeout(20):
        while True:
            if len(model.requests) == 2:
                return
            await asyncio.sleep(0.02)


def told(answer: Any) -> str:
    (message,) = answer["response"]
    text: str = message["content"][0]["text"]
    return text


def records(answer: Any) -> list[Any]:
    return [each for each in answer["activity"] if each["type"] == "modelAnswerSynthesis"]


async def test_the_model_answers_and_cites_only_what_it_was_shown(
    template: Path, home: Path
) -> None:
    spec = RetrievalSpec(
        shared("platform-specs", "azure-search", "knowledgeagent-2025-08-01-preview.json")
    )
    said = Say("到職滿一年有七天特休[1]。另見[99]與[ref_id:7]。", tokens=(321, 45))
    async with synthesis(template, home, PLAN, said) as (here, model):
        answer = await here.retrieve(asked(LEAVE))
    assert spec.violations("KnowledgeAgentRetrievalResponse", answer) == []
    assert "[ref_id:0]" in told(answer)
    assert "[99]" not in told(answer)
    assert set(re.findall(r"\[ref_id:(\d+)\]", told(answer))) == {"0"}
    assert answer["references"][0]["id"] == "0"
    (record,) = records(answer)
    assert (record["inputTokens"], record["outputTokens"]) == (321, 45)
    assert record["elapsedMs"] >= 0
    assert record is answer["activity"][-1]
    assert [each["id"] for each in answer["activity"]] == list(range(len(answer["activity"])))
    prompt = json.dumps(model.requests[1]["messages"], ensure_ascii=False)
    assert "knowledge_passages" in prompt
    assert "tools" not in model.requests[1]


@pytest.mark.parametrize("step", [Trouble.SERVER_ERROR, Trouble.NOTHING, Say(" \u200b ")], ids=str)
async def test_where_the_model_fails_the_passages_are_the_answer(
    template: Path, home: Path, step: Step
) -> None:
    async with synthesis(template, home, PLAN, step) as (here, _):
        answer = await here.retrieve(asked(LEAVE))
    assert json.loads(told(answer))[0]["title"]
    assert answer["references"]
    assert records(answer) == []


async def test_without_a_passage_no_model_is_asked(template: Path, home: Path) -> None:
    async with synthesis(template, home, PLAN, Say("七天。")) as (here, model):
        body = asked(LEAVE, rerankerThreshold=4)
        answer = await here.retrieve(body)
        assert told(answer).startswith(NO_PASSAGE)
        assert (answer["references"], records(answer)) == ([], [])
        assert len(model.requests) == 1  # the plan's
        nothing = asked("x", name="no-such")
        assert told(await here.retrieve(nothing)).startswith(NO_PASSAGE)


@pytest.mark.parametrize("settings", ['answer = "passages"', 'answer = "essay"', "answer = 3"])
async def test_only_an_agent_that_is_set_so_writes(
    template: Path, home: Path, settings: str
) -> None:
    async with synthesis(template, home, PLAN, Say("!"), settings=settings) as (here, model):
        answer = await here.retrieve(asked(LEAVE))
        assert json.loads(told(answer))
        assert len(model.requests) == 1


async def test_what_becomes_unreadable_while_the_model_writes_is_in_no_answer(
    template: Path, home: Path
) -> None:
    async with synthesis(template, home, PLAN, Say("七天[1]。", waits=True)) as (here, model):
        async with here.world.person("admin") as admin, asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(here.retrieve(asked(LEAVE, name="handbook")))
            await writing(model)
            await admin.rpc("agents.archive", {"agent_id": AGENT})
            model.released.set()
        answer = asking.result()
    assert searches(answer)
    assert answer["references"] == []
    assert told(answer).startswith(NO_PASSAGE)
    assert len(records(answer)) == 1  # it was asked, and that cost what it cost

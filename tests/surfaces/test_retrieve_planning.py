"""Plans of a model: taken where they have the agreed form, and never more than a plan."""

import json
from collections.abc import Sequence

import pytest

from gateway.core.access import AgentSide, Audience, AudienceKind
from gateway.core.agents import AgentSettings
from gateway.core.chat import ChatMessage, Draft, Speaker, TokenUsage, Tool
from gateway.errors import LanguageModelError
from gateway.interfaces import AgentFiles, LanguageModel, LanguageModels, OnDelta
from gateway.operations.planning import Plan, Planner
from gateway.operations.table import Caller
from tests.fakes.knowledge import FakeClock

SPOKEN = [ChatMessage(Speaker.USER, "How long is annual leave, and who approves sick leave?")]
BY_RULES = ["How long is annual leave", "who approves sick leave?"]
GOOD = json.dumps({"queries": ["annual leave", "sick leave approval"]})


class Agents:
    """One agent, with a model or without."""

    def __init__(self, model: str) -> None:
        self.settings = AgentSettings("a1", "Hana", model=model, fallbacks=("other/model",))

    async def load(self, agent_id: str) -> AgentSettings | None:
        return self.settings if agent_id == "a1" else None

    async def create(self, settings: AgentSettings) -> None:
        self.settings = settings


class Models:
    """A model that answers as told, or fails; it keeps what it was shown."""

    def __init__(self, answer: Draft | Exception) -> None:
        self.answer = answer
        self.shown: list[Sequence[ChatMessage]] = []
        self.asked_for: tuple[str, ...] = ()

    def find(self, model: str, *fallbacks: str) -> LanguageModel:
        self.asked_for = (model, *fallbacks)
        return self

    async def complete(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], on_delta: OnDelta
    ) -> Draft:
        assert not tools
        self.shown.append(messages)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def plan(models: Models, model: str = "p/m", spoken: Sequence[ChatMessage] = SPOKEN) -> Plan:
    caller = Caller(None, Audience(AudienceKind.SYSTEM), "test", AgentSide("a1", "", None))
    return await Planner(Agents(model), models, FakeClock()).plan(caller, spoken)


def texts(found: Plan) -> list[str]:
    return [each.text for each in found.queries]


async def test_a_models_plan_is_searched_and_its_own_count_of_tokens_is_told() -> None:
    models = Models(Draft(GOOD, usage=TokenUsage(77, 8)))
    found = await plan(models)
    assert texts(found) == ["annual leave", "sick leave approval"]
    assert (found.tokens_in, found.tokens_out) == (77, 8)
    assert models.asked_for == ("p/m", "other/model")
    uncounted = await plan(Models(Draft(GOOD)))
    assert uncounted.tokens_in > 0
    assert uncounted.tokens_out == -(-len(GOOD) // 4)


@pytest.mark.parametrize(
    "answer",
    [
        Draft("I cannot plan."),
        Draft('{"queries": []}'),
        Draft(""),
        LanguageModelError("down", code="llm_failed"),
        TimeoutError(),
    ],
    ids=str,
)
async def test_a_model_that_fails_or_answers_otherwise_costs_the_plan_nothing(
    answer: Draft | Exception,
) -> None:
    assert texts(await plan(Models(answer))) == BY_RULES


async def test_small_talk_and_the_built_in_model_ask_no_model() -> None:
    models = Models(Draft(GOOD))
    assert texts(await plan(models, "extractive")) == BY_RULES
    assert texts(await plan(models, spoken=[ChatMessage(Speaker.USER, "Thanks!")])) == []
    assert models.shown == []


fits: tuple[type[AgentFiles], type[LanguageModels]] = (Agents, Models)

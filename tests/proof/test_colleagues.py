"""What a colleague read, once it is lost: no reply that rests on it goes out of the real store."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gateway.core.access import Agent
from gateway.core.agents import AgentSettings
from gateway.core.chat import Draft, ToolCall
from gateway.interfaces import LanguageModel
from tests.fakes.models import ScriptedModel
from tests.proof.revoking import LOST, QUESTION, SECRET, Scene, scene

CALL = ToolCall("a1", "ask_colleague", json.dumps({"agent": "hr", "question": QUESTION}))
HERS = f"滿一年者{SECRET}。[1]"


class Models:
    """`a1` asks `hr`; whoever is asked plays its own script."""

    def __init__(self, *mine: Draft) -> None:
        self.mine = ScriptedModel([Draft("", (CALL,)), *mine])
        self.hers = ScriptedModel([Draft(HERS)])

    def find(self, model: str, *fallbacks: str) -> LanguageModel:
        return self.hers if model == "hers" else self.mine


async def employ(it: Scene) -> None:
    """`hr`, who has the document; `a1`, who has her."""
    await it.app.store.agents.put(Agent("hr", "人資"))
    await it.app.turns.agents.create(AgentSettings("hr", "人資", model="hers"))
    mine = it.app.home / "agents" / "a1" / "agent.toml"
    mine.write_text('[agent]\nname = "小禾"\ncolleagues = ["hr"]\n', "utf-8")
    await it.share(("user", it.person.id), ("agent", "hr"))


async def put_away(it: Scene) -> None:
    await it.do("agents.archive", agent_id="hr")


async def not_hers(it: Scene) -> None:
    await it.share(("user", it.person.id), ("agent", "a1"))


async def not_the_persons(it: Scene) -> None:
    await it.share(("agent", "hr"), ("agent", "a1"))


async def gone(it: Scene) -> None:
    await it.do("knowledge.sources.delete", source_id=it.source_id)


async def not_at_all(it: Scene) -> None:
    """A control."""


ENDS: dict[str, tuple[Callable[[Scene], Awaitable[None]], bool]] = {
    "nothing": (not_at_all, False),
    "the colleague": (put_away, True),
    "her grant": (not_hers, True),
    "the person's grant": (not_the_persons, True),
    "the document": (gone, True),
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize(
    "draft", [f"依同事，{HERS}", f"就是{SECRET}。"], ids=["cited", "not cited"]
)
async def test_a_reply_that_waits_is_not_said_when_what_the_colleague_read_is_lost(
    tmp_path: Path, name: str, draft: str
) -> None:
    end, is_lost = ENDS[name]
    async with scene(tmp_path) as it:
        await employ(it)
        sender = it.sender()
        turn_id = await it.run(Models(Draft(draft)), replies=sender)
        turn = await it.app.store.turns.find(turn_id)
        assert turn is not None
        assert turn.provenance is not None
        assert turn.answer == draft
        assert turn.rests_on == ((it.source_id, it.shelf.id),)
        [told_by] = turn.provenance.told_by
        hers = await it.app.store.turns.find(told_by)
        assert hers is not None
        assert hers.answer == HERS
        it.chat.waits = 1
        await it.send(sender, lambda: end(it))
        said = it.chat.calls[-1].parts
        assert (said == (LOST,)) is is_lost
        assert (SECRET in said[0]) is not is_lost

"""Dispatches and explanations over the whole program: never wider, and told to owners alone."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway.core.access import Audience, AudienceKind
from gateway.core.agents import AgentSettings
from gateway.demo.company import AGENT
from gateway.errors import NotFoundError
from gateway.operations.table import Caller
from tests.surfaces.serving import Person, World, answer, operate, serving

PAY = "薪資核定多久一次？"
LEAVE = "到職滿一年的特休有幾天？"


async def chatted(person: Person, question: str) -> dict[str, Any]:
    async with person.chat() as socket:
        frames = await answer(socket, question)
    assert frames[-1]["type"] == "assistant_done"
    done: dict[str, Any] = frames[-1]
    return done


async def slugs(world: World, turn_id: str) -> set[str]:
    """The collections of all that the turn's model was shown."""
    turn = await world.app.store.turns.find(turn_id)
    assert turn is not None
    ids = frozenset(each.collection_id for each in turn.citations)
    return {each.slug for each in await world.app.store.collections.list(ids)}


def dispatch(person: Person, text: str, turn_id: str | None = None, agent: str = AGENT) -> Any:
    params = {"agent_id": agent, "text": text, "turn_id": turn_id}
    return person.rpc("agents.dispatch", params)


async def test_a_dispatch_without_a_turn_is_a_system_turn_for_owners_and_operators(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("admin") as admin:
        done = await dispatch(admin, LEAVE)
        assert "handbook" in await slugs(world, done["turn_id"])
        done = await dispatch(admin, PAY)
        assert "salary" not in await slugs(world, done["turn_id"])
        async with world.person("member") as member:
            assert await dispatch(member, LEAVE) == "!not_found"
            assert await dispatch(member, LEAVE, agent="no-such") == "!not_found"
            params = {"agent_id": AGENT, "account": "member", "role": "operator"}
            await operate(world.app, "agents.bind", params, None)
            done = await dispatch(member, LEAVE)
            assert "handbook" in await slugs(world, done["turn_id"])


async def test_a_dispatch_reads_what_its_turn_reads_but_never_one_to_one(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        first = await chatted(hr, PAY)
        assert "salary" in await slugs(world, first["turn_id"])
        again = await dispatch(hr, PAY, first["turn_id"])
        assert "salary" not in await slugs(world, again["turn_id"])
        done = await dispatch(hr, LEAVE, first["turn_id"])
        assert "handbook" in await slugs(world, done["turn_id"])
        further = await dispatch(hr, LEAVE, done["turn_id"])  # from a dispatch: the same root
        assert "handbook" in await slugs(world, further["turn_id"])


@pytest.mark.parametrize("upstream", ["missing", "of another person", "old", "of an old root"])
async def test_a_dispatch_from_what_is_not_ones_own_turn_of_today_reads_nothing(
    template: Path, home: Path, upstream: str
) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        turn_id = (await chatted(hr, LEAVE))["turn_id"]
        asks, root = hr, turn_id
        if upstream == "of an old root":
            turn_id = (await dispatch(hr, LEAVE, turn_id))["turn_id"]
        assert await slugs(world, (await dispatch(hr, LEAVE, turn_id))["turn_id"])
        if "old" in upstream:
            turn = await world.app.store.turns.find(root)
            assert turn is not None
            before = turn.asked_at - timedelta(hours=24, seconds=1)
            await world.app.store.turns.record(replace(turn, asked_at=before))
        if upstream == "missing":
            turn_id = "01a22e5d-d99e-7589-b5f4-2cd53797cb53"
        async with world.person("member") as member:
            asks = member if upstream == "of another person" else hr
            done = await dispatch(asks, LEAVE, turn_id)
        assert await slugs(world, done["turn_id"]) == set()
        assert done["citations"] == []


async def test_an_agent_dispatches_to_its_colleagues_only_and_within_its_own_turn(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world:
        app = world.app
        files = app.turns.agents
        await operate(app, "agents.create", {"id": "front", "display_name": "前台"}, None)
        await operate(app, "agents.create", {"id": "lonely", "display_name": "獨"}, None)
        toml = home / "agents" / "front" / "agent.toml"
        toml.write_text(f'[agent]\ncolleagues = ["{AGENT}", "front", 5, "../x"]\n', "utf-8")
        front, lonely = await files.load("front"), await files.load("lonely")
        assert isinstance(front, AgentSettings)
        assert isinstance(lonely, AgentSettings)
        assert front.colleagues == (AGENT,)
        person = await app.store.accounts.find_by_login("hr")
        audience = Audience(AudienceKind.WEBCHAT, person, is_direct=True)
        caller = Caller(person, audience, "mcp", front.side, "t1")

        async def call(caller: Caller, turn_id: str | None = None) -> set[str]:
            params = {"agent_id": AGENT, "text": LEAVE, "turn_id": turn_id}
            done = await app.registry.call(caller, "agents.dispatch", params)
            return await slugs(world, done["turn_id"])

        assert "handbook" in await call(caller)
        assert "handbook" in await call(caller, "t1")
        assert await call(caller, "t2") == set()
        nobody = replace(caller, audience=Audience(AudienceKind.NONE), turn_id=None)
        assert await call(nobody) == set()
        with pytest.raises(NotFoundError):
            await call(replace(caller, agent=lonely.side))


def verdicts(told: dict[str, Any], when: str) -> dict[str, str]:
    return {each["slug"]: each[when]["code"] for each in told["collections"]}


async def test_a_turn_is_explained_as_it_was_decided_and_as_it_is_now(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        turn_id = (await chatted(hr, PAY))["turn_id"]
        before = {"turn_id": turn_id}
        async with world.person("admin") as admin:
            told = await admin.rpc("knowledge.scope.explain", before)
            then = {
                "products": "scope.readable_by_user_grant",
                "handbook": "scope.readable_by_department_grant",
                "salary": "scope.readable_by_user_grant",
            }
            assert verdicts(told, "then") == verdicts(told, "now") == then
            assert (told["question"], told["audience"], told["is_direct"]) == (PAY, "webchat", True)
            agent = await world.app.store.agents.find(AGENT)
            assert agent is not None
            await world.app.store.agents.put(replace(agent, is_archived=True))
            told = await admin.rpc("knowledge.scope.explain", before)
            assert verdicts(told, "then") == then
            assert set(verdicts(told, "now").values()) == {"scope.agent_archived"}
            assert all(each["now"]["message"] for each in told["collections"])


async def test_owners_are_told_of_their_collections_alone_and_the_rest_of_nothing(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world:
        async with world.person("member") as member:
            turn_id = (await chatted(member, PAY))["turn_id"]
            mine = {"turn_id": turn_id}
            assert await member.rpc("knowledge.scope.explain", mine) == "!not_found"
        async with world.person("hr") as hr:
            told = await hr.rpc("knowledge.scope.explain", mine)
            assert verdicts(told, "then") == {"salary": "scope.not_granted_to_person"}
            assert told["question"] is None
            by_name = await hr.rpc("knowledge.scope.explain", mine | {"collection": "salary"})
            assert by_name == told
            for foreign in ("handbook", "no-such"):
                refused = await hr.rpc("knowledge.scope.explain", mine | {"collection": foreign})
                assert refused == "!not_found"
            missing = {"turn_id": "no-such", "collection": "salary"}
            assert await hr.rpc("knowledge.scope.explain", missing) == "!not_found"
        async with world.nobody() as nobody:
            assert await nobody.rpc("knowledge.scope.explain", mine) == "!not_signed_in"

"""Deleting a document with plans to forget: over HTTP, decided by an admin, gone for good."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import ConflictError, NotFoundError, NotSignedInError
from tests.surfaces.serving import Person, World, answer, operate, serving

QUESTION = "到職滿一年的特休有幾天？"


async def cited(person: Person, conversation: str = "c1") -> str:
    """Ask, and return the source that the answer cites first."""
    async with person.chat(conversation) as socket:
        done = (await answer(socket, QUESTION))[-1]
    return str(done["citations"][0]["source_id"])


async def delete(person: Person, source_id: str, **params: Any) -> Any:
    return await person.rpc("knowledge.sources.delete", {"source_id": source_id, **params})


async def events(world: World, home: Path) -> list[str]:
    file = home / "security_audit.jsonl"
    while await world.app.store.audit.export(file):
        pass
    return [json.loads(line)["event"] for line in file.read_text("ascii").splitlines()]


async def test_what_was_said_is_forgotten_once_an_admin_agreed(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        source = await cited(person)
        assert await cited(person, "c2") == source
        assert await delete(person, source, also_forget_memories=True) == "!not_found"
        async with world.person("hr") as editor, world.person("admin") as admin:
            planned = await delete(editor, source, also_forget_memories=True)
            assert planned == {"plans": 2, "turns": 2, "skipped": 0}
            plans = await admin.rpc("memory.plans.list")
            assert [plan["state"] for plan in plans] == ["pending"] * 2
            assert all(plan["title"] and plan["agent"] == "小禾" for plan in plans)
            by_chat = {plan["conversation"].rpartition("/")[2]: plan["id"] for plan in plans}
            other, one = (by_chat[name] for name in sorted(by_chat))
            for method in ("memory.plans.decide", "memory.forget.apply", "memory.plans.list"):
                params = {"id": one, "approve": True} if method.endswith("decide") else {"id": one}
                params = {} if method.endswith("list") else params
                assert await editor.rpc(method, params) == "!not_found"
                assert await person.rpc(method, params) == "!not_found"
            assert await admin.rpc("memory.forget.apply", {"id": one}) == "!not_approved"
            assert len(await person.rpc("chat.history", {"conversation_id": "c2"})) == 1
            decision = {"id": one, "approve": True}
            assert (await admin.rpc("memory.plans.decide", decision))["state"] == "approved"
            decision = {"id": other, "approve": False}
            assert (await admin.rpc("memory.plans.decide", decision))["state"] == "rejected"
            assert await admin.rpc("memory.forget.apply", {"id": other}) == "!not_approved"
            forgotten = await operate(world.app, "memory.forget.apply", {"id": one}, None)
            assert forgotten == {"id": one, "turns": 1}
            assert await admin.rpc("memory.forget.apply", {"id": one}) == {"id": one, "turns": 0}
            assert await admin.rpc("memory.plans.list") == []
        assert await person.rpc("chat.history", {"conversation_id": "c2"}) == []
        assert len(await person.rpc("chat.history", {"conversation_id": "c1"})) == 1
        listed = await person.rpc("chat.conversations")
        assert [each["conversation_id"] for each in listed] == ["c1"]
        told = [name for name in await events(world, home) if "forget" in name or "source" in name]
        assert told == [
            "knowledge_source_deleted",
            "knowledge_forget_planned",
            "knowledge_forget_planned",
            "knowledge_forget_approved",
            "knowledge_forget_rejected",
            "knowledge_forget_applied",
        ]


async def test_without_the_flag_nothing_is_planned_and_a_repeat_finds_nothing(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        source = await cited(person)
        async with world.person("hr") as editor, world.person("admin") as admin:
            assert await delete(editor, source) == {"plans": 0, "turns": 0, "skipped": 0}
            assert await admin.rpc("memory.plans.list") == []
            assert await delete(editor, source, also_forget_memories=True) == "!not_found"
            assert await admin.rpc("memory.plans.list") == []
        history = await person.rpc("chat.history", {"conversation_id": "c1"})
        assert history[0]["question"] == QUESTION  # the past changes by an applied plan alone
        assert (await events(world, home))[-1] == "knowledge_source_deleted"


async def test_nobody_in_particular_decides_nothing(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        source = await cited(person)
        async with world.person("hr") as editor, world.person("admin") as admin:
            await delete(editor, source, also_forget_memories=True)
            [plan] = await admin.rpc("memory.plans.list")
        decision = {"id": plan["id"], "approve": True}
        with pytest.raises(NotSignedInError):
            await operate(world.app, "memory.plans.decide", decision, None)
        with pytest.raises(NotFoundError):
            await operate(world.app, "memory.plans.decide", decision, "member")
        with pytest.raises(ConflictError, match="pending"):
            await operate(world.app, "memory.forget.apply", {"id": plan["id"]}, None)

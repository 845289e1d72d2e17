"""Agents' own collections in the store: made once, gone and back with the agent."""

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.core.access import (
    Account,
    Agent,
    AgentSide,
    Audience,
    AudienceKind,
    BindingRole,
    Collection,
    Grant,
    Role,
    Sensitivity,
    SubjectKind,
)
from gateway.core.own_documents import OwnCollection
from gateway.core.roles import GRANTABLE
from gateway.errors import ConflictError, GatewayError, NotFoundError
from gateway.interfaces import Act
from gateway.store import Store
from tests.contract.world import IDS, World

ROLES = dict[tuple[str, str], str]


async def agent_of(world: World, owner: Account) -> str:
    await world.store.agents.put(Agent("hana", "Hana"))
    await world.store.agents.bind("hana", owner.id, BindingRole.OWNER)
    return "hana"


async def make(
    world: World, by: Account, *, with_bound: bool = True, listed: str | None = None
) -> tuple[OwnCollection, bool]:
    new_id = IDS.new()
    draft = Collection(new_id, 0, new_id, "Hana 的資料", Sensitivity.INTERNAL)
    act = Act(by.id, world.clock.now())
    return await world.store.own_collections.create(
        "hana", draft, act, with_bound=with_bound, listed=listed, most=50
    )


async def held(world: World, own: OwnCollection) -> ROLES:
    found = await world.store.grants.of_collection(own.collection.id)
    return {(each.subject_kind.value, each.subject_id): each.role.value for each in found}


async def settle(world: World, *, is_archived: bool, is_present: bool = True) -> bool:
    await world.store.agents.put(Agent("hana", "Hana", is_archived=is_archived))
    return await world.store.own_collections.settle(
        "hana", is_present=is_present, at=world.clock.now()
    )


async def save(world: World, own: OwnCollection, grants: Sequence[Grant]) -> None:
    now = await world.store.collections.find(own.collection.id)
    assert now is not None
    await world.store.grants.replace(now.id, grants, version=now.version)


async def events(world: World, file: Path) -> list[dict[str, Any]]:
    while await world.store.audit.export(file):
        continue
    return lines_of(file)


def lines_of(file: Path) -> list[dict[str, Any]]:
    lines = file.read_text("ascii").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


async def test_bound_people_who_can_sign_in_are_given_it_and_nobody_else(
    world: World, store: Store, tmp_path: Path
) -> None:
    people = {name: await world.account(name) for name in ("ken", "mei", "ivy", "gone", "boss")}
    await agent_of(world, people["ken"])
    for name, role in (
        ("mei", BindingRole.OWNER),
        ("ivy", BindingRole.OPERATOR),
        ("gone", BindingRole.VIEWER),
    ):
        await store.agents.bind("hana", people[name].id, role)
    await store.accounts.put(replace(people["gone"], is_active=False))
    own, is_new = await make(world, people["ken"], listed="faq,own")
    assert is_new
    assert own.owes_listing
    assert await held(world, own) == {
        ("user", people["ken"].id): "owner",
        ("user", people["mei"].id): "owner",
        ("user", people["ivy"].id): "viewer",
        ("agent", "hana"): "viewer",
    }
    told = await events(world, tmp_path / "audit.jsonl")
    assert [each["event"] for each in told] == [
        "knowledge_collection_created",
        "knowledge_acl_changed",
        "knowledge_agent_binding_changed",
    ]
    assert {each["actor"] for each in told} == {people["ken"].id}
    assert told[0]["details"]["own_collection"] is True
    assert len(told[1]["details"]["changes"]) == 4
    assert told[2]["details"]["collections"] == "faq,own"
    await store.own_collections.note_listed("hana")
    found = await store.own_collections.find("hana")
    assert found is not None
    assert not found.owes_listing


async def test_without_being_asked_it_is_shared_with_nobody(world: World) -> None:
    ken, mei = await world.account("ken"), await world.account("mei")
    await agent_of(world, ken)
    await world.store.agents.bind("hana", mei.id, BindingRole.VIEWER)
    own, _ = await make(world, ken, with_bound=False)
    assert await held(world, own) == {("user", ken.id): "owner", ("agent", "hana"): "viewer"}


async def test_a_hundred_at_once_make_one(world: World, tmp_path: Path) -> None:
    ken = await world.account("ken")
    await agent_of(world, ken)
    made = await asyncio.gather(*(make(world, ken) for _ in range(100)))
    assert sum(is_new for _, is_new in made) == 1
    assert len({own.collection.id for own, _ in made}) == 1
    told = [each["event"] for each in await events(world, tmp_path / "audit.jsonl")]
    assert told == ["knowledge_collection_created", "knowledge_acl_changed"]


@pytest.mark.parametrize("role", [None, BindingRole.OPERATOR, BindingRole.VIEWER])
async def test_only_owners_and_admins_make_one(
    world: World, tmp_path: Path, role: BindingRole | None
) -> None:
    ken, mei = await world.account("ken"), await world.account("mei")
    await agent_of(world, ken)
    await world.store.agents.bind("hana", mei.id, role)
    with pytest.raises(NotFoundError):
        await make(world, mei)
    assert await world.store.own_collections.list() == []
    assert await events(world, tmp_path / "audit.jsonl") == []


async def test_nothing_is_made_for_an_archived_agent_or_beyond_the_quota(world: World) -> None:
    ken = await world.account("ken")
    await agent_of(world, ken)
    for _ in range(50):
        await world.collection(ken)
    with pytest.raises(GatewayError, match="collections") as full:
        await make(world, ken)
    assert full.value.code == "quota_collections"
    await world.store.agents.put(Agent("hana", "Hana", is_archived=True))
    with pytest.raises(ConflictError) as away:
        await make(world, ken)
    assert away.value.code == "agent_archived"
    assert await world.store.own_collections.list() == []


async def test_a_deleted_one_is_none_and_the_next_is_new(world: World, store: Store) -> None:
    ken = await world.account("ken")
    await agent_of(world, ken)
    first, _ = await make(world, ken)
    await store.collections.remove(first.collection.id)
    assert await store.own_collections.find("hana") is None
    assert not await settle(world, is_archived=True)
    await settle(world, is_archived=False)
    second, is_new = await make(world, ken)
    assert is_new
    assert second.collection.id != first.collection.id
    assert [each.collection.id for each in await store.own_collections.list()] == [
        second.collection.id
    ]


@pytest.mark.parametrize("how", ["archived", "folder", "record"])
async def test_gone_in_any_way_it_is_archived_once_and_comes_back_once(
    world: World, store: Store, tmp_path: Path, how: str
) -> None:
    ken, mei = await world.account("ken"), await world.account("mei")
    await agent_of(world, ken)
    await store.agents.bind("hana", mei.id, BindingRole.VIEWER)
    own, _ = await make(world, ken)
    before = await held(world, own)
    generation = await store.generation()
    if how == "record":
        await store.own_collections._database.write(
            lambda c: c.exec_driver_sql("DELETE FROM agents WHERE id = 'hana'")
        )
        gone = await store.own_collections.settle("hana", is_present=True, at=world.clock.now())
    else:
        gone = await settle(world, is_archived=how == "archived", is_present=how != "folder")
    assert gone
    assert await store.generation() > generation
    now = await store.collections.find(own.collection.id)
    assert now is not None
    assert now.is_archived
    assert now.version > own.collection.version
    assert await held(world, own) == {("user", ken.id): "owner"}
    for person, sees in ((ken, True), (mei, False)):
        scope = await world.scope(person)
        assert (own.collection.id in scope.collections) is sees
    if how != "record":
        assert not await settle(world, is_archived=how == "archived", is_present=how != "folder")
    assert await settle(world, is_archived=False)
    assert await held(world, own) == before
    assert not await settle(world, is_archived=False)
    told = [each["event"] for each in await events(world, tmp_path / "audit.jsonl")][2:]
    assert told == ["knowledge_own_collection_archived", "knowledge_own_collection_restored"]


async def test_a_share_put_back_by_hand_is_void_until_the_agent_is_back(
    world: World, store: Store
) -> None:
    ken, mei = await world.account("ken"), await world.account("mei")
    await agent_of(world, ken)
    own, _ = await make(world, ken)
    await settle(world, is_archived=True)
    hand = [
        Grant(own.collection.id, SubjectKind.USER, ken.id, Role.OWNER),
        Grant(own.collection.id, SubjectKind.USER, mei.id, Role.EDITOR),
        Grant(own.collection.id, SubjectKind.DEPARTMENT, "HR", Role.VIEWER),
        Grant(own.collection.id, SubjectKind.AGENT, "hana", Role.VIEWER),
        Grant(own.collection.id, SubjectKind.CHANNEL, "line", Role.VIEWER),
    ]
    await save(world, own, hand)
    assert await held(world, own) == {("user", ken.id): "owner"}
    facts = await store.grants.facts(Audience(AudienceKind.NONE), AgentSide("hana", "HR", None))
    assert facts.collections == ()
    await settle(world, is_archived=False)
    assert await held(world, own) == {("user", ken.id): "owner", ("agent", "hana"): "viewer"}
    await save(world, own, hand)  # now they hold
    assert len(await held(world, own)) == len(hand)


@pytest.mark.parametrize("seed", range(12))
async def test_any_grants_come_back_through_any_saves_by_hand(world: World, seed: int) -> None:
    """Against a naive model of the rule, written from its words."""
    chance = random.Random(seed)
    ken = await world.account("ken")
    await agent_of(world, ken)
    own, _ = await make(world, ken)

    def some() -> dict[tuple[SubjectKind, str], Role]:
        found = {(SubjectKind.USER, chance.choice([ken.id, "u0"])): Role.OWNER}
        for _ in range(chance.randrange(8)):
            kind = chance.choice(list(SubjectKind))
            role = chance.choice(sorted(GRANTABLE[kind]))
            found[kind, f"{kind.value[0]}{chance.randrange(4)}"] = role
        owner = chance.choice([ken.id, "u1"])
        return found | {(SubjectKind.USER, owner): Role.OWNER}

    async def put(shares: dict[tuple[SubjectKind, str], Role]) -> None:
        grants = [Grant(own.collection.id, *subject, role) for subject, role in shares.items()]
        await save(world, own, grants)

    for _ in range(4):
        before = some()
        await put(before)
        await settle(world, is_archived=True)
        owners = [s for s, r in before.items() if s[0] is SubjectKind.USER and r is Role.OWNER]
        for _ in range(chance.randrange(3)):
            edited = some()
            await put(edited)
            owners = [s for s, r in edited.items() if s[0] is SubjectKind.USER and r is Role.OWNER]
        await settle(world, is_archived=False)
        expected = {
            subject: role
            for subject, role in before.items()
            if not (subject[0] is SubjectKind.USER and role is Role.OWNER)
        } | dict.fromkeys(owners, Role.OWNER)
        assert await held(world, own) == {
            (kind.value, subject): role.value for (kind, subject), role in expected.items()
        }


async def test_an_owners_save_that_crosses_the_archiving_is_refused(world: World) -> None:
    ken, mei = await world.account("ken"), await world.account("mei")
    await agent_of(world, ken)
    own, _ = await make(world, ken)
    await settle(world, is_archived=True)
    grants = [
        Grant(own.collection.id, SubjectKind.USER, ken.id, Role.OWNER),
        Grant(own.collection.id, SubjectKind.USER, mei.id, Role.VIEWER),
    ]
    with pytest.raises(ConflictError):  # as it was before
        await world.store.grants.replace(own.collection.id, grants, version=own.collection.version)

"""Accounts, sessions, agents and links keep what they are given and count the generation."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.core.access import Agent, BindingRole
from gateway.core.messages import Sender
from gateway.errors import ConflictError, NotFoundError
from gateway.interfaces import Session
from gateway.store import Store
from tests.contract.world import World
from tests.fakes.wound_clock import WoundClock

U1 = Sender("line", "main", "U1")


async def test_accounts_are_found_by_id_and_login_and_listed_by_login(world: World) -> None:
    ken, anna = await world.account("ken"), await world.account("anna")
    accounts = world.store.accounts
    changed = replace(ken, department="IT", language="ja", is_active=False)
    await accounts.put(changed)
    assert await accounts.find(ken.id) == await accounts.find_by_login("ken") == changed
    assert await accounts.list() == [anna, changed]
    assert await accounts.find("nobody") is await accounts.find_by_login("nobody") is None
    with pytest.raises(ConflictError):
        await accounts.put(replace(anna, login="ken"))


async def test_password_hashes_belong_to_an_account(world: World) -> None:
    ken = await world.account("ken")
    assert await world.store.accounts.password_hash(ken.id) is None
    await world.store.accounts.set_password_hash(ken.id, "one")
    await world.store.accounts.set_password_hash(ken.id, "two")
    assert await world.store.accounts.password_hash(ken.id) == "two"
    with pytest.raises(NotFoundError):
        await world.store.accounts.set_password_hash("nobody", "x")


async def test_sessions_end_by_time_by_removal_and_with_the_account(
    world: World, clock: WoundClock
) -> None:
    ken, sessions = await world.account("ken"), world.store.sessions
    end = clock.now() + timedelta(hours=1)
    for secret in ("a", "b", "c"):
        await sessions.put(Session(secret, ken.id, "token", "cli", clock.now(), end))
    assert await sessions.find("a", clock.now()) == Session(
        "a", ken.id, "token", "cli", clock.now(), end
    )
    assert await sessions.find("a", end) is None
    await sessions.remove("a")
    assert await sessions.find("a", clock.now()) is None
    await world.store.accounts.put(replace(ken, is_active=False))
    assert await sessions.find("b", clock.now()) is None
    await world.store.accounts.put(ken)
    await sessions.remove_all_of(ken.id)
    assert [await sessions.find(each, clock.now()) for each in "bc"] == [None, None]


async def test_agents_and_their_people(world: World) -> None:
    ken, agents = await world.account("ken"), world.store.agents
    hana = Agent("hana", "花", "HR")
    await agents.put(hana)
    await agents.put(replace(hana, is_archived=True))
    assert await agents.find("hana") == replace(hana, is_archived=True)
    assert await agents.list() == [replace(hana, is_archived=True)]
    await agents.bind("hana", ken.id, BindingRole.VIEWER)
    await agents.bind("hana", ken.id, BindingRole.OWNER)
    assert await agents.bindings("hana") == {ken.id: BindingRole.OWNER}
    await agents.bind("hana", ken.id, None)
    assert await agents.bindings("hana") == {}
    with pytest.raises(NotFoundError):
        await agents.bind("hana", "nobody", BindingRole.OWNER)


async def test_a_link_is_keyed_by_channel_account_and_sender(
    world: World, clock: WoundClock
) -> None:
    ken, anna, links = await world.account("ken"), await world.account("anna"), world.store.links
    other = Sender("line", "second", "U1")
    await links.bind(U1, ken.id, clock.now())
    await links.bind(other, anna.id, clock.now())
    assert (await links.find(U1), await links.find(other)) == (ken.id, anna.id)
    assert await links.list(anna.id) == [(other, anna.id)]
    await links.bind(U1, anna.id, clock.now())
    assert await links.list() == [(U1, anna.id), (other, anna.id)]
    assert [await links.remove(U1), await links.remove(U1)] == [True, False]
    assert await links.find(U1) is None


async def test_every_change_of_access_counts_the_generation(
    world: World, store: Store, clock: WoundClock
) -> None:
    ken = await world.account("ken")
    hr = await world.collection(ken)
    await store.agents.put(Agent("hana", "花"))
    changes: list[Callable[[], Awaitable[object]]] = [
        lambda: store.accounts.put(replace(ken, department="IT")),
        lambda: store.agents.put(Agent("hana", "花", is_archived=True)),
        lambda: store.agents.bind("hana", ken.id, BindingRole.OWNER),
        lambda: store.links.bind(U1, ken.id, clock.now()),
        lambda: store.links.remove(U1),
        lambda: world.collection(ken),
        lambda: store.collections.replace(replace(hr, name="人事"), version=1),
        lambda: world.share(hr, ken),
        lambda: store.collections.remove(hr.id),
    ]
    before = await store.generation()
    for change in changes:
        before = await store.generation()
        await change()
        assert await store.generation() > before
    assert await store.links.remove(U1) is False
    assert await store.generation() == before + 1  # nothing changed, nothing counted

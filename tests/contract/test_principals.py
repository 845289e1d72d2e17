"""To whom grants can be given: active people, departments there are, agents one owns."""

from dataclasses import replace

from gateway.core.access import Agent, BindingRole
from gateway.core.sharing import Shareable
from gateway.store import Store
from tests.contract.world import World


async def test_what_can_be_shared_with_is_read_in_one_snapshot(world: World, store: Store) -> None:
    ken, mei, gone = [await world.account(each) for each in ("ken", "mei", "gone")]
    await store.accounts.put(replace(gone, is_active=False, department="Once"))
    await store.accounts.put(replace(mei, department=""))
    for agent_id, role in (("a", BindingRole.OWNER), ("b", BindingRole.OPERATOR), ("c", None)):
        await store.agents.put(Agent(agent_id, agent_id, "Bots"))
        await store.agents.bind(agent_id, ken.id, role)
    await store.agents.put(Agent("d", "d", is_archived=True))
    await store.agents.bind("d", ken.id, BindingRole.OWNER)
    asked = frozenset({ken.id, gone.id, "no-such"})
    departments = frozenset({"HR", "Once", "Bots"})
    mine = Shareable(frozenset({ken.id}), departments, frozenset({"a"}))
    assert await store.principals.shareable(ken.id, asked) == mine
    everybodys = replace(mine, agents=frozenset({"a", "b", "c"}))
    assert await store.principals.shareable(None, asked) == everybodys
    nobodys = Shareable(departments=departments)
    assert await store.principals.shareable(mei.id, frozenset()) == nobodys
    assert [each.id for each in await store.principals.agents(ken.id)] == ["a"]
    assert [each.id for each in await store.principals.agents(None)] == ["a", "b", "c"]


async def test_people_are_found_while_they_are_active(world: World, store: Store) -> None:
    people = [await world.account(f"p{n}") for n in range(5)]
    await store.accounts.put(replace(people[1], is_active=False))
    found = await store.principals.people(lambda account: account.display_name != "p3", 3)
    assert [each.display_name for each in found] == ["p0", "p2", "p4"]
    assert len(await store.principals.people(lambda _: True, 2)) == 2


async def test_names_of_ids_are_told_of_those_who_left_too(world: World, store: Store) -> None:
    ken = await world.account("ken")
    await store.accounts.put(replace(ken, is_active=False))
    await store.agents.put(Agent("hana", "花", is_archived=True))
    await world.account("mei")
    people, agents = await store.principals.named(frozenset({ken.id, "hana", "no-such"}))
    assert {key: each.is_active for key, each in people.items()} == {ken.id: False}
    assert {key: each.display_name for key, each in agents.items()} == {"hana": "花"}

"""Collections and grants: optimistic saving, the last owner, tombstones, and the rule's facts."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.core.access import (
    AccountRole,
    AgentSide,
    Audience,
    AudienceKind,
    ChatAddress,
    Grant,
    Role,
    Sensitivity,
    SubjectKind,
)
from gateway.core.audit import SecurityEvent
from gateway.core.documents import SourceState
from gateway.core.messages import Sender
from gateway.errors import ConflictError, GatewayError, NotFoundError
from gateway.store import Store
from tests.contract.world import World
from tests.fakes.wound_clock import WoundClock


async def test_numbers_are_never_given_twice_and_slugs_are_free_again(world: World) -> None:
    ken, collections = await world.account("ken"), world.store.collections
    first = await world.collection(ken, "hr")
    with pytest.raises(ConflictError):
        await world.collection(ken, "hr")
    await collections.remove(first.id)
    while not (await world.store.maintenance.drain(first.id, world.clock.now())).is_done:
        pass
    second = await world.collection(ken, "hr")
    assert second.no > first.no
    assert await collections.find_by_slug("hr") == second
    assert await collections.list(frozenset({first.id, second.id})) == [second]


async def test_saving_is_optimistic(world: World) -> None:
    ken, collections = await world.account("ken"), world.store.collections
    hr, other = await world.collection(ken, "hr"), await world.collection(ken, "it")
    changed = replace(hr, name="人事", sensitivity=Sensitivity.RESTRICTED)
    saved = await collections.replace(changed, version=hr.version)
    assert saved == replace(changed, version=2) == await collections.find(hr.id)
    for wrong in (changed, replace(changed, slug=other.slug)):
        with pytest.raises(ConflictError):
            await collections.replace(wrong, version=1)
    with pytest.raises(ConflictError):
        await collections.replace(replace(changed, slug="it"), version=2)
    with pytest.raises(NotFoundError):
        await collections.replace(replace(hr, id="none"), version=1)


async def test_grants_are_replaced_as_one_batch(world: World) -> None:
    ken, grants = await world.account("ken"), world.store.grants
    hr = await world.collection(ken)
    owner = Grant(hr.id, SubjectKind.USER, ken.id, Role.OWNER)
    reader = Grant(hr.id, SubjectKind.DEPARTMENT, "HR", Role.VIEWER)
    assert await grants.of_collection(hr.id) == [owner]
    assert await grants.replace(hr.id, [owner, reader], version=1) == 2
    assert await grants.of_collection(hr.id) == [reader, owner]
    assert await grants.subjects(SubjectKind.DEPARTMENT) == ["HR"]
    with pytest.raises(ConflictError, match="moved on"):
        await grants.replace(hr.id, [owner], version=1)
    with pytest.raises(ConflictError) as refused:
        await grants.replace(hr.id, [reader], version=2)
    assert refused.value.code == "last_owner"
    with pytest.raises(ConflictError):
        await grants.replace(hr.id, [owner, reader, reader], version=2)
    assert await grants.of_collection(hr.id) == [reader, owner]  # nothing of it was written


async def test_a_removed_collection_is_gone_everywhere_at_once(world: World, store: Store) -> None:
    boss = await world.account("boss", AccountRole.ADMIN)
    hr = await world.collection(boss, "hr")
    source = await world.text(hr, "特休七日")
    before = await world.scope(boss)
    [hit] = await world.found(before, "特休")
    await store.collections.remove(hr.id)
    await store.collections.remove(hr.id)
    only = frozenset({hr.id})
    assert (await world.scope(boss)).is_empty
    assert await store.collections.find(hr.id) is await store.collections.find_by_slug("hr") is None
    assert (await store.collections.list(only), await store.collections.counts(only)) == ([], {})
    assert (await store.grants.of_collection(hr.id), await store.sources.usage()) == ([], {})
    assert await store.grants.subjects(SubjectKind.USER) == []
    assert await store.sources.find(source.id) is None
    assert await store.sources.title_of(source.id) is None
    assert (await store.sources.list(hr.id), await world.found(before, "特休")) == ([], [])
    assert list(await store.passages.load(before, [hit.id])) == []
    assert list(await store.passages.around(before, hit.id, 1)) == []
    assert await store.passages.searchable(before, "m") == (0, 0)
    assert await store.vectors.without_vectors("m", None, 9) == []
    assert not await world.read(source, "復活")
    assert (await store.jobs.waiting())["remove_collection"] == 1
    with pytest.raises(NotFoundError):
        await world.source(hr)


async def test_a_removed_collection_is_emptied_source_by_source(world: World, store: Store) -> None:
    ken = await world.account("ken")
    hr, kept = await world.collection(ken), await world.collection(ken)
    shared = await world.source(hr, data="same")
    await world.source(kept, data="same")
    alone = await world.text(hr, "獨有的內容")
    await store.sources.remove((await world.text(hr, "先刪")).id, world.clock.now())
    await store.collections.remove(hr.id)
    steps = [await store.maintenance.drain(hr.id, world.clock.now()) for _ in range(3)]
    assert [each.is_done for each in steps] == [False, False, True]
    assert {each.sha256 for each in steps} == {alone.sha256, None}
    assert await store.sources.title_of(shared.id) is None  # a removed collection leaves no titles
    assert await store.check() == ()


async def test_counts_per_collection(world: World, store: Store) -> None:
    ken = await world.account("ken")
    hr, empty = await world.collection(ken), await world.collection(ken)
    await world.text(hr, "一", "二")
    await world.source(hr)
    ids = frozenset({hr.id, empty.id})
    assert await store.collections.counts(ids) == {hr.id: (2, 2), empty.id: (0, 0)}


async def test_facts_hold_what_the_rule_needs_and_no_more(world: World, store: Store) -> None:
    ken, anna = await world.account("ken"), await world.account("anna")
    mine, team, chat, agents, foreign = [await world.collection(anna) for _ in range(5)]
    owner = Grant("", SubjectKind.USER, anna.id, Role.OWNER)
    rows = {
        mine.id: Grant(mine.id, SubjectKind.USER, ken.id, Role.EDITOR),
        team.id: Grant(team.id, SubjectKind.DEPARTMENT, "HR", Role.VIEWER),
        chat.id: Grant(chat.id, SubjectKind.CHANNEL, "line:C9", Role.VIEWER),
        agents.id: Grant(agents.id, SubjectKind.AGENT, "hana", Role.VIEWER),
        foreign.id: Grant(foreign.id, SubjectKind.CHANNEL, "line:C8", Role.VIEWER),
    }
    for collection_id, grant in rows.items():
        await store.grants.replace(collection_id, [owner, grant], version=1)
    stale = replace(ken, department="Sales")  # the audience was fixed before a change
    address = ChatAddress("line", "main", "T1", parent_id="C9")
    audience = Audience(AudienceKind.LINKED, stale, address)
    facts = await store.grants.facts(audience, AgentSide("hana", "", None))
    expected = [mine.id, team.id, chat.id, agents.id]
    assert [each.id for each in facts.collections] == expected
    assert set(facts.grants) == {rows[each] for each in expected}
    assert (facts.account, facts.generation) == (ken, await store.generation())
    everything = await store.grants.facts(audience, None, everything=True)
    assert {each.id for each in everything.collections} == set(rows)
    dispatched = Audience(AudienceKind.DELEGATED, upstream=audience)
    assert (await store.grants.facts(dispatched, None)).account == ken


async def test_a_link_that_ended_is_not_valid(
    world: World, store: Store, clock: WoundClock
) -> None:
    ken = await world.account("ken")
    await store.links.bind(Sender("line", "main", "U1"), ken.id, clock.now())
    await store.links.bind(Sender("line", "main", "U2"), ken.id, clock.now())
    address = ChatAddress("line", "main", "U1")
    any_link = Audience(AudienceKind.LINKED, ken, address)
    this_link = replace(any_link, sender_id="U1")
    elsewhere = replace(any_link, address=replace(address, account_name="second"))

    async def valid(audience: Audience) -> bool:
        return (await store.grants.facts(audience, None)).is_link_valid

    assert [await valid(each) for each in (any_link, this_link, elsewhere)] == [True, True, False]
    await store.links.remove(Sender("line", "main", "U1"))
    assert [await valid(each) for each in (any_link, this_link)] == [True, False]


async def test_a_security_event_is_written_with_its_change_or_not_at_all(
    world: World, store: Store, clock: WoundClock, tmp_path: object
) -> None:
    ken = await world.account("ken")
    hr = await world.collection(ken)
    event = SecurityEvent("knowledge_collection_updated", clock.now(), ken.id, {"id": hr.id})
    with pytest.raises(ConflictError):
        await store.collections.replace(hr, version=9, event=event)
    clock.wind(seconds=timedelta(minutes=1).total_seconds())
    await store.collections.replace(hr, version=1, event=event)
    lines = world.store.blobs.path("0" * 64).parents[1] / "events.jsonl"
    assert [await store.audit.export(lines), await store.audit.export(lines)] == [1, 0]
    assert lines.read_text().count("knowledge_collection_updated") == 1


async def test_a_reference_is_an_id_before_it_is_a_code(world: World, store: Store) -> None:
    ken, mei = await world.account("ken"), await world.account("mei")
    hr = await world.collection(ken, "hr")
    trap = await world.collection(mei, hr.id)  # a code may look like another's id
    for reference, found in ((hr.id, hr), ("hr", hr), (trap.id, trap)):
        collection, grants = await store.grants.of_reference(reference)
        assert collection == found
        assert [grant.subject_id for grant in grants] == [ken.id if found is hr else mei.id]
    await store.collections.remove(hr.id)
    assert await store.grants.of_reference("hr") == (None, [])
    assert (await store.grants.of_reference(hr.id))[0] == trap
    assert await store.grants.of_reference("") == (None, [])


async def test_a_conflict_tells_the_version_there_is(world: World, store: Store) -> None:
    ken = await world.account("ken")
    hr = await world.collection(ken, "hr")
    owner = Grant(hr.id, SubjectKind.USER, ken.id, Role.OWNER)
    await store.grants.replace(hr.id, [owner], version=1)
    for save in (
        store.grants.replace(hr.id, [owner], version=1),
        store.collections.replace(hr, version=1),
        store.collections.remove(hr.id, version=1),
    ):
        with pytest.raises(ConflictError) as refused:
            await save
        assert refused.value.params == {"version": 2}
    await store.collections.remove(hr.id, version=2)
    await store.collections.remove(hr.id, version=2)  # gone already
    with pytest.raises(NotFoundError):
        await store.grants.replace(hr.id, [owner], version=2)


async def test_only_so_many_collections_are_made(world: World, store: Store) -> None:
    ken = await world.account("ken")
    first = await world.collection(ken)
    draft = replace(first, id="second", slug="second")
    with pytest.raises(GatewayError) as refused:
        await store.collections.create(draft, ken.id, most=1)
    assert refused.value.code == "quota_collections"
    await store.collections.remove(first.id)
    assert (await store.collections.create(draft, ken.id, most=1)).slug == "second"


async def test_what_is_still_being_read_is_counted(world: World, store: Store) -> None:
    ken = await world.account("ken")
    hr, empty = await world.collection(ken), await world.collection(ken)
    for state in SourceState:
        await store.sources.set_state((await world.source(hr)).id, state)
    assert await store.collections.in_progress(frozenset({hr.id, empty.id})) == {hr.id: 4}
    assert await store.collections.in_progress(frozenset({empty.id})) == {}
    await store.collections.remove(hr.id)
    assert await store.collections.in_progress(frozenset({hr.id})) == {}

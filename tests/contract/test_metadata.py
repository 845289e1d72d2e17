"""Metadata of documents in the store, and folders that lie in folders."""

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.core.audit import SecurityEvent
from gateway.core.filters import Value
from gateway.errors import ConflictError, InvalidRequestError, NotFoundError
from tests.contract.world import World

NOTED: dict[str, Value] = {"category": "policy", "year": 2026, "draft": False, "x": None}


async def test_metadata_is_kept_replaced_whole_and_told_of(world: World, tmp_path: Path) -> None:
    ken, store = await world.account("ken"), world.store
    hr = await world.collection(ken)
    plain = await world.source(hr)
    assert plain.metadata == {}
    draft = replace(world.new_source(hr), metadata=NOTED)
    noted, is_new = await store.sources.add(draft)
    assert is_new
    assert noted.metadata == NOTED
    assert await store.sources.find(noted.id) == noted
    again = replace(world.new_source(hr), sha256=noted.sha256, metadata={"category": "other"})
    assert await store.sources.add(again) == (noted, False)  # the same bytes change nothing

    event = SecurityEvent("knowledge_source_metadata_changed", world.clock.now(), ken.id, {})
    changed = await store.metadata.set(noted.id, {"year": 2027}, before=NOTED, event=event)
    assert changed == replace(noted, metadata={"year": 2027}) == await store.sources.find(noted.id)
    with pytest.raises(ConflictError):
        await store.metadata.set(noted.id, {}, before=NOTED)
    assert await store.metadata.set(noted.id, {"year": 2027.0}, event=event) == changed
    assert await store.audit.export(tmp_path / "told") == 1  # nothing changed: nothing told
    assert await store.metadata.set("none", {}) is None


async def test_metadata_goes_with_its_document(world: World) -> None:
    ken, store = await world.account("ken"), world.store
    hr = await world.collection(ken)
    draft = replace(world.new_source(hr), metadata=NOTED)
    noted, _ = await store.sources.add(draft)
    await store.sources.remove(noted.id, world.clock.now())
    assert await store.metadata.set(noted.id, NOTED) is None
    assert (await store.sources.add(draft))[0].metadata == NOTED


async def test_a_folder_lies_in_one_that_is_there(world: World) -> None:
    ken, collections = await world.account("ken"), world.store.collections
    top = await world.collection(ken)
    inner = await world.collection(ken)
    placed = await collections.replace(replace(inner, parent_id=top.id), version=1)
    assert placed.parent_id == top.id
    with pytest.raises(InvalidRequestError):
        await collections.replace(replace(top, parent_id=inner.id), version=1)
    draft = replace(top, id="new", slug="new", parent_id="gone")
    with pytest.raises(NotFoundError):
        await collections.create(draft, ken.id)
    assert await collections.find("new") is None
    made = await collections.create(replace(draft, parent_id=inner.id), ken.id)
    assert made.parent_id == inner.id
    moved = await collections.replace(replace(placed, parent_id=None), version=2)
    assert moved.parent_id is None


async def test_a_folder_that_goes_is_held_by_some_and_leaves_the_others_at_the_top(
    world: World,
) -> None:
    ken, collections = await world.account("ken"), world.store.collections
    top = await world.collection(ken)
    inner = await world.collection(ken)
    placed = await collections.replace(replace(inner, parent_id=top.id), version=1)
    with pytest.raises(ConflictError) as refused:
        await collections.remove(top.id, held_by=frozenset({inner.id}))
    assert refused.value.code == "folder_not_empty"
    assert await collections.find(top.id) == top
    assert await collections.find(inner.id) == placed
    await collections.remove(top.id, held_by=frozenset({"another"}))
    freed = await collections.find(inner.id)
    assert freed == replace(placed, parent_id=None, version=placed.version + 1)
    with pytest.raises(ConflictError):  # whoever loaded it before has to look again
        await collections.replace(placed, version=placed.version)

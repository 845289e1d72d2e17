"""Originals: named by hash, whole or not there, capped while they stream."""

import asyncio
import hashlib
import io
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.errors import InvalidRequestError
from gateway.store import Store


def left_behind(store: Store) -> list[Path]:
    folder = store.blobs.path("0" * 64).parents[1]
    return [each for each in folder.rglob("*") if each.is_file()]


async def test_the_same_bytes_at_once_are_one_file(store: Store) -> None:
    data = os.urandom(3_000_000)
    puts = await asyncio.gather(*(store.blobs.put(io.BytesIO(data), 3_000_000) for _ in range(5)))
    sha256 = hashlib.sha256(data).hexdigest()
    assert set(puts) == {(sha256, len(data))}
    path = store.blobs.path(sha256)
    assert path.read_bytes() == data
    assert left_behind(store) == [path]
    assert path.stat().st_mode & 0o077 == 0
    os.utime(path, (0, 0))
    assert await store.blobs.list() == [(sha256, datetime.fromtimestamp(0, UTC))]
    await store.blobs.put(io.BytesIO(data), 3_000_000)
    [(_, put_at)] = await store.blobs.list()
    assert put_at.year > 2000  # an upload again starts the grace of the sweep again
    await store.blobs.remove(sha256)
    await store.blobs.remove(sha256)
    assert await store.blobs.list() == []


async def test_too_large_leaves_nothing_behind(store: Store) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        await store.blobs.put(io.BytesIO(b"x" * 1_000_001), 1_000_000)
    assert (refused.value.code, refused.value.params) == ("too_large", {"limit_mb": 1})
    assert left_behind(store) == []


@pytest.mark.parametrize("name", ["../../inbox.db", "a" * 63, "A" * 64, "", "/" + "a" * 63])
async def test_only_a_hash_is_a_name(store: Store, name: str) -> None:
    with pytest.raises(InvalidRequestError):
        store.blobs.path(name)
    with pytest.raises(InvalidRequestError):
        await store.blobs.remove(name)

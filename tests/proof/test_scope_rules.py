"""The scope rule against the reference, in random worlds; `make prove` tries twenty times more."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.core.access import Audience
from gateway.core.scope import Scope, decide, renew, without_restricted
from tests.proof import bridge, reference
from tests.proof.reference import Turn, World, is_one_to_one, readable
from tests.proof.worlds import Chance

T = TypeVar("T")
WORLDS = 200_000 if os.environ.get("SHUTTEN_PROVE") else 10_000
WORLDS_A_SEED = 100
TURNS = 4  # of each world
SEEDS = settings(
    max_examples=WORLDS // WORLDS_A_SEED,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def decided(world: World, turn: Turn, audience: Audience | None = None) -> Scope:
    agent = world.employees.get(turn.employee or "")
    side = None if agent is None else bridge.side_of(agent)
    facts = bridge.facts_of(world, turn)
    return decide(audience or bridge.audience_of(world, turn), side, facts)


def differs(world: World, turn: Turn) -> bool:
    scope = decided(world, turn)
    is_other = scope.is_direct is not is_one_to_one(turn)
    return is_other or scope.collections != readable(world, turn)


def without(every: Sequence[T], one: T) -> list[T]:
    return [each for each in every if each is not one]


def smallest(world: World, turn: Turn) -> tuple[World, Turn]:
    """What is left of a world when everything that does not matter for a difference has gone."""
    parts = [replace(world, shares=without(world.shares, each)) for each in world.shares]
    parts += [replace(world, shelves=without(world.shelves, each)) for each in world.shelves]
    for part in parts:
        if differs(part, turn):
            return smallest(part, turn)
    return world, turn


@settings(parent=SEEDS)
@given(st.integers(0, 2**63))
@pytest.mark.timeout(1_200)
def test_the_rule_and_the_reference_agree_in_every_world(seed: int) -> None:
    for n in range(WORLDS_A_SEED):
        chance = Chance(seed + n)
        world = chance.world()
        for _ in range(TURNS):
            turn = chance.turn()
            assert not differs(world, turn), smallest(world, turn)


def test_the_worlds_hold_every_kind_of_turn_with_and_without_something_to_read() -> None:
    reads: Counter[tuple[str, bool]] = Counter()
    for seed in range(2_000):
        chance = Chance(seed)
        world, turn = chance.world(), chance.turn()
        kind = f"{turn.door} {turn.record}" if turn.door == "dispatch" else turn.door
        reads[kind, bool(readable(world, turn))] += 1
    doors = ("dashboard", "webchat", "key", "chat", "visitor", "system", "dispatch kept")
    assert all(reads[door, True] >= 5 and reads[door, False] >= 5 for door in doors), reads
    nothing = ("unregistered", "dispatch lost", "dispatch old")
    assert all(reads[door, True] == 0 and reads[door, False] for door in nothing), reads


@settings(parent=SEEDS, max_examples=WORLDS // WORLDS_A_SEED // 5)
@given(st.integers(0, 2**63))
@pytest.mark.timeout(600)
def test_a_turn_in_a_world_that_changes_reads_what_both_allow(seed: int) -> None:
    for n in range(WORLDS_A_SEED):
        chance = Chance(seed + n)
        before, after, turn = chance.world(), chance.world(), chance.turn()
        audience = bridge.audience_of(before, turn)
        first = decided(before, turn)
        renewed = renew(first, decided(after, turn, audience))
        allowed = readable(before, turn) & readable(after, turn)
        assert renewed.collections == allowed
        assert renewed.audience == first.audience
        facts = bridge.facts_of(after, turn)
        delicate = {each.id for each in after.shelves if each.sensitivity == "restricted"}
        injected = without_restricted(renewed, facts.collections)
        assert injected.collections == allowed - delicate


def test_the_reference_stands_apart_from_the_rule() -> None:
    assert "gateway" not in Path(reference.__file__).read_text("utf-8")

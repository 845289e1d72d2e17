"""Terms too common to look up: which they are, and that they weigh as bm25 has them weigh."""

import random

import pytest
from sqlalchemy import Connection, select

from gateway.store import Store, counters, fulltext, passage_scores
from gateway.store.collections import IS_LIVE
from gateway.store.statements import Statement
from gateway.store.tables.people import collections
from tests.contract.world import World

MANY = fulltext.LOOKED_UP


@pytest.mark.parametrize(
    ("having", "by", "left_out"),
    [
        ({"a": 5, "b": 9, "c": 7}, "abc", ""),
        ({"a": MANY, "b": MANY, "c": MANY}, "abc", ""),  # three always
        ({"a": MANY, "b": 9, "c": 7, "d": MANY, "e": 1}, "ecb", "ad"),
        ({"a": MANY // 2, "b": 1, "c": 1, "d": MANY // 2 - 2}, "abcd", ""),
        ({"a": MANY, "b": 3, "c": 3, "d": 3}, "bcd", "a"),
    ],
    ids=["few", "no rare ones", "several left out", "just enough", "the commonest left out"],
)
def test_passages_are_found_by_the_rarest_terms(
    having: dict[str, int], by: str, left_out: str
) -> None:
    rare, common = fulltext.rarest([*having, "nowhere"], having)
    assert (set(rare), set(common)) == ({*by, "nowhere"}, set(left_out))


async def test_what_was_left_out_weighs_as_if_it_had_been_looked_up(
    world: World, store: Store
) -> None:
    ken = await world.account("ken")
    chance = random.Random(3)
    filler = [chr(0x5000 + n) + chr(0x6000 + n) for n in range(40)]
    words = ["特休", "病假", "office", *filler]
    texts = ["，".join(chance.choices(words, k=chance.randint(20, 30))) for _ in range(200)]
    await world.text(await world.collection(ken), *texts)
    nos = Statement(select(collections.c.no).where(IS_LIVE))

    def unit(connection: Connection) -> tuple[dict[int, float], list[tuple[int, float]]]:
        within = [row[0] for row in nos.all(connection)]
        total = counters.value(connection, counters.PASSAGES)
        having = fulltext.frequencies(connection, ["特休", "病假", "office"])

        def found(*terms: str) -> list[tuple[int, float]]:
            match = fulltext.match_query(terms, ()) or ""
            return [(row[0], row[1]) for row in fulltext.search(connection, within, match, 400)]

        rest = {term: having[term] for term in ("病假", "office")}
        rows = passage_scores.completed(connection, found("特休"), rest, total)
        return dict(found("特休", "病假", "office")), [(row[0], row[1]) for row in rows]

    whole, completed = await store._knowledge.read(unit)
    assert len(completed) > 50
    assert [row[1] for row in completed] == sorted(row[1] for row in completed)
    for passage_id, score in completed:
        assert score == pytest.approx(whole[passage_id], rel=0.05)

"""bm25 completed for the best passages: by the terms that were too common to look up."""

import math
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, select

from gateway.core.matching import terms_in
from gateway.store.json_text import json_list
from gateway.store.statements import Row, Statement, in_integers
from gateway.store.tables.library import passages

COMPLETED = 400  # passages; what stands below them comes into no result
K1, B = 1.2, 0.75  # as SQLite's FTS5 has them
IDF_FLOOR = 1e-6

_TEXTS = Statement(
    select(passages.c.id, passages.c.match_text).where(in_integers(passages.c.id, "ids"))
)


def completed(
    connection: Connection, found: Sequence[Row], terms: Mapping[str, int], total: int
) -> list[Row]:
    """Rows of (passage id, bm25, lower is better) in their new order; ties by id.

    `terms` are those left out, with the count of passages that hold them, of `total`.
    """
    best = [row[0] for row in found[:COMPLETED]]
    texts: dict[int, str] = dict(_TEXTS.all(connection, ids=json_list(best)))
    usual = sum(map(len, texts.values())) / max(1, len(texts))
    weights = {term: _idf(total, having) for term, having in terms.items()}
    scored = [(row[0], row[1] - _gain(texts.get(row[0], ""), weights, usual)) for row in found]
    return sorted(scored, key=lambda row: (row[1], row[0]))


def _gain(text: str, weights: Mapping[str, float], usual: float) -> float:
    if not text:
        return 0.0
    length = K1 * (1 - B + B * len(text) / usual)
    held = {term: max(1, text.count(term)) for term in terms_in(weights, text)}
    return sum(weights[term] * n * (K1 + 1) / (n + length) for term, n in held.items())


def _idf(total: int, having: int) -> float:
    return max(IDF_FLOOR, math.log((total - having + 0.5) / (having + 0.5)))

"""Vector search beside numpy: python -m bench.vectors [--rows N] [--file ROWS.npy] [--rounds N].

N rows (200,000) of 384 numbers in 100 collections; the base is a float32 product over everything,
a mask, and argpartition, as one would write it. Each question is asked both ways in turn; a ratio
is the median of theirs, in CPU time of the thread (other work on the machine disturbs it least).
Without a file of embeddings the rows lie in clumps with a spectrum that falls, as embeddings do.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from gateway.interfaces import Vector
from gateway.knowledge.vector_blocks import Block, View, pack
from gateway.knowledge.vector_scan import Wanted, scan, scan_together

DIMENSION, COLLECTIONS, TOP, TOGETHER = 384, 100, 50, 8
T = TypeVar("T")


class Case(NamedTuple):
    name: str
    share: float  # of the collections
    is_exact: bool = False


CASES = (
    Case("1 % readable", 0.01),
    Case("10 % readable", 0.1),
    Case("everything, proven exact", 1.0, is_exact=True),
    Case("everything, screened", 1.0),
)


class Round(NamedTuple):
    ours: float
    base: float
    recall: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--file", type=Path, help="rows to measure on, (n, d) float32")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    draw = np.random.default_rng(7)
    rows = np.load(options.file) if options.file else clumps(draw, options.rows)
    queries = near(draw, rows, options.rounds)
    each = len(rows) // COLLECTIONS
    blocks = [filled(rows, n * each, (n + 1) * each) for n in range(COLLECTIONS)]
    pack(blocks)
    whole = filled(rows, 0, len(rows))
    print(f"{len(rows)} rows, {whole.bytes / len(rows):.0f} bytes a row; top {TOP}")
    for case in CASES:
        report(case.name, [one(case, rows, blocks, query, draw) for query in queries])
    one_block = [one(CASES[-1], rows, [whole], query, draw) for query in queries]
    report("everything, one collection", one_block)
    report(f"{TOGETHER} questions together", together(rows, whole.view, queries))


def clumps(draw: np.random.Generator, count: int) -> Vector:
    falling = 1 / np.sqrt(1 + np.arange(DIMENSION))
    turn = np.linalg.qr(draw.normal(size=(DIMENSION, DIMENSION)))[0]
    centres = draw.normal(size=(600, DIMENSION)) * falling
    rows = np.empty((count, DIMENSION), np.float32)
    for at in range(0, count, 10_000):
        part = rows[at : at + 10_000]
        noise = draw.normal(size=part.shape) * falling
        part[:] = (centres[draw.integers(0, 600, len(part))] + 0.8 * noise) @ turn
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def near(draw: np.random.Generator, rows: Vector, count: int) -> Vector:
    """Questions: each lies between two rows."""
    pairs = rows[draw.integers(0, len(rows), (2, count))]
    mixed = 0.8 * pairs[0] + 0.4 * pairs[1]
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), np.float32)


def filled(rows: Vector, begin: int, end: int) -> Block:
    block = Block(rows.shape[1])
    block.extend({at: rows[at : at + 1] for at in range(begin, end)})
    return block


def one(
    case: Case, rows: Vector, blocks: Sequence[Block], query: Vector, draw: np.random.Generator
) -> Round:
    chosen = np.sort(draw.permutation(len(blocks))[: max(1, round(len(blocks) * case.share))])
    each = len(rows) // len(blocks)
    mask = np.zeros(len(rows), bool)
    for n in chosen.tolist():
        mask[n * each : (n + 1) * each] = True
    best, base = timed(lambda: masked(rows, query, None if case.share == 1 else mask))
    views = [blocks[n].view for n in chosen.tolist()]
    found, ours = timed(lambda: scan(views, query, TOP, exact=case.is_exact))
    return Round(ours, base, shared([rows[at] @ query for at in best], found.ranked))


def together(rows: Vector, view: View, queries: Vector) -> list[Round]:
    rounds = []
    for at in range(0, len(queries) - TOGETHER + 1, TOGETHER):
        some = queries[at : at + TOGETHER]
        wanted = [Wanted(each, TOP) for each in some]
        best, base = timed(partial(each_masked, rows, some))
        found, ours = timed(partial(scan_together, [view], wanted))
        recalls = [shared(rows[b] @ q, f.ranked) for b, q, f in zip(best, some, found, strict=True)]
        rounds.append(Round(ours, base, statistics.mean(recalls)))
    return rounds


def masked(rows: Vector, query: Vector, mask: "np.typing.NDArray[np.bool_] | None") -> list[int]:
    scores = rows @ query
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    best: list[int] = np.argpartition(scores, -TOP)[-TOP:].tolist()
    return best


def each_masked(rows: Vector, queries: Vector) -> list[list[int]]:
    return [masked(rows, each, None) for each in queries]


def shared(best: Sequence[float] | Vector, ranked: Sequence[tuple[int, float]]) -> float:
    """The share of the true best that was found; equal scores stand for each other."""
    least = min(best) - 1e-6
    return sum(score >= least for _, score in ranked[:TOP]) / TOP


def timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.thread_time()
    result = work()
    return result, time.thread_time() - began


def report(name: str, rounds: Sequence[Round]) -> None:
    ratio = statistics.median(each.base / each.ours for each in rounds)
    ours = statistics.median(each.ours for each in rounds) * 1e3
    base = statistics.median(each.base for each in rounds) * 1e3
    recall, worst = statistics.mean(r.recall for r in rounds), min(r.recall for r in rounds)
    print(f"{name:28} {ratio:6.1f} x   {ours:7.2f} ms, numpy {base:7.2f}", end="   ")
    print(f"recall@{TOP} {recall:.4f}, worst {worst:.2f}")


if __name__ == "__main__":
    main()

"""What permissions cost: deciding a scope, and searching within one.

Usage: python -m bench.scope [--passages N] [--only decision|search]

The decision is timed over 200 collections with 2,000 grants, beside one empty round trip to the
store; searches over N passages (200,000) in 200 collections (bench/shelves.py), beside the very
same query without a filter, question by question in turn.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection

from bench.shelves import COLLECTIONS, material, question, scope_of, shelves
from gateway.accounts.scopes import ScopeService
from gateway.core.access import (
    Account,
    AccountRole,
    AgentSide,
    Audience,
    AudienceKind,
    ChatAddress,
    Collection,
    Grant,
    Role,
    Sensitivity,
    SubjectKind,
)
from gateway.core.matching import query_terms
from gateway.core.scope import Scope, decide
from gateway.core.scope_kinds import is_proven_direct
from gateway.store import Store, counters, fulltext, open_store, passage_scores
from gateway.store.statements import raw
from tests.fakes.times import RealClock, RealIds
from tests.fakes.wound_clock import WoundClock

GRANTS_A_COLLECTION, DECISIONS, QUESTIONS, LIMIT = 10, 300, 200, 400
SHARES = (0.005, 0.1, 0.5, 1.0)  # of all collections, readable
PERSON = Account("mei", "mei", "Mei", AccountRole.MEMBER, department="Sales")
AGENT = AgentSide("bot", "Support", None)
CHAT = ChatAddress("line", "main", "C1")
LINKED = Audience(AudienceKind.LINKED, PERSON, CHAT, is_direct=True)
IDS = RealIds()
_PLAIN = (
    "SELECT rowid, bm25(passage_index) AS score FROM passage_index "
    "WHERE passage_index MATCH ? ORDER BY score, rowid LIMIT ?"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=200_000)
    parser.add_argument("--only", choices=("decision", "search"))
    options = parser.parse_args()
    asyncio.run(measure(options.passages, options.only))


async def measure(passages: int, only: str | None) -> None:
    if only != "search":
        with tempfile.TemporaryDirectory() as folder:
            async with open_store(Path(folder), WoundClock(), IDS) as store:
                await stock(store)
                await time_decisions(store)
    if only != "decision":
        async with open_store(await shelves(passages), RealClock(), IDS) as store:
            await time_searches(store)


# ---------------------------------------------------------------- deciding


async def stock(store: Store) -> None:
    """Ten grants each: an owner, the agent, and others of whom some are the asker's."""
    await store.accounts.put(PERSON)
    for n in range(COLLECTIONS):
        draft = Collection(IDS.new(), 0, f"s{n}", f"S{n}", Sensitivity.INTERNAL)
        collection = await store.collections.create(draft, "owner")
        grants = [Grant(collection.id, SubjectKind.USER, "owner", Role.OWNER)]
        subjects = [(SubjectKind.AGENT, "bot"), (SubjectKind.USER, "mei")]
        subjects += [(SubjectKind.DEPARTMENT, "Sales"), (SubjectKind.CHANNEL, "line")]
        subjects += [(SubjectKind.USER, f"other {k}") for k in range(GRANTS_A_COLLECTION)]
        grants += [Grant(collection.id, *each, Role.VIEWER) for each in subjects]
        grants = grants[:GRANTS_A_COLLECTION]
        await store.grants.replace(collection.id, grants, version=collection.version)


async def time_decisions(store: Store) -> None:
    """p50 of each; the facts are one round trip, and the rule is all that comes beyond it."""
    scopes = ScopeService(store.accounts, store.links, store.grants)
    audience = replace(LINKED, kind=AudienceKind.WEBCHAT)
    facts = await store.grants.facts(audience, AGENT)
    assert len(decide(audience, AGENT, facts).collections) == COLLECTIONS
    assert is_proven_direct(audience, AGENT)

    async def rule() -> None:
        decide(audience, AGENT, facts)

    timed: dict[str, Callable[[], Awaitable[object]]] = {
        "empty round trip": store.generation,
        "facts from the store": lambda: store.grants.facts(audience, AGENT),
        "the rule": rule,
        "scope of a turn": lambda: scopes.scope(audience, AGENT),
    }
    spent = {name: await p50_ms(call) for name, call in timed.items()}
    for name, ms in spent.items():
        print(f"{name}: p50 {ms:.2f} ms")
    print(f"{COLLECTIONS} collections, {COLLECTIONS * GRANTS_A_COLLECTION} grants, ", end="")
    beyond = spent["the rule"]
    print(f"{len(facts.grants)} of them the asker's: {beyond:.2f} ms beyond one round trip")


async def p50_ms(call: Callable[[], Awaitable[object]]) -> float:
    spent = []
    for _ in range(DECISIONS):
        began = time.perf_counter()
        await call()
        spent.append((time.perf_counter() - began) * 1_000)
    return statistics.median(spent)


# ---------------------------------------------------------------- searching


async def time_searches(store: Store) -> None:
    """The same questions with the filter and without, one after the other."""
    sentences, chance = material(), random.Random(11)
    for share in SHARES:
        count = max(1, round(COLLECTIONS * share))
        scope = await scope_of(store, count)
        with_filter, without = [], []
        for turn in range(QUESTIONS):
            terms = query_terms(question(sentences, chance)).terms
            if turn % 2:  # whoever comes second finds the pages of the file in memory
                without.append(await busy_ms(anywhere(store, terms)))
            with_filter.append(await busy_ms(within(store, scope, terms)))
            if not turn % 2:
                without.append(await busy_ms(anywhere(store, terms)))
        inside, plain = statistics.median(with_filter), statistics.median(without)
        ratio = statistics.median(a / b for a, b in zip(with_filter, without, strict=True))
        print(f"{count} of {COLLECTIONS} collections readable: p50 {inside:.1f} ms, ", end="")
        print(f"without a filter {plain:.1f} ms, ratio {ratio:.2f} (of the processor)")


async def within(store: Store, scope: Scope, terms: Sequence[str]) -> None:
    await store.passages.lexical(scope, terms, LIMIT)


async def anywhere(store: Store, terms: Sequence[str]) -> None:
    """What the index does for a search, without any scope."""

    def unit(connection: Connection) -> None:
        words = fulltext.words(terms)
        total = counters.value(connection, counters.PASSAGES)
        having = fulltext.frequencies(connection, words)
        rare, common = fulltext.rarest(fulltext.telling(words, having, total), having)
        match = fulltext.match_query(rare, ()) or ""
        rows = raw(connection).execute(_PLAIN, (match, LIMIT)).fetchall()
        if common:
            left_out = {term: having[term] for term in common}
            passage_scores.completed(connection, rows, left_out, total)

    await store._knowledge.read(unit)  # nothing of the store goes around a scope


async def busy_ms(call: Awaitable[None]) -> float:
    began = time.process_time()
    await call
    return (time.process_time() - began) * 1_000


if __name__ == "__main__":
    main()

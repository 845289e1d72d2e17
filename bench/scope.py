"""What permissions cost: deciding a scope, and searching within one.

Usage: python -m bench.scope [--passages N] [--only decision|search]

The decision is timed over 200 collections with 2,000 grants, beside one empty round trip to the
store; searches over N passages (200,000) in 200 collections, beside the very same query without a
filter, question by question in turn. The index is built in a temporary folder first.
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
from gateway.core.documents import Chunk, NewRevision, Source, SourceKind, SourceState
from gateway.core.matching import match_text, query_terms
from gateway.core.passages import Locator
from gateway.core.scope import Scope, decide
from gateway.core.scope_kinds import is_proven_direct
from gateway.store import Store, counters, fulltext, open_store
from gateway.store.statements import raw
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock

COLLECTIONS, GRANTS_A_COLLECTION, DECISIONS, QUESTIONS, LIMIT = 200, 10, 300, 200, 400
SHARES = (0.005, 0.1, 0.5, 1.0)  # of all collections, readable
WEIGHTS = [1 / (n + 10) for n in range(5_000)]  # of words, as rare as in real text
PERSON = Account("mei", "mei", "Mei", AccountRole.MEMBER, department="Sales")
AGENT = AgentSide("bot", "Support", None)
CHAT = ChatAddress("line", "main", "C1")
LINKED = Audience(AudienceKind.LINKED, PERSON, CHAT, is_direct=True)
IDS = RealIds()
draw = random.Random(11)
WORDS = ["".join(chr(0x4E00 + draw.randrange(3_000)) for _ in range(2)) for _ in WEIGHTS]
_PLAIN = (
    "SELECT rowid, bm25(passage_index) AS score FROM passage_index "
    "WHERE passage_index MATCH ? ORDER BY score, rowid LIMIT ?"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=200_000)
    parser.add_argument("--only", choices=("decision", "search"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), options.passages, options.only))


async def measure(home: Path, passages: int, only: str | None) -> None:
    async with open_store(home, WoundClock(), IDS) as store:
        made = await stock(store)
        if only != "search":
            await time_decisions(store)
        if only != "decision":
            began = time.perf_counter()
            await fill(store, made, passages // COLLECTIONS)
            print(f"{passages} passages built in {time.perf_counter() - began:.0f} s")
            await time_searches(store, made)


# ---------------------------------------------------------------- deciding


async def stock(store: Store) -> Sequence[Collection]:
    """Ten grants each: an owner, the agent, and others of whom some are the asker's."""
    await store.accounts.put(PERSON)
    made = []
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
        made.append(collection)
    return made


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


def text(words: int) -> str:
    return "".join(draw.choices(WORDS, WEIGHTS, k=words))


async def fill(store: Store, made: Sequence[Collection], each: int) -> None:
    now = WoundClock().now()
    for collection in made:
        source = Source(
            IDS.new(), collection.id, "a.md", SourceKind.PASTE, IDS.new(), 1,
            SourceState.READY, now,
        )  # fmt: skip
        await store.sources.add(source)
        texts = [text(30) for _ in range(each)]
        chunks = tuple(Chunk(n, t, match_text(t), Locator()) for n, t in enumerate(texts))
        await store.passages.replace(NewRevision(IDS.new(), source.id, chunks))


async def time_searches(store: Store, made: Sequence[Collection]) -> None:
    """The same questions with the filter and without, one after the other."""
    dashboard = Audience(AudienceKind.DASHBOARD, PERSON)
    facts = await store.grants.facts(dashboard, None)
    whole = decide(dashboard, None, facts)
    for share in SHARES:
        count = max(1, round(len(made) * share))
        scope = whole.narrow(frozenset(each.id for each in draw.sample(made, count)))
        with_filter, without = [], []
        for turn in range(QUESTIONS):
            terms = query_terms(text(5)).terms
            if turn % 2:  # whoever comes second finds the pages of the file in memory
                without.append(await spent_ms(anywhere(store, terms)))
            with_filter.append(await spent_ms(within(store, scope, terms)))
            if not turn % 2:
                without.append(await spent_ms(anywhere(store, terms)))
        inside, plain = statistics.median(with_filter), statistics.median(without)
        print(f"{count} of {len(made)} collections readable: p50 {inside:.1f} ms, ", end="")
        print(f"without a filter {plain:.1f} ms, ratio {inside / plain:.2f}")


async def within(store: Store, scope: Scope, terms: Sequence[str]) -> None:
    await store.passages.lexical(scope, terms, LIMIT)


async def anywhere(store: Store, terms: Sequence[str]) -> None:
    """What the index does for a search, without any scope."""

    def unit(connection: Connection) -> None:
        words = fulltext.words(terms)
        having = fulltext.frequencies(connection, words)
        telling = fulltext.telling(words, having, counters.value(connection, counters.PASSAGES))
        rare, _ = fulltext.rarest(telling, having)
        match = fulltext.match_query(rare, ()) or ""
        raw(connection).execute(_PLAIN, (match, LIMIT)).fetchall()

    await store._knowledge.read(unit)  # nothing of the store goes around a scope


async def spent_ms(call: Awaitable[None]) -> float:
    began = time.perf_counter()
    await call
    return (time.perf_counter() - began) * 1_000


if __name__ == "__main__":
    main()

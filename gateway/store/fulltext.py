"""The FTS5 index: contentless, over tokens made by core/matching.py; the only SQL by hand."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection

from gateway.core.matching import JOINER, index_tokens
from gateway.store.json_text import json_list
from gateway.store.statements import Row, raw
from gateway.store.values import clean

COMMON_FROM = 1_000  # passages
COMMON_SHARE = 0.1
LEAST_TERMS = 3
LOOKED_UP = 8_000  # places of terms in passages: about 20 ms of bm25

_ADD = "INSERT INTO passage_index(rowid, tokens) VALUES (?, ?)"
_REMOVE = "INSERT INTO passage_index(passage_index, rowid, tokens) VALUES ('delete', ?, ?)"
_MERGE = "INSERT INTO passage_index(passage_index, rank) VALUES ('merge', ?)"
_STEP_PAGES = 300  # of the index rewritten a step: some tens of milliseconds for the writer
_EMPTY = "INSERT INTO passage_index(passage_index) VALUES ('delete-all')"
_CHECK = "INSERT INTO passage_index(passage_index) VALUES ('integrity-check')"
# bm25 is reckoned for the rows that pass the filter only; ORDER BY rank would do all of them.
_SEARCH = (
    "SELECT rowid, bm25(passage_index) AS score FROM passage_index "
    "WHERE passage_index MATCH ? AND {scope} ORDER BY score, rowid LIMIT ?"
)
_IN_RANGE = "rowid BETWEEN ? AND ?"  # collections side by side: FTS5 itself skips to the range
_AMONG = "rowid IN (SELECT value FROM json_each(?))"
_IN_SOME = "rowid BETWEEN ? AND ? AND (rowid >> 32) IN (SELECT value FROM json_each(?))"
_FREQUENCIES = "SELECT term, doc FROM passage_terms WHERE term IN (SELECT value FROM json_each(?))"
_ROWS = "SELECT count(*) FROM passage_index_docsize"


def add(connection: Connection, rows: Iterable[tuple[int, str]]) -> None:
    """Rows of (passage id, index tokens)."""
    raw(connection).executemany(_ADD, rows)


def remove(connection: Connection, gone: Iterable[Row]) -> None:
    """Rows of (passage id, match text); a contentless index forgets only the exact old tokens."""
    raw(connection).executemany(_REMOVE, ((row, index_tokens(text)) for row, text in gone))


def begin_merge(connection: Connection) -> None:
    """Mark all segments to become one: what 'optimize' does at once, in steps (8.9).

    Only so do the terms of deleted passages leave the file, and searches get faster by it.
    """
    raw(connection).execute(_MERGE, (-_STEP_PAGES,))


def merge(connection: Connection) -> bool:
    """One step on; False when there is nothing left to merge."""
    driver = raw(connection)
    before = driver.total_changes
    driver.execute(_MERGE, (_STEP_PAGES,))
    return bool(driver.total_changes - before >= 2)  # 1 is the command itself (FTS5 manual)


def empty(connection: Connection) -> None:
    raw(connection).execute(_EMPTY)


def check(connection: Connection) -> None:
    """DatabaseError when the index is broken in itself."""
    raw(connection).execute(_CHECK)


def rows(connection: Connection) -> int:
    count: int = raw(connection).execute(_ROWS).fetchone()[0]
    return count


def search(
    connection: Connection,
    nos: Sequence[int],
    match: str,
    limit: int,
    among: Sequence[int] | None = None,
) -> list[Row]:
    """(passage id, bm25 as SQLite gives it: lower is better) within the collections `nos`, of
    which there is at least one, and within the passages `among` where they are given.
    """
    first, last = min(nos), max(nos)
    scope = _IN_RANGE
    values: list[str | int] = [first << 32, last << 32 | 0xFFFFFFFF]
    if len(set(nos)) <= last - first:  # others lie between
        scope, values = _IN_SOME, [*values, json_list(nos)]
    if among is not None:
        scope, values = f"{scope} AND {_AMONG}", [*values, json_list(among)]
    found: list[Row] = (
        raw(connection).execute(_SEARCH.format(scope=scope), (match, *values, limit)).fetchall()
    )
    return found


def frequencies(connection: Connection, terms: Iterable[str]) -> dict[str, int]:
    """In how many passages of the whole table each term stands; terms nowhere are left out."""
    return dict(raw(connection).execute(_FREQUENCIES, (json_list(terms),)).fetchall())


def telling(terms: Sequence[str], having: Mapping[str, int], passages: int) -> Sequence[str]:
    """Without the terms of every tenth passage where three others are known.

    They cost most of the time of a search and change its order little (measured: recall within
    one question of a hundred). In a small table nothing is left out.
    """
    if passages < COMMON_FROM:
        return terms
    known = sorted((term for term in terms if having.get(term)), key=lambda term: having[term])
    rare = [term for term in known if having[term] <= passages * COMMON_SHARE]
    return rare if len(rare) >= LEAST_TERMS else known[:LEAST_TERMS] or terms


def rarest(terms: Sequence[str], having: Mapping[str, int]) -> tuple[Sequence[str], Sequence[str]]:
    """The terms to find passages by, and those that only weigh what was found.

    The rarest come first until they stand in LOOKED_UP places; three always do.
    """
    places = 0
    kept: list[str] = []
    for term in sorted(terms, key=lambda term: having.get(term, 0)):
        places += having.get(term, 0)
        known = sum(1 for each in kept if having.get(each))
        if places > LOOKED_UP and known >= LEAST_TERMS:
            break
        kept.append(term)
    left_out = set(terms).difference(kept)
    if not left_out:
        return terms, ()
    return kept, [term for term in terms if term in left_out]


def match_query(terms: Sequence[str], phrases: Sequence[Sequence[str]]) -> str | None:
    """Any of the terms and every one of the phrases; nothing in them is an operator.

    The words of a phrase count as terms too, so that a phrase alone is enough. None: nothing
    that could be in the index.
    """
    required = [kept for kept in (words(phrase) for phrase in phrases) if kept]
    wanted = list(dict.fromkeys([*words(terms), *(word for each in required for word in each)]))
    if not wanted:
        return None
    any_of = " OR ".join(_quoted(word) for word in wanted)
    if not required:
        return any_of
    return " AND ".join([*(_quoted(" ".join(each)) for each in required), f"({any_of})"])


def words(terms: Iterable[str]) -> list[str]:
    """Those that can be a token at all: an empty string in quotes would match nothing."""
    cleaned = (clean(term).replace("\0", " ") for term in terms)
    return [term for term in cleaned if any(c.isalnum() or c == JOINER for c in term)]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'

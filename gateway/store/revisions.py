"""Swaps the revision of a source: passages that stay the same keep their id and vectors."""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, and_, bindparam, case, delete, insert, select, update

from gateway.core.documents import Chunk, NewRevision
from gateway.core.matching import TOKENISER_VERSION, index_tokens
from gateway.core.passages import COLLECTION_SHIFT
from gateway.store import counters, fulltext, old_revisions, passage_rows, revision_texts
from gateway.store.collections import IS_LIVE
from gateway.store.json_text import encoded
from gateway.store.outlines import section_rows
from gateway.store.statements import Row, Statement
from gateway.store.tables.library import passages, revisions, sections, sources
from gateway.store.tables.people import collections
from gateway.store.values import clean

_HOME = Statement(
    select(collections.c.no, collections.c.next_n, sources.c.revision_id)
    .join(sources, sources.c.collection_id == collections.c.id)
    .where(IS_LIVE, sources.c.id == bindparam("source_id"))
)
_OLD = Statement(
    select(passages.c.id, passages.c.match_text, passages.c.text)
    .where(passages.c.source_id == bindparam("source_id"))
    .order_by(passages.c.ordinal)
)
_KEEP = Statement(
    update(passages)
    .where(passages.c.id == bindparam("passage_id"))
    .values(
        revision_id=bindparam("new_revision"),
        ordinal=bindparam("new_ordinal"),
        section=bindparam("new_section"),
        locator=bindparam("new_locator"),
        is_flagged=bindparam("new_flag"),
    )
)
_INSERT = Statement(
    insert(passages),
    columns=[column.name for column in passages.c],
)
_NEXT_N = Statement(
    update(collections)
    .where(collections.c.no == bindparam("which"))
    .values(next_n=collections.c.next_n + bindparam("by"))
)
_INSERT_REVISION = Statement(
    insert(revisions).prefix_with("OR IGNORE", dialect="sqlite"),
    columns=["id", "source_id", "created_at", "warnings", "body"],
)
_SUPERSEDE = Statement(
    update(revisions)
    .where(
        revisions.c.source_id == bindparam("of_source"),
        revisions.c.id != bindparam("revision"),
        revisions.c.superseded_at.is_(None),
    )
    .values(superseded_at=bindparam("at"))
)
_DROP_SECTIONS = Statement(delete(sections).where(sections.c.revision_id == bindparam("which")))
_INSERT_SECTION = Statement(insert(sections), columns=[column.name for column in sections.c])
_POINT = Statement(
    update(sources)
    .where(sources.c.id == bindparam("of_source"))
    .values(
        revision_id=bindparam("revision"),
        passages=bindparam("count"),
        warnings=bindparam("notes"),
        media_type=bindparam("kind_read"),
        title=case(
            (and_(sources.c.names_itself, bindparam("name") != ""), bindparam("name")),
            else_=sources.c.title,
        ),
    )
)
_FETCHED = Statement(
    update(sources)
    .where(sources.c.id == bindparam("of_source"), sources.c.address.is_not(None))
    .values(original=bindparam("bytes_hash"), size_bytes=bindparam("size"))
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A revision with its index tokens, made outside the writer's thread."""

    revision: NewRevision
    chunks: tuple[Chunk, ...]
    tokens: tuple[str, ...]
    at: int
    body: bytes | None = None


def prepare(revision: NewRevision, at: int) -> Prepared:
    """Pure and slow: some milliseconds per 10 passages."""
    chunks = tuple(_cleaned(chunk) for chunk in revision.chunks)
    tokens = tuple(index_tokens(chunk.match_text) for chunk in chunks)
    body = None if revision.whole is None else revision_texts.packed(revision.whole)
    return Prepared(revision, chunks, tokens, at, body)


def _cleaned(chunk: Chunk) -> Chunk:
    text, match_text = clean(chunk.text), clean(chunk.match_text)
    if text is chunk.text and match_text is chunk.match_text:
        return chunk
    return Chunk(
        chunk.ordinal, text, match_text, chunk.locator, chunk.section, is_flagged=chunk.is_flagged
    )


@dataclass(slots=True)
class _Plan:
    """What a swap does: chunk -> old id, chunks that are new, old rows that go."""

    kept: list[tuple[int, Chunk]] = field(default_factory=list)
    new: list[tuple[Chunk, str]] = field(default_factory=list)
    gone: list[tuple[int, str]] = field(default_factory=list)


def swap(connection: Connection, prepared: Prepared) -> tuple[bool, bool]:
    """(done, something left the index). Not done: the source or its collection is gone."""
    revision = prepared.revision
    home = _HOME.first(connection, source_id=revision.source_id)
    if home is None:
        return False, False
    old_revisions.keep(connection, revision.source_id, revision.id)
    plan = _plan(_OLD.all(connection, source_id=revision.source_id), prepared)
    if plan.gone:
        passage_rows.drop(connection, plan.gone)
    _write_revision(connection, prepared)
    _KEEP.many(connection, [_kept_row(revision.id, *each) for each in plan.kept])
    _insert(connection, home, revision, plan.new)
    _SUPERSEDE.run(connection, of_source=revision.source_id, revision=revision.id, at=prepared.at)
    old_revisions.forget(connection, revision.source_id, revision.id)
    _point(connection, revision, len(prepared.chunks))
    return True, bool(plan.gone)


def _point(connection: Connection, revision: NewRevision, count: int) -> None:
    _POINT.run(
        connection,
        of_source=revision.source_id,
        revision=revision.id,
        count=count,
        notes=encoded(revision.warnings),
        kind_read=clean(revision.media_type),
        name=clean(revision.title),
    )
    if revision.original is not None:
        _FETCHED.run(
            connection,
            of_source=revision.source_id,
            bytes_hash=revision.original.sha256,
            size=revision.original.size_bytes,
        )


def _plan(old: Sequence[Row], prepared: Prepared) -> _Plan:
    """Match by original text and match copy; equal ones in their order."""
    waiting: dict[tuple[str, str], deque[int]] = defaultdict(deque)
    for passage_id, match_text, text in old:
        waiting[text, match_text].append(passage_id)
    plan = _Plan()
    for chunk, tokens in zip(prepared.chunks, prepared.tokens, strict=True):
        same = waiting.get((chunk.text, chunk.match_text))
        if same:
            plan.kept.append((same.popleft(), chunk))
        else:
            plan.new.append((chunk, tokens))
    plan.gone = [(each, match) for (_, match), ids in waiting.items() for each in ids]
    return plan


def _write_revision(connection: Connection, prepared: Prepared) -> None:
    revision = prepared.revision
    _INSERT_REVISION.run(
        connection,
        id=revision.id,
        source_id=revision.source_id,
        created_at=prepared.at,
        warnings=encoded(revision.warnings),
        body=prepared.body,
    )
    _DROP_SECTIONS.run(connection, which=revision.id)
    _INSERT_SECTION.many(connection, section_rows(revision.id, revision.sections))


def _kept_row(revision_id: str, passage_id: int, chunk: Chunk) -> dict[str, object]:
    return {
        "passage_id": passage_id,
        "new_revision": revision_id,
        "new_ordinal": chunk.ordinal,
        "new_section": chunk.section,
        "new_locator": encoded(chunk.locator),
        "new_flag": int(chunk.is_flagged),
    }


def _insert(
    connection: Connection, home: Row, revision: NewRevision, new: Sequence[tuple[Chunk, str]]
) -> None:
    first = home[0] << COLLECTION_SHIFT | home[1]
    _INSERT.many(
        connection,
        [
            {
                "id": first + offset,
                "source_id": revision.source_id,
                "revision_id": revision.id,
                "ordinal": chunk.ordinal,
                "section": chunk.section,
                "is_flagged": int(chunk.is_flagged),
                "tokeniser": TOKENISER_VERSION,
                "locator": encoded(chunk.locator),
                "text": chunk.text,
                "match_text": chunk.match_text,
            }
            for offset, (chunk, _) in enumerate(new)
        ],
    )
    fulltext.add(connection, [(first + offset, tokens) for offset, (_, tokens) in enumerate(new)])
    _NEXT_N.run(connection, which=home[0], by=len(new))
    counters.add(connection, counters.PASSAGES, len(new))

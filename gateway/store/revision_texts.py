"""Whole texts of revisions: one compressed value each, gone with the revision's row."""

import asyncio
import zlib

import msgspec
from sqlalchemy import bindparam, select

from gateway.core.documents import WholeText
from gateway.core.scope import Scope
from gateway.interfaces import RevisionTexts
from gateway.store.collections import IS_LIVE
from gateway.store.database import Database
from gateway.store.json_text import encoded, json_list
from gateway.store.statements import Statement, in_texts
from gateway.store.tables.library import revisions, sources
from gateway.store.tables.people import collections

QUICKLY = 1  # half the size at a tenth of the time that the best would take
_DECODER = msgspec.json.Decoder(WholeText)
_BODY = Statement(
    select(revisions.c.body)
    .join(sources, sources.c.id == revisions.c.source_id)
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(
        IS_LIVE,
        in_texts(collections.c.id, "scope"),
        sources.c.id == bindparam("source_id"),
        revisions.c.id == bindparam("revision"),
    )
)


def packed(whole: WholeText) -> bytes:
    """As the column holds it."""
    return zlib.compress(encoded(whole), QUICKLY)


def unpacked(body: bytes) -> WholeText:
    """What `packed` made."""
    return _DECODER.decode(zlib.decompress(body))


class SqliteRevisionTexts:
    """Implements RevisionTexts; the scope is part of the query."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, scope: Scope, source_id: str, revision_id: str) -> WholeText | None:
        if scope.is_empty:
            return None
        listed = json_list(scope.collections)
        body = await self._database.read(
            lambda c: _BODY.scalar(c, scope=listed, source_id=source_id, revision=revision_id)
        )
        return None if body is None else await asyncio.to_thread(unpacked, body)


fits: type[RevisionTexts] = SqliteRevisionTexts

"""Tables of documents: sources, their revisions, sections, passages, vectors, and jobs."""

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)

from gateway.store.tables import KNOWLEDGE

sources = Table(
    "sources",
    KNOWLEDGE,
    Column("id", Text, primary_key=True),
    Column("collection_id", ForeignKey("collections.id"), nullable=False),
    Column("title", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("sha256", Text, nullable=False, index=True),  # a page's: of its address
    Column("size_bytes", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("status_detail", Text),
    Column("error_code", Text),
    Column("warnings", LargeBinary, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("added_by", Text),
    Column("created_at", Integer, nullable=False),
    Column("revision_id", Text),  # the revision that searches follow
    Column("passages", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("approved_by", Text),  # of a proposal
    Column("address", Text),  # of a page
    Column("original", Text, index=True),  # SHA-256 of what was fetched from it last
    Column("names_itself", Boolean),  # a page whose title is its own
    Column("metadata", Text, nullable=False, server_default="{}"),  # JSON, for people
    UniqueConstraint("collection_id", "sha256"),
)

source_fields = Table(  # sources.metadata once more, for filters: a row a key
    "source_fields",
    KNOWLEDGE,
    Column("source_id", ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),  # core/filters.py, spelled
    Index("ix_source_fields_key_value", "key", "value", "source_id"),
)

source_tombstones = Table(
    "source_tombstones",
    KNOWLEDGE,
    Column("id", Text, primary_key=True),
    Column("collection_id", Text, nullable=False, index=True),
    Column("title", Text, nullable=False),
    Column("deleted_at", Integer, nullable=False),
)

revisions = Table(
    "revisions",
    KNOWLEDGE,
    Column("id", Text, primary_key=True),
    Column("source_id", ForeignKey("sources.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("created_at", Integer, nullable=False),
    Column("superseded_at", Integer),
    Column("warnings", LargeBinary, nullable=False),
    Column("body", LargeBinary),  # the whole text (store/revision_texts.py), never changed
)

sections = Table(
    "sections",
    KNOWLEDGE,
    Column("revision_id", ForeignKey("revisions.id", ondelete="CASCADE"), primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("parent", Integer),
    Column("level", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("locator", LargeBinary, nullable=False),
    Column("summary", Text),  # null: not made yet
    Column("summary_by", Text),  # the model that wrote it; null: the document's own sentences
)

passages = Table(
    "passages",
    KNOWLEDGE,
    Column("id", Integer, primary_key=True, autoincrement=False),  # no << 32 | n
    Column("source_id", ForeignKey("sources.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("revision_id", ForeignKey("revisions.id"), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("section", Integer),
    Column("is_flagged", Boolean, nullable=False),
    Column("tokeniser", Integer, nullable=False),  # version behind the row's index terms
    Column("locator", LargeBinary, nullable=False),
    Column("text", Text, nullable=False),
    Column("match_text", Text, nullable=False),  # deleting from the index needs it exactly
    Index("ix_passages_revision_id_ordinal", "revision_id", "ordinal"),
    Index("ix_passages_tokeniser", "tokeniser"),
)

old_passages = Table(
    "old_passages",  # of superseded revisions: read by address, in no index
    KNOWLEDGE,
    Column("revision_id", ForeignKey("revisions.id", ondelete="CASCADE"), primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("passage_id", Integer, nullable=False, index=True),
    Column("section", Integer),
    Column("is_flagged", Boolean, nullable=False),
    Column("locator", LargeBinary, nullable=False),
    Column("text", Text, nullable=False),
)

vectors = Table(
    "vectors",
    KNOWLEDGE,
    Column("seq", Integer, primary_key=True),
    Column("model_key", Text, nullable=False),
    Column("passage_id", ForeignKey("passages.id", ondelete="CASCADE"), nullable=False),
    Column("collection_no", Integer, nullable=False),
    Column("mark", Integer, nullable=False),  # place in the log that `changes` follows
    Column("script", Text, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),  # rows x d, float32, little endian
    UniqueConstraint("passage_id", "model_key"),
    Index("ix_vectors_mark", "model_key", "mark"),
    Index("ix_vectors_collection", "model_key", "collection_no"),
)

vector_removals = Table(
    "vector_removals",
    KNOWLEDGE,
    Column("mark", Integer, primary_key=True, autoincrement=False),
    Column("model_key", Text, nullable=False),
    Column("passage_id", Integer, nullable=False),
    Index("ix_vector_removals_model_key", "model_key", "mark"),
)

jobs = Table(
    "jobs",
    KNOWLEDGE,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("not_before", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("claimed_by", Text),
    Column("claimed_until", Integer),
)
Index(
    "uq_jobs_waiting",
    jobs.c.kind,
    jobs.c.key,
    unique=True,
    sqlite_where=jobs.c.claimed_by.is_(None),
)
Index("ix_jobs_work", jobs.c.kind, jobs.c.key)
Index("ix_jobs_due", jobs.c.not_before, jobs.c.id)

"""Tables of what was asked, answered and read: turns, citations, the access and audit logs."""

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
)

from gateway.store.tables import KNOWLEDGE

turns = Table(
    "turns",
    KNOWLEDGE,
    Column("id", Text, primary_key=True),  # UUIDv7, so ids sort by time
    Column("agent_id", Text),
    Column("conversation", Text, nullable=False),
    Column("is_direct", Boolean, nullable=False),
    Column("audience", Text, nullable=False),
    Column("account_id", Text),
    Column("sender", Text),
    Column("question", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("asked_at", Integer, nullable=False),
    Column("answered_at", Integer, nullable=False),
    Index("ix_turns_conversation", "conversation", "id"),
    Index("ix_turns_account", "account_id", "audience", "conversation", "id"),
)

turn_citations = Table(
    "turn_citations",
    KNOWLEDGE,
    Column("turn_id", ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("passage_id", Integer, nullable=False),
    Column("source_id", Text, nullable=False, index=True),
    Column("collection_id", Text, nullable=False, index=True),
    Column("title", Text, nullable=False),  # wiped, like locator and excerpt, with the source
    Column("locator", Text, nullable=False),
    Column("excerpt", Text, nullable=False),
    Column("is_cited", Boolean, nullable=False),
)

access_log = Table(
    "access_log",
    KNOWLEDGE,
    Column("seq", Integer, primary_key=True),
    Column("action", Text, nullable=False),
    Column("at", Integer, nullable=False, index=True),
    Column("account_id", Text),
    Column("agent_id", Text),
    Column("channel", Text),
    Column("sender", Text),
    Column("turn_id", Text),
    Column("query", Text, nullable=False),
    Column("collections", Text, nullable=False),  # JSON
    Column("results", Text, nullable=False),  # JSON
    Index("ix_access_log_action", "action", "seq"),
    Index("ix_access_log_turn", "turn_id"),
)

security_events = Table(
    "security_events",
    KNOWLEDGE,
    Column("seq", Integer, primary_key=True),
    Column("event", Text, nullable=False),
    Column("at", Integer, nullable=False),
    Column("actor", Text, nullable=False),
    Column("details", LargeBinary, nullable=False),
    Column("is_exported", Boolean, nullable=False),
    sqlite_autoincrement=True,
)
Index(
    "ix_security_events_open",
    security_events.c.seq,
    sqlite_where=security_events.c.is_exported.is_(False),
)

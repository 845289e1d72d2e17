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
    Column("provenance", LargeBinary),  # JSON of core/scope_origin.py, ids and codes alone
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

turn_rests_on = Table(  # what past answers in the prompt had rested on (DESIGN section 8.8)
    "turn_rests_on",
    KNOWLEDGE,
    Column("turn_id", ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("source_id", Text, primary_key=True),
    Column("collection_id", Text, nullable=False),
    Index("ix_turn_rests_on_source_id", "source_id"),
)

read_scopes = Table(  # the sets of collections that rows of the access log could read
    "read_scopes",
    KNOWLEDGE,
    Column("id", Integer, primary_key=True),
    Column("collections", Text, nullable=False, unique=True),  # JSON
)

read_scope_collections = Table(
    "read_scope_collections",
    KNOWLEDGE,
    Column("collection_id", Text, primary_key=True),
    Column(
        "scope_id",
        ForeignKey("read_scopes.id", ondelete="CASCADE"),
        primary_key=True,
        index=True,
    ),
    sqlite_with_rowid=False,
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
    Column("results", Text, nullable=False),  # JSON
    Column("scope_id", Integer),  # of read_scopes; None: nothing could be read
    Index("ix_access_log_action", "action", "seq"),
    Index("ix_access_log_action_at", "action", "at"),
    Index("ix_access_log_scope", "scope_id", "action", "at"),
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

home_keys = Table(  # random, made with the table; never shown
    "home_keys",
    KNOWLEDGE,
    Column("name", Text, primary_key=True),  # questions: hashes of the access log's questions
    Column("value", LargeBinary, nullable=False),
)

forget_plans = Table(
    "forget_plans",
    KNOWLEDGE,
    Column("id", Text, primary_key=True),
    Column("source_id", Text, nullable=False),
    Column("collection_id", Text, nullable=False),
    Column("agent_id", Text),
    Column("conversation", Text, nullable=False),
    Column("state", Text, nullable=False),  # pending | approved | rejected | applied
    Column("planned_by", Text, nullable=False),
    Column("planned_at", Integer, nullable=False),
    Column("decided_by", Text),
    Column("decided_at", Integer),
    Column("applied_at", Integer),
    Column("wiped", Integer),  # turns whose text went
    Index("ix_forget_plans_state", "state", "id"),
)

forget_plan_turns = Table(
    "forget_plan_turns",
    KNOWLEDGE,
    Column("plan_id", ForeignKey("forget_plans.id", ondelete="CASCADE"), primary_key=True),
    Column("turn_id", Text, primary_key=True),  # stays when the turn goes
    sqlite_with_rowid=False,
)

repeats = Table(  # creating calls of the last day, by their caller's own key
    "repeats",
    KNOWLEDGE,
    Column("account_id", Text, primary_key=True),
    Column("key_sha256", Text, primary_key=True),
    Column("request_sha256", Text, nullable=False),
    Column("answer", LargeBinary),  # JSON; none while it is being done
    Column("at", Integer, nullable=False, index=True),
)

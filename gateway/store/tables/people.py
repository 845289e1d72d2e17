"""Tables of people and of who may do what: accounts, agents, links, collections, grants."""

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Table, Text

from gateway.store.tables import KNOWLEDGE

counters = Table(
    "counters",
    KNOWLEDGE,
    Column("name", Text, primary_key=True),  # generation | passages | vector_mark
    Column("value", Integer, nullable=False),
    sqlite_with_rowid=False,
)

accounts = Table(
    "accounts",
    KNOWLEDGE,
    Column("id", Text, primary_key=True),
    Column("login", Text, nullable=False, unique=True),
    Column("display_name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("department", Text, nullable=False),
    Column("language", Text),
    Column("is_active", Boolean, nullable=False),
)

credentials = Table(
    "credentials",
    KNOWLEDGE,
    Column("account_id", ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("password_hash", Text, nullable=False),
)

sessions = Table(
    "sessions",
    KNOWLEDGE,
    Column("secret_sha256", Text, primary_key=True),
    Column("account_id", ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("created_at", Integer, nullable=False),
    Column("expires_at", Integer, nullable=False),
    Column("agent_id", Text, index=True),  # of an agent's key; the account is who made it
)

agents = Table(
    "agents",
    KNOWLEDGE,
    Column("id", Text, primary_key=True),
    Column("display_name", Text, nullable=False),
    Column("department", Text, nullable=False),
    Column("is_archived", Boolean, nullable=False),
)

bindings = Table(
    "bindings",
    KNOWLEDGE,
    Column("agent_id", ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("role", Text, nullable=False),
)

links = Table(
    "links",
    KNOWLEDGE,
    Column("channel", Text, primary_key=True),
    Column("account_name", Text, primary_key=True),
    Column("sender_id", Text, primary_key=True),
    Column("account_id", ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("at", Integer, nullable=False),
    Column("sender_name", Text),  # as the platform showed it when the link was made
)

collections = Table(
    "collections",
    KNOWLEDGE,
    Column("no", Integer, primary_key=True),  # high half of passage ids; never reused
    Column("id", Text, nullable=False, unique=True),
    Column("slug", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("sensitivity", Text, nullable=False),
    Column("department", Text, nullable=False),
    Column("embedding_policy", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("next_n", Integer, nullable=False),  # low half of the next passage's id
    Column("removed_at", Integer),  # tombstone: hidden at once, emptied by a job
    Column("archived_at", Integer),  # with the agent whose own collection it is
    Column("parent_id", Text),  # the folder it lies in; where that is gone, none
    sqlite_autoincrement=True,
)
Index(
    "uq_collections_live_slug",
    collections.c.slug,
    unique=True,
    sqlite_where=collections.c.removed_at.is_(None),
)

grants = Table(
    "grants",
    KNOWLEDGE,
    Column("collection_id", ForeignKey("collections.id", ondelete="CASCADE"), primary_key=True),
    Column("subject_kind", Text, primary_key=True),
    Column("subject_id", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Index("ix_grants_subject", "subject_kind", "subject_id"),
)

agent_collections = Table(  # an agent's id outlives its record, so that nothing is left behind
    "agent_collections",
    KNOWLEDGE,
    Column("agent_id", Text, primary_key=True),
    Column(
        "collection_id",
        ForeignKey("collections.id", ondelete="CASCADE"),
        nullable=False,
        unique=True,
    ),
    Column("owes_listing", Boolean, nullable=False),  # in the agent's own list, a file
    Column("removed", Text, nullable=False),  # grants that archiving took away, as JSON
)

link_codes = Table(
    "link_codes",
    KNOWLEDGE,
    Column("secret_sha256", Text, primary_key=True),
    Column("kind", Text, nullable=False),  # code: typed in a chat | nonce: LINE's own flow
    Column("account_id", ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("channel", Text),  # None: good in every channel
    Column("account_name", Text),
    Column("created_at", Integer, nullable=False),
    Column("expires_at", Integer, nullable=False),
)

link_requests = Table(
    "link_requests",
    KNOWLEDGE,
    Column("id", Text, primary_key=True),
    Column("account_id", ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("channel", Text, nullable=False),
    Column("account_name", Text, nullable=False),
    Column("sender_id", Text, nullable=False),
    Column("sender_name", Text, nullable=False),
    Column("at", Integer, nullable=False),
    Column("expires_at", Integer, nullable=False),
)

link_guesses = Table(
    "link_guesses",
    KNOWLEDGE,
    Column("channel", Text, primary_key=True),  # all three empty: of all senders together
    Column("account_name", Text, primary_key=True),
    Column("sender_id", Text, primary_key=True),
    Column("since", Integer, nullable=False),
    Column("count", Integer, nullable=False),
    Column("locked_until", Integer),
)

link_turns = Table(  # a turn that is run again has the outcome it had
    "link_turns",
    KNOWLEDGE,
    Column("turn_id", Text, primary_key=True),
    Column("outcome", Text, nullable=False),
    Column("at", Integer, nullable=False),
)

"""The table of documents that wait for approval."""

from sqlalchemy import Column, Index, Integer, Table, Text

from gateway.store.tables import KNOWLEDGE

proposals = Table(
    "proposals",
    KNOWLEDGE,
    Column("id", Text, primary_key=True),  # also the name of its file
    Column("collection_id", Text, nullable=False),
    Column("title", Text, nullable=False),  # wiped with the decision, like the name
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("turn_id", Text, nullable=False),
    Column("agent_id", Text, nullable=False),
    Column("audience", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("account_id", Text),  # None: a system turn
    Column("created_at", Integer, nullable=False),
    Column("expires_at", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("decided_by", Text),
    Column("decided_at", Integer),
    Column("source_id", Text),
)
Index(
    "uq_proposals_of_turn",
    proposals.c.turn_id,
    proposals.c.collection_id,
    proposals.c.sha256,
    unique=True,
)
Index("ix_proposals_state", proposals.c.state, proposals.c.expires_at)

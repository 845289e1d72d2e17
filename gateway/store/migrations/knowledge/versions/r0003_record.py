"""Turns, citations, the access log and the security log."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _access_log()
    _security_events()
    _turns()
    _turn_citations()


def _access_log() -> None:
    op.create_table(
        "access_log",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("at", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=True),
        sa.Column("agent_id", sa.Text(), nullable=True),
        sa.Column("channel", sa.Text(), nullable=True),
        sa.Column("sender", sa.Text(), nullable=True),
        sa.Column("turn_id", sa.Text(), nullable=True),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("collections", sa.Text(), nullable=False),
        sa.Column("results", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_access_log")),
    )
    op.create_index("ix_access_log_action", "access_log", ["action", "seq"], unique=False)
    op.create_index(op.f("ix_access_log_at"), "access_log", ["at"], unique=False)


def _security_events() -> None:
    op.create_table(
        "security_events",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("at", sa.Integer(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("details", sa.LargeBinary(), nullable=False),
        sa.Column("is_exported", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_security_events")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_security_events_open",
        "security_events",
        ["seq"],
        unique=False,
        sqlite_where=sa.text("is_exported IS 0"),
    )


def _turns() -> None:
    op.create_table(
        "turns",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=True),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("is_direct", sa.Boolean(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=True),
        sa.Column("sender", sa.Text(), nullable=True),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.Integer(), nullable=False),
        sa.Column("answered_at", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turns")),
    )
    op.create_index(
        "ix_turns_account", "turns", ["account_id", "audience", "conversation", "id"], unique=False
    )
    op.create_index("ix_turns_conversation", "turns", ["conversation", "id"], unique=False)


def _turn_citations() -> None:
    op.create_table(
        "turn_citations",
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("passage_id", sa.Integer(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("collection_id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("locator", sa.Text(), nullable=False),
        sa.Column("excerpt", sa.Text(), nullable=False),
        sa.Column("is_cited", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["turn_id"], ["turns.id"], name=op.f("fk_turn_citations_turn_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("turn_id", "n", name=op.f("pk_turn_citations")),
    )
    op.create_index(
        op.f("ix_turn_citations_collection_id"), "turn_citations", ["collection_id"], unique=False
    )
    op.create_index(
        op.f("ix_turn_citations_source_id"), "turn_citations", ["source_id"], unique=False
    )

"""Inbox, outbox and the keys seen before."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _dedupe()
    _inbox()
    _outbox()


def _dedupe() -> None:
    op.create_table(
        "dedupe",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("at", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("account", "key", name=op.f("pk_dedupe")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_dedupe_at", "dedupe", ["at"], unique=False)


def _inbox() -> None:
    op.create_table(
        "inbox",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=True),
        sa.Column("received_at", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("claimed_by", sa.Text(), nullable=True),
        sa.Column("claimed_until", sa.Integer(), nullable=True),
        sa.Column("answered_at", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_inbox")),
        sa.UniqueConstraint("id", name=op.f("uq_inbox_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_inbox_answered_at",
        "inbox",
        ["answered_at"],
        unique=False,
        sqlite_where=sa.text("state = 'done'"),
    )
    op.create_index(
        "ix_inbox_open",
        "inbox",
        ["state", "seq"],
        unique=False,
        sqlite_where=sa.text("state != 'done'"),
    )
    op.create_index(
        "ix_inbox_open_lane",
        "inbox",
        ["lane", "state", "seq"],
        unique=False,
        sqlite_where=sa.text("state != 'done'"),
    )


def _outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("call_seq", sa.Integer(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("conversation", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=True),
        sa.Column("reply_handle", sa.LargeBinary(), nullable=True),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("claimed_by", sa.Text(), nullable=True),
        sa.Column("claimed_until", sa.Integer(), nullable=True),
        sa.Column("finished_at", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_outbox")),
        sa.UniqueConstraint("id", name=op.f("uq_outbox_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_state", "outbox", ["state", "seq"], unique=False)
    op.create_index(op.f("ix_outbox_turn_id"), "outbox", ["turn_id"], unique=False)
    op.create_index(
        "ix_outbox_unsent_lane",
        "outbox",
        ["lane", "seq"],
        unique=False,
        sqlite_where=sa.text("state IN ('pending', 'sending')"),
    )

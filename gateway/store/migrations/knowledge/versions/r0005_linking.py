"""Codes, requests and guesses of linking senders to accounts."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("links", sa.Column("sender_name", sa.Text(), nullable=True))
    _codes()
    _requests()
    op.create_table(
        "link_guesses",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("account_name", sa.Text(), nullable=False),
        sa.Column("sender_id", sa.Text(), nullable=False),
        sa.Column("since", sa.Integer(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("locked_until", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint(
            "channel", "account_name", "sender_id", name=op.f("pk_link_guesses")
        ),
    )
    op.create_table(
        "link_turns",
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("at", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("turn_id", name=op.f("pk_link_turns")),
    )


def _codes() -> None:
    op.create_table(
        "link_codes",
        sa.Column("secret_sha256", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=True),
        sa.Column("account_name", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_link_codes_account_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("secret_sha256", name=op.f("pk_link_codes")),
    )
    op.create_index(op.f("ix_link_codes_account_id"), "link_codes", ["account_id"], unique=False)


def _requests() -> None:
    op.create_table(
        "link_requests",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("account_name", sa.Text(), nullable=False),
        sa.Column("sender_id", sa.Text(), nullable=False),
        sa.Column("sender_name", sa.Text(), nullable=False),
        sa.Column("at", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_link_requests_account_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_link_requests")),
    )
    op.create_index(
        op.f("ix_link_requests_account_id"), "link_requests", ["account_id"], unique=False
    )

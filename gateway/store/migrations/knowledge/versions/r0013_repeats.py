"""Answers of creating calls, by their caller's own key."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "repeats",
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("key_sha256", sa.Text(), nullable=False),
        sa.Column("request_sha256", sa.Text(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=True),
        sa.Column("at", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", "key_sha256", name=op.f("pk_repeats")),
    )
    op.create_index("ix_repeats_at", "repeats", ["at"])

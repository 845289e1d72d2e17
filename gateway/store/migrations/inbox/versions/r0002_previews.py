"""Messages that show drafts, messages unsent, and which row brought a key."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("inbox", sa.Column("preview", sa.Text(), nullable=True))
    op.add_column(
        "inbox", sa.Column("is_retracted", sa.Integer(), nullable=False, server_default="0")
    )
    op.add_column("dedupe", sa.Column("row_id", sa.Text(), nullable=True))
    op.create_index(
        "ix_inbox_retracted",
        "inbox",
        ["id"],
        unique=False,
        sqlite_where=sa.text("is_retracted = 1"),
    )

"""Summaries of sections."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sections", sa.Column("summary", sa.Text(), nullable=True))
    op.add_column("sections", sa.Column("summary_by", sa.Text(), nullable=True))

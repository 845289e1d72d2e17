"""Finds the access log of a turn, so that a question taken back can be wiped there too."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_access_log_turn", "access_log", ["turn_id"], unique=False)

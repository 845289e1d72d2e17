"""Keys of agents: which agent a key is bound to."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("agent_id", sa.Text(), nullable=True))
    op.create_index("ix_sessions_agent_id", "sessions", ["agent_id"])

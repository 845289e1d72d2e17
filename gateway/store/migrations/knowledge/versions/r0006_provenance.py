"""For whom a turn was and why it could read what: kept with its record."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turns", sa.Column("provenance", sa.LargeBinary(), nullable=True))

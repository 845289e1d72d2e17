"""The whole text of a revision, to be read by address."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("revisions", sa.Column("body", sa.LargeBinary(), nullable=True))

"""Pages that are fetched at each reading, and the text of superseded revisions."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sources", sa.Column("address", sa.Text(), nullable=True))
    op.add_column("sources", sa.Column("original", sa.Text(), nullable=True))
    op.add_column("sources", sa.Column("names_itself", sa.Boolean(), nullable=True))
    op.create_index("ix_sources_original", "sources", ["original"])
    op.create_table(
        "old_passages",
        sa.Column("revision_id", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("passage_id", sa.Integer(), nullable=False),
        sa.Column("section", sa.Integer(), nullable=True),
        sa.Column("is_flagged", sa.Boolean(), nullable=False),
        sa.Column("locator", sa.LargeBinary(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["revision_id"],
            ["revisions.id"],
            name=op.f("fk_old_passages_revision_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("revision_id", "ordinal", name=op.f("pk_old_passages")),
    )
    op.create_index("ix_old_passages_passage_id", "old_passages", ["passage_id"])

"""Metadata of documents, and folders that lie in folders."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("collections", sa.Column("parent_id", sa.Text(), nullable=True))
    op.add_column("sources", sa.Column("metadata", sa.Text(), server_default="{}", nullable=False))
    op.create_table(
        "source_fields",
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"],
            ["sources.id"],
            name=op.f("fk_source_fields_source_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("source_id", "key", name=op.f("pk_source_fields")),
    )
    op.create_index("ix_source_fields_key_value", "source_fields", ["key", "value", "source_id"])

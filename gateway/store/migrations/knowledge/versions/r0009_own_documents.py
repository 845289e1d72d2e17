"""Agents' own collections, and collections that are archived with their agent."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("collections", sa.Column("archived_at", sa.Integer(), nullable=True))
    op.create_table(
        "agent_collections",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("collection_id", sa.Text(), nullable=False),
        sa.Column("owes_listing", sa.Boolean(), nullable=False),
        sa.Column("removed", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collections.id"],
            name=op.f("fk_agent_collections_collection_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_agent_collections")),
        sa.UniqueConstraint("collection_id", name=op.f("uq_agent_collections_collection_id")),
    )

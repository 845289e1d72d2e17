"""Files that hold documents' text or pictures beside the library."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "page_files",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("at", sa.Integer(), nullable=False),
        sa.Column("is_there", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "source_id", "page", name=op.f("pk_page_files")),
    )
    op.create_index("ix_page_files_sha256", "page_files", ["agent_id", "sha256"])
    op.create_index("ix_page_files_path", "page_files", ["agent_id", "path"])
    op.create_table(
        "answer_files",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("at", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", "source_id", name=op.f("pk_answer_files")),
    )
    op.create_index("ix_answer_files_at", "answer_files", ["at"])

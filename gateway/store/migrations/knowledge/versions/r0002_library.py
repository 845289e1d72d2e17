"""Sources, passages with their index, vectors and jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _jobs()
    _source_tombstones()
    _vector_removals()
    _sources()
    _revisions()
    _passages()
    _sections()
    _vectors()
    op.execute(
        "CREATE VIRTUAL TABLE passage_index USING fts5("
        "tokens, content='', tokenize='unicode61 remove_diacritics 0')"
    )
    op.execute("CREATE VIRTUAL TABLE passage_terms USING fts5vocab(passage_index, 'row')")


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("not_before", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("claimed_by", sa.Text(), nullable=True),
        sa.Column("claimed_until", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index("ix_jobs_due", "jobs", ["not_before", "id"], unique=False)
    op.create_index("ix_jobs_work", "jobs", ["kind", "key"], unique=False)
    op.create_index(
        "uq_jobs_waiting",
        "jobs",
        ["kind", "key"],
        unique=True,
        sqlite_where=sa.text("claimed_by IS NULL"),
    )


def _source_tombstones() -> None:
    op.create_table(
        "source_tombstones",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("collection_id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("deleted_at", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_source_tombstones")),
    )
    op.create_index(
        op.f("ix_source_tombstones_collection_id"),
        "source_tombstones",
        ["collection_id"],
        unique=False,
    )


def _vector_removals() -> None:
    op.create_table(
        "vector_removals",
        sa.Column("mark", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("model_key", sa.Text(), nullable=False),
        sa.Column("passage_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("mark", name=op.f("pk_vector_removals")),
    )
    op.create_index(
        "ix_vector_removals_model_key", "vector_removals", ["model_key", "mark"], unique=False
    )


def _sources() -> None:
    op.create_table(
        "sources",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("collection_id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("status_detail", sa.Text(), nullable=True),
        sa.Column("error_code", sa.Text(), nullable=True),
        sa.Column("warnings", sa.LargeBinary(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("added_by", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Integer(), nullable=False),
        sa.Column("revision_id", sa.Text(), nullable=True),
        sa.Column("passages", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name=op.f("fk_sources_collection_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sources")),
        sa.UniqueConstraint(
            "collection_id", "sha256", name=op.f("uq_sources_collection_id_sha256")
        ),
    )
    op.create_index(op.f("ix_sources_sha256"), "sources", ["sha256"], unique=False)


def _revisions() -> None:
    op.create_table(
        "revisions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Integer(), nullable=False),
        sa.Column("superseded_at", sa.Integer(), nullable=True),
        sa.Column("warnings", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.id"], name=op.f("fk_revisions_source_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_revisions")),
    )
    op.create_index(op.f("ix_revisions_source_id"), "revisions", ["source_id"], unique=False)


def _passages() -> None:
    op.create_table(
        "passages",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("revision_id", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("section", sa.Integer(), nullable=True),
        sa.Column("is_flagged", sa.Boolean(), nullable=False),
        sa.Column("tokeniser", sa.Integer(), nullable=False),
        sa.Column("locator", sa.LargeBinary(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("match_text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["revision_id"], ["revisions.id"], name=op.f("fk_passages_revision_id")
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.id"], name=op.f("fk_passages_source_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passages")),
    )
    op.create_index(
        "ix_passages_revision_id_ordinal", "passages", ["revision_id", "ordinal"], unique=False
    )
    op.create_index(op.f("ix_passages_source_id"), "passages", ["source_id"], unique=False)
    op.create_index("ix_passages_tokeniser", "passages", ["tokeniser"], unique=False)


def _sections() -> None:
    op.create_table(
        "sections",
        sa.Column("revision_id", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("parent", sa.Integer(), nullable=True),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("locator", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["revision_id"],
            ["revisions.id"],
            name=op.f("fk_sections_revision_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("revision_id", "ordinal", name=op.f("pk_sections")),
    )


def _vectors() -> None:
    op.create_table(
        "vectors",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("model_key", sa.Text(), nullable=False),
        sa.Column("passage_id", sa.Integer(), nullable=False),
        sa.Column("collection_no", sa.Integer(), nullable=False),
        sa.Column("mark", sa.Integer(), nullable=False),
        sa.Column("script", sa.Text(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["passage_id"], ["passages.id"], name=op.f("fk_vectors_passage_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_vectors")),
        sa.UniqueConstraint(
            "passage_id", "model_key", name=op.f("uq_vectors_passage_id_model_key")
        ),
    )
    op.create_index(
        "ix_vectors_collection", "vectors", ["model_key", "collection_no"], unique=False
    )
    op.create_index("ix_vectors_mark", "vectors", ["model_key", "mark"], unique=False)

"""People, agents, links, collections and grants."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _accounts()
    _agents()
    _collections()
    _counters()
    _bindings()
    _credentials()
    _grants()
    _links()
    _sessions()
    op.execute("INSERT INTO counters VALUES ('generation', 1), ('passages', 0), ('vector_mark', 0)")


def _accounts() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("login", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("department", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("login", name=op.f("uq_accounts_login")),
    )


def _agents() -> None:
    op.create_table(
        "agents",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("department", sa.Text(), nullable=False),
        sa.Column("is_archived", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agents")),
    )


def _collections() -> None:
    op.create_table(
        "collections",
        sa.Column("no", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("sensitivity", sa.Text(), nullable=False),
        sa.Column("department", sa.Text(), nullable=False),
        sa.Column("embedding_policy", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("next_n", sa.Integer(), nullable=False),
        sa.Column("removed_at", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_collections")),
        sa.UniqueConstraint("id", name=op.f("uq_collections_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "uq_collections_live_slug",
        "collections",
        ["slug"],
        unique=True,
        sqlite_where=sa.text("removed_at IS NULL"),
    )


def _counters() -> None:
    op.create_table(
        "counters",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counters")),
        sqlite_with_rowid=False,
    )


def _bindings() -> None:
    op.create_table(
        "bindings",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_bindings_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_bindings_agent_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("agent_id", "account_id", name=op.f("pk_bindings")),
    )


def _credentials() -> None:
    op.create_table(
        "credentials",
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_credentials_account_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_credentials")),
    )


def _grants() -> None:
    op.create_table(
        "grants",
        sa.Column("collection_id", sa.Text(), nullable=False),
        sa.Column("subject_kind", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collections.id"],
            name=op.f("fk_grants_collection_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "collection_id", "subject_kind", "subject_id", name=op.f("pk_grants")
        ),
    )
    op.create_index("ix_grants_subject", "grants", ["subject_kind", "subject_id"], unique=False)


def _links() -> None:
    op.create_table(
        "links",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("account_name", sa.Text(), nullable=False),
        sa.Column("sender_id", sa.Text(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("at", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_links_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("channel", "account_name", "sender_id", name=op.f("pk_links")),
    )
    op.create_index(op.f("ix_links_account_id"), "links", ["account_id"], unique=False)


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("secret_sha256", sa.Text(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_sessions_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("secret_sha256", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_account_id"), "sessions", ["account_id"], unique=False)

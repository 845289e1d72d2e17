"""Plans to forget, what answers rest on by way of earlier ones, and reads by collection."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _rests_on()
    _read_scopes()
    _name_scopes()
    _plans()
    op.create_table(
        "home_keys",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_home_keys")),
    )
    op.execute("INSERT INTO home_keys (name, value) VALUES ('questions', randomblob(32))")


def _rests_on() -> None:
    op.create_table(
        "turn_rests_on",
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("collection_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["turn_id"], ["turns.id"], name=op.f("fk_turn_rests_on_turn_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("turn_id", "source_id", name=op.f("pk_turn_rests_on")),
    )
    op.create_index("ix_turn_rests_on_source_id", "turn_rests_on", ["source_id"], unique=False)


def _read_scopes() -> None:
    """Each set of readable collections once."""
    op.create_table(
        "read_scopes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("collections", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_read_scopes")),
        sa.UniqueConstraint("collections", name=op.f("uq_read_scopes_collections")),
    )
    op.create_table(
        "read_scope_collections",
        sa.Column("collection_id", sa.Text(), nullable=False),
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["scope_id"],
            ["read_scopes.id"],
            name=op.f("fk_read_scope_collections_scope_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "collection_id", "scope_id", name=op.f("pk_read_scope_collections")
        ),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_read_scope_collections_scope_id"),
        "read_scope_collections",
        ["scope_id"],
        unique=False,
    )


def _name_scopes() -> None:
    """The log's rows, old ones too, name their set instead of holding it."""
    op.add_column("access_log", sa.Column("scope_id", sa.Integer(), nullable=True))
    for statement in (
        "INSERT INTO read_scopes (collections)"
        " SELECT DISTINCT collections FROM access_log WHERE collections != '[]'",
        "INSERT INTO read_scope_collections (collection_id, scope_id)"
        " SELECT DISTINCT each.value, s.id FROM read_scopes s, json_each(s.collections) each",
        "UPDATE access_log SET scope_id ="
        " (SELECT s.id FROM read_scopes s WHERE s.collections = access_log.collections)",
        "ALTER TABLE access_log DROP COLUMN collections",
    ):
        op.execute(statement)
    op.create_index("ix_access_log_scope", "access_log", ["scope_id", "action", "at"], unique=False)
    op.create_index("ix_access_log_action_at", "access_log", ["action", "at"], unique=False)


def _plans() -> None:
    op.create_table(
        "forget_plans",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("collection_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=True),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("planned_by", sa.Text(), nullable=False),
        sa.Column("planned_at", sa.Integer(), nullable=False),
        sa.Column("decided_by", sa.Text(), nullable=True),
        sa.Column("decided_at", sa.Integer(), nullable=True),
        sa.Column("applied_at", sa.Integer(), nullable=True),
        sa.Column("wiped", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_forget_plans")),
    )
    op.create_index("ix_forget_plans_state", "forget_plans", ["state", "id"], unique=False)
    op.create_table(
        "forget_plan_turns",
        sa.Column("plan_id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["plan_id"],
            ["forget_plans.id"],
            name=op.f("fk_forget_plan_turns_plan_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("plan_id", "turn_id", name=op.f("pk_forget_plan_turns")),
        sqlite_with_rowid=False,
    )

"""Alembic's entry: runs on the connection that `migrate` hands over, inside its transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()

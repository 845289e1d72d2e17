"""The schema as SQLAlchemy Core tables: one metadata a database file (DESIGN section 8.2)."""

from sqlalchemy import MetaData

_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

INBOX = MetaData(naming_convention=_NAMES)
"""inbox.db: what came in, what we owe, what was seen before; synchronous FULL."""

KNOWLEDGE = MetaData(naming_convention=_NAMES)
"""knowledge/knowledge.db: all else, so that a scope is one snapshot; synchronous NORMAL."""

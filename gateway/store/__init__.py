"""The store: SQLAlchemy Core tables on SQLite, Alembic migrations, blobs, the search index."""

from gateway.store.maintenance import Drained, Maintenance
from gateway.store.opening import Store, open_store

__all__ = ["Drained", "Maintenance", "Store", "open_store"]

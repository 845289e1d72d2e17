"""Putting a job within somebody else's transaction."""

from sqlalchemy import Connection, bindparam, func, insert, null, update

from gateway.store.statements import Statement
from gateway.store.tables.library import jobs

# Several changes in a row share one run of `optimize_index`.
AFTER_DELETION_US = 60_000_000  # well within the 20 minutes of DESIGN section 8.9
AFTER_GROWTH_US = 600_000_000  # one segment is searched twice as fast as many

_SOONER = Statement(
    update(jobs)
    .where(
        jobs.c.claimed_by.is_(None),
        jobs.c.kind == bindparam("which"),
        jobs.c.key == bindparam("what"),
    )
    .values(not_before=func.min(jobs.c.not_before, bindparam("at")))
)
_INSERT = Statement(
    insert(jobs).values(attempts=0, claimed_by=null()), columns=["id", "kind", "key", "not_before"]
)


def put_job(connection: Connection, job_id: str, kind: str, key: str, at: int) -> None:
    """Once per (kind, key) while it is waiting: the earlier of both times holds."""
    if not _SOONER.run(connection, which=kind, what=key, at=at):
        _INSERT.run(connection, id=job_id, kind=kind, key=key, not_before=at)

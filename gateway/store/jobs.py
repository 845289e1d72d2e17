"""Durable background work on SQLite; claims expire."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, and_, bindparam, delete, func, null, or_, select, update

from gateway.interfaces import Clock, Ids, Job, Jobs
from gateway.store.database import Database
from gateway.store.job_rows import put_job
from gateway.store.json_text import json_list
from gateway.store.statements import Statement, in_texts
from gateway.store.tables.library import jobs
from gateway.store.values import micros

_other = jobs.alias()
_is_free = or_(jobs.c.claimed_by.is_(None), jobs.c.claimed_until <= bindparam("now"))

_DUE = Statement(
    select(jobs.c.id, jobs.c.kind, jobs.c.key, jobs.c.attempts)
    .where(
        in_texts(jobs.c.kind, "kinds"),
        jobs.c.not_before <= bindparam("now"),
        _is_free,
        ~select(_other.c.id)  # the same work is not done twice side by side
        .where(
            _other.c.kind == jobs.c.kind,
            _other.c.key == jobs.c.key,
            _other.c.id != jobs.c.id,
            _other.c.claimed_until > bindparam("now"),
        )
        .exists(),
    )
    .order_by(jobs.c.not_before, jobs.c.id)
    .limit(1)
)
_CLAIM = Statement(
    update(jobs)
    .where(jobs.c.id == bindparam("job_id"))
    .values(
        attempts=jobs.c.attempts + 1,
        claimed_by=bindparam("by"),
        claimed_until=bindparam("until"),
    )
)
_RENEW = Statement(
    update(jobs)
    .where(jobs.c.id == bindparam("job_id"), jobs.c.claimed_by.is_not(None))
    .values(claimed_until=bindparam("until"))
)
_FINISH = Statement(delete(jobs).where(jobs.c.id == bindparam("job_id")))
_twin = jobs.alias()
_DROP_TWIN = Statement(  # put again while this one ran: the one with the attempts stays
    delete(jobs).where(
        jobs.c.id.in_(
            select(_other.c.id).join(
                _twin,
                and_(
                    _twin.c.id == bindparam("job_id"),
                    _other.c.id != _twin.c.id,
                    _other.c.kind == _twin.c.kind,
                    _other.c.key == _twin.c.key,
                    _other.c.claimed_by.is_(None),
                ),
            )
        )
    )
)
_RELEASE = Statement(
    update(jobs)
    .where(jobs.c.id == bindparam("job_id"))
    .values(not_before=bindparam("at"), claimed_by=null(), claimed_until=null())
)
_WAITING = Statement(
    select(jobs.c.kind, func.count()).where(_is_free).group_by(jobs.c.kind).order_by(jobs.c.kind)
)


class SqliteJobs:
    """Jobs; a finished one is deleted."""

    def __init__(self, database: Database, clock: Clock, ids: Ids) -> None:
        self._database = database
        self._clock = clock
        self._ids = ids

    async def put(self, kind: str, key: str, not_before: datetime) -> None:
        """While the same one waits, the earlier of both times holds."""
        job_id, at = self._ids.new(), micros(not_before)
        await self._database.write(lambda c: put_job(c, job_id, kind, key, at))

    async def claim(
        self, kinds: Sequence[str], by: str, now: datetime, until: datetime
    ) -> Job | None:
        """`Job.attempts` counts this claim in, and those of processes that died."""
        values = {"kinds": json_list(kinds), "now": micros(now)}
        end = micros(until)

        def unit(connection: Connection) -> Job | None:
            row = _DUE.first(connection, **values)
            if row is None:
                return None
            _CLAIM.run(connection, job_id=row[0], by=by, until=end)
            return Job(row[0], row[1], row[2], row[3] + 1)

        return await self._database.write(unit)

    async def renew(self, job_id: str, until: datetime) -> None:
        end = micros(until)
        await self._database.write(lambda c: _RENEW.run(c, job_id=job_id, until=end))

    async def finish(self, job_id: str) -> None:
        await self._database.write(lambda c: _FINISH.run(c, job_id=job_id))

    async def release(self, job_id: str, not_before: datetime) -> None:
        at = micros(not_before)

        def unit(connection: Connection) -> None:
            _DROP_TWIN.run(connection, job_id=job_id)
            _RELEASE.run(connection, job_id=job_id, at=at)

        await self._database.write(unit)

    async def waiting(self) -> Mapping[str, int]:
        """Per kind those that nobody holds now."""
        now = micros(self._clock.now())
        return dict(await self._database.read(lambda c: _WAITING.all(c, now=now)))


fits: type[Jobs] = SqliteJobs

"""Who read what, what was changed, and what is to be forgotten."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from gateway.core.access_log import Mark, Page
from gateway.core.audit import AccessEntry, SecurityEvent
from gateway.core.forgetting import ForgetPlan, Planned, PlanState


class Audit(Protocol):
    """The access log and the security audit."""

    async def record(self, entry: AccessEntry) -> None: ...
    async def event(self, event: SecurityEvent) -> None: ...
    async def entries(
        self, collection_id: str | None, limit: int, *, denied_only: bool = False
    ) -> Sequence[AccessEntry]: ...
    async def purge(self, before: datetime) -> int: ...


class Forgetting(Protocol):
    """Sources that go, and plans to forget what was said with their help (FEATURES A23)."""

    async def remove_source(
        self, source_id: str, at: datetime, event: SecurityEvent, *, plans: bool
    ) -> Planned | None:
        """As Sources.remove, with its plans and all audit rows in the same transaction; the
        event's actor has planned. None: it was gone already, and nothing was planned.
        """
        ...

    async def plans(self, states: Iterable[PlanState], limit: int) -> Sequence[ForgetPlan]:
        """Newest first."""
        ...

    async def decide(self, plan_id: str, by: str, at: datetime, *, approve: bool) -> ForgetPlan:
        """NotFoundError; ConflictError where it was decided otherwise before."""
        ...

    async def apply(self, plan_id: str, by: str, at: datetime) -> int:
        """Wipe question, answer and excerpts of its turns; how many had any. NotFoundError;
        ConflictError `not_approved`. A repeat finds nothing left.
        """
        ...


class AccessLog(Protocol):
    """The access log as people read it, newest first."""

    async def reads_of(self, collection_id: str, limit: int, before: Mark | None) -> Page:
        """Reads (not refusals) within whose scope the collection was."""
        ...

    async def denied(self, limit: int, before: Mark | None) -> Page:
        """Refused reads, of every collection and of none."""
        ...

    async def question_key(self) -> bytes:
        """Of this home alone; for `question_hash`."""
        ...


class Repeats(Protocol):
    """Creating calls by account and key, so that one that is sent again is done once."""

    async def claim(
        self, account_id: str, key_sha256: str, request_sha256: str, at: datetime, until: datetime
    ) -> tuple[str, bytes | None] | None:
        """None: it is the caller's to do now. Else the request that came with this key before, and
        its answer, None where it has none yet. What is from `until` or older is forgotten.
        """
        ...

    async def keep(self, account_id: str, key_sha256: str, answer: bytes) -> None:
        """It was done."""
        ...

    async def drop(self, account_id: str, key_sha256: str) -> None:
        """It failed, and may be tried again."""
        ...

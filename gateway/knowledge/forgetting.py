"""Deleting a document, and forgetting what agents said with its help (FEATURES A23)."""

from collections.abc import Iterable, Sequence

import structlog

from gateway.core.access import Account
from gateway.core.audit import SecurityEvent
from gateway.core.documents import Source
from gateway.core.forgetting import ForgetPlan, Planned, PlanState
from gateway.errors import NotFoundError
from gateway.interfaces import Clock, Forgetting
from gateway.knowledge.library import Library

log = structlog.get_logger()
MOST_LISTED = 500
OPERATOR = "operator"  # at this machine, without an account


class Oblivion:
    """Deletion, plans and their application; whether the caller may was decided before."""

    def __init__(self, forgetting: Forgetting, library: Library, clock: Clock) -> None:
        self._forgetting = forgetting
        self._library = library
        self._clock = clock

    async def delete(
        self, source: Source, account: Account, *, also_forget_memories: bool
    ) -> Planned:
        """Text, index, vectors, excerpts, the audit row and the plans in one transaction.

        NotFoundError when somebody else deleted it meanwhile; then nothing is planned.
        """
        now = self._clock.now()
        details = {"source_id": source.id, "collection_id": source.collection_id}
        event = SecurityEvent("knowledge_source_deleted", now, account.id, details)
        planned = await self._forgetting.remove_source(
            source.id, now, event, plans=also_forget_memories
        )
        if planned is None:
            raise NotFoundError(source.id)
        await self._library.removed()
        if planned.skipped:
            log.warning("conversations not planned", source=source.id, skipped=planned.skipped)
        return planned

    async def plans(self, states: Iterable[PlanState]) -> Sequence[ForgetPlan]:
        """Newest first."""
        return await self._forgetting.plans(states, MOST_LISTED)

    async def decide(self, plan_id: str, account: Account, *, approve: bool) -> ForgetPlan:
        """NotFoundError; ConflictError where it was decided otherwise before."""
        return await self._forgetting.decide(
            plan_id, account.id, self._clock.now(), approve=approve
        )

    async def apply(self, plan_id: str, account: Account | None) -> int:
        """How many turns lost their text. NotFoundError; ConflictError `not_approved`."""
        by = OPERATOR if account is None else account.id
        count = await self._forgetting.apply(plan_id, by, self._clock.now())
        log.info("plan applied", plan=plan_id, turns=count)
        return count

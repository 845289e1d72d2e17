"""Plans to forget on SQLite: made with the deletion, decided by a person, applied once."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, func, insert, or_, select, true, update

from gateway.core.audit import SecurityEvent
from gateway.core.forgetting import ForgetPlan, Grouped, Planned, PlanState, group
from gateway.errors import ConflictError, NotFoundError
from gateway.interfaces import Forgetting, Ids
from gateway.store.audit_rows import put_event
from gateway.store.database import Database
from gateway.store.job_rows import AFTER_DELETION_US, put_job
from gateway.store.json_text import json_list
from gateway.store.removal import Removed
from gateway.store.sources import SqliteSources
from gateway.store.statements import Row, Statement, in_texts, literal
from gateway.store.tables.record import forget_plan_turns, forget_plans, turn_citations, turns
from gateway.store.values import instant, micros

_HAS_TEXT = or_(turns.c.question != literal(""), turns.c.answer != literal(""))
_CITING = Statement(
    select(turns.c.id, turns.c.agent_id, turns.c.conversation)
    .distinct()
    .join(turn_citations, turn_citations.c.turn_id == turns.c.id)
    .where(
        turn_citations.c.source_id == bindparam("source_id"),
        turn_citations.c.is_cited == true(),
        _HAS_TEXT,
    )
    .order_by(turns.c.id.desc())
)
_INSERT = Statement(
    insert(forget_plans),
    columns=[
        "id",
        "source_id",
        "collection_id",
        "agent_id",
        "conversation",
        "state",
        "planned_by",
        "planned_at",
    ],
)
_INSERT_TURN = Statement(insert(forget_plan_turns), columns=["plan_id", "turn_id"])
_turn_count = (
    select(func.count())
    .select_from(forget_plan_turns)
    .where(forget_plan_turns.c.plan_id == forget_plans.c.id)
    .scalar_subquery()
)
_plans = select(*forget_plans.c, _turn_count)
_LIST = Statement(
    _plans.where(in_texts(forget_plans.c.state, "states"))
    .order_by(forget_plans.c.id.desc())
    .limit(bindparam("most"))
)
_FIND = Statement(_plans.where(forget_plans.c.id == bindparam("plan_id")))
_DECIDE = Statement(
    update(forget_plans)
    .where(forget_plans.c.id == bindparam("plan_id"))
    .values(state=bindparam("new_state"), decided_by=bindparam("by"), decided_at=bindparam("at"))
)
_APPLIED = Statement(
    update(forget_plans)
    .where(forget_plans.c.id == bindparam("plan_id"))
    .values(state=PlanState.APPLIED.value, applied_at=bindparam("at"), wiped=bindparam("count"))
)
_of_plan = select(forget_plan_turns.c.turn_id).where(
    forget_plan_turns.c.plan_id == bindparam("plan_id")
)
_WIPE_TURNS = Statement(
    update(turns)
    .where(turns.c.id.in_(_of_plan), _HAS_TEXT)
    .values(question=literal(""), answer=literal(""))
)
_WIPE_EXCERPTS = Statement(
    update(turn_citations)
    .where(turn_citations.c.turn_id.in_(_of_plan))
    .values(title=literal(""), locator=literal(""), excerpt=literal(""))
)


class SqliteForgetting:
    """Each step is one transaction with its audit row; a repeat of it changes nothing."""

    def __init__(self, database: Database, sources: SqliteSources, ids: Ids) -> None:
        self._database = database
        self._sources = sources
        self._ids = ids

    async def remove_source(
        self, source_id: str, at: datetime, event: SecurityEvent, *, plans: bool
    ) -> Planned | None:
        def also(connection: Connection, removed: Removed) -> Planned:
            put_event(connection, event)
            if not plans:
                return Planned()
            found = group(_CITING.all(connection, source_id=source_id))
            self._put(connection, found, source_id, removed.collection_id, event)
            return found.counts

        return await self._sources.remove_with(source_id, at, also)

    async def plans(self, states: Iterable[PlanState], limit: int) -> Sequence[ForgetPlan]:
        wanted = json_list(state.value for state in states)
        rows = await self._database.read(lambda c: _LIST.all(c, states=wanted, most=limit))
        return [_plan_of(row) for row in rows]

    async def decide(self, plan_id: str, by: str, at: datetime, *, approve: bool) -> ForgetPlan:
        wanted = PlanState.APPROVED if approve else PlanState.REJECTED

        def unit(connection: Connection) -> ForgetPlan:
            plan = _required(connection, plan_id)
            if plan.state is wanted:
                return plan
            if plan.state is not PlanState.PENDING:
                raise ConflictError(f"plan {plan_id} is {plan.state}")
            _DECIDE.run(connection, plan_id=plan_id, new_state=wanted.value, by=by, at=micros(at))
            put_event(connection, _told(f"knowledge_forget_{wanted.value}", at, by, plan))
            return _required(connection, plan_id)

        return await self._database.write(unit)

    async def apply(self, plan_id: str, by: str, at: datetime) -> int:
        job_id = self._ids.new()

        def unit(connection: Connection) -> int:
            plan = _required(connection, plan_id)
            if plan.state is PlanState.APPLIED:
                return 0
            if plan.state is not PlanState.APPROVED:
                raise ConflictError(f"plan {plan_id} is {plan.state}", code="not_approved")
            count = _WIPE_TURNS.run(connection, plan_id=plan_id)
            _WIPE_EXCERPTS.run(connection, plan_id=plan_id)
            _APPLIED.run(connection, plan_id=plan_id, at=micros(at), count=count)
            put_job(connection, job_id, "optimize_index", "", micros(at) + AFTER_DELETION_US)
            put_event(connection, _told("knowledge_forget_applied", at, by, plan, count))
            return count

        return await self._database.write(unit)

    def _put(
        self,
        connection: Connection,
        found: Grouped,
        source_id: str,
        collection_id: str,
        event: SecurityEvent,
    ) -> None:
        """One plan a place, each with its audit row."""
        for (agent_id, conversation), turn_ids in found.places:
            plan_id = self._ids.new()
            _INSERT.run(
                connection,
                id=plan_id,
                source_id=source_id,
                collection_id=collection_id,
                agent_id=agent_id,
                conversation=conversation,
                state=PlanState.PENDING.value,
                planned_by=event.actor,
                planned_at=micros(event.at),
            )
            rows = [{"plan_id": plan_id, "turn_id": turn_id} for turn_id in turn_ids]
            _INSERT_TURN.many(connection, rows)
            plan = _required(connection, plan_id)
            put_event(connection, _told("knowledge_forget_planned", event.at, event.actor, plan))


def _required(connection: Connection, plan_id: str) -> ForgetPlan:
    row = _FIND.first(connection, plan_id=plan_id)
    if row is None:
        raise NotFoundError(f"plan {plan_id}")
    return _plan_of(row)


def _told(
    name: str, at: datetime, by: str, plan: ForgetPlan, count: int | None = None
) -> SecurityEvent:
    details = {
        "plan_id": plan.id,
        "source_id": plan.source_id,
        "collection_id": plan.collection_id,
        "agent_id": plan.agent_id,
        "conversation": plan.conversation,
        "turns": plan.turns if count is None else count,
    }
    return SecurityEvent(name, at, by, details)


def _plan_of(row: Row) -> ForgetPlan:
    return ForgetPlan(
        id=row[0],
        source_id=row[1],
        collection_id=row[2],
        agent_id=row[3],
        conversation=row[4],
        state=PlanState(row[5]),
        planned_by=row[6],
        planned_at=instant(row[7]),
        decided_by=row[8],
        decided_at=instant(row[9]),
        applied_at=instant(row[10]),
        wiped=row[11],
        turns=row[12],
    )


fits: type[Forgetting] = SqliteForgetting

"""Counters of knowledge.db: the generation of access rules, passages, the vector log's mark."""

from sqlalchemy import Connection, bindparam, select, update

from gateway.store.statements import Statement
from gateway.store.tables.people import counters

_ADD = Statement(
    update(counters)
    .where(counters.c.name == bindparam("which"))
    .values(value=counters.c.value + bindparam("by"))
)
_VALUE = Statement(select(counters.c.value).where(counters.c.name == bindparam("which")))

GENERATION = "generation"  # grants, accounts, agents, links, collections changed; sources went
PASSAGES = "passages"  # in the index, of all collections
VECTOR_MARK = "vector_mark"  # last number given in the log of vector changes


def value(connection: Connection, name: str) -> int:
    found: int = _VALUE.scalar(connection, which=name)
    return found


def add(connection: Connection, name: str, by: int = 1) -> int:
    """Count on; the new value."""
    _ADD.run(connection, which=name, by=by)
    return value(connection, name)

"""Puts the table of operations together."""

from dataclasses import dataclass

from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.scopes import ScopeService
from gateway.accounts.sign_in import SignIn
from gateway.app_library import Shelves
from gateway.core.limits import KnowledgeLimits
from gateway.interfaces import Clock, Ids
from gateway.knowledge.desk import Desk
from gateway.operations import ask, auth, insight, library, people, reading
from gateway.operations.registry import Registry


@dataclass(frozen=True, slots=True)
class Seams:
    """What the operations are made of."""

    shelves: Shelves
    scopes: ScopeService
    sign_in: SignIn
    files: AgentFolder
    answer: ask.Answer
    limits: KnowledgeLimits
    session_days: int
    clock: Clock
    ids: Ids


def build_registry(seams: Seams) -> Registry:
    """Every operation, by name."""
    store, clock = seams.shelves.store, seams.clock
    desk = Desk(
        collections=store.collections,
        grants=store.grants,
        scopes=seams.scopes,
        audit=store.audit,
        clock=clock,
        ids=seams.ids,
        limits=seams.limits,
    )
    keeping = library.Keeping(
        desk=desk,
        library=seams.shelves.library,
        sources=store.sources,
        accounts=store.accounts,
        audit=store.audit,
        clock=clock,
    )
    looking = insight.Insight(
        scopes=seams.scopes,
        accounts=store.accounts,
        files=seams.files,
        collections=store.collections,
        clock=clock,
    )
    read = reading.Reading(desk, seams.shelves.search, store.turns, store.sources, clock)
    rows = (
        *auth.operations(seams.sign_in, seams.session_days),
        *people.operations(_people(seams)),
        *library.operations(keeping),
        *reading.operations(read),
        *ask.operations(ask.Asking(store.agents, seams.files, seams.answer)),
        *insight.operations(looking, store.outbox, seams.limits, seams.shelves.encoder),
    )
    return Registry(rows)


def _people(seams: Seams) -> people.People:
    store = seams.shelves.store
    return people.People(
        accounts=store.accounts,
        agents=store.agents,
        links=store.links,
        files=seams.files,
        sign_in=seams.sign_in,
        audit=store.audit,
        clock=seams.clock,
        ids=seams.ids,
    )

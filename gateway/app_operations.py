"""Puts the table of operations together."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gateway.accounts.agent_editing import AgentEditor
from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.delegation import Delegation
from gateway.accounts.linking import Linking
from gateway.accounts.scopes import ScopeService
from gateway.accounts.sign_in import SignIn
from gateway.app_library import Shelves
from gateway.app_proposals import deciding
from gateway.app_retrieval import build_retrieval, filtering
from gateway.core.limits import KnowledgeLimits
from gateway.interfaces import Channel, Clock, Ids
from gateway.knowledge.desk import Desk
from gateway.knowledge.forgetting import Oblivion
from gateway.knowledge.own_documents import OwnDocuments, OwnSeams
from gateway.knowledge.sharing import ChannelAccounts, Sharing
from gateway.llm.registry import ModelRegistry
from gateway.operations import (
    access_log,
    agent_keys,
    agents,
    ask,
    auth,
    chat,
    dispatching,
    embedding,
    explaining,
    forgetting,
    insight,
    library,
    library_types,
    links,
    noting,
    outlining,
    own_documents,
    people,
    principals,
    reading,
    tokens,
    watching,
)
from gateway.operations.paging import with_pages
from gateway.operations.registry import Registry
from gateway.operations.retrieve import Retrieval
from gateway.operations.synthesis import WritingSettings
from gateway.operations.table import Operation
from gateway.operations.visitors import VisitorDesk
from gateway.store import Store
from gateway.surfaces.doors import Doors


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
    default_agent: str
    is_open: bool  # [knowledge] enabled
    clock: Clock
    ids: Ids
    channels: Mapping[tuple[str, str], Channel]
    models: ModelRegistry
    models_desk: embedding.ModelDesk  # of embedding
    wake: Callable[[], None]  # something is due in the outbox
    channel_accounts: ChannelAccounts  # those of config.toml, running or not
    writing: WritingSettings  # of retrievals that a model answers


@dataclass(frozen=True, slots=True)
class Operations:
    """The table, and what surfaces other than its renderings share with it."""

    registry: Registry
    desk: Desk
    chat: chat.Chat
    visitors: VisitorDesk
    own_documents: OwnDocuments
    models: embedding.ModelDesk
    doors: Doors
    retrieval: Retrieval


def build_operations(seams: Seams) -> Operations:
    """Every operation, by name."""
    store, clock = seams.shelves.store, seams.clock
    desk = _desk(seams)
    keeping = _keeping(seams, desk)
    looking = insight.Insight(
        scopes=seams.scopes,
        accounts=store.accounts,
        files=seams.files,
        collections=store.collections,
        clock=clock,
    )
    read, own = _reading(seams, desk), _own_documents(seams)
    talking = chat.Chat(
        store.agents, seams.files, store.turns, desk, read, default_agent=seams.default_agent
    )
    rows = (
        *auth.operations(seams.sign_in, seams.session_days),
        *_of_people(seams, own),
        *links.operations(links.Links(linking_of(store, clock), store.accounts)),
        *library.operations(keeping),
        *_of_record(seams, desk, keeping),
        *deciding(seams.shelves, clock, is_open=seams.is_open),
        *outlining.operations(
            outlining.Outlining(keeping, desk, store.outlines, store.audit, clock)
        ),
        *_sharing(seams, desk),
        *_of_agents_documents(seams, desk, own),
        *reading.operations(read),
        *ask.operations(ask.Asking(store.agents, seams.files, seams.answer)),
        *_of_turns(seams, desk),
        *chat.operations(talking),
        *insight.operations(looking, store.outbox, seams.limits),
        *embedding.operations(seams.models_desk),
        *watching.operations(_watching(seams)),
    )
    visitors = VisitorDesk(seams.files, seams.scopes, store.turns, is_open=seams.is_open)
    doors, models = Doors(seams.sign_in, store.agents, seams.files), seams.models_desk
    table, retrieval = Registry(with_pages(rows)), _retrieval(seams)
    return Operations(table, desk, talking, visitors, own, models, doors, retrieval)


def _retrieval(seams: Seams) -> Retrieval:
    parts = seams.shelves, seams.scopes, seams.files, seams.models, seams.clock, seams.writing
    return build_retrieval(*parts, is_open=seams.is_open)


def _keeping(seams: Seams, desk: Desk) -> library.Keeping:
    """What adding and removing documents needs."""
    store = seams.shelves.store
    return library.Keeping(
        desk=desk,
        library=seams.shelves.library,
        sources=store.sources,
        audit=store.audit,
        clock=seams.clock,
        beside=library_types.Beside(seams.limits, seams.shelves.ingestion.progress.of),
    )


def _of_turns(seams: Seams, desk: Desk) -> tuple[Operation, ...]:
    """What is asked about, or comes from, a turn on record."""
    store = seams.shelves.store
    delegation = Delegation(store.turns, store.accounts, seams.clock)
    explaining_ = explaining.Explaining(desk, store.turns, seams.scopes, delegation, seams.files)
    dispatching_ = dispatching.Dispatching(store.agents, seams.files, delegation, seams.answer)
    return (*explaining.operations(explaining_), *dispatching.operations(dispatching_))


def _reading(seams: Seams, desk: Desk) -> reading.Reading:
    store = seams.shelves.store
    return reading.Reading(
        desk=desk,
        retriever=filtering(seams.shelves),
        turns=store.turns,
        sources=store.sources,
        audit=store.audit,
        clock=seams.clock,
    )


def _of_record(seams: Seams, desk: Desk, keeping: library.Keeping) -> tuple[Operation, ...]:
    """What is kept of reads and of what was said, and how it is forgotten."""
    store = seams.shelves.store
    oblivion = Oblivion(store.forgetting, seams.shelves.library, seams.clock)
    forgetting_ = forgetting.Forgetting(keeping, oblivion, store.sources, store.agents)
    reads = access_log.LogReading(
        desk, store.audit, store.grants, store.principals, is_open=seams.is_open
    )
    noting_ = noting.Noting(keeping, store.metadata, seams.clock)
    return (
        *forgetting.operations(forgetting_),
        *noting.operations(noting_),
        *access_log.operations(reads),
    )


def linking_of(store: Store, clock: Clock) -> Linking:
    """Links of senders to accounts: for the operations, the chats and LINE's page."""
    return Linking(store.link_codes, store.link_requests, clock)


def _watching(seams: Seams) -> watching.Watching:
    store, channels = seams.shelves.store, seams.channels
    return watching.Watching(
        outbox=store.outbox,
        audit=store.audit,
        channels=channels.values,
        providers=seams.models,
        wake=seams.wake,
        clock=seams.clock,
    )


def _sharing(seams: Seams, desk: Desk) -> tuple[Operation, ...]:
    """Grants, and who can be given one."""
    store, channels = seams.shelves.store, seams.channel_accounts
    sharing = Sharing(desk, store.grants, store.principals, seams.clock, channels)
    return principals.operations(
        principals.SharingOperations(sharing, store.accounts, store.principals, channels),
        principals.AgentShelf(desk, store.agents, seams.files, store.grants),
    )


def _own_documents(seams: Seams) -> OwnDocuments:
    store = seams.shelves.store
    own = OwnDocuments(
        OwnSeams(
            store.own_collections,
            store.agents,
            AgentEditor(seams.files),
            store.collections,
            store.audit,
            seams.clock,
            seams.ids,
            seams.limits.max_collections,
        )
    )
    seams.files.follow(own.follow)
    return own


def _of_agents_documents(seams: Seams, desk: Desk, own: OwnDocuments) -> tuple[Operation, ...]:
    store = seams.shelves.store
    tab = own_documents.TabSeams(
        desk,
        own,
        store.own_collections,
        store.agents,
        seams.files,
        store.grants,
        store.collections,
        store.principals,
    )
    return own_documents.operations(own_documents.DataSources(tab))


def _desk(seams: Seams) -> Desk:
    store = seams.shelves.store

    async def pending(account_id: str) -> Mapping[str, int]:
        cards = await store.proposals.decidable(account_id, seams.clock.now())
        return Counter(card.collection.id for card in cards)

    return Desk(
        collections=store.collections,
        grants=store.grants,
        scopes=seams.scopes,
        audit=store.audit,
        clock=seams.clock,
        ids=seams.ids,
        limits=seams.limits,
        is_open=seams.is_open,
        pending=pending,
    )


def _of_people(seams: Seams, own: OwnDocuments) -> tuple[Operation, ...]:
    """People, what lets them in, and the agents they work with."""
    store, clock = seams.shelves.store, seams.clock
    accounts, sign_in = store.accounts, seams.sign_in
    people_desk = people.People(accounts, store.account_changes, sign_in, clock, seams.ids)
    agent_seams = agents.AgentSeams(
        accounts,
        store.agents,
        store.agent_changes,
        seams.files,
        AgentEditor(seams.files),
        store.grants,
        clock,
        own.settle,
    )
    return (
        *people.operations(people_desk),
        *tokens.operations(tokens.Keys(accounts, store.sessions, sign_in, clock)),
        *agent_keys.operations(agent_keys.AgentKeyDesk(store.agent_keys, sign_in, clock)),
        *agents.operations(agents.AgentDesk(agent_seams)),
    )

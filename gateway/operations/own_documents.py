"""`knowledge.agent.data_sources`, `.own.ensure`: what an agent answers from (FEATURES A26)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gateway import catalogue
from gateway.core.access import (
    Account,
    Agent,
    AgentSide,
    Audience,
    AudienceKind,
    Collection,
    Grant,
    Role,
    SubjectKind,
)
from gateway.core.agents import AgentSettings, ListChange
from gateway.core.binding_rules import AgentAct, may, shared_slugs
from gateway.core.own_documents import OwnCollection
from gateway.core.roles import is_valid_grant, role_on
from gateway.errors import NotFoundError
from gateway.interfaces import (
    AgentFiles,
    Agents,
    Collections,
    Grants,
    OwnCollections,
    Principals,
)
from gateway.knowledge.desk import Desk
from gateway.knowledge.own_documents import Ensured, OwnDocuments
from gateway.operations.library import account_of
from gateway.operations.own_types import (
    DataSourcesView,
    DataSourceView,
    OwnRequest,
    OwnView,
    ReaderCounts,
    ReaderView,
)
from gateway.operations.principals_types import AgentReference
from gateway.operations.table import Caller, Operation, Permission

NOBODY = Audience(AudienceKind.NONE)


@dataclass(frozen=True, slots=True)
class TabSeams:
    """What the tab is made of."""

    desk: Desk
    documents: OwnDocuments
    own: OwnCollections
    agents: Agents
    files: AgentFiles
    grants: Grants
    collections: Collections
    principals: Principals


@dataclass(frozen=True, slots=True)
class _Looked:
    """What one look at an agent's documents found."""

    account: Account
    agent: Agent
    used: frozenset[str]  # slugs
    own: OwnCollection | None
    grants: Mapping[str, Sequence[Grant]]  # others than the agent's and the asker's own
    roles: Mapping[str, Role | None]
    names: Mapping[tuple[SubjectKind, str], str]  # of those who can read at all
    counts: Mapping[str, tuple[int, int]]
    moving: Mapping[str, int]


class DataSources:
    """The tab of an agent's documents; who is bound to it is read anew each time."""

    def __init__(self, seams: TabSeams) -> None:
        self._seams = seams

    async def ensure(self, caller: Caller, request: OwnRequest) -> OwnView:
        """The agent's own collection, made where there is none. Its owners and admins."""
        self._seams.desk.check_open()
        ensured = await self._seams.documents.ensure(
            account_of(caller),
            request.agent_id,
            request.sensitivity,
            with_bound=request.share_chat_users,
        )
        return _own_view(ensured, caller.language)

    async def list(self, caller: Caller, request: AgentReference) -> DataSourcesView:
        """What the agent was given, its own first; for everybody who may talk to it."""
        self._seams.desk.check_open()
        account = account_of(caller)
        agent = await self._seams.agents.find(request.agent_id)
        role = (await self._seams.agents.bindings(request.agent_id)).get(account.id)
        if agent is None or not may(account, role, AgentAct.TALK):
            raise NotFoundError(request.agent_id)
        settings = await self._seams.files.load(agent.id)
        own = await self._seams.own.find(agent.id)
        shared = await self._shared(agent, settings)
        first = [] if own is None else [own.collection]
        others = sorted(
            (each for each in shared if own is None or each.id != own.collection.id),
            key=lambda each: (each.name, each.id),
        )
        used = frozenset(each.slug for each in shared) & _listed(settings, shared)
        looked = await self._looked(account, agent, own, used, [*first, *others])
        may_create = own is None and settings is not None and not agent.is_archived
        return DataSourcesView(
            agent.id,
            agent.is_archived,
            may_create and may(account, role, AgentAct.EDIT),
            [_source_view(each, looked) for each in [*first, *others]],
        )

    async def _shared(self, agent: Agent, settings: AgentSettings | None) -> Sequence[Collection]:
        department = agent.department if settings is None else settings.department
        side = AgentSide(agent.id, department, None)
        facts = await self._seams.grants.facts(NOBODY, side)
        slugs = shared_slugs(side, facts)
        return [each for each in facts.collections if each.slug in slugs]

    async def _looked(
        self,
        account: Account,
        agent: Agent,
        own: OwnCollection | None,
        used: frozenset[str],
        shown: Sequence[Collection],
    ) -> _Looked:
        ids = frozenset(each.id for each in shown)
        grants = [g for g in await self._seams.own.grants(ids) if is_valid_grant(g)]
        mine = {(SubjectKind.AGENT, agent.id), (SubjectKind.USER, account.id)}
        subjects = {(each.subject_kind, each.subject_id) for each in grants} - mine
        names = await self._names(subjects)
        return _Looked(
            account,
            agent,
            frozenset() if agent.is_archived else used,
            own,
            {
                each: [g for g in grants if g.collection_id == each and _subject(g) in names]
                for each in ids
            },
            {each: role_on(account, each, grants) for each in ids},
            names,
            await self._seams.collections.counts(ids),
            await self._seams.collections.in_progress(ids),
        )

    async def _names(
        self, subjects: Iterable[tuple[SubjectKind, str]]
    ) -> Mapping[tuple[SubjectKind, str], str]:
        """As people know them; who cannot sign in and agents that are away read nothing."""
        wanted = frozenset(subjects)
        people, agents = await self._seams.principals.named(
            frozenset(subject for _, subject in wanted)
        )
        names = {
            (SubjectKind.USER, key): each.display_name
            for key, each in people.items()
            if each.is_active
        }
        names |= {
            (SubjectKind.AGENT, key): each.display_name
            for key, each in agents.items()
            if not each.is_archived
        }
        plain = (SubjectKind.DEPARTMENT, SubjectKind.CHANNEL)
        names |= {(kind, subject): subject for kind, subject in wanted if kind in plain}
        return {each: name for each, name in names.items() if each in wanted}


def _listed(settings: AgentSettings | None, shared: Sequence[Collection]) -> frozenset[str]:
    """Slugs that the agent's settings use; without a list all that is shared."""
    if settings is None:
        return frozenset()
    listed = settings.knowledge.collections
    return frozenset(each.slug for each in shared) if listed is None else listed


def _subject(grant: Grant) -> tuple[SubjectKind, str]:
    return grant.subject_kind, grant.subject_id


def _source_view(collection: Collection, looked: _Looked) -> DataSourceView:
    others, role = looked.grants[collection.id], looked.roles[collection.id]
    kinds = Counter(each.subject_kind for each in others)
    sources, passages = looked.counts.get(collection.id, (0, 0))
    readers = [
        ReaderView(each.subject_kind.value, looked.names[_subject(each)], each.role.value)
        for each in others
    ]
    return DataSourceView(
        collection.id,
        collection.slug,
        collection.name,
        collection.sensitivity.value,
        looked.own is not None and looked.own.collection.id == collection.id,
        collection.is_archived,
        collection.slug in looked.used,
        sources,
        passages,
        looked.moving.get(collection.id, 0),
        None if role is None else role.value,
        ReaderCounts(
            kinds[SubjectKind.USER],
            kinds[SubjectKind.DEPARTMENT],
            kinds[SubjectKind.AGENT],
            kinds[SubjectKind.CHANNEL],
        ),
        readers if role is Role.OWNER else None,
    )


def _own_view(ensured: Ensured, language: str | None) -> OwnView:
    collection = ensured.own.collection
    is_only = ensured.listed is ListChange.ONLY_ONE
    notice = catalogue.text("sharing.own_only_one", language, name=collection.name)
    return OwnView(
        collection.id,
        collection.slug,
        collection.name,
        collection.sensitivity.value,
        ensured.is_new,
        collection.is_archived,
        None if ensured.listed is None else ensured.listed.value,
        notice if is_only else None,
    )


def operations(tab: DataSources) -> tuple[Operation, ...]:
    """The rows of an agent's documents."""
    needs = Permission.SIGNED_IN
    return (
        Operation(
            "knowledge.agent.data_sources",
            "List what an agent answers from.",
            needs,
            AgentReference,
            tab.list,
        ),
        Operation(
            "knowledge.agent.own.ensure",
            "Make an agent's own collection.",
            needs,
            OwnRequest,
            tab.ensure,
        ),
    )

"""`knowledge.grants.*`, `.principals.*`, `.agent.collections`: sharing, and with whom."""

from collections.abc import Sequence
from typing import Any

from gateway import catalogue
from gateway.core.access import (
    Account,
    AgentSide,
    Audience,
    AudienceKind,
    BindingRole,
    Grant,
    SubjectKind,
)
from gateway.core.naming import MOST_PEOPLE, is_searchable, matches
from gateway.core.roles import is_valid_grant
from gateway.core.sharing import PLATFORMS
from gateway.errors import NotFoundError
from gateway.interfaces import Accounts, AgentFiles, Agents, Grants, Principals
from gateway.knowledge.desk import Desk
from gateway.knowledge.sharing import ChannelAccounts, SharedWith, Sharing
from gateway.operations.library import account_of
from gateway.operations.library_types import CollectionReference
from gateway.operations.principals_types import (
    AgentCollectionView,
    AgentReference,
    GrantLine,
    GrantsChange,
    GrantsView,
    GrantWarningView,
    PrincipalIds,
    PrincipalSearch,
    PrincipalView,
)
from gateway.operations.table import Caller, Operation, Permission

MOST_LISTED = 200  # departments, agents and channels in one answer
NOBODY = Audience(AudienceKind.NONE)


class SharingOperations:
    """What these operations share."""

    def __init__(
        self,
        sharing: Sharing,
        accounts: Accounts,
        principals: Principals,
        channels: ChannelAccounts,
    ) -> None:
        self._sharing = sharing
        self._accounts = accounts
        self._principals = principals
        self._channels = channels

    async def list(self, caller: Caller, request: CollectionReference) -> GrantsView:
        """Who has which role."""
        shown = await self._sharing.shown(account_of(caller), request.collection)
        return _view(shown, caller.language)

    async def replace(self, caller: Caller, request: GrantsChange) -> GrantsView:
        """Save all grants as one batch."""
        grants = [await self._grant(caller, line) for line in request.grants]
        saved = await self._sharing.save(
            account_of(caller), request.collection, grants, version=request.version
        )
        return _view(saved, caller.language)

    async def _grant(self, caller: Caller, line: GrantLine) -> Grant:
        subject = line.subject_id
        # Over the network a login is no name for a person: the answer would tell who has one.
        if line.subject_kind is SubjectKind.USER and caller.is_local:
            account = await self._accounts.find(subject)
            account = account or await self._accounts.find_by_login(subject)
            subject = subject if account is None else account.id
        return Grant("", line.subject_kind, subject, line.role)

    async def search(self, caller: Caller, request: PrincipalSearch) -> Sequence[PrincipalView]:
        """Whom one may share with: never a list of everybody, never a login."""
        account = account_of(caller)
        if not await self._sharing.may_search(account):
            raise NotFoundError
        kinds = tuple(SubjectKind) if request.kind is None else (request.kind,)
        found: list[PrincipalView] = []
        if SubjectKind.USER in kinds:
            found += await self._people(request.query)
        if SubjectKind.DEPARTMENT in kinds or SubjectKind.AGENT in kinds:
            found += await self._listed(account, request.query, kinds)
        if SubjectKind.CHANNEL in kinds:
            found += self._platforms(request.query, caller.language)
        return found

    async def resolve(self, caller: Caller, request: PrincipalIds) -> Sequence[PrincipalView]:
        """Names of people and agents that stand in the grants of a collection one owns."""
        shown = await self._sharing.shown(account_of(caller), request.collection)
        named = {(grant.subject_kind, grant.subject_id) for grant in shown.grants}
        people, agents = await self._principals.named(
            frozenset(request.ids) & {subject for _, subject in named}
        )
        return [
            *(
                _person(account)
                for account in people.values()
                if (SubjectKind.USER, account.id) in named
            ),
            *(
                PrincipalView(
                    SubjectKind.AGENT,
                    agent.id,
                    agent.display_name,
                    agent.department,
                    not agent.is_archived,
                )
                for agent in agents.values()
                if (SubjectKind.AGENT, agent.id) in named
            ),
        ]

    async def _people(self, query: str) -> Sequence[PrincipalView]:
        if not is_searchable(query):
            return []
        found = await self._principals.people(
            lambda account: matches(query, account.display_name), MOST_PEOPLE
        )
        return [_person(account) for account in found]

    async def _listed(
        self, account: Account, query: str, kinds: Sequence[SubjectKind]
    ) -> Sequence[PrincipalView]:
        owner = None if account.is_admin else account.id
        found: list[PrincipalView] = []
        if SubjectKind.DEPARTMENT in kinds:
            departments = (await self._principals.shareable(owner, frozenset())).departments
            found += [
                PrincipalView(SubjectKind.DEPARTMENT, name, name)
                for name in sorted(departments)
                if matches(query, name)
            ][:MOST_LISTED]
        if SubjectKind.AGENT in kinds:
            found += [
                PrincipalView(SubjectKind.AGENT, agent.id, agent.display_name, agent.department)
                for agent in await self._principals.agents(owner)
                if matches(query, agent.display_name) or matches(query, agent.id)
            ][:MOST_LISTED]
        return found

    def _platforms(self, query: str, language: str | None) -> Sequence[PrincipalView]:
        """Each platform whole, then our accounts there; a chat's id is typed."""
        accounts = sorted(self._channels())
        found = []
        for platform in PLATFORMS:
            name = catalogue.text(f"sharing.platform_{platform}", language)
            found.append(PrincipalView(SubjectKind.CHANNEL, platform, name))
            found += [
                PrincipalView(SubjectKind.CHANNEL, f"{platform}/{account}", f"{name} · {account}")
                for each, account in accounts
                if each == platform
            ]
        return [each for each in found if matches(query, each.name)][:MOST_LISTED]


class AgentShelf:
    """What an agent was given, for those who set which of it the agent uses."""

    def __init__(self, desk: Desk, agents: Agents, files: AgentFiles, grants: Grants) -> None:
        self._desk = desk
        self._agents = agents
        self._files = files
        self._grants = grants

    async def collections(
        self, caller: Caller, request: AgentReference
    ) -> Sequence[AgentCollectionView]:
        """Collections shared with the agent or its department; for its owners and admins."""
        self._desk.check_open()
        account = account_of(caller)
        agent = await self._agents.find(request.agent_id)
        role = (await self._agents.bindings(request.agent_id)).get(account.id)
        if agent is None or not (account.is_admin or role is BindingRole.OWNER):
            raise NotFoundError(request.agent_id)
        settings = await self._files.load(agent.id)
        department = agent.department if settings is None else settings.department
        side = AgentSide(agent.id, department, None, agent.is_archived)
        facts = await self._grants.facts(NOBODY, side)
        given = {grant.collection_id for grant in facts.grants if is_valid_grant(grant)}
        return [
            AgentCollectionView(each.id, each.slug, each.name, each.sensitivity.value)
            for each in sorted(facts.collections, key=lambda each: (each.name, each.id))
            if each.id in given
        ]


def _person(account: Account) -> PrincipalView:
    return PrincipalView(
        SubjectKind.USER, account.id, account.display_name, account.department, account.is_active
    )


def _view(shared: SharedWith, language: str | None) -> GrantsView:
    return GrantsView(
        shared.collection.id,
        shared.version,
        [GrantLine(each.subject_kind, each.subject_id, each.role) for each in shared.grants],
        [
            GrantWarningView(
                each.code.value,
                each.subject_id,
                catalogue.text(f"sharing.{each.code.value}", language, subject=each.subject_id),
            )
            for each in shared.warnings
        ],
    )


def operations(sharing: SharingOperations, shelf: AgentShelf) -> tuple[Operation, ...]:
    """The rows of sharing."""
    rows: tuple[tuple[str, str, type[Any], Any], ...] = (
        ("grants.list", "List grants.", CollectionReference, sharing.list),
        ("grants.replace", "Save grants.", GrantsChange, sharing.replace),
        ("principals.search", "Find whom to share with.", PrincipalSearch, sharing.search),
        ("principals.resolve", "Name whom it is shared with.", PrincipalIds, sharing.resolve),
        (
            "agent.collections",
            "List what is shared with an agent.",
            AgentReference,
            shelf.collections,
        ),
    )
    return tuple(
        Operation(f"knowledge.{name}", summary, Permission.SIGNED_IN, request, run)
        for name, summary, request, run in rows
    )

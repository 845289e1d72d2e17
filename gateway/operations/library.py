"""`knowledge.collections.*`, `.grants.*`, `.sources.*`: keeping the library."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gateway.core.access import Account, BindingRole, Grant, Role, SubjectKind
from gateway.core.audit import SecurityEvent
from gateway.core.documents import Source
from gateway.errors import InvalidRequestError, NotFoundError, NotSignedInError
from gateway.interfaces import Accounts, Agents, Audit, Clock, Sources
from gateway.knowledge.desk import Desk, Shelf, grant_of
from gateway.knowledge.library import Library
from gateway.operations.auth import Nothing
from gateway.operations.library_types import (
    Added,
    CollectionChange,
    CollectionDeletion,
    CollectionReference,
    CollectionView,
    FileOnDisk,
    GrantLine,
    GrantsChange,
    GrantsView,
    NewCollection,
    Paste,
    SourceReference,
    SourceView,
    shelf_view,
    source_view,
)
from gateway.operations.table import Caller, Operation, Permission

NO_COLLECTION = ""  # asked for where the source is missing: refused, logged and timed alike


class Keeping:
    """What these operations share."""

    def __init__(  # noqa: PLR0913 - one collaborator a seam
        self,
        *,
        desk: Desk,
        library: Library,
        sources: Sources,
        accounts: Accounts,
        agents: Agents,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._desk = desk
        self._library = library
        self._sources = sources
        self._accounts = accounts
        self._agents = agents
        self._audit = audit
        self._clock = clock

    async def list_collections(self, caller: Caller, _request: Nothing) -> list[CollectionView]:
        """What the account has a role on."""
        return [shelf_view(shelf) for shelf in await self._desk.shelves(account_of(caller))]

    async def create(self, caller: Caller, request: NewCollection) -> CollectionView:
        """Make a collection only its creator sees."""
        made = await self._desk.create(
            account_of(caller),
            request.name,
            request.slug,
            request.sensitivity,
            request.description,
        )
        return shelf_view(Shelf(made, Role.OWNER, 0, 0))

    async def update(self, caller: Caller, request: CollectionChange) -> CollectionView:
        """Change settings; ConflictError when somebody saved meanwhile."""
        saved = await self._desk.update(
            account_of(caller),
            request.collection,
            version=request.version,
            name=request.name,
            description=request.description,
            sensitivity=request.sensitivity,
            department=request.department,
            embedding_policy=request.embedding_policy,
        )
        return shelf_view(Shelf(saved, Role.OWNER, 0, 0))

    async def delete(self, caller: Caller, request: CollectionDeletion) -> None:
        """Delete a collection with all its documents."""
        await self._desk.remove(account_of(caller), request.collection, request.confirm_name)

    async def grants(self, caller: Caller, request: CollectionReference) -> GrantsView:
        """Who has which role."""
        collection, grants = await self._desk.grants(account_of(caller), request.collection)
        lines = [GrantLine(grant.subject_kind, grant.subject_id, grant.role) for grant in grants]
        return GrantsView(collection.id, collection.version, lines)

    async def share(self, caller: Caller, request: GrantsChange) -> GrantsView:
        """Save all grants as one batch."""
        account = account_of(caller)
        collection, before = await self._desk.grants(account, request.collection)
        drafts = [await self._grant(line) for line in request.grants]
        await self._check_agents(account, before, drafts)
        version = await self._desk.share(
            account, request.collection, drafts, version=request.version
        )
        return GrantsView(collection.id, version, request.grants)

    async def list_sources(
        self, caller: Caller, request: CollectionReference
    ) -> Sequence[SourceView]:
        """The documents of a collection."""
        collection = await self._desk.require(account_of(caller), request.collection, Role.VIEWER)
        sources = await self._sources.list(collection.id)
        return [source_view(source, caller.language) for source in sources]

    async def source(self, caller: Caller, request: SourceReference) -> SourceView:
        """One document's state."""
        source = await self._required(caller, request.source_id, Role.VIEWER)
        return source_view(source, caller.language)

    async def paste(self, caller: Caller, request: Paste) -> Added:
        """Add a document given as text."""
        if request.kind != "paste":
            raise InvalidRequestError("kind", reason="kind: paste")
        account = account_of(caller)
        collection = await self._desk.require(account, request.collection, Role.EDITOR)
        source, is_new = await self._library.add_text(
            collection, request.title, request.text, account
        )
        return Added(source_view(source, caller.language), is_new)

    async def add_file(self, caller: Caller, request: FileOnDisk) -> Added:
        """Add a file of this machine, for the command line."""
        account = account_of(caller)
        collection = await self._desk.require(account, request.collection, Role.EDITOR)
        path = Path(request.path)
        try:
            file = await asyncio.to_thread(path.open, "rb")
            with file:
                source, is_new = await self._library.add_file(collection, path.name, file, account)
        except (OSError, ValueError) as error:  # ValueError: no path at all, with a NUL in it
            reason = getattr(error, "strerror", None) or "path"
            raise InvalidRequestError(str(error), reason=f"{path.name}: {reason}") from error
        return Added(source_view(source, caller.language), is_new)

    async def delete_source(self, caller: Caller, request: SourceReference) -> None:
        """Delete a document: text, index, vectors and excerpts at once."""
        source = await self._required(caller, request.source_id, Role.EDITOR)
        await self._library.remove(source.id)
        await self._audit.event(
            SecurityEvent(
                "knowledge_source_deleted",
                self._clock.now(),
                account_of(caller).id,
                {"source_id": source.id, "collection_id": source.collection_id},
            )
        )

    async def _grant(self, line: GrantLine) -> Grant:
        """A grant of the line; a user may be named by login."""
        subject = line.subject_id
        if line.subject_kind is SubjectKind.USER:
            account = await self._accounts.find(subject)
            account = account or await self._accounts.find_by_login(subject)
            if account is None:
                raise InvalidRequestError("grant", reason="grants: no such user")
            subject = account.id
        return grant_of(line.subject_kind, subject, line.role)

    async def _check_agents(
        self, account: Account, before: Sequence[Grant], drafts: Sequence[Grant]
    ) -> None:
        """Who shares with an agent decides what it says: its owner or an admin (A2)."""
        agents = {each.subject_id for each in drafts if each.subject_kind is SubjectKind.AGENT}
        for agent_id in agents - {
            g.subject_id for g in before if g.subject_kind is SubjectKind.AGENT
        }:
            role = (await self._agents.bindings(agent_id)).get(account.id)
            may_share = account.is_admin or role is BindingRole.OWNER
            if not may_share or await self._agents.find(agent_id) is None:
                raise InvalidRequestError("grant", reason="grants: no agent of yours")

    async def _required(self, caller: Caller, source_id: str, least: Role) -> Source:
        source = await self._sources.find(source_id)
        collection_id = source.collection_id if source is not None else NO_COLLECTION
        await self._desk.require(account_of(caller), collection_id, least)
        if source is None:
            raise NotFoundError(source_id)
        return source


def account_of(caller: Caller) -> Account:
    """The account the caller acts as; NotSignedInError where there is none."""
    if caller.account is None:
        raise NotSignedInError
    return caller.account


def operations(keeping: Keeping) -> tuple[Operation, ...]:
    """The rows of keeping the library."""
    signed_in, manager, local = Permission.SIGNED_IN, Permission.MANAGER, Permission.LOCAL
    rows: tuple[tuple[str, str, Permission, type[Any], Any], ...] = (
        ("collections.list", "List collections.", signed_in, Nothing, keeping.list_collections),
        ("collections.create", "Make a collection.", manager, NewCollection, keeping.create),
        ("collections.update", "Change settings.", signed_in, CollectionChange, keeping.update),
        ("collections.delete", "Delete it all.", signed_in, CollectionDeletion, keeping.delete),
        ("grants.list", "List grants.", signed_in, CollectionReference, keeping.grants),
        ("grants.replace", "Save grants.", signed_in, GrantsChange, keeping.share),
        ("sources.list", "List documents.", signed_in, CollectionReference, keeping.list_sources),
        ("sources.get", "Tell a document's state.", signed_in, SourceReference, keeping.source),
        ("sources.add", "Add a document as text.", signed_in, Paste, keeping.paste),
        ("sources.add_file", "Add a file of this machine.", local, FileOnDisk, keeping.add_file),
        ("sources.delete", "Delete it.", signed_in, SourceReference, keeping.delete_source),
    )
    return tuple(
        Operation(f"knowledge.{name}", summary, needs, request, run)
        for name, summary, needs, request, run in rows
    )

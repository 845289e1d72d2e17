"""`knowledge.collections.*`, `.sources.*`: keeping the library."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gateway.core.access import Account, Role
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.documents import Source
from gateway.core.shelving import CollectionDraft
from gateway.errors import InvalidRequestError, NotFoundError, NotSignedInError
from gateway.interfaces import Audit, Clock, Sources
from gateway.knowledge.desk import Desk
from gateway.knowledge.library import Library
from gateway.operations.auth import Nothing
from gateway.operations.library_types import (
    STORED_ALONE,
    Added,
    Beside,
    CollectionChange,
    CollectionDeletion,
    CollectionReference,
    CollectionView,
    FileOnDisk,
    NewSource,
    SourceReference,
    SourceView,
    shelf_view,
    source_view,
)
from gateway.operations.table import Caller, Operation, Permission

NO_COLLECTION = ""  # asked for where the source is missing: refused, logged and timed alike


class Keeping:
    """What these operations share."""

    def __init__(
        self,
        *,
        desk: Desk,
        library: Library,
        sources: Sources,
        audit: Audit,
        clock: Clock,
        beside: Beside = STORED_ALONE,
    ) -> None:
        """`beside` with Ingestion.progress.of."""
        self._desk = desk
        self._library = library
        self._sources = sources
        self._audit = audit
        self._clock = clock
        self._beside = beside

    async def list_collections(self, caller: Caller, _request: Nothing) -> list[CollectionView]:
        """What the account has a role on."""
        return [shelf_view(shelf) for shelf in await self._desk.shelves(account_of(caller))]

    async def create(self, caller: Caller, request: CollectionDraft) -> CollectionView:
        """Make a collection only its creator sees."""
        return shelf_view(await self._desk.create(account_of(caller), request))

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
            parent_id=request.parent_id,
        )
        if request.sensitivity is not None or request.embedding_policy is not None:
            await self._library.look_for_vectors()
        return shelf_view(saved)

    async def delete(self, caller: Caller, request: CollectionDeletion) -> None:
        """Delete a collection with all its documents."""
        await self._desk.remove(account_of(caller), request.collection, request.confirm_name)

    async def list_sources(
        self, caller: Caller, request: CollectionReference
    ) -> Sequence[SourceView]:
        """The documents of a collection."""
        account = account_of(caller)
        collection = await self._desk.require(account, request.collection, Role.VIEWER)
        sources = await self._sources.list(collection.id)
        entry = AccessEntry(
            AccessAction.LIST,
            self._clock.now(),
            account_id=account.id,
            collections=(collection.id,),
        )
        await self._audit.record(entry)
        return [self.view(source, caller) for source in sources]

    async def source(self, caller: Caller, request: SourceReference) -> SourceView:
        """One document's state."""
        source = await self.required(caller, request.source_id, Role.VIEWER)
        return self.view(source, caller)

    async def add(self, caller: Caller, request: NewSource) -> Added:
        """Add a document given as text, or a page of the web."""
        if request.kind not in ("paste", "url"):
            raise InvalidRequestError("kind", reason="kind: paste, url")
        account, title, noted = account_of(caller), request.title, request.metadata
        collection = await self._desk.require(account, request.collection, Role.EDITOR)
        if request.kind == "url":
            added = await self._library.add_page(
                collection, request.url, account, title, metadata=noted
            )
        else:
            added = await self._library.add_text(
                collection, title, request.text, account, metadata=noted
            )
        return Added(self.view(added[0], caller), added[1])

    async def reindex(self, caller: Caller, request: SourceReference) -> SourceView:
        """Read a document again, a page as it is now; what is searched stays until it is whole."""
        source = await self.required(caller, request.source_id, Role.EDITOR)
        await self._library.read_again(source.id)
        return self.view(await self.required(caller, source.id, Role.EDITOR), caller)

    async def add_file(self, caller: Caller, request: FileOnDisk) -> Added:
        """Add a file of this machine, for the command line."""
        account = account_of(caller)
        collection = await self._desk.require(account, request.collection, Role.EDITOR)
        path = Path(request.path)
        try:
            file = await asyncio.to_thread(path.open, "rb")
            with file:
                source, is_new = await self._library.add_file(
                    collection, path.name, file, account, metadata=request.metadata
                )
        except (OSError, ValueError) as error:  # ValueError: no path at all, with a NUL in it
            reason = getattr(error, "strerror", None) or "path"
            raise InvalidRequestError(str(error), reason=f"{path.name}: {reason}") from error
        return Added(self.view(source, caller), is_new)

    def view(self, source: Source, caller: Caller) -> SourceView:
        """The document as this caller sees it in a list."""
        return source_view(source, caller.language, self._beside)

    async def required(self, caller: Caller, source_id: str, least: Role) -> Source:
        """The document, for whoever has the role; missing and forbidden alike: NotFoundError."""
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
        ("collections.create", "Make a collection.", manager, CollectionDraft, keeping.create),
        ("collections.update", "Change settings.", signed_in, CollectionChange, keeping.update),
        ("collections.delete", "Delete it all.", signed_in, CollectionDeletion, keeping.delete),
        ("sources.list", "List documents.", signed_in, CollectionReference, keeping.list_sources),
        ("sources.get", "Tell a document's state.", signed_in, SourceReference, keeping.source),
        ("sources.add", "Add a text, or a page of the web.", signed_in, NewSource, keeping.add),
        ("sources.reindex", "Read it again.", signed_in, SourceReference, keeping.reindex),
        ("sources.add_file", "Add a file of this machine.", local, FileOnDisk, keeping.add_file),
    )
    return tuple(
        Operation(f"knowledge.{name}", summary, needs, request, run)
        for name, summary, needs, request, run in rows
    )

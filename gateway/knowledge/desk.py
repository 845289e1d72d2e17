"""Collections as a person meets them: who may list, open, make, change and delete which."""

import dataclasses
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from gateway.core.access import (
    Account,
    Audience,
    AudienceKind,
    Collection,
    EmbeddingPolicy,
    Grant,
    Role,
    Sensitivity,
)
from gateway.core.audit import AccessAction, AccessEntry, SecurityEvent
from gateway.core.folders import seen_among
from gateway.core.limits import KnowledgeLimits
from gateway.core.roles import may_create, role_on
from gateway.core.scope import Scope
from gateway.core.shelving import (
    CollectionDraft,
    checked_draft,
    checked_label,
    checked_name,
    checked_text,
    differences,
)
from gateway.core.slugs import is_slug, slug_of
from gateway.errors import ConflictError, GatewayError, InvalidRequestError, NotFoundError
from gateway.interfaces import Audit, Clock, Collections, Grants, Ids, Scopes

Pending = Callable[[str], Awaitable[Mapping[str, int]]]  # what an account may decide, by collection


async def no_proposals(_account_id: str) -> Mapping[str, int]:
    """Where nobody can propose anything."""
    return {}


@dataclass(frozen=True, slots=True)
class Shelf:
    """One collection in a person's list; `pending` proposals are told to editors and owners."""

    collection: Collection
    role: Role
    sources: int = 0
    passages: int = 0
    in_progress: int = 0
    pending: int = 0


class Desk:
    """Every question of the library that needs a role is asked here, nowhere else."""

    def __init__(  # noqa: PLR0913 - one collaborator a seam
        self,
        *,
        collections: Collections,
        grants: Grants,
        scopes: Scopes,
        audit: Audit,
        clock: Clock,
        ids: Ids,
        limits: KnowledgeLimits,
        is_open: bool = True,
        pending: Pending = no_proposals,
    ) -> None:
        """`is_open` false ([knowledge] enabled) refuses everything (FEATURES A29)."""
        self._collections = collections
        self._grants = grants
        self._scopes = scopes
        self._audit = audit
        self._clock = clock
        self._ids = ids
        self._limits = limits
        self._is_open = is_open
        self._pending = pending

    async def scope(self, account: Account) -> Scope:
        """What this account may read in the dashboard, no agent involved."""
        self.check_open()
        return await self._scopes.scope(
            Audience(AudienceKind.DASHBOARD, account, is_direct=True), None
        )

    async def shelves(self, account: Account) -> Sequence[Shelf]:
        """All collections the account has a role on, by name."""
        self.check_open()
        shelves = await self._counted(account, await self._held(account))
        await self._audit.record(
            AccessEntry(
                AccessAction.LIST,
                self._clock.now(),
                account_id=account.id,
                collections=tuple(sorted(shelf.collection.id for shelf in shelves)),
            )
        )
        return sorted(shelves, key=lambda shelf: (shelf.collection.name, shelf.collection.id))

    async def _held(self, account: Account) -> Sequence[tuple[Collection, Role]]:
        """What the account has a role on; a parent that it does not list is none to it."""
        audience = Audience(AudienceKind.DASHBOARD, account, is_direct=True)
        facts = await self._grants.facts(audience, None, everything=account.is_admin)
        now = facts.account  # as it is at this moment, from the same snapshot as the grants
        roles = {
            each: None if now is None else role_on(now, each.id, facts.grants)
            for each in facts.collections
        }
        listed = {each.id for each, role in roles.items() if role}
        return [(seen_among(listed, each), role) for each, role in roles.items() if role]

    async def role(self, account: Account, collection_id: str) -> Role | None:
        """The account's role on one collection, by the grants as they are now."""
        return role_on(account, collection_id, await self._grants.of_collection(collection_id))

    async def require(self, account: Account, reference: str, least: Role) -> Collection:
        """Find a collection by id or slug; absent and forbidden are the same NotFoundError."""
        collection, _ = await self.require_with_grants(account, reference, least)
        return collection

    async def require_with_grants(
        self, account: Account, reference: str, least: Role
    ) -> tuple[Collection, Sequence[Grant]]:
        """As `require`, with the grants of the same snapshot as the collection's version."""
        self.check_open()
        collection, grants = await self._grants.of_reference(reference)
        role = role_on(account, collection.id if collection else "", grants)
        if collection is None or role is None or role.rank < least.rank:
            await self._audit.record(
                AccessEntry(
                    AccessAction.DENIED,
                    self._clock.now(),
                    account_id=account.id,
                    results=(collection.id,) if collection is not None else (),
                )
            )
            raise NotFoundError
        return collection, grants

    async def create(self, account: Account, draft: CollectionDraft) -> Shelf:
        """Make a collection that only its creator reads; NotFoundError for plain members, and
        where the account is no editor of the parent.

        ConflictError `slug_taken`: a given slug is in use; a blank one is made so that it is not.
        """
        self.check_open()
        if not may_create(account):
            raise NotFoundError
        draft, new_id = checked_draft(draft), self._ids.new()
        if draft.parent_id is not None:
            parent = await self.require(account, draft.parent_id, Role.EDITOR)
            draft = dataclasses.replace(draft, parent_id=parent.id)
        short = new_id.replace("-", "")[-8:]
        slug = draft.slug or slug_of(draft.name, f"kb-{short}")
        if not is_slug(slug):
            raise InvalidRequestError("slug", reason="slug: a-z, 0-9 and inner -, up to 64")
        try:
            made = await self._create(account, draft.collection(new_id, slug))
        except ConflictError:
            if draft.slug:
                raise
            slug = f"{slug[:55].rstrip('-')}-{short}"
            made = await self._create(account, draft.collection(new_id, slug))
        return Shelf(made, Role.OWNER)

    async def _create(self, account: Account, collection: Collection) -> Collection:
        event = self._event("knowledge_collection_created", account, collection)
        return await self._collections.create(
            collection, account.id, event=event, most=self._limits.max_collections
        )

    async def update(  # noqa: PLR0913 - one argument a setting of the page
        self,
        account: Account,
        reference: str,
        *,
        version: int,
        name: str | None = None,
        description: str | None = None,
        sensitivity: Sensitivity | None = None,
        department: str | None = None,
        embedding_policy: EmbeddingPolicy | None = None,
        parent_id: str | None = None,
    ) -> Shelf:
        """Change what is given; ConflictError when somebody saved meanwhile.

        `parent_id` (id or slug) "": to the top; else NotFoundError unless an editor there.
        """
        before = await self.require(account, reference, Role.OWNER)
        changes = {
            "name": None if name is None else checked_name(name),
            "description": None if description is None else checked_text(description),
            "sensitivity": sensitivity,
            "department": None if department is None else checked_label(department),
            "embedding_policy": embedding_policy,
        }
        given = {key: value for key, value in changes.items() if value is not None}
        after = dataclasses.replace(before, **given)  # type: ignore[arg-type]
        if parent_id is not None:
            place = await self._place(account, before, parent_id)
            after = dataclasses.replace(after, parent_id=place)
        changed = differences(before, after)
        event = self._event("knowledge_collection_updated", account, after, changed)
        saved = await self._collections.replace(
            after, version=version, event=event if changed else None
        )
        listed = {each.id for each, _ in await self._held(account)}
        (shelf,) = await self._counted(account, [(seen_among(listed, saved), Role.OWNER)])
        return shelf

    async def _place(self, account: Account, moved: Collection, reference: str) -> str | None:
        """Where it lies already it may stay, for whoever sees that folder."""
        if not reference:
            return None
        least = Role.VIEWER if reference == moved.parent_id else Role.EDITOR
        return (await self.require(account, reference, least)).id

    async def remove(self, account: Account, reference: str, confirm_name: str) -> None:
        """Delete a collection; its name has to be typed (FEATURES A27).

        ConflictError `folder_not_empty` where others lie in it, of those the account lists; one
        that it does not list has no parent then.
        """
        collection = await self.require(account, reference, Role.OWNER)
        if _typed(confirm_name) != _typed(collection.name):
            raise InvalidRequestError("confirm_name", reason="confirm_name: not the name")
        event = self._event("knowledge_collection_deleted", account, collection)
        held = await self._held(account)
        inside = frozenset(each.id for each, _ in held if each.parent_id == collection.id)
        await self._collections.remove(
            collection.id, version=collection.version, event=event, held_by=inside
        )

    async def _counted(
        self, account: Account, held: Sequence[tuple[Collection, Role]]
    ) -> Sequence[Shelf]:
        ids = frozenset(collection.id for collection, _ in held)
        keeps = frozenset(c.id for c, role in held if role.rank >= Role.EDITOR.rank)
        counts = await self._collections.counts(ids)
        moving = await self._collections.in_progress(ids)
        pending = await self._pending(account.id)
        return [
            Shelf(
                collection,
                role,
                *counts.get(collection.id, (0, 0)),
                moving.get(collection.id, 0),
                pending.get(collection.id, 0) if collection.id in keeps else 0,
            )
            for collection, role in held
        ]

    def check_open(self) -> None:
        """GatewayError `knowledge_disabled` where the library is switched off."""
        if not self._is_open:
            raise GatewayError("knowledge is off", code="knowledge_disabled")

    def _event(
        self,
        name: str,
        account: Account,
        collection: Collection,
        changes: Sequence[Mapping[str, str | None]] = (),
    ) -> SecurityEvent:
        details = {"collection_id": collection.id, "slug": collection.slug}
        return SecurityEvent(
            name,
            self._clock.now(),
            account.id,
            {**details, "changes": changes} if changes else details,
        )


def _typed(name: str) -> str:
    """As a keyboard makes it: a program may have named it by letters and marks apart."""
    return unicodedata.normalize("NFC", name.strip())

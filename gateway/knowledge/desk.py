"""Collections as a person meets them: who may list, open, change and share which."""

import dataclasses
from collections.abc import Sequence
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
    SubjectKind,
)
from gateway.core.audit import AccessAction, AccessEntry, SecurityEvent
from gateway.core.limits import KnowledgeLimits
from gateway.core.roles import has_user_owner, is_valid_grant, role_on
from gateway.core.scope import Scope
from gateway.core.slugs import is_slug, slug_of
from gateway.errors import ConflictError, GatewayError, InvalidRequestError, NotFoundError
from gateway.interfaces import Audit, Clock, Collections, Grants, Ids, Scopes

NAME_CHARS = 200
NOBODY = Audience(AudienceKind.NONE)


@dataclass(frozen=True, slots=True)
class Shelf:
    """One collection in a person's list."""

    collection: Collection
    role: Role
    sources: int
    passages: int


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

    async def scope(self, account: Account) -> Scope:
        """What this account may read in the dashboard, no agent involved."""
        self._check_open()
        return await self._scopes.scope(
            Audience(AudienceKind.DASHBOARD, account, is_direct=True), None
        )

    async def shelves(self, account: Account) -> Sequence[Shelf]:
        """All collections the account has a role on, by name."""
        scope = await self.scope(account)
        counts = await self._collections.counts(scope.collections)
        shelves = []
        for collection in await self._collections.list(scope.collections):
            role = await self.role(account, collection.id)
            if role is not None:
                sources, passages = counts.get(collection.id, (0, 0))
                shelves.append(Shelf(collection, role, sources, passages))
        await self._audit.record(
            AccessEntry(
                AccessAction.LIST,
                self._clock.now(),
                account_id=account.id,
                collections=tuple(sorted(scope.collections)),
            )
        )
        return sorted(shelves, key=lambda shelf: (shelf.collection.name, shelf.collection.id))

    async def role(self, account: Account, collection_id: str) -> Role | None:
        """The account's role on one collection, by the grants as they are now."""
        return role_on(account, collection_id, await self._grants.of_collection(collection_id))

    async def require(self, account: Account, reference: str, least: Role) -> Collection:
        """Find a collection by id or slug; absent and forbidden are the same NotFoundError."""
        self._check_open()
        found = await self._collections.find(reference)
        collection = found or await self._collections.find_by_slug(reference)
        role = None if collection is None else await self.role(account, collection.id)
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
        return collection

    async def create(
        self, account: Account, name: str, slug: str, sensitivity: Sensitivity, description: str
    ) -> Collection:
        """Make a collection that only its creator reads; the caller checked managers."""
        self._check_open()
        name = _checked_name(name)
        new_id = self._ids.new()
        slug = slug or slug_of(name, f"kb-{new_id.replace('-', '')[-8:]}")
        if not is_slug(slug):
            raise InvalidRequestError("slug", reason="slug: a-z, 0-9 and inner -, up to 64")
        everything = await self._grants.facts(NOBODY, None, everything=True)
        if len(everything.collections) >= self._limits.max_collections:
            raise GatewayError("collections", code="quota_collections")
        draft = Collection(new_id, 0, slug, name, sensitivity, description)
        made = await self._collections.create(draft, account.id)
        await self._event("knowledge_collection_created", account, made)
        return made

    async def update(  # noqa: PLR0913 - one argument a setting of the page
        self,
        account: Account,
        reference: str,
        *,
        version: int,
        name: str | None,
        description: str | None,
        sensitivity: Sensitivity | None,
        department: str | None,
        embedding_policy: EmbeddingPolicy | None,
    ) -> Collection:
        """Change what is given; ConflictError when somebody saved meanwhile."""
        before = await self.require(account, reference, Role.OWNER)
        changes = {
            "name": None if name is None else _checked_name(name),
            "description": description,
            "sensitivity": sensitivity,
            "department": department,
            "embedding_policy": embedding_policy,
        }
        given = {key: value for key, value in changes.items() if value is not None}
        after = dataclasses.replace(before, **given)  # type: ignore[arg-type]
        saved = await self._collections.replace(after, version=version)
        await self._event("knowledge_collection_updated", account, saved)
        return saved

    async def remove(self, account: Account, reference: str, confirm_name: str) -> None:
        """Delete a collection; its name has to be typed (FEATURES A27)."""
        collection = await self.require(account, reference, Role.OWNER)
        if confirm_name != collection.name:
            raise InvalidRequestError("confirm_name", reason="confirm_name: not the name")
        await self._collections.remove(collection.id)
        await self._event("knowledge_collection_deleted", account, collection)

    async def grants(self, account: Account, reference: str) -> tuple[Collection, Sequence[Grant]]:
        """Who has which role; owners only."""
        collection = await self.require(account, reference, Role.OWNER)
        return collection, await self._grants.of_collection(collection.id)

    async def share(
        self, account: Account, reference: str, grants: Sequence[Grant], *, version: int
    ) -> int:
        """Replace all grants in one batch; returns the new version."""
        collection = await self.require(account, reference, Role.OWNER)
        grants = [dataclasses.replace(grant, collection_id=collection.id) for grant in grants]
        broken = next((grant for grant in grants if not is_valid_grant(grant)), None)
        if broken is not None:
            raise InvalidRequestError(
                "grant", reason=f"{broken.subject_kind} cannot be {broken.role}"
            )
        if not has_user_owner(grants):
            raise ConflictError("last owner", code="last_owner")
        saved = await self._grants.replace(collection.id, grants, version=version)
        await self._event("knowledge_acl_changed", account, collection)
        return saved

    def _check_open(self) -> None:
        if not self._is_open:
            raise GatewayError("knowledge is off", code="knowledge_disabled")

    async def _event(self, name: str, account: Account, collection: Collection) -> None:
        await self._audit.event(
            SecurityEvent(
                name,
                self._clock.now(),
                account.id,
                {"collection_id": collection.id, "slug": collection.slug},
            )
        )


def _checked_name(name: str) -> str:
    if not name.strip() or len(name) > NAME_CHARS:
        raise InvalidRequestError("name", reason=f"name: 1 to {NAME_CHARS} characters")
    return name.strip()


def grant_of(kind: SubjectKind, subject: str, role: Role) -> Grant:
    """A grant before it belongs to a collection."""
    return Grant("", kind, subject, role)

"""Sharing a collection: who has which role, and saving that as one batch (FEATURES A2)."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gateway.core.access import Account, Audience, AudienceKind, Collection, Grant, Role
from gateway.core.access import SubjectKind as Kind
from gateway.core.audit import SecurityEvent
from gateway.core.own_documents import effective
from gateway.core.roles import is_valid_grant, may_create, owns_one
from gateway.core.sharing import (
    ChannelAccount,
    GrantChange,
    GrantWarning,
    Shareable,
    changes,
    has_active_owner,
    refused,
    warnings,
    well_formed,
)
from gateway.errors import ConflictError, InvalidRequestError
from gateway.interfaces import Clock, Grants, Principals
from gateway.knowledge.desk import Desk

ChannelAccounts = Callable[[], Iterable[ChannelAccount]]  # ours, as they are configured now


@dataclass(frozen=True, slots=True)
class SharedWith:
    """Who has which role on a collection, the version to save against, and what to warn of."""

    collection: Collection
    version: int
    grants: tuple[Grant, ...]
    warnings: tuple[GrantWarning, ...]


class Sharing:
    """Owners' view of grants, and the one place where they are saved."""

    def __init__(
        self,
        desk: Desk,
        grants: Grants,
        principals: Principals,
        clock: Clock,
        channels: ChannelAccounts,
    ) -> None:
        self._desk = desk
        self._grants = grants
        self._principals = principals
        self._clock = clock
        self._channels = channels

    async def shown(self, account: Account, reference: str) -> SharedWith:
        """For owners; void grants are not shown, as they allow nothing."""
        collection, grants = await self._desk.require_with_grants(account, reference, Role.OWNER)
        return self._seen(collection, collection.version, tuple(filter(is_valid_grant, grants)))

    async def save(
        self, account: Account, reference: str, grants: Sequence[Grant], *, version: int
    ) -> SharedWith:
        """Replace all grants in one batch, with its security event in the same transaction.

        ConflictError: somebody saved since `version`, or `last_owner`. InvalidRequestError:
        `not_shareable`, a new or raised subject that may not be shared with.
        """
        collection, before = await self._desk.require_with_grants(account, reference, Role.OWNER)
        after = tuple(dataclasses.replace(each, collection_id=collection.id) for each in grants)
        _check_form(after)
        after = effective(collection, after)
        if collection.version != version:  # else what was compared is not what is replaced
            raise ConflictError("saved meanwhile", version=collection.version)
        shareable = await self._shareable(account, after)
        for grant in refused(before, after, shareable):
            subject = f"{grant.subject_kind.value}:{grant.subject_id}"
            raise InvalidRequestError(subject, code="not_shareable", subject=subject)
        if not has_active_owner(after, shareable.users):
            raise ConflictError("last owner", code="last_owner")
        event = self._event(account, collection, changes(before, after))
        saved = await self._grants.replace(collection.id, after, version=version, event=event)
        return self._seen(collection, saved, after)

    async def may_search(self, account: Account) -> bool:
        """Whether the account has anything to share: managers, admins, owners of a collection."""
        self._desk.check_open()
        facts = await self._grants.facts(Audience(AudienceKind.DASHBOARD, account), None)
        return may_create(account) or owns_one(account, facts.grants)

    async def _shareable(self, account: Account, grants: Sequence[Grant]) -> Shareable:
        users = frozenset(each.subject_id for each in grants if each.subject_kind is Kind.USER)
        owner = None if account.is_admin else account.id
        found = await self._principals.shareable(owner, users)
        return dataclasses.replace(found, channels=frozenset(self._channels()))

    def _seen(self, collection: Collection, version: int, grants: tuple[Grant, ...]) -> SharedWith:
        told = warnings(grants, collection.sensitivity, self._channels())
        return SharedWith(collection, version, grants, told)

    def _event(
        self, account: Account, collection: Collection, made: Sequence[GrantChange]
    ) -> SecurityEvent | None:
        """Who changed what; None where a save changes nothing."""
        if not made:
            return None
        lines = [
            {
                "subject_kind": each.subject_kind.value,
                "subject_id": each.subject_id,
                "old": each.old.value if each.old else None,
                "new": each.new.value if each.new else None,
            }
            for each in made
        ]
        return SecurityEvent(
            "knowledge_acl_changed",
            self._clock.now(),
            account.id,
            {"collection_id": collection.id, "slug": collection.slug, "changes": lines},
        )


def _check_form(grants: Sequence[Grant]) -> None:
    broken = next((grant for grant in grants if not is_valid_grant(grant)), None)
    if broken is not None:
        reason = f"{broken.subject_kind} cannot be {broken.role}"
        raise InvalidRequestError("grant", reason=reason)
    if not well_formed(grants):
        raise InvalidRequestError("grants", reason="grants: each subject once, up to 1000")

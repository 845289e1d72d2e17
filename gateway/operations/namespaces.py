"""Collections as the tools of the document service name them: by slug, within the scope of now."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.core.access import Collection
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.scope import Scope
from gateway.errors import GatewayError, NotFoundError, NotSignedInError
from gateway.interfaces import Audit, Clock, Collections, Scopes
from gateway.operations.acting import access_entry
from gateway.operations.table import Caller


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Who may read what is the scope's matter alone; each refusal is a row of the access log."""

    collections: Collections
    scopes: Scopes
    audit: Audit
    clock: Clock
    is_open: bool  # [knowledge] enabled

    async def scope(self, caller: Caller) -> Scope:
        """What may be read now. GatewayError `knowledge_disabled`, NotSignedInError."""
        if not self.is_open:
            raise GatewayError("off", code="knowledge_disabled")
        if caller.account is None and caller.agent is None:
            raise NotSignedInError
        return await self.scopes.scope(caller.audience, caller.agent)

    async def readable(self, scope: Scope) -> Sequence[Collection]:
        """By slug."""
        found = await self.collections.list(scope.collections)
        return sorted(found, key=lambda each: each.slug)

    async def named(self, caller: Caller, slug: str) -> tuple[Collection, Scope]:
        """The collection, and the scope narrowed to it; NotFoundError for missing and forbidden
        alike: only what is readable is looked through.
        """
        scope = await self.scope(caller)
        readable = await self.readable(scope)
        found = next((each for each in readable if each.slug == slug), None)
        if found is None:
            raise await self.denied(caller, scope)
        return found, scope.narrow(frozenset({found.id}))

    async def denied(self, caller: Caller, scope: Scope) -> NotFoundError:
        """The refusal, written down."""
        await self.audit.record(self.entry(AccessAction.DENIED, caller, scope))
        return NotFoundError("namespace")

    async def log(
        self, action: AccessAction, caller: Caller, scope: Scope, results: Sequence[str]
    ) -> None:
        """One row of what was read."""
        await self.audit.record(self.entry(action, caller, scope, results=results))

    def entry(
        self,
        action: AccessAction,
        caller: Caller,
        scope: Scope,
        query: str = "",
        results: Sequence[str] = (),
    ) -> AccessEntry:
        """A row, not written yet."""
        return access_entry(action, caller, scope, self.clock, query=query, results=results)

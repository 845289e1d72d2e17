"""As whom an operation acts, and what a program's token may not do."""

from collections.abc import Sequence

from gateway.core.access import Account
from gateway.core.audit import QUERY_KEPT_CHARS, AccessAction, AccessEntry
from gateway.core.scope import Scope
from gateway.errors import GatewayError, NotFoundError, NotSignedInError
from gateway.interfaces import Accounts, Act, Clock
from gateway.operations.table import Caller


def act_of(caller: Caller, clock: Clock) -> Act:
    """Who changes something now: the account, or the operator at this machine."""
    if caller.account is None and not caller.is_local:
        raise NotSignedInError
    return Act(caller.account.id if caller.account is not None else None, clock.now())


def access_entry(
    action: AccessAction,
    caller: Caller,
    scope: Scope,
    clock: Clock,
    *,
    query: str = "",
    results: Sequence[str] = (),
) -> AccessEntry:
    """The row of one read by a caller with an agent or without, not written yet."""
    return AccessEntry(
        action,
        clock.now(),
        account_id=caller.account.id if caller.account is not None else None,
        agent_id=caller.agent.agent_id if caller.agent is not None else None,
        channel=caller.surface,
        turn_id=caller.turn_id,
        query=query[:QUERY_KEPT_CHARS],
        collections=tuple(sorted(scope.collections)),
        results=tuple(results),
    )


def is_admin(caller: Caller) -> bool:
    """An administrator, or the operator as nobody in particular."""
    return caller.is_local if caller.account is None else caller.account.is_admin


def require_session(caller: Caller) -> None:
    """`session_needed` for a token: it must not make what outlives it, a password or a token."""
    if caller.session_secret is None and not caller.is_local:
        raise GatewayError(caller.surface, code="session_needed")


async def account_by(accounts: Accounts, reference: str) -> Account:
    """Find by id or login name; NotFoundError."""
    found = await accounts.find(reference)
    found = found or await accounts.find_by_login(reference)
    if found is None:
        raise NotFoundError(reference)
    return found


async def person_of(accounts: Accounts, caller: Caller, reference: str | None) -> Account:
    """The caller's own account, or by an administrator anybody's; else NotFoundError alike."""
    own = caller.account
    if reference is None:
        if own is None:
            raise NotSignedInError
        return own
    if own is not None and reference in (own.id, own.login):
        return own
    if not is_admin(caller):  # without a look, so that nothing tells whether there is such a person
        raise NotFoundError(reference)
    return await account_by(accounts, reference)

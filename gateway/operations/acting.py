"""As whom an operation acts, and what a program's token may not do."""

from gateway.core.access import Account
from gateway.errors import GatewayError, NotFoundError, NotSignedInError
from gateway.interfaces import Accounts, Act, Clock
from gateway.operations.table import Caller


def act_of(caller: Caller, clock: Clock) -> Act:
    """Who changes something now: the account, or the operator at this machine."""
    if caller.account is None and not caller.is_local:
        raise NotSignedInError
    return Act(caller.account.id if caller.account is not None else None, clock.now())


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

"""Who may call an operation at all, over the network and at this machine, with and without --as."""

import pytest

from gateway.core.access import Account, AccountRole, Audience, AudienceKind
from gateway.errors import GatewayError
from gateway.operations.registry import check_permission
from gateway.operations.table import Caller, Permission

ROLES = (None, AccountRole.MEMBER, AccountRole.MANAGER, AccountRole.ADMIN)
# over the network: nobody, member, manager, admin; then the same with the local socket
ALLOWED: dict[Permission, tuple[str, str]] = {
    Permission.ANYONE: ("yyyy", "yyyy"),
    Permission.SIGNED_IN: ("nyyy", "nyyy"),
    Permission.SIGNED_IN_OR_LOCAL: ("nyyy", "yyyy"),
    Permission.MANAGER: ("nnyy", "ynyy"),
    Permission.ADMIN: ("nnny", "ynny"),
    Permission.LOCAL: ("nnnn", "yyyy"),
}


def caller(role: AccountRole | None, *, is_local: bool, is_active: bool = True) -> Caller:
    account = None if role is None else Account("a", "anna", "Anna", role, is_active=is_active)
    return Caller(account, Audience(AudienceKind.NONE), "local", is_local=is_local)


def may(who: Caller, needs: Permission) -> str:
    try:
        check_permission(who, needs)
    except GatewayError:
        return "n"
    return "y"


@pytest.mark.parametrize("needs", Permission)
def test_whoever_acts_as_an_account_has_that_accounts_rights(needs: Permission) -> None:
    seen = tuple(
        "".join(may(caller(role, is_local=is_local), needs) for role in ROLES)
        for is_local in (False, True)
    )
    assert seen == ALLOWED[needs]


@pytest.mark.parametrize("needs", [Permission.SIGNED_IN, Permission.MANAGER, Permission.ADMIN])
def test_an_account_that_ended_has_none(needs: Permission) -> None:
    for is_local in (False, True):
        assert may(caller(AccountRole.ADMIN, is_local=is_local, is_active=False), needs) == "n"

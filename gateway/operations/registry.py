"""Calls an operation by name: permission first, then the typed request, then the function."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from gateway.errors import GatewayError, InvalidRequestError, NotFoundError, NotSignedInError
from gateway.operations.table import Caller, Operation, Permission

MESSAGE_CHARS = 200  # how much of a decoder's complaint the caller is shown
AT_THIS_MACHINE = frozenset({Permission.LOCAL, Permission.SIGNED_IN_OR_LOCAL})
OPERATORS = AT_THIS_MACHINE | {Permission.ADMIN, Permission.MANAGER}  # as nobody in particular
PERSONS = frozenset({Permission.SIGNED_IN, Permission.SIGNED_IN_OR_LOCAL})


class Registry:
    """The table, by name."""

    def __init__(self, rows: Iterable[Operation]) -> None:
        self._rows: dict[str, Operation] = {}
        for row in rows:
            assert row.name not in self._rows, f"{row.name} is declared twice"
            self._rows[row.name] = row

    def rows(self) -> tuple[Operation, ...]:
        """All operations, by name, for pages and documents made from the table."""
        return tuple(self._rows[name] for name in sorted(self._rows))

    async def call(self, caller: Caller, name: str, params: object) -> Any:
        """Run one operation; the result is made of JSON types."""
        row = self._rows.get(name)
        if row is None:
            raise GatewayError(name, code="unknown_method")
        check_permission(caller, row.needs)
        return msgspec.to_builtins(await row.run(caller, request_of(row, params)))


def check_permission(caller: Caller, needs: Permission) -> None:
    """Refuse before anything is looked at. Signed in but not allowed looks like not found."""
    if needs is Permission.ANYONE:
        return
    account = caller.account
    # with --as it is that account who asks, with no more than that account's own rights
    if caller.is_local and needs in (OPERATORS if account is None else AT_THIS_MACHINE):
        return
    if account is None or not account.is_active:
        raise NotSignedInError
    if needs is Permission.LOCAL:  # what this machine's files say is not an admin's to read
        raise NotFoundError
    if needs in PERSONS or account.is_admin:
        return
    if needs is Permission.MANAGER and account.role.value == "manager":
        return
    raise NotFoundError


def request_of(row: Operation, params: object) -> Any:
    """Check params, by name or by position, against the operation's request type."""
    names = [field.name for field in dataclasses.fields(row.request)]
    if isinstance(params, list) and len(params) <= len(names):
        params = dict(zip(names, params, strict=False))
    if not isinstance(params, Mapping):
        raise InvalidRequestError("params", reason=f"params: {', '.join(names) or 'none'}")
    unknown = set(params) - set(names)
    if unknown:
        raise InvalidRequestError("params", reason=f"unknown: {', '.join(sorted(unknown))[:80]}")
    try:
        return msgspec.convert(params, row.request, strict=True)
    except msgspec.ValidationError as error:
        raise InvalidRequestError(str(error), reason=str(error)[:MESSAGE_CHARS]) from error

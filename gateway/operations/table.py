"""The table of operations: RPC, the local socket, the command line and the pages render it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gateway.core.access import Account, AgentSide, Audience


class Permission(StrEnum):
    """Who may call an operation at all; what it may touch is checked inside by role and scope."""

    ANYONE = "anyone"  # not even signed in: auth.login
    SIGNED_IN = "signed_in"
    SIGNED_IN_OR_LOCAL = "signed_in_or_local"  # or the operator, as nobody in particular
    MANAGER = "manager"  # managers and admins
    ADMIN = "admin"
    LOCAL = "local"  # the operator at this machine's command line, nobody over the network


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks (DESIGN section 8.7). `is_local` is true behind the signed local socket only."""

    account: Account | None
    audience: Audience
    surface: str  # "rpc", "local", "webchat", …
    agent: AgentSide | None = None
    turn_id: str | None = None
    is_local: bool = False
    language: str | None = None
    session_secret: str | None = field(default=None, repr=False)  # of the browser's cookie
    address: str = ""  # from where a stranger signs in; "" where that counts for nothing


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the table."""

    name: str  # "knowledge.search": RPC method
    summary: str  # one sentence
    needs: Permission
    request: type[Any]  # a frozen dataclass; msgspec converts and checks it
    run: Callable[[Caller, Any], Awaitable[Any]]

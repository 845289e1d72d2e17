"""`links.*`: which chat senders are which accounts, and how a person adds one (A32)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gateway.accounts.linking import Linking
from gateway.core.access import Account
from gateway.core.link_codes import tail
from gateway.core.messages import Sender
from gateway.errors import NotFoundError, NotSignedInError
from gateway.interfaces import Accounts, BoundLink, LinkRequest
from gateway.operations.auth import Nothing
from gateway.operations.table import Caller, Operation, Permission


@dataclass(frozen=True, slots=True)
class NewCode:
    """Where the code is to be good; without a channel in every one."""

    channel: str | None = None
    account_name: str | None = None


@dataclass(frozen=True, slots=True)
class CodeView:
    """A code, shown this once; the chat takes it as 「綁定 CODE」 or `/link CODE`."""

    code: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RequestReference:
    """A request by its id."""

    request_id: str


@dataclass(frozen=True, slots=True)
class RequestView:
    """A sender that waits to be confirmed; `tail` are the last characters of its id."""

    id: str
    channel: str
    account_name: str
    sender_name: str
    tail: str
    at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class NewLink:
    """A platform's sender and the account it belongs to (`account`: id or login)."""

    channel: str
    account_name: str
    sender: str
    account: str


@dataclass(frozen=True, slots=True)
class LinkAddress:
    """The sender whose link ends."""

    channel: str
    account_name: str
    sender: str


@dataclass(frozen=True, slots=True)
class Listing:
    """`own`: an administrator's own links only."""

    own: bool = False


@dataclass(frozen=True, slots=True)
class LinkView:
    """A verified binding."""

    channel: str
    account_name: str
    sender: str
    account_id: str
    sender_name: str
    tail: str
    at: datetime


class Links:
    """What the operations about links share."""

    def __init__(self, linking: Linking, accounts: Accounts) -> None:
        self._linking = linking
        self._accounts = accounts

    async def make_code(self, caller: Caller, request: NewCode) -> CodeView:
        """A new code replaces the oldest where there are three already."""
        made = await self._linking.make_code(
            _account(caller), request.channel or None, request.account_name or None
        )
        return CodeView(made.code, made.expires_at)

    async def pending(self, caller: Caller, _request: Nothing) -> Sequence[RequestView]:
        """Senders that sent one of the caller's codes and wait."""
        return [_request_view(each) for each in await self._linking.pending(_account(caller))]

    async def confirm(self, caller: Caller, request: RequestReference) -> LinkView:
        """The binding holds from now on; nobody but the account itself can do this."""
        return _link_view(await self._linking.confirm(_account(caller), request.request_id))

    async def reject(self, caller: Caller, request: RequestReference) -> None:
        """The sender stays a stranger."""
        await self._linking.reject(_account(caller), request.request_id)

    async def add(self, caller: Caller, request: NewLink) -> LinkView:
        """Bind a sender by the operator's word."""
        account = await self._accounts.find(request.account)
        account = account or await self._accounts.find_by_login(request.account)
        if account is None:
            raise NotFoundError(request.account)
        sender = Sender(request.channel, request.account_name, request.sender)
        return _link_view(await self._linking.bind(sender, account, _actor(caller)))

    async def remove(self, caller: Caller, request: LinkAddress) -> None:
        """One's own, or any by an administrator; another's looks like one that is not there."""
        sender = Sender(request.channel, request.account_name, request.sender)
        owner = None if _sees_all(caller) else _account(caller)
        if not await self._linking.remove(sender, owner, _actor(caller)):
            raise NotFoundError(request.sender)

    async def bound(self, caller: Caller, request: Listing) -> Sequence[LinkView]:
        """The caller's own; administrators see all."""
        sees_all = _sees_all(caller) and not (request.own and caller.account is not None)
        owner = None if sees_all else _account(caller)
        return [_link_view(each) for each in await self._linking.bound(owner)]


def _account(caller: Caller) -> Account:
    if caller.account is None:
        raise NotSignedInError
    return caller.account


def _sees_all(caller: Caller) -> bool:
    return caller.is_local if caller.account is None else caller.account.is_admin


def _actor(caller: Caller) -> str:
    return caller.account.id if caller.account is not None else "operator"


def _request_view(request: LinkRequest) -> RequestView:
    sender = request.sender
    return RequestView(
        request.id,
        sender.channel,
        sender.account_name,
        request.sender_name,
        tail(sender.id),
        request.at,
        request.expires_at,
    )


def _link_view(link: BoundLink) -> LinkView:
    sender = link.sender
    return LinkView(
        sender.channel,
        sender.account_name,
        sender.id,
        link.account_id,
        link.sender_name,
        tail(sender.id),
        link.at,
    )


def operations(links: Links) -> tuple[Operation, ...]:
    """The rows of `links.*`."""
    person, either = Permission.SIGNED_IN, Permission.SIGNED_IN_OR_LOCAL
    return (
        Operation("links.code", "Make a one-time code.", person, NewCode, links.make_code),
        Operation("links.pending", "List senders to confirm.", person, Nothing, links.pending),
        Operation("links.confirm", "Confirm a sender.", person, RequestReference, links.confirm),
        Operation("links.reject", "Refuse a sender.", person, RequestReference, links.reject),
        Operation(
            "links.add", "Bind a sender to an account.", Permission.ADMIN, NewLink, links.add
        ),
        Operation("links.remove", "End a binding.", either, LinkAddress, links.remove),
        Operation("links.list", "List bindings.", either, Listing, links.bound),
    )

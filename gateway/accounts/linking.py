"""Links a chat sender to an account: codes, requests, LINE's own flow (A32, DESIGN section 9.2)."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from gateway.core.access import Account
from gateway.core.link_codes import (
    LIFE,
    LinkOutcome,
    code_of,
    normalise,
    sha256_of,
    shown,
    shown_name,
)
from gateway.core.messages import InboundMessage, NoticeKind, Sender
from gateway.interfaces import (
    BoundLink,
    Clock,
    LinkAttempt,
    LinkCodes,
    LinkRequest,
    LinkRequests,
    LinkSecret,
)

log = structlog.get_logger()
CODE_BITS = 50
NONCE_BYTES = 32


@dataclass(frozen=True, slots=True)
class MadeCode:
    """A new code as its account sees it, once."""

    code: str = field(repr=False)
    expires_at: datetime


class Linking:
    """What people, the chat commands and LINE's page do about links."""

    def __init__(self, codes: LinkCodes, requests: LinkRequests, clock: Clock) -> None:
        self._codes = codes
        self._requests = requests
        self._clock = clock

    async def make_code(
        self, account: Account, channel: str | None = None, account_name: str | None = None
    ) -> MadeCode:
        """A code for the account; good in one channel only where one is named."""
        code = code_of(secrets.randbits(CODE_BITS))
        now = self._clock.now()
        kept = LinkSecret(
            sha256_of(code), "code", account.id, now, now + LIFE, channel, account_name
        )
        await self._codes.offer(kept)
        return MadeCode(shown(code), kept.expires_at)

    async def make_nonce(self, account: Account, channel: str, account_name: str) -> str:
        """256 bits for the platform's own flow, bound to the signed-in account and our account."""
        nonce = secrets.token_urlsafe(NONCE_BYTES)
        now = self._clock.now()
        kept = LinkSecret(
            sha256_of(nonce), "nonce", account.id, now, now + LIFE, channel, account_name
        )
        await self._codes.offer(kept)
        return nonce

    async def redeem(self, turn_id: str, message: InboundMessage, typed: str) -> LinkOutcome:
        """A code that somebody sent in a chat; the same turn has the same outcome again."""
        attempt = LinkAttempt(
            turn_id,
            sha256_of(normalise(typed)),
            message.sender,
            shown_name(message.sender_name),
            message.conversation.is_direct and not message.is_visitor,
            self._clock.now(),
        )
        outcome = await self._codes.redeem(attempt)
        log.info("link code sent", turn=turn_id, outcome=outcome.value)
        return outcome

    async def line_linked(self, message: InboundMessage) -> None:
        """The platform says that this sender went through its flow with our nonce.

        The account signed in and the platform verified the sender, so it holds at once. A repeat,
        an unknown nonce and whatever is not a proven 1:1 change nothing.
        """
        notice, sender = message.notice, message.sender
        if notice is None or notice.kind is not NoticeKind.ACCOUNT_LINKED or not notice.nonce:
            return
        if sender is None or not message.conversation.is_direct:
            return
        account_id = await self._codes.redeem_nonce(
            sha256_of(notice.nonce), sender, self._clock.now()
        )
        log.info("platform account link", channel=sender.channel, is_bound=account_id is not None)

    async def pending(self, account: Account) -> Sequence[LinkRequest]:
        """Senders that wait for this account's word."""
        return await self._requests.pending(account.id, self._clock.now())

    async def confirm(self, account: Account, request_id: str) -> BoundLink:
        """From now on the sender is the account. NotFoundError, ConflictError."""
        return await self._requests.confirm(request_id, account.id, self._clock.now())

    async def reject(self, account: Account, request_id: str) -> None:
        """The sender stays a stranger. NotFoundError."""
        await self._requests.reject(request_id, account.id, self._clock.now())

    async def bind(self, sender: Sender, account: Account, actor: str) -> BoundLink:
        """By the operator's word, without a code."""
        link = BoundLink(sender, "", account.id, self._clock.now())
        await self._requests.bind(link, actor)
        return link

    async def remove(self, sender: Sender, owner: Account | None, actor: str) -> bool:
        """Holds at the next search, inside a running turn too; with `owner` only that one's."""
        owner_id = owner.id if owner is not None else None
        return await self._requests.remove(sender, owner_id, actor, self._clock.now())

    async def bound(self, account: Account | None) -> Sequence[BoundLink]:
        """The links that hold: one account's, or all."""
        return await self._requests.bound(account.id if account is not None else None)

"""Why a call to Telegram failed, and what that means for the message it carried."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from gateway.core.messages import Delivered, OutcomeUnknown, Refused, RetryLater, SendOutcome
from gateway.errors import ChannelError


class Trouble(StrEnum):
    """Why a call failed, as far as it matters for what comes next."""

    NOT_SENT = "not connected"
    IN_DOUBT = "outcome unknown"
    FAILED = "server error"  # in Telegram's own words, so it did nothing
    RATE = "rate limit"
    CREDENTIALS = "credentials"
    CONFLICT = "conflict"  # a second poller, or a webhook is set
    MOVED = "chat moved"
    UNCHANGED = "message is not modified"
    MARKUP = "can't parse entities"
    REFUSED = "refused"


class TelegramTrouble(ChannelError):
    """A call that failed. Its words are our own: Telegram's may hold the token or a text."""

    def __init__(
        self, trouble: Trouble, reason: str, *, after_s: float | None = None, chat_id: int = 0
    ) -> None:
        super().__init__(reason)
        self.trouble = trouble
        self.reason = reason
        self.after_s = after_s
        self.chat_id = chat_id  # MOVED: the new one


REASONS = (  # of Telegram's descriptions those that say what an operator can do
    "chat not found", "bot was blocked by the user", "user is deactivated", "bot was kicked",
    "not enough rights", "have no rights", "message thread not found", "topic_closed",
    "message is too long", "message text is empty", "bot can't initiate conversation",
    "group chat was deactivated", "file is too big", "wrong file_id",
)  # fmt: skip


def meaning(error: Any, errors: Any, httpx: Any) -> TelegramTrouble:
    """Of an error of the SDK; `errors` is `telegram.error`. Some of its kinds are others' kinds."""
    readings: tuple[tuple[type, Callable[[Any], TelegramTrouble]], ...] = (
        (errors.RetryAfter, _rate),
        (errors.ChatMigrated, _moved),
        (errors.Forbidden, _refused),
        (errors.InvalidToken, _of(Trouble.CREDENTIALS)),
        (errors.EndPointNotFound, _of(Trouble.REFUSED)),
        (errors.Conflict, _of(Trouble.CONFLICT)),
        (errors.BadRequest, _refused),
        (errors.NetworkError, lambda broken: _broken(broken, httpx)),
    )
    reading = next((read for kind, read in readings if isinstance(error, kind)), None)
    return reading(error) if reading else TelegramTrouble(Trouble.IN_DOUBT, "unreadable answer")


def outcome_of(trouble: TelegramTrouble) -> SendOutcome:
    """Of a message, which has no idempotency key."""
    match trouble.trouble:
        case Trouble.UNCHANGED:
            outcome: SendOutcome = Delivered()
        case Trouble.NOT_SENT | Trouble.RATE | Trouble.MOVED | Trouble.CONFLICT | Trouble.FAILED:
            outcome = RetryLater(trouble.after_s, trouble.reason)
        case Trouble.IN_DOUBT:
            outcome = OutcomeUnknown(trouble.reason)
        case _:
            outcome = Refused(trouble.reason)
    return outcome


def _broken(error: Any, httpx: Any) -> TelegramTrouble:
    """Sure not to be sent where there was no connection yet, or Telegram itself says it failed.

    A gateway that answers for it lost sight of the call.
    """
    unsent = (
        httpx.ConnectError,
        httpx.ConnectTimeout,
        httpx.PoolTimeout,
        httpx.ProxyError,
        httpx.UnsupportedProtocol,
        httpx.InvalidURL,
    )
    cause = error.__cause__
    if isinstance(cause, unsent):
        return TelegramTrouble(Trouble.NOT_SENT, f"not connected: {type(cause).__name__}")
    said = str(error).lower()
    if "too many requests" in said:
        return TelegramTrouble(Trouble.RATE, Trouble.RATE.value)
    is_told = cause is None and "gateway" not in said  # the SDK read the answer as JSON
    if is_told or said.startswith("service unavailable"):
        return TelegramTrouble(Trouble.FAILED, Trouble.FAILED.value)
    is_of_http = isinstance(cause, httpx.HTTPError)
    return TelegramTrouble(Trouble.IN_DOUBT, type(cause).__name__ if is_of_http else "server error")


def _of(trouble: Trouble) -> Callable[[Any], TelegramTrouble]:
    return lambda _: TelegramTrouble(trouble, trouble.value)


def _rate(error: Any) -> TelegramTrouble:
    after: Any = error.retry_after
    seconds = after if isinstance(after, int | float) else after.total_seconds()
    return TelegramTrouble(Trouble.RATE, Trouble.RATE.value, after_s=max(0.0, float(seconds)))


def _moved(error: Any) -> TelegramTrouble:
    new = error.new_chat_id
    if not isinstance(new, int):
        return TelegramTrouble(Trouble.REFUSED, "chat moved")
    return TelegramTrouble(Trouble.MOVED, Trouble.MOVED.value, chat_id=new)


def _refused(error: Any) -> TelegramTrouble:
    said = str(error).lower()
    for trouble in (Trouble.UNCHANGED, Trouble.MARKUP):
        if trouble in said:
            return TelegramTrouble(trouble, trouble.value)
    known = next((reason for reason in REASONS if reason in said), type(error).__name__)
    return TelegramTrouble(Trouble.REFUSED, known)

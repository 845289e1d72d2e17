"""What Slack's answers mean for a call we owe; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from channels.pacing import retry_after_s
from gateway.core.messages import (
    Delivered,
    OutcomeUnknown,
    Refused,
    RetryLater,
    SendOutcome,
    TryOtherMethod,
)

RATE = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
DOUBTFUL = frozenset({"fatal_error", "internal_error", "service_unavailable", "request_timeout"})
GATEWAYS = frozenset({502, 504})  # they lost sight of what they passed the call on to
SAME = frozenset({"message_not_modified", "not_modified", "no_change", "no_changes"})
HOPELESS = frozenset(  # for any call to this chat
    {
        "account_inactive",
        "channel_not_found",
        "ekm_access_denied",
        "invalid_auth",
        "is_archived",
        "missing_scope",
        "msg_too_long",
        "no_permission",
        "no_text",
        "not_authed",
        "not_in_channel",
        "restricted_action",
        "token_expired",
        "token_revoked",
    }
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back of a call: an `error`, or data without one."""

    error: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_after_s: float | None = None
    is_unsent: bool = False  # it never left
    is_unanswered: bool = False  # it left, and may still be on its way
    is_vague: bool = False  # answered, but not in a way that says what became of it

    @classmethod
    def refused(cls, response: Any) -> "Answer":
        """Of what the SDK raises: its own response, or the HTTP library's where it read none."""
        status: int = getattr(response, "status_code", 0) or getattr(response, "status", 0)
        data = getattr(response, "data", None)
        headers = getattr(response, "headers", None) or {}
        said = data.get("error") if isinstance(data, Mapping) else None
        is_told = isinstance(said, str) and bool(said)
        is_refused = 400 <= status < 500 or (is_told and status < 500)
        error = str(said) if is_told else f"status {status}"
        return cls(
            error="ratelimited" if status == 429 else error,
            headers=headers,
            retry_after_s=retry_after_s(headers.get("Retry-After")),
            is_unanswered=status in GATEWAYS,
            is_vague=not is_refused or said in DOUBTFUL,
        )


def is_in_doubt(answer: Answer) -> bool:
    """Whether the call may have been carried out although it did not succeed."""
    return answer.is_unanswered or answer.is_vague


def posted(answer: Answer) -> SendOutcome:
    """Of a chat.postMessage."""
    if not answer.error:
        return Delivered(_ids(answer))
    if answer.is_unsent or answer.error in RATE:
        return RetryLater(answer.retry_after_s, answer.error)
    if is_in_doubt(answer):
        return OutcomeUnknown(answer.error)
    return Refused(answer.error)


def edited(answer: Answer) -> SendOutcome:
    """Of a chat.update: a message that cannot be edited any more is posted anew instead."""
    if not answer.error or answer.error in SAME:
        return Delivered(_ids(answer))
    if answer.is_unsent or answer.error in RATE or is_in_doubt(answer):
        return RetryLater(answer.retry_after_s, answer.error)
    if answer.error in HOPELESS:
        return Refused(answer.error)
    return TryOtherMethod(answer.error)


def is_stuck(answer: Answer) -> bool:
    """Of a chat.update: the message is there, and cannot be edited any more."""
    return isinstance(edited(answer), TryOtherMethod) and answer.error != "message_not_found"


def _ids(answer: Answer) -> tuple[str, ...]:
    ts = answer.data.get("ts")
    return (ts,) if isinstance(ts, str) else ()

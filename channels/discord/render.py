"""From the parts of a reply to the message objects of Discord's API; pure."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import regex

from channels.text import clean
from gateway.core.messages import Limits, Unit
from gateway.core.splitting import cut_to

LIMITS = Limits(
    unit=Unit.CODE_POINTS,
    part_units=2000,
    parts_per_call=1,
    footer_units=600,
    max_calls=10,
    has_markdown=True,
    typing_every_s=8.0,  # it lasts ten
)
NONCE_CHARS = 25
SUPPRESS_EMBEDS = 1 << 2  # no preview fetches a link (DESIGN section 9.6)
_MORE = " …"
# What Discord's own parser makes live: mentions, commands, times, emojis, links; masked links.
_LIVE = re.compile(
    r"""<(?= @ | \#[0-9] | /[^<>\n:]{1,100}:[0-9] | t:-?[0-9] | id:[a-z]
           | a?:\w{1,32}:[0-9] | https?: )""",
    re.VERBOSE | re.IGNORECASE,
)
_EVERYONE = re.compile(r"@(?=everyone|here)", re.IGNORECASE)
_MASKED = re.compile(r"\]\((?=\s*<?\s*[a-z][a-z0-9+.\-]*:)", re.IGNORECASE)
_UNSEEN = regex.compile(
    r"[\s\p{Cf}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]+"
)


def literal(text: str) -> str:
    """The text with nothing in it that mentions anybody or hides where a link goes.

    Each sign becomes its full-width look-alike, so no text grows over the limit, and marks such
    as `[1]` stay as they are.
    """
    text = _LIVE.sub("＜", clean(text))
    text = _EVERYONE.sub("＠", text)
    return _MASKED.sub("]（", text)


def message(part: str, nonce: str, reply_to: str | None) -> dict[str, Any]:
    """A new message, notifying nobody; ValueError where the API would refuse it."""
    payload = edit(part) | {"nonce": nonce, "enforce_nonce": True}
    if reply_to is not None:
        payload["message_reference"] = {"message_id": reply_to, "fail_if_not_exists": False}
    return payload


def edit(part: str) -> dict[str, Any]:
    """What a message is to say from now on; ValueError where the API would refuse it."""
    content = literal(part)
    if len(content) > LIMITS.part_units or not _UNSEEN.sub("", content):
        raise ValueError(f"a message of {len(content)} characters")
    return {
        "content": content,
        "allowed_mentions": {"parse": [], "replied_user": False},
        "flags": SUPPRESS_EMBEDS,
    }


def draft(text: str) -> str:
    """The beginning of a draft, as much as one message shows."""
    text = text.strip()
    if len(text) <= LIMITS.part_units:
        return text
    return cut_to(text, LIMITS.part_units - len(_MORE), LIMITS.unit) + _MORE


def nonce(key: str) -> str:
    """The same for the same call: a repeat is then the message that is there already."""
    return hashlib.sha256(key.encode()).hexdigest()[:NONCE_CHARS]


def is_said(message: Mapping[str, Any], part: str, bot_id: str, reply_to: str | None) -> bool:
    """Whether a message of the platform is ours and says this part, to this question if to any.

    Discord trims a text and drops some signs, so that only what can be seen is compared.
    """
    author, reference = message.get("author"), message.get("message_reference")
    if not isinstance(author, dict) or author.get("id") != bot_id:
        return False
    replied = reference.get("message_id") if isinstance(reference, dict) else None
    if replied not in (None, reply_to):
        return False  # the same words to another question
    said = str(message.get("content", ""))
    return _UNSEEN.sub("", said) == _UNSEEN.sub("", literal(part))

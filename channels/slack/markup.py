"""Slack's escaped text, both ways; pure."""

import re
from typing import Any

_TOKEN = re.compile(r"<([^<>]*)>|&(amp|lt|gt);")
_LEADING_MENTION = re.compile(r"\s*<@([A-Z0-9]+)(?:\|[^<>]*)?>")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">"}
MOST_NODES = 2_000  # of a message's blocks, looked through for a mention


def escape(plain: str) -> str:
    """Without < and > there is no mention, no broadcast and no link with a false label."""
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str, own: str | None) -> tuple[str, bool]:
    """As a person reads it, without mentions of `own`, and whether there was one."""
    is_mentioned = False

    def readable(match: re.Match[str]) -> str:
        nonlocal is_mentioned
        if match[2]:
            return _ENTITIES[match[2]]
        if own and match[1].partition("|")[0] == f"@{own}":
            is_mentioned = True
            return ""
        return _readable(match[1])

    return _TOKEN.sub(readable, text), is_mentioned


def leading_mention(text: str) -> str | None:
    """The user whom the text begins with."""
    found = _LEADING_MENTION.match(text)
    return found[1] if found else None


def mentions(blocks: Any, user: str) -> bool:
    """Whether a rich text names the user; quoted messages are attachments and do not count."""
    waiting = [blocks]
    for _ in range(MOST_NODES):
        if not waiting:
            return False
        node = waiting.pop()
        if isinstance(node, dict):
            if node.get("type") == "user" and node.get("user_id") == user:
                return True
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return False


def _readable(token: str) -> str:
    """The inside of a <token>; what it shows may hold entities, which stand for themselves."""
    target, _, label = token.partition("|")
    target, label = _plain(target), _plain(label)
    if target.startswith(("@", "#")):
        return f"{target[0]}{label.lstrip('@#')}" if label else target
    if target.startswith("!"):
        return label or f"@{target[1:]}"
    shown = target.removeprefix("mailto:").removeprefix("tel:")
    if not label or label in (target, shown) or target.partition("://")[2].rstrip("/") == label:
        return shown
    return f"{label} ({shown})"


def _plain(text: str) -> str:
    return _TOKEN.sub(lambda match: _ENTITIES.get(match[2] or "", match[0]), text)

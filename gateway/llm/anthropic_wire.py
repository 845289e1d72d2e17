"""Anthropic's messages as values: our messages into theirs, their events into a draft."""

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gateway.core.chat import ChatMessage, Draft, Speaker, Tool
from gateway.llm.pieces import Pieces

ODD_LETTERS = re.compile(r"[^a-zA-Z0-9_-]")
NAME_CHARS = 64
REFUSED = "refusal"


def system_of(messages: Iterable[ChatMessage]) -> str:
    """What goes into the `system` field."""
    return "\n\n".join(each.text for each in messages if each.speaker is Speaker.SYSTEM)


def tools_payload(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The tools on offer."""
    return [
        {
            "name": _name(tool.name),
            "description": tool.description,
            "input_schema": dict(tool.parameters),
        }
        for tool in tools
    ]


def tools_used(messages: Iterable[ChatMessage]) -> list[dict[str, Any]]:
    """Definitions of the tools of past calls: a conversation with calls must define them."""
    names = {_name(call.name) for message in messages for call in message.tool_calls}
    return [{"name": name, "input_schema": {"type": "object"}} for name in sorted(names)]


def messages_payload(messages: Iterable[ChatMessage]) -> list[dict[str, Any]]:
    """The conversation in turns of user and assistant; results come in the user's turn.

    Calls get ids of our own: another model's may hold letters that are refused here, or repeat.
    """
    turns: list[dict[str, Any]] = []
    ids: dict[str, str] = {}
    calls = 0
    for message in messages:
        if message.speaker is Speaker.SYSTEM:
            continue
        for call in message.tool_calls:
            ids[call.id] = f"call_{calls}"
            calls += 1
        role = "assistant" if message.speaker is Speaker.ASSISTANT else "user"
        blocks = _blocks(message, ids)
        if blocks and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: ChatMessage, ids: dict[str, str]) -> list[dict[str, Any]]:
    if message.speaker is Speaker.TOOL:
        call_id = ids.get(message.tool_call_id or "", "")
        return [{"type": "tool_result", "tool_use_id": call_id, "content": message.text}]
    has_text = bool(message.text.strip())  # a block without words is refused
    text: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if has_text else []
    return [*map(_image, message.images), *text] + [
        {
            "type": "tool_use",
            "id": ids[call.id],
            "name": _name(call.name),
            "input": _object(call.arguments),
        }
        for call in message.tool_calls
    ]


def _image(png: bytes) -> dict[str, Any]:
    data = base64.b64encode(png).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}


def _name(name: str) -> str:
    return ODD_LETTERS.sub("_", name)[:NAME_CHARS] or "tool"


def _object(arguments: str) -> dict[str, Any]:
    """What the model wrote, if it is an object: nothing else may stand there."""
    try:
        found = msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@dataclass(slots=True)
class MessageInPieces(Pieces):
    """The pieces of a draft in events of the messages API."""

    stop_reason: str = ""
    shown_whole: dict[int, str] = field(default_factory=dict)  # input that came in one piece

    def add(self, event: Any) -> str:
        """Take one event in; the text it adds."""
        match getattr(event, "type", None):
            case "message_start":
                self._count(getattr(getattr(event, "message", None), "usage", None))
            case "content_block_start":
                return self._begin(event, getattr(event, "content_block", None))
            case "content_block_delta":
                return self._go_on(event, getattr(event, "delta", None))
            case "message_delta":
                self._count(getattr(event, "usage", None))
                reason = getattr(getattr(event, "delta", None), "stop_reason", None)
                self.stop_reason = reason if isinstance(reason, str) else self.stop_reason
                self.is_finished = self.is_finished or bool(reason)
            case _:  # the end of a block or of all, and what is not known yet
                pass
        return ""

    def draft(self) -> Draft:
        """What came, whole; of an answer broken off by a refusal nothing is kept."""
        if self.stop_reason == REFUSED:
            return Draft("", usage=self.usage)
        for index, arguments in self.shown_whole.items():
            if not self.call(index).arguments:
                self.call(index).arguments = arguments
        return Pieces.draft(self)

    def _begin(self, event: Any, block: Any) -> str:
        kind = getattr(block, "type", None)
        if kind == "text":
            return self.add_text(getattr(block, "text", None))
        if kind == "tool_use":
            index = _index(event)
            self.call(index).add(getattr(block, "id", None), getattr(block, "name", None), None)
            whole = getattr(block, "input", None) or {}
            self.shown_whole[index] = msgspec.json.encode(whole, enc_hook=str).decode()
        return ""

    def _go_on(self, event: Any, delta: Any) -> str:
        kind = getattr(delta, "type", None)
        if kind == "text_delta":
            return self.add_text(getattr(delta, "text", None))
        if kind == "input_json_delta":
            self.call(_index(event)).add(None, None, getattr(delta, "partial_json", None))
        return ""

    def _count(self, usage: Any) -> None:
        read = [getattr(usage, name, None) for name in _READ]
        known = [each for each in read if isinstance(each, int)]
        self.count(sum(known) if known else None, getattr(usage, "output_tokens", None))


_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _index(event: Any) -> int:
    index = getattr(event, "index", None)
    return index if isinstance(index, int) else 0

"""OpenAI's chat completions as values: our messages into theirs, their chunks into a draft."""

import base64
from collections.abc import Sequence
from typing import Any

from gateway.core.chat import ChatMessage, Speaker, Tool
from gateway.llm.pieces import Pieces


def messages_payload(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """The conversation as the request body has it."""
    return [_message(message) for message in messages]


def tools_payload(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The tools on offer as the request body has them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in tools
    ]


def _message(message: ChatMessage) -> dict[str, Any]:
    content: Any = message.text
    if message.images:
        content = [*map(_image, message.images), {"type": "text", "text": message.text}]
    payload: dict[str, Any] = {"role": message.speaker.value, "content": content}
    if message.speaker is Speaker.TOOL:
        payload["tool_call_id"] = message.tool_call_id or ""
    if message.tool_calls:
        payload["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    return payload


def _image(png: bytes) -> dict[str, Any]:
    data = base64.b64encode(png).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


class DraftInPieces(Pieces):
    """The pieces of a draft in chunks of chat completions."""

    def add(self, chunk: Any) -> str:
        """Take one chunk in; the text it adds."""
        usage = getattr(chunk, "usage", None)
        self.count(getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None))
        added = ""
        for choice in list(getattr(chunk, "choices", None) or ())[:1]:
            if getattr(choice, "finish_reason", None):
                self.is_finished = True
            delta = getattr(choice, "delta", None)
            for position, piece in enumerate(getattr(delta, "tool_calls", None) or ()):
                self._add_call(position, piece)
            added = self.add_text(getattr(delta, "content", None))
        return added

    def _add_call(self, position: int, piece: Any) -> None:
        index = getattr(piece, "index", None)
        function = getattr(piece, "function", None)
        self.call(index if isinstance(index, int) else position).add(
            getattr(piece, "id", None),
            getattr(function, "name", None),
            getattr(function, "arguments", None),
        )

"""Anthropic's language models through the messages API, streamed."""

from collections.abc import Sequence
from typing import Any

import structlog

from gateway.core.chat import ChatMessage, Tool
from gateway.llm.anthropic_wire import (
    MessageInPieces,
    messages_payload,
    system_of,
    tools_payload,
    tools_used,
)
from gateway.llm.provider import NO_KEY, Provider

log = structlog.get_logger()
MAX_TOKENS = 4_096  # the API insists on a limit; every one of its models can write as much


class AnthropicProvider(Provider):
    """The vendor, or a server that speaks its messages API."""

    MODULES = ("anthropic", "anthropic.resources.messages", "anthropic.resources.models")
    ERRORS = "AnthropicError"

    def open_client(self, sdk: Any, http: Any) -> Any:
        """The SDK adds /v1 itself, whether the setting has it or not."""
        return sdk.AsyncAnthropic(
            api_key=self.settings.api_key.reveal() or NO_KEY,
            base_url=self.settings.url.rstrip("/").removesuffix("/v1"),
            max_retries=self.settings.max_retries,
            http_client=http,
            timeout=http.timeout,
        )

    def request(
        self, model: str, messages: Sequence[ChatMessage], tools: Sequence[Tool]
    ) -> dict[str, Any]:
        """A streamed message. Without tools on offer those of past calls are named all the same."""
        request: dict[str, Any] = {
            "model": model,
            "messages": messages_payload(messages),
            "max_tokens": self.settings.max_tokens or MAX_TOKENS,
            "stream": True,
        }
        if system := system_of(messages):
            request["system"] = system
        if tools:
            request["tools"] = tools_payload(tools)
        elif used := tools_used(messages):
            request["tools"] = used
            request["tool_choice"] = {"type": "none"}
        return request

    async def open_stream(self, client: Any, request: dict[str, Any]) -> Any:
        """Tries again included, where the client does."""
        return await client.messages.create(**request)

    def pieces(self) -> MessageInPieces:
        """Events of the messages API."""
        return MessageInPieces()

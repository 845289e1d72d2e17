"""Language models behind servers that speak OpenAI's chat completions, streamed."""

from collections.abc import Sequence
from typing import Any

from gateway.core.chat import ChatMessage, Tool
from gateway.llm.provider import NO_KEY, Provider
from gateway.llm.wire import DraftInPieces, messages_payload, tools_payload


class OpenAIProvider(Provider):
    """The vendor, or any server that imitates it."""

    MODULES = ("openai", "openai.resources.chat.completions", "openai.resources.models")
    ERRORS = "OpenAIError"

    def open_client(self, sdk: Any, http: Any) -> Any:
        """Organisation and project would come from the environment; a key has its own."""
        client = sdk.AsyncOpenAI(
            api_key=self.settings.api_key.reveal() or NO_KEY,
            base_url=self.settings.url,
            max_retries=self.settings.max_retries,
            http_client=http,
            timeout=http.timeout,
        )
        client.organization = client.project = None
        return client

    def request(
        self, model: str, messages: Sequence[ChatMessage], tools: Sequence[Tool]
    ) -> dict[str, Any]:
        """A streamed chat completion that tells its tokens at the end."""
        request: dict[str, Any] = {
            "model": model,
            "messages": messages_payload(messages),
            "stream": True,
        }
        if self.settings.ask_usage:
            request["stream_options"] = {"include_usage": True}
        if self.settings.max_tokens:
            request["max_tokens"] = self.settings.max_tokens
        if tools:
            request["tools"] = tools_payload(tools)
        return request

    async def open_stream(self, client: Any, request: dict[str, Any]) -> Any:
        """Tries again included, where the client does."""
        return await client.chat.completions.create(**request)

    def pieces(self) -> DraftInPieces:
        """Chunks of chat completions."""
        return DraftInPieces()

"""Language models behind servers that speak OpenAI's chat completions, streamed."""

import asyncio
import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import structlog

from gateway.core.chat import ChatMessage, Draft, Tool
from gateway.errors import LanguageModelError
from gateway.interfaces import OnDelta
from gateway.llm.settings import ProviderSettings
from gateway.llm.wire import DraftInPieces, messages_payload, tools_payload

log = structlog.get_logger()
NO_KEY = "none"  # the SDK insists on one; servers without keys ignore it


class OpenAIProvider:
    """One provider's client: sockets are shared by all of its models, made at first use."""

    def __init__(self, provider_id: str, settings: ProviderSettings) -> None:
        self.id = provider_id
        self.settings = settings
        self._client: Any = None
        self._sdk: Any = None
        self._http: Any = None
        self._loading = asyncio.Lock()

    async def open_stream(self, request: dict[str, Any]) -> Any:
        """Send the request, tries again included; the SDK's stream of chunks. After `ready`."""
        return await self._client.chat.completions.create(**request)

    async def ready(self) -> None:
        """Load the SDK: that takes a second and much memory, so not at start."""
        async with self._loading:
            if self._client is None:
                await asyncio.to_thread(self._load)

    def _load(self) -> None:
        self._http = importlib.import_module("httpx")
        self._sdk = importlib.import_module("openai")
        importlib.import_module("openai.resources.chat.completions")  # else on the event loop
        timeout = self._http.Timeout(
            self.settings.first_token_timeout_s, connect=self.settings.connect_timeout_s
        )
        self._client = self._sdk.AsyncOpenAI(
            api_key=self.settings.api_key.reveal() or NO_KEY,
            base_url=self.settings.base_url,
            max_retries=self.settings.max_retries,
            timeout=timeout,
        )

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Whatever goes wrong inside becomes a LanguageModelError without any of its text."""
        try:
            yield
        except TimeoutError as error:  # ours: no first token, or no end
            raise LanguageModelError(_said(self.id, error), code="llm_timeout") from error
        except self._known_failures() as error:
            is_timeout = isinstance(error, self._timeouts())
            code = "llm_timeout" if is_timeout else "llm_failed"
            raise LanguageModelError(_said(self.id, error), code=code) from error

    def _timeouts(self) -> tuple[type[BaseException], ...]:
        return (self._sdk.APITimeoutError, self._http.TimeoutException)

    def _known_failures(self) -> tuple[type[BaseException], ...]:
        """What the SDK and its HTTP client raise; ValueError and TypeError are broken chunks."""
        return (self._sdk.OpenAIError, self._http.HTTPError, ValueError, TypeError)

    async def close(self) -> None:
        """Give the sockets back."""
        if self._client is not None:
            await self._client.close()
            self._client = None


class OpenAIModel:
    """Implements `interfaces.LanguageModel` for one model of a provider."""

    def __init__(self, provider: OpenAIProvider, name: str) -> None:
        self._provider = provider
        self._name = name

    async def complete(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], on_delta: OnDelta
    ) -> Draft:
        """Ask, show the text as it comes, return the whole. Raises LanguageModelError."""
        request: dict[str, Any] = {
            "model": self._name,
            "messages": messages_payload(messages),
            "stream": True,
        }
        if tools:
            request["tools"] = tools_payload(tools)
        await self._provider.ready()
        settings = self._provider.settings
        pieces = DraftInPieces()
        with self._provider.failures():
            async with asyncio.timeout(settings.total_timeout_s):
                async with asyncio.timeout(settings.first_token_timeout_s) as first_token:
                    stream = await self._provider.open_stream(request)
                    async with stream:
                        await self._read(stream, pieces, first_token, on_delta)
        return pieces.draft()

    async def _read(
        self, stream: Any, pieces: DraftInPieces, first_token: asyncio.Timeout, on_delta: OnDelta
    ) -> None:
        async for chunk in stream:
            first_token.reschedule(None)  # it came in time; from now on silence has a limit
            added = pieces.add(chunk)
            if added:
                await on_delta(added)
            if pieces.is_full:
                log.warning("draft cut", provider=self._provider.id, chars=pieces.chars)
                return


def _said(provider_id: str, error: BaseException) -> str:
    """For the log: the provider, the kind of failure and its status; their text may hold keys."""
    status = getattr(error, "status_code", None)
    return f"{provider_id}: {type(error).__name__}" + (f" {status}" if status else "")

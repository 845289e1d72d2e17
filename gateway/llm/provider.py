"""What providers share: a client made at first use, failures without secrets, streamed answers."""

import asyncio
import importlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol

import structlog

from gateway.core.chat import ChatMessage, Draft, Tool
from gateway.core.messages import Check
from gateway.errors import LanguageModelError
from gateway.interfaces import OnDelta
from gateway.llm.settings import ProviderSettings

log = structlog.get_logger()
CHECK_TIMEOUT_S = 5.0  # without loading the SDK
NO_KEY = "none"  # the SDKs insist on one; servers without keys ignore it


class GrowingDraft(Protocol):
    """A draft that takes one event of a stream after the other."""

    @property
    def is_full(self) -> bool: ...

    def add(self, event: Any) -> str: ...
    def draft(self) -> Draft: ...


class Provider(ABC):
    """One provider's client: sockets are shared by all of its models, made at first use.

    Nothing comes from the environment: neither a key nor an address nor a proxy. Each kind says
    how its SDK is opened and called.
    """

    MODULES: tuple[str, ...] = ()  # the SDK, and what it would load later, on the event loop
    ERRORS = ""  # the name of the SDK's own root of errors

    def __init__(self, provider_id: str, settings: ProviderSettings) -> None:
        self.id = provider_id
        self.settings = settings
        self._clients: tuple[Any, Any] | None = None  # one that tries again, one that does not
        self._sdk: Any = None
        self._http: Any = None
        self._loading = asyncio.Lock()
        self._users = 0
        self._is_retired = False

    @abstractmethod
    def open_client(self, sdk: Any, http: Any) -> Any:
        """The SDK's asynchronous client over this HTTP client."""

    @abstractmethod
    def request(
        self, model: str, messages: Sequence[ChatMessage], tools: Sequence[Tool]
    ) -> dict[str, Any]:
        """What the SDK is called with."""

    @abstractmethod
    async def open_stream(self, client: Any, request: dict[str, Any]) -> Any:
        """Send the request; the SDK's stream of events."""

    @abstractmethod
    def pieces(self) -> GrowingDraft:
        """An empty draft to put the events into."""

    @asynccontextmanager
    async def client(self, *, tries_again: bool) -> AsyncIterator[Any]:
        """The SDK's client, for one call. Loading it takes a second: not at start."""
        self._users += 1
        try:
            async with self._loading:
                if self._clients is None:
                    self._clients = await asyncio.to_thread(self._load)
            yield self._clients[0 if tries_again else 1]
        finally:
            self._users -= 1
            if self._is_retired and not self._users:
                await self.close()

    def _load(self) -> tuple[Any, Any]:
        self._http = importlib.import_module("httpx")
        self._sdk, *_ = [importlib.import_module(module) for module in self.MODULES]
        try:
            client = self.open_client(self._sdk, self._http_client())
        except (ValueError, ImportError, self._http.InvalidURL) as error:  # an odd URL or proxy
            raise LanguageModelError(_said(self.id, error)) from error
        return client, client.with_options(max_retries=0)

    def _http_client(self) -> Any:
        settings = self.settings
        transport = importlib.import_module("gateway.llm.transport")
        return self._http.AsyncClient(
            transport=transport.AiohttpTransport(settings.proxy.reveal()),
            trust_env=False,
            timeout=self._http.Timeout(
                settings.first_token_timeout_s, connect=settings.connect_timeout_s
            ),
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
        """What the SDK and its HTTP client raise; ValueError and TypeError are broken events."""
        root: type[BaseException] = getattr(self._sdk, self.ERRORS)
        return (root, self._http.HTTPError, ValueError, TypeError)

    async def check(self) -> Check:
        """Ask for the list of models: whether the server is there and takes the key."""
        try:
            async with self.client(tries_again=False) as client:
                with self.failures():
                    async with asyncio.timeout(CHECK_TIMEOUT_S):
                        await client.models.list()
        except LanguageModelError as error:
            status = getattr(error.__cause__, "status_code", None)
            if status in (404, 405):  # a server without such a list; it did answer
                return Check("credentials", is_ok=True, detail=f"{self.id}: {status}")
            return Check("credentials", is_ok=False, detail=str(error))
        return Check("credentials", is_ok=True)

    async def retire(self) -> None:
        """The settings have changed: give the sockets back once the last answer is through."""
        self._is_retired = True
        if not self._users:
            await self.close()

    async def close(self) -> None:
        """Give the sockets back."""
        if self._clients is not None:
            clients, self._clients = self._clients, None
            await clients[0].close()  # both have the same sockets


class StreamedModel:
    """Implements `interfaces.LanguageModel` for one model of a provider."""

    def __init__(self, provider: Provider, name: str, *, tries_again: bool = True) -> None:
        self._provider = provider
        self._name = name
        self._tries_again = tries_again

    async def complete(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], on_delta: OnDelta
    ) -> Draft:
        """Ask, show the text as it comes, return the whole. Raises LanguageModelError."""
        provider, settings = self._provider, self._provider.settings
        pieces = provider.pieces()
        async with provider.client(tries_again=self._tries_again) as client:
            with provider.failures():
                request = provider.request(self._name, messages, tools)
                async with asyncio.timeout(settings.total_timeout_s):
                    async with asyncio.timeout(settings.first_token_timeout_s) as first_token:
                        stream = await provider.open_stream(client, request)
                        async with stream:
                            await self._read(stream, pieces, first_token, on_delta)
        return pieces.draft()

    async def _read(
        self, stream: Any, pieces: GrowingDraft, first_token: asyncio.Timeout, on_delta: OnDelta
    ) -> None:
        async for event in stream:
            first_token.reschedule(None)  # it came in time; from now on silence has a limit
            added = pieces.add(event)
            if added:
                await on_delta(added)
            if pieces.is_full:
                log.warning("draft cut", provider=self._provider.id, model=self._name)
                return


def _said(provider_id: str, error: BaseException) -> str:
    """For the log: the provider, the kind of failure and its status; their text may hold keys."""
    status = getattr(error, "status_code", None)
    return f"{provider_id}: {type(error).__name__}" + (f" {status}" if status else "")

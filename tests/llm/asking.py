"""Asking a provider of either kind through its real SDK against its simulator."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from gateway.core.chat import ChatMessage, Draft, Speaker, Tool
from gateway.core.secrets import Secret
from gateway.llm.provider import StreamedModel
from gateway.llm.registry import KINDS
from gateway.llm.settings import ProviderKind, ProviderSettings
from tests.simulators.anthropic import anthropic_simulator
from tests.simulators.openai import openai_simulator
from tests.simulators.scripted import ScriptedServer

KEY = "sk-local-7f3a9c"
SETTINGS = ProviderSettings(
    api_key=Secret(KEY), first_token_timeout_s=0.5, total_timeout_s=5.0, max_retries=1
)
ASK = (
    ChatMessage(Speaker.SYSTEM, "Answer from the passages."),
    ChatMessage(Speaker.USER, "到職滿一年的特休有幾天？"),
)
SEARCH = Tool("knowledge_search", "Search the documents.", {"type": "object", "properties": {}})

Simulate = Callable[..., AbstractAsyncContextManager[ScriptedServer]]


@dataclass(frozen=True)
class Api:
    """One kind of provider and the server it talks to."""

    kind: ProviderKind
    simulate: Simulate
    key: str  # as the server sees it

    def settings(
        self, server: ScriptedServer, base: ProviderSettings = SETTINGS
    ) -> ProviderSettings:
        return replace(base, kind=self.kind, base_url=server.base_url)


OPENAI = Api(ProviderKind.OPENAI, openai_simulator, f"Bearer {KEY}")
ANTHROPIC = Api(ProviderKind.ANTHROPIC, anthropic_simulator, KEY)
APIS: Mapping[str, Api] = {"openai": OPENAI, "anthropic": ANTHROPIC}


class Shown:
    """Collects what is shown while the draft comes."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def __call__(self, text: str) -> None:
        self.texts.append(text)


async def ask(
    api: Api,
    server: ScriptedServer,
    settings: ProviderSettings = SETTINGS,
    messages: tuple[ChatMessage, ...] = ASK,
    tools: tuple[Tool, ...] = (SEARCH,),
) -> tuple[Draft, Shown]:
    provider = KINDS[api.kind]("house", api.settings(server, settings))
    shown = Shown()
    try:
        return await StreamedModel(provider, "small-1").complete(messages, tools, shown), shown
    finally:
        await provider.close()

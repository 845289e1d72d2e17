"""Puts agentic retrieval together."""

from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.scopes import ScopeService
from gateway.app_library import Shelves
from gateway.config import GatewaySettings
from gateway.interfaces import Clock, LanguageModels
from gateway.knowledge.filtered import FilteredSearch
from gateway.knowledge_config import KnowledgeConfig
from gateway.operations.planning import Planner
from gateway.operations.retrieve import Retrieval
from gateway.operations.synthesis import Synthesis, WritingSettings


def filtering(shelves: Shelves) -> FilteredSearch:
    """The library's own search, with a filter before it."""
    store = shelves.store
    return FilteredSearch(shelves.search, store.passages, store.passages)


def writing_of(settings: GatewaySettings, knowledge: KnowledgeConfig) -> WritingSettings:
    """What holds for a model's answers as for turns."""
    most_chars = knowledge.switches.inject_budget_chars_max
    return WritingSettings(most_chars, settings.language, settings.citation_check)


def build_retrieval(  # noqa: PLR0913 - one collaborator a seam
    shelves: Shelves,
    scopes: ScopeService,
    files: AgentFolder,
    models: LanguageModels,
    clock: Clock,
    writing: WritingSettings,
    *,
    is_open: bool,
) -> Retrieval:
    """Over `filtering`."""
    store, planner = shelves.store, Planner(files, models, clock)
    writes = Synthesis(files, models, scopes, store.collections, store.passages, clock, writing)
    parts = planner, filtering(shelves), scopes, store.collections, clock, writes
    return Retrieval(*parts, is_open=is_open)

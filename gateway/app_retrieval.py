"""Puts agentic retrieval together."""

from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.scopes import ScopeService
from gateway.app_library import Shelves
from gateway.interfaces import Clock, LanguageModels
from gateway.knowledge.filtered import FilteredSearch
from gateway.operations.planning import Planner
from gateway.operations.retrieve import Retrieval


def filtering(shelves: Shelves) -> FilteredSearch:
    """The library's own search, with a filter before it."""
    store = shelves.store
    return FilteredSearch(shelves.search, store.passages, store.passages)


def build_retrieval(
    shelves: Shelves,
    scopes: ScopeService,
    files: AgentFolder,
    models: LanguageModels,
    clock: Clock,
    *,
    is_open: bool,
) -> Retrieval:
    """Over `filtering`."""
    planner, collections = Planner(files, models, clock), shelves.store.collections
    return Retrieval(planner, filtering(shelves), scopes, collections, clock, is_open=is_open)

"""Puts folders, their documents and the query of an agent's documents together."""

from gateway.accounts.scopes import ScopeService
from gateway.app_library import Shelves
from gateway.app_operations import Operations
from gateway.interfaces import Clock
from gateway.knowledge.filtered import FilteredSearch
from gateway.knowledge.proposals import Proposals
from gateway.operations.folder_query import FolderQuery
from gateway.surfaces.document_query import DocumentQuery
from gateway.surfaces.folder_documents import FolderDocuments
from gateway.surfaces.folder_door import FolderDoor
from gateway.surfaces.folders import Folders
from gateway.surfaces.idempotency import Idempotency

Surfaces = tuple[Folders, FolderDocuments, DocumentQuery]


def build_folders(
    shelves: Shelves,
    operations: Operations,
    repeats: Idempotency,
    proposals: Proposals,
    clock: Clock,
) -> Surfaces:
    """Over the table of operations, and the agents' doors."""
    door = FolderDoor(operations.doors, operations.registry, repeats)
    asking = DocumentQuery(door, _query(shelves, operations, clock))
    return Folders(door), FolderDocuments(door, proposals), asking


def _query(shelves: Shelves, operations: Operations, clock: Clock) -> FolderQuery:
    store = shelves.store
    search = FilteredSearch(shelves.search, store.passages, store.passages)
    scopes = ScopeService(store.accounts, store.links, store.grants)
    return FolderQuery(search, scopes, store.sources, clock, operations.desk.check_open)

"""The cards of a run's four tools (FEATURES A21)."""

from typing import Any

from gateway.core.prompt import TOOL_SEARCH
from gateway.surfaces.mcp_knowledge import QUERY_CHARS
from gateway.surfaces.mcp_tools import Annotations, ToolCard

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _result(properties: dict[str, Any]) -> dict[str, Any]:
    """Everything of it is always there."""
    return _object(properties, *properties)


_PASSAGES = _result(
    {
        "passages": {
            "type": "array",
            "items": _result(
                {
                    "n": {"type": "integer", "minimum": 1},
                    "chunk_id": _TEXT,
                    "source_id": _TEXT,
                    "collection": _TEXT,
                    "title": _TEXT,
                    "locator": _TEXT,
                    "text": _TEXT,
                }
            ),
        }
    }
)

SEARCH = ToolCard(
    TOOL_SEARCH.name,
    "Search company documents",
    f"{TOOL_SEARCH.description} Each has a chunk_id for knowledge_get_passage.",
    _object(
        {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": QUERY_CHARS,
                "description": "What to look for, in the user's words and language.",
            },
            "collections": {
                "type": "array",
                "items": _TEXT,
                "description": "Slugs to narrow the search to; it never widens.",
            },
            "filters": {
                "type": "object",
                "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
                "description": "Only documents whose metadata has all of these values.",
            },
            "limit": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
        },
        "query",
    ),
    _PASSAGES,
)
PASSAGE = ToolCard(
    "knowledge_get_passage",
    "Open a passage",
    "A passage of a company document by its chunk_id, with up to two neighbours on each side.",
    _object(
        {
            "chunk_id": {"type": "string", "description": "As a search showed it."},
            "context": {"type": "integer", "minimum": 0, "maximum": 2, "default": 1},
        },
        "chunk_id",
    ),
    _PASSAGES,
)
COLLECTIONS = ToolCard(
    "knowledge_list_collections",
    "List collections",
    "The collections of documents that can be read now, with their numbers of sources and "
    "passages.",
    _object({}),
    _result(
        {
            "collections": {
                "type": "array",
                "items": _result(
                    {
                        "slug": _TEXT,
                        "name": _TEXT,
                        "description": _TEXT,
                        "sources": _COUNT,
                        "passages": _COUNT,
                    }
                ),
            }
        }
    ),
)
ADD = ToolCard(
    "knowledge_add_source",
    "Propose a document",
    "Propose a document for a collection: a file of the agent's own attachments/, the address of "
    "a page, or a text. A person approves it first; until then nothing is added.",
    _object(
        {
            "collection": {"type": "string", "description": "Its slug."},
            "path": {"type": "string", "description": "Of a file within attachments/."},
            "url": {"type": "string", "description": "http or https."},
            "text": {"type": "string", "description": "The text itself."},
            "title": {"type": "string", "description": "What the document is to be called."},
        },
        "collection",
    ),
    _result({"proposal_id": _TEXT, "state": _TEXT}),
    Annotations(is_read_only=False, is_idempotent=True),
)

"""The tool `search_knowledge`: its card, its envelopes, its errors (FEATURES C1, C3)."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import msgspec

from gateway.catalogue import error_text
from gateway.core.matching import storable
from gateway.errors import GatewayError
from gateway.operations.registry import MESSAGE_CHARS
from gateway.operations.revisions import (
    MODES,
    MOST_CHARS,
    MOST_RESULTS,
    QUERY_CHARS,
    Ask,
    Revisions,
)
from gateway.operations.table import Caller
from gateway.surfaces.mcp_tools import Progress, Tool, ToolAnswer, ToolCard, json_answer

DISABLED = "knowledge_runtime_disabled"
_FIELDS = frozenset(field.name for field in dataclasses.fields(Ask))
_TEXT = {"type": "string"}
_TEXTS = (
    "knowledge_base_id",
    "knowledge_item_id",
    "knowledge_revision_id",
    "title",
    "source",
    "reference",
)
_RANK = {"type": ["integer", "null"], "minimum": 1}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


_RESULT = _object(
    {
        **dict.fromkeys((*_TEXTS, "excerpt", "citation"), _TEXT),
        "scores": _object(
            {"score": {"type": "number"}, "lexical_rank": _RANK, "semantic_rank": _RANK}
        ),
    }
)
_SEARCHED = _object(
    {
        "type": {"const": "knowledge_search"},
        "mode": {"enum": list(MODES)},
        "results": {"type": "array", "items": _RESULT},
    }
)
_READ = _object(
    {
        "type": {"const": "knowledge"},
        **dict.fromkeys((*_TEXTS, "owner", "team", "scope", "content", "locator"), _TEXT),
        "content_offset": {"type": "integer", "minimum": 0},
        "content_limit": {"type": "integer", "minimum": 1},
        "content_total_chars": {"type": "integer", "minimum": 0},
        "content_truncated": {"type": "boolean"},
    }
)

CARD = ToolCard(
    "search_knowledge",
    "Search or read knowledge",
    "Search current published knowledge by a query, or read one item, or one immutable revision "
    "of it, in bounded windows. Give a query or a knowledge_item_id, never both.",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "default": "", "maxLength": QUERY_CHARS},
            "knowledge_base_id": {"type": "string", "default": ""},
            "knowledge_item_id": {"type": "string", "default": ""},
            "knowledge_revision_id": {"type": "string", "default": ""},
            "offset": {"type": "integer", "default": 0, "minimum": 0},
            "limit_chars": {
                "type": "integer",
                "default": 4000,
                "minimum": 1,
                "maximum": MOST_CHARS,
            },
            "max_results": {
                "type": "integer",
                "default": 10,
                "minimum": 1,
                "maximum": MOST_RESULTS,
            },
            "mode": {"type": "string", "default": "hybrid", "description": ", ".join(MODES)},
            "alpha": {"type": "number", "default": 0.5, "description": "Weight of the words."},
        },
        "additionalProperties": False,
    },
    {"type": "object", "oneOf": [_SEARCHED, _READ]},
)


def tool(revisions: Revisions) -> Tool:
    """Callable, and not in the list (C1)."""

    async def run(caller: Caller, given: Mapping[str, Any], _progress: Progress) -> ToolAnswer:
        try:
            return json_answer(await revisions.answer(caller, _ask(given)))
        except GatewayError as error:
            return _refused(error, caller.language)

    return Tool(CARD, run, is_listed=False)


def _ask(given: Mapping[str, Any]) -> Ask:
    """What is null is absent; a name or type that does not fit is `knowledge_invalid_request`."""
    kept = {
        name: storable(value) if isinstance(value, str) else value
        for name, value in given.items()
        if value is not None
    }
    unknown = sorted(kept.keys() - _FIELDS)
    if unknown:
        raise _invalid(f"unknown: {', '.join(unknown)}")
    try:
        ask = msgspec.convert(kept, Ask, strict=True)
    except msgspec.ValidationError as error:
        raise _invalid(str(error)) from error
    if math.isnan(ask.alpha):
        raise _invalid("alpha: not a number")
    return ask


def _invalid(reason: str) -> GatewayError:
    reason = reason[:MESSAGE_CHARS]
    return GatewayError(reason, code="knowledge_invalid_request", reason=reason)


def _refused(error: GatewayError, language: str | None) -> ToolAnswer:
    """Switched off is a state with an envelope of its own, the rest are errors."""
    kind = "knowledge_unavailable" if error.code == DISABLED else "knowledge_error"
    message = error_text(error.code, language, **error.params)
    told = {"type": kind, "error": {"code": error.code, "message": message}}
    return json_answer(told, is_error=True)

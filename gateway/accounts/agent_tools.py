"""`[tools.*]` of agent.toml: tools that an agent's model is offered only where they stand there."""

import math
from collections.abc import Mapping
from typing import Any

import structlog

from gateway.core.filters import equal_to
from gateway.core.knowledge_tool import (
    DESCRIPTION,
    DESCRIPTION_CHARS,
    TIMEOUT_S,
    TOP_K,
    KnowledgeBaseTool,
)
from gateway.errors import InvalidRequestError

log = structlog.get_logger()


def knowledge_base_of(table: Mapping[str, Any], agent_id: str) -> KnowledgeBaseTool | None:
    """`[tools.knowledge_base]`: absent or unreadable = no such tool, numbers clamped.

    A filter that is not understood leaves nothing out by chance: the whole section counts as
    unreadable then.
    """
    tools = table.get("tools", {})
    section = tools.get("knowledge_base") if isinstance(tools, dict) else ()
    if section is None:
        return None
    found = _read(section) if isinstance(section, dict) else None
    if found is None:
        log.warning("agent tools section unreadable", agent=agent_id)
    return found


def _read(section: Mapping[str, Any]) -> KnowledgeBaseTool | None:
    filters = section.get("filters", {})
    description = section.get("description", "")
    is_background = section.get("is_background", False)
    if not (
        isinstance(filters, dict)
        and isinstance(description, str)
        and len(description) <= DESCRIPTION_CHARS
        and isinstance(is_background, bool)
    ):
        return None
    try:
        within = equal_to(filters) if filters else None
    except InvalidRequestError:  # said by the caller, with the agent's name
        return None
    return KnowledgeBaseTool(
        filters=within,
        top_k=int(_number(section.get("top_k"), TOP_K, 5, whole=True)),
        description=description.strip() or DESCRIPTION,
        timeout_s=_number(section.get("timeout_s"), TIMEOUT_S, 3.0),
        is_background=is_background,
    )


def _number(
    value: object, limits: tuple[float, float], default: float, *, whole: bool = False
) -> float:
    """Within its limits; what is no number becomes the default."""
    kind = int if whole else (int, float)
    if not isinstance(value, kind) or isinstance(value, bool) or math.isnan(value):
        return default
    return float(min(max(value, limits[0]), limits[1]))

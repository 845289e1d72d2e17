"""`agents/<id>/agent.toml` and `persona.md` on disk (FEATURES A5)."""

import asyncio
import dataclasses
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import structlog
import tomlkit

from gateway.core.agents import (
    INJECT_BUDGET_CHARS,
    TOP_K,
    AgentKnowledge,
    AgentSettings,
    AnswerMode,
)
from gateway.errors import InvalidRequestError
from gateway.interfaces import Agents

log = structlog.get_logger()
AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
RESERVED_IDS = frozenset({"folders", "documents"})  # routes of the folder API
NOTHING = AgentKnowledge(collections=frozenset())  # what an unreadable [knowledge] amounts to


class AgentFolder:
    """Implements `interfaces.AgentFiles` over `<home>/agents`; archive state is the store's."""

    def __init__(self, folder: Path, agents: Agents) -> None:
        self._folder = folder
        self._agents = agents

    async def load(self, agent_id: str) -> AgentSettings | None:
        """Read the agent's files as they are now; None when it has no folder or no record."""
        agent = await self._agents.find(agent_id) if is_agent_id(agent_id) else None
        if agent is None:
            return None
        settings = await asyncio.to_thread(self._load, agent_id)
        if settings is None:
            return None
        return dataclasses.replace(settings, is_archived=agent.is_archived)

    async def create(self, settings: AgentSettings) -> None:
        """Write agent.toml, persona.md and the agent's folders; an existing one stays."""
        if not is_agent_id(settings.agent_id):
            raise InvalidRequestError(
                "bad agent id",
                reason="id: lower-case letters, digits, - and _, up to 64, not reserved",
            )
        await asyncio.to_thread(self._create, settings)

    def _load(self, agent_id: str) -> AgentSettings | None:
        folder = self._folder / agent_id
        if not folder.is_dir():
            return None
        table = _table(folder / "agent.toml")
        persona = folder / "persona.md"
        if table is None:
            return AgentSettings(agent_id, agent_id, knowledge=NOTHING)
        agent = table.get("agent", {})
        agent = agent if isinstance(agent, dict) else {}
        model, *fallbacks = _models(agent)
        return AgentSettings(
            agent_id,
            display_name=_string(agent, "name", agent_id),
            department=_string(agent, "department", ""),
            model=model,
            fallbacks=tuple(fallbacks),
            persona=persona.read_text("utf-8", "replace") if persona.is_file() else "",
            knowledge=knowledge_of(table, agent_id),
            colleagues=_colleagues(agent, agent_id),
        )

    def _create(self, settings: AgentSettings) -> None:
        folder = self._folder / settings.agent_id
        for part in ("attachments", "workspace"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        toml = folder / "agent.toml"
        if not toml.exists():
            toml.write_text(_toml(settings), "utf-8")
            (folder / "persona.md").write_text(settings.persona, "utf-8")


def is_agent_id(agent_id: str) -> bool:
    """Whether it can name a folder and a route."""
    return AGENT_ID.fullmatch(agent_id) is not None and agent_id not in RESERVED_IDS


def knowledge_of(table: Mapping[str, Any], agent_id: str) -> AgentKnowledge:
    """Read `[knowledge]`: absent = defaults, unreadable = nothing, numbers clamped."""
    section = table.get("knowledge", {})
    slugs = section.get("collections") if isinstance(section, dict) else 0
    if slugs is not None and not (
        isinstance(slugs, list) and all(isinstance(slug, str) for slug in slugs)
    ):
        log.warning("agent knowledge section unreadable", agent=agent_id)
        return NOTHING
    mode = section.get("answer_mode", AnswerMode.ASSIST)
    auto_retrieve = section.get("auto_retrieve", True)
    if mode not in list(AnswerMode) or not isinstance(auto_retrieve, bool):
        log.warning("agent knowledge section unreadable", agent=agent_id)
        return NOTHING
    return AgentKnowledge(
        collections=None if slugs is None else frozenset(slugs),
        auto_retrieve=auto_retrieve,
        answer_mode=AnswerMode(mode),
        top_k=_clamped(section.get("top_k"), TOP_K, 5),
        inject_budget_chars=_clamped(
            section.get("inject_budget_chars"), INJECT_BUDGET_CHARS, 6_000
        ),
    )


def _clamped(value: object, limits: tuple[int, int], default: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        return default
    return min(max(value, limits[0]), limits[1])


def _string(table: Mapping[str, Any], key: str, default: str) -> str:
    value = table.get(key, default)
    return value if isinstance(value, str) else default


def _models(table: Mapping[str, Any]) -> list[str]:
    """`model`, one name or a list of them in order; at least one."""
    given = table.get("model")
    names = given if isinstance(given, list) else [given]
    return [name for name in names if isinstance(name, str) and name] or ["extractive"]


def _colleagues(table: Mapping[str, Any], own_id: str) -> tuple[str, ...]:
    """`colleagues`, each once, never the agent itself; anything but a list of ids names nobody."""
    given = table.get("colleagues")
    names = given if isinstance(given, list) else []
    ids = [name for name in names if isinstance(name, str) and is_agent_id(name)]
    return tuple(dict.fromkeys(each for each in ids if each != own_id))


def _table(path: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        log.warning("agent.toml unreadable", agent=path.parent.name)
        return None


def _toml(settings: AgentSettings) -> str:
    document = tomlkit.document()
    document["agent"] = {
        "name": settings.display_name,
        "department": settings.department,
        "model": [settings.model, *settings.fallbacks] if settings.fallbacks else settings.model,
    }
    knowledge: dict[str, Any] = {
        "auto_retrieve": settings.knowledge.auto_retrieve,
        "answer_mode": settings.knowledge.answer_mode.value,
        "top_k": settings.knowledge.top_k,
        "inject_budget_chars": settings.knowledge.inject_budget_chars,
    }
    if settings.knowledge.collections is not None:
        knowledge["collections"] = sorted(settings.knowledge.collections)
    document["knowledge"] = knowledge
    return tomlkit.dumps(document)

"""`agents/<id>/agent.toml` and `persona.md` on disk (FEATURES A5)."""

import asyncio
import dataclasses
import errno
import os
import re
import shutil
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import structlog
import tomlkit

from gateway.accounts.agent_tools import knowledge_base_of
from gateway.core.agents import (
    INJECT_BUDGET_CHARS,
    TOP_K,
    AgentKnowledge,
    AgentSettings,
    AnswerMode,
    RetrieveAnswer,
)
from gateway.errors import GatewayError, InvalidRequestError, StoreError
from gateway.interfaces import Agents

log = structlog.get_logger()
AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
RESERVED_IDS = frozenset({"folders", "documents"})  # routes of the folder API
TOML, PERSONA = "agent.toml", "persona.md"
OnPresence = Callable[[str], Awaitable[None]]
NOTHING = AgentKnowledge(collections=frozenset())  # what an unreadable [knowledge] amounts to


async def nothing_follows(_agent_id: str) -> None:
    """Where nobody waits for folders to come and go."""


class AgentFolder:
    """Implements `interfaces.AgentFiles` over `<home>/agents`; archive state is the store's.

    An agent whose folder, or whose agent.toml in it, was taken away by hand is absent: it answers
    nobody and reads nothing until it is back.
    """

    def __init__(self, folder: Path, agents: Agents) -> None:
        self._folder = folder
        self._agents = agents
        self.editing = asyncio.Lock()  # held by whoever reads a file to write it changed
        self._present: dict[str, bool] = {}  # as of the last look
        self._on_presence: OnPresence = nothing_follows

    @property
    def path(self) -> Path:
        """The folder of all agents' folders."""
        return self._folder

    def follow(self, on_presence: OnPresence) -> None:
        """Whom to tell, by id, of agents whose folder was taken away or is back."""
        self._on_presence = on_presence

    async def noticed(self, agent_id: str, *, is_present: bool) -> None:
        """Somebody looked; whoever was not seen yet is taken to be there, as at the start."""
        if self._present.get(agent_id, True) == is_present:
            return
        self._present[agent_id] = is_present  # first: whoever is told looks as well
        try:
            await self._on_presence(agent_id)
        except GatewayError as error:  # the next look tells again
            log.warning("agent's presence not followed", agent=agent_id, code=error.code)
            self._present[agent_id] = not is_present

    async def load(self, agent_id: str) -> AgentSettings | None:
        """Read the agent's files as they are now; None when it has no folder or no record."""
        agent = await self._agents.find(agent_id) if is_agent_id(agent_id) else None
        if agent is None:
            return None
        settings = await asyncio.to_thread(self._load, agent_id)
        await self.noticed(agent_id, is_present=settings is not None)
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
        try:
            await asyncio.to_thread(self._create, settings)
        except OSError as error:
            raise unwritable(error) from error

    def _load(self, agent_id: str) -> AgentSettings | None:
        folder = self._folder / agent_id
        if not has_files(folder):
            return None
        table = table_of(folder / TOML)
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
            persona=_persona(folder / PERSONA),
            knowledge=knowledge_of(table, agent_id),
            colleagues=_colleagues(agent, agent_id),
            knowledge_base=knowledge_base_of(table, agent_id),
            retrieve_answer=_retrieve_answer(table, agent_id),
        )

    def _create(self, settings: AgentSettings) -> None:
        folder = self._folder / settings.agent_id
        for part in ("attachments", "workspace"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        if not (folder / TOML).exists():
            write_whole(folder / PERSONA, settings.persona)
            write_whole(folder / TOML, toml_of(settings))


def has_files(folder: Path) -> bool:
    """Whether an agent is there at all."""
    return (folder / TOML).is_file()


def write_whole(path: Path, text: str) -> None:
    """Replace a file at once: whoever reads it meanwhile finds the old one or the new one."""
    fresh = path.with_name(f".{path.name}.new")
    with fresh.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        shutil.copymode(path, fresh)
    fresh.replace(path)


def unwritable(error: OSError) -> StoreError:
    """What the file system refused."""
    is_full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    return StoreError(str(error), code="store_full" if is_full else "store_unavailable")


def _persona(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:  # none, or not ours to read
        return ""


def is_agent_id(agent_id: str) -> bool:
    """Whether it can name a folder and a route."""
    return AGENT_ID.fullmatch(agent_id) is not None and agent_id not in RESERVED_IDS


def knowledge_of(table: Mapping[str, Any], agent_id: str) -> AgentKnowledge:
    """Read `[knowledge]`: absent = defaults, unreadable = nothing, numbers clamped."""
    found = readable_knowledge(table)
    if found is None:
        log.warning("agent knowledge section unreadable", agent=agent_id)
    return NOTHING if found is None else found


def readable_knowledge(table: Mapping[str, Any]) -> AgentKnowledge | None:
    """`[knowledge]`, or None where it is none that the gateway understands."""
    section = table.get("knowledge", {})
    slugs = section.get("collections") if isinstance(section, dict) else 0
    if slugs is not None and not (
        isinstance(slugs, list) and all(isinstance(slug, str) for slug in slugs)
    ):
        return None
    mode = section.get("answer_mode", AnswerMode.ASSIST)
    auto_retrieve = section.get("auto_retrieve", True)
    if mode not in list(AnswerMode) or not isinstance(auto_retrieve, bool):
        return None
    return AgentKnowledge(
        collections=None if slugs is None else frozenset(slugs),
        auto_retrieve=auto_retrieve,
        answer_mode=AnswerMode(mode),
        top_k=clamped(section.get("top_k"), TOP_K, 5),
        inject_budget_chars=clamped(section.get("inject_budget_chars"), INJECT_BUDGET_CHARS, 6_000),
    )


def clamped(value: object, limits: tuple[int, int], default: int) -> int:
    """A number within its limits; what is none becomes the default."""
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


def _retrieve_answer(table: Mapping[str, Any], agent_id: str) -> RetrieveAnswer:
    """`[retrieve] answer`: absent = the passages; so is what the gateway does not understand."""
    section = table.get("retrieve", {})
    given = section.get("answer", RetrieveAnswer.PASSAGES) if isinstance(section, dict) else ""
    if given in list(RetrieveAnswer):
        return RetrieveAnswer(given)
    log.warning("agent retrieve section unreadable", agent=agent_id)
    return RetrieveAnswer.PASSAGES


def table_of(path: Path) -> dict[str, Any] | None:
    """The whole file; None when it cannot be read."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):  # ValueError: bad TOML, text or number
        log.warning("agent.toml unreadable", agent=path.parent.name)
        return None


def toml_of(settings: AgentSettings) -> str:
    """A new agent.toml."""
    document = tomlkit.document()
    document["agent"] = {
        "name": settings.display_name,
        "department": settings.department,
        "model": [settings.model, *settings.fallbacks] if settings.fallbacks else settings.model,
    }
    document["knowledge"] = section_of(settings.knowledge)
    return tomlkit.dumps(document)


def section_of(knowledge: AgentKnowledge) -> dict[str, Any]:
    """`[knowledge]` as it is written; without a list there is no `collections`."""
    section: dict[str, Any] = {
        "auto_retrieve": knowledge.auto_retrieve,
        "answer_mode": knowledge.answer_mode.value,
        "top_k": knowledge.top_k,
        "inject_budget_chars": knowledge.inject_budget_chars,
    }
    if knowledge.collections is not None:
        section["collections"] = sorted(knowledge.collections)
    return section

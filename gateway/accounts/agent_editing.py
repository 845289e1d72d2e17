"""Changes of `agent.toml` and `persona.md` by the program: atomic, comments kept (A5)."""

import asyncio
import dataclasses
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from gateway.accounts.agent_files import (
    PERSONA,
    TOML,
    AgentFolder,
    has_files,
    is_agent_id,
    readable_knowledge,
    section_of,
    table_of,
    toml_of,
    unwritable,
    write_whole,
)
from gateway.core.agents import AgentKnowledge, AgentSettings, ListChange, SettingsChange
from gateway.errors import ConflictError, NotFoundError
from gateway.interfaces import AgentEditing

BROKEN = "agent.toml.broken"  # what was there before it was written over


class AgentEditor:
    """Implements `interfaces.AgentEditing` over the same folder; one edit at a time."""

    def __init__(self, files: AgentFolder) -> None:
        self._files = files
        self._folder = files.path
        self._one_at_a_time = files.editing

    async def present(self, agent_ids: Iterable[str]) -> frozenset[str]:
        named = [each for each in agent_ids if is_agent_id(each)]
        there = await asyncio.to_thread(
            lambda: frozenset(each for each in named if has_files(self._folder / each))
        )
        for each in named:
            await self._files.noticed(each, is_present=each in there)
        return there

    async def knowledge(self, agent_id: str) -> AgentKnowledge | None:
        folder = self._folder / agent_id
        if not is_agent_id(agent_id) or not await asyncio.to_thread(has_files, folder):
            raise NotFoundError(agent_id)
        table = await asyncio.to_thread(table_of, folder / TOML)
        return None if table is None else readable_knowledge(table)

    async def update(self, agent_id: str, change: SettingsChange) -> None:
        def edit(folder: Path) -> None:
            document = _document(folder)
            _put_settings(document, change)
            if change.answer_mode is not None:
                knowledge = _readable(document)
                changed = dataclasses.replace(knowledge, answer_mode=change.answer_mode)
                _put_knowledge(document, changed)
            _save(folder, document)
            if change.persona is not None:
                write_whole(folder / PERSONA, change.persona)

        await self._edit(agent_id, edit)

    async def set_knowledge(
        self, agent_id: str, knowledge: AgentKnowledge, *, replace: bool = False
    ) -> bool:
        is_new = False

        def edit(folder: Path) -> None:
            nonlocal is_new
            if replace and table_of(folder / TOML) is None:
                (folder / TOML).replace(folder / BROKEN)
                settings = AgentSettings(agent_id, agent_id, knowledge=knowledge)
                write_whole(folder / TOML, toml_of(settings))
                is_new = True
                return
            document = _document(folder)
            if replace and readable_knowledge(document.unwrap()) is None:
                del document["knowledge"]
            _readable(document)
            _put_knowledge(document, knowledge)
            _save(folder, document)

        await self._edit(agent_id, edit)
        return is_new

    async def list_collection(self, agent_id: str, slug: str) -> ListChange:
        found = ListChange.NO_LIST

        def edit(folder: Path) -> None:
            nonlocal found
            document = _document(folder)
            knowledge = _readable(document)
            if knowledge.collections is None:
                return
            found = ListChange.LISTED if knowledge.collections else ListChange.ONLY_ONE
            listed = knowledge.collections | {slug}
            _put_knowledge(document, dataclasses.replace(knowledge, collections=listed))
            _save(folder, document)

        await self._edit(agent_id, edit)
        return found

    async def _edit(self, agent_id: str, edit: Callable[[Path], None]) -> None:
        if not is_agent_id(agent_id):
            raise NotFoundError(agent_id)
        # to its end, also when whoever asked gives up: the thread goes on, and none may beside it
        await asyncio.shield(self._edited(self._folder / agent_id, edit))

    async def _edited(self, folder: Path, edit: Callable[[Path], None]) -> None:
        async with self._one_at_a_time:
            try:
                if not await asyncio.to_thread(has_files, folder):
                    raise NotFoundError(folder.name)
                await asyncio.to_thread(edit, folder)
            except OSError as error:
                raise unwritable(error) from error


def _document(folder: Path) -> tomlkit.TOMLDocument:
    """The file with its comments. What `load` cannot read is not for us to guess at."""
    if table_of(folder / TOML) is None:
        raise ConflictError(folder.name, code="agent_file_broken")
    try:
        return tomlkit.parse((folder / TOML).read_text("utf-8"))
    except (TOMLKitError, ValueError) as error:
        raise ConflictError(str(error), code="agent_file_broken") from error


def _save(folder: Path, document: tomlkit.TOMLDocument) -> None:
    """Write it, unless a reader would understand it otherwise than the one who wrote it."""
    text = tomlkit.dumps(document)
    if tomllib.loads(text) != document.unwrap():
        raise ConflictError(folder.name, code="agent_file_broken")
    write_whole(folder / TOML, text)


def _readable(document: tomlkit.TOMLDocument) -> AgentKnowledge:
    found = readable_knowledge(document.unwrap())
    if found is None:
        raise ConflictError("[knowledge]", code="agent_file_broken")
    return found


def _put_knowledge(document: tomlkit.TOMLDocument, knowledge: AgentKnowledge) -> None:
    """Only what differs is written, so that a file says no more than it did."""
    before = section_of(readable_knowledge(document.unwrap()) or AgentKnowledge())
    after = section_of(knowledge)
    section = _table(document, "knowledge")
    for key in before.keys() - after.keys():
        section.pop(key, None)
    for key, value in after.items():
        if key not in before or before[key] != value:
            section[key] = value


def _put_settings(document: tomlkit.TOMLDocument, change: SettingsChange) -> None:
    values: dict[str, Any] = {}
    if change.display_name is not None:
        values["name"] = change.display_name
    if change.department is not None:
        values["department"] = change.department
    if change.models is not None:
        values["model"] = list(change.models) if len(change.models) > 1 else change.models[0]
    if values:
        section = _table(document, "agent")
        for key, value in values.items():
            section[key] = value


def _table(document: tomlkit.TOMLDocument, name: str) -> Any:
    """The table of that name; what is none gives way to one."""
    if not isinstance(document.get(name), Table | dict):
        document.pop(name, None)
        document[name] = tomlkit.table()
    return document[name]


fits: type[AgentEditing] = AgentEditor

"""A change of `agent.toml` and its line of the security audit: never the one without the other."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gateway.accounts.agent_editing import AgentEditor
from gateway.accounts.agent_files import AgentFolder
from gateway.core.access import Account, AccountRole, Audience, AudienceKind, BindingRole
from gateway.errors import GatewayError, NotFoundError, StoreError
from gateway.interfaces import Act
from gateway.operations.agent_types import AgentUpdate, KnowledgeChange, NewAgent
from gateway.operations.agents import AgentDesk, AgentSeams
from gateway.operations.table import Caller
from gateway.store import Store
from tests.fakes.wound_clock import WoundClock

MEI = Account("mei", "mei", "Mei", AccountRole.MANAGER, "Sales")
CALLER = Caller(MEI, Audience(AudienceKind.DASHBOARD, MEI, is_direct=True), "rpc")
UPDATED, LISTED = "agent_updated", "knowledge_agent_binding_changed"


class Killed(BaseException):
    """The process ends here."""


class Dying:
    """The editor, in a process that ends before or after it wrote; or whose disk is full."""

    def __init__(self, editor: AgentEditor, *, after: bool, error: BaseException) -> None:
        self._editor, self._after, self._error = editor, after, error

    def __getattr__(self, name: str) -> Any:
        plain = getattr(self._editor, name)
        if name not in ("update", "set_knowledge"):
            return plain

        async def called(*args: Any, **over: Any) -> None:
            if self._after:
                await plain(*args, **over)
            raise self._error

        return called


@dataclass
class Office:
    """One manager, who owns the agent `anna`."""

    store: Store
    seams: AgentSeams
    home: Path

    @property
    def desk(self) -> AgentDesk:
        return AgentDesk(self.seams)

    def dying(self, *, after: bool, error: BaseException) -> AgentDesk:
        editing: Any = Dying(AgentEditor(self.seams.files), after=after, error=error)  # type: ignore[arg-type]
        return AgentDesk(replace(self.seams, editing=editing))

    def file(self) -> str:
        return (self.home / "agents" / "anna" / "agent.toml").read_text("utf-8")

    async def told(self) -> list[str]:
        path = self.home / "security_audit.jsonl"
        await self.store.audit.export(path)
        events = [json.loads(each) for each in path.read_text("utf-8").splitlines()]
        return [each["event"] for each in events if each["event"].startswith((UPDATED, LISTED))]


@pytest.fixture
async def office(store: Store, clock: WoundClock, tmp_path: Path) -> Office:
    await store.accounts.put(MEI)
    files = AgentFolder(tmp_path / "agents", store.agents)
    seams = AgentSeams(
        store.accounts,
        store.agents,
        store.agent_changes,
        files,
        AgentEditor(files),
        store.grants,
        clock,
    )
    office = Office(store, seams, tmp_path)
    await office.desk.create(CALLER, NewAgent("anna", "Anna"))
    return office


async def change(desk: AgentDesk, event: str) -> None:
    if event == UPDATED:
        await desk.update(CALLER, AgentUpdate("anna", display_name="Hanna"))
    else:
        await desk.set_knowledge(CALLER, KnowledgeChange("anna", collections=[]))


@pytest.mark.parametrize("event", [UPDATED, LISTED])
async def test_whenever_the_process_dies_a_changed_file_has_its_row(
    office: Office, event: str
) -> None:
    before = office.file()
    for after in (False, True):
        with pytest.raises(Killed):
            await change(office.dying(after=after, error=Killed()), event)
        assert (office.file() != before) is after
        assert await office.told() == [event] * (1 + after)


@pytest.mark.parametrize("event", [UPDATED, LISTED])
async def test_a_file_that_could_not_be_written_is_told_of_as_such(
    office: Office, event: str
) -> None:
    before = office.file()
    full = StoreError("disk", code="store_full")
    with pytest.raises(GatewayError) as refused:
        await change(office.dying(after=False, error=full), event)
    assert refused.value.code == "store_full"
    assert await office.told() == [event, f"{event}_failed"]
    assert office.file() == before
    agent = await office.store.agents.find("anna")
    assert agent is not None
    assert agent.display_name == "Anna"


async def test_a_change_is_one_row_and_who_lost_the_agent_changes_nothing(office: Office) -> None:
    await change(office.desk, UPDATED)
    await change(office.desk, LISTED)
    assert await office.told() == [UPDATED, LISTED]
    agent = await office.store.agents.find("anna")
    assert agent is not None
    assert agent.display_name == "Hanna"
    await office.store.agents.bind("anna", MEI.id, BindingRole.OPERATOR)
    before = office.file()
    with pytest.raises(NotFoundError):
        await office.store.agent_changes.announce(
            "anna", UPDATED, {}, Act(MEI.id, office.seams.clock.now())
        )
    for event in (UPDATED, LISTED):
        with pytest.raises(NotFoundError):
            await change(office.desk, event)
    assert office.file() == before
    assert await office.told() == [UPDATED, LISTED]


async def test_scopes_are_looked_at_anew_after_the_file_was_written(office: Office) -> None:
    seen: list[tuple[int, str]] = []
    plain = office.seams.editing.set_knowledge

    class Watching(AgentEditor):
        async def set_knowledge(self, *args: Any, **over: Any) -> bool:
            is_new = await plain(*args, **over)
            seen.append((office.store.access.now() or 0, office.file()))
            return is_new

    watching = Watching(office.seams.files)  # type: ignore[arg-type]
    await AgentDesk(replace(office.seams, editing=watching)).set_knowledge(
        CALLER, KnowledgeChange("anna", collections=[])
    )
    [(generation, file)] = seen
    assert file == office.file()
    assert (office.store.access.now() or 0) > generation

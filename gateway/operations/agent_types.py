"""What the operations about agents take and give, and how what is taken is checked."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.core.access import BindingRole
from gateway.core.agents import (
    INJECT_BUDGET_CHARS,
    TOP_K,
    AgentKnowledge,
    AgentSettings,
    AnswerMode,
    SettingsChange,
)
from gateway.core.people import NAME_CHARS, is_line
from gateway.errors import InvalidRequestError

PERSONA_CHARS = 20_000
MODEL_CHARS = 200
MOST_MODELS = 5
MOST_LISTED = 1_000  # slugs in one list


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An AI employee to be; `collections` None = all that is granted to it."""

    id: str
    display_name: str
    department: str = ""
    model: str = "extractive"
    persona: str = ""
    collections: list[str] | None = None
    answer_mode: AnswerMode = AnswerMode.ASSIST


@dataclass(frozen=True, slots=True)
class AgentReference:
    """An agent by id."""

    agent_id: str


@dataclass(frozen=True, slots=True)
class AgentUpdate:
    """New values; None leaves one as it is. `models`: the first is asked, the others after it.

    The id stays; an agent is renamed by its display name.
    """

    agent_id: str
    display_name: str | None = None
    department: str | None = None
    models: list[str] | None = None
    persona: str | None = None
    answer_mode: AnswerMode | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """An account's role with an agent (`account`: id or login); None ends it."""

    agent_id: str
    account: str
    role: BindingRole | None = None


@dataclass(frozen=True, slots=True)
class HandOver:
    """The new owner (id or login). `archive` false: the agent goes on working meanwhile."""

    agent_id: str
    to: str
    archive: bool = True


@dataclass(frozen=True, slots=True)
class KnowledgeChange:
    """`[knowledge]` to be. `collections`: slugs, [] for none, null for all that is shared.

    None leaves one of the others as it is; numbers are clamped. `replace` writes over a section
    or file that cannot be read.
    """

    agent_id: str
    collections: list[str] | None
    auto_retrieve: bool | None = None
    answer_mode: AnswerMode | None = None
    top_k: int | None = None
    inject_budget_chars: int | None = None
    replace: bool = False


@dataclass(frozen=True, slots=True)
class AgentView:
    """An agent as people who work with it see it; `role` is the caller's own with it.

    `is_folder_missing`: its folder was taken away by hand, so it counts as archived.
    """

    id: str
    display_name: str
    department: str
    is_archived: bool
    role: str | None
    is_folder_missing: bool


@dataclass(frozen=True, slots=True)
class BindingView:
    """A person bound to an agent."""

    account_id: str
    login: str
    display_name: str
    role: BindingRole
    is_active: bool


@dataclass(frozen=True, slots=True)
class KnowledgeView:
    """`[knowledge]` as turns take it; unreadable means no collection at all."""

    agent_id: str
    collections: list[str] | None
    auto_retrieve: bool
    answer_mode: AnswerMode
    top_k: int
    inject_budget_chars: int
    is_readable: bool


@dataclass(frozen=True, slots=True)
class AgentDetails:
    """An agent with its settings and people; both empty for those who may only talk to it."""

    agent: AgentView
    models: list[str]
    persona: str
    knowledge: KnowledgeView | None
    bindings: Sequence[BindingView]


def knowledge_view(agent_id: str, knowledge: AgentKnowledge | None) -> KnowledgeView:
    """None is a section that cannot be read."""
    shown = knowledge or AgentKnowledge(collections=frozenset())
    return KnowledgeView(
        agent_id,
        None if shown.collections is None else sorted(shown.collections),
        shown.auto_retrieve,
        shown.answer_mode,
        shown.top_k,
        shown.inject_budget_chars,
        knowledge is not None,
    )


def merged(before: AgentKnowledge, change: KnowledgeChange) -> AgentKnowledge:
    """`before` with what is given, numbers within their limits."""
    listed = change.collections
    _check_list(listed)
    given = {
        "auto_retrieve": change.auto_retrieve,
        "answer_mode": change.answer_mode,
        "top_k": _within(change.top_k, TOP_K),
        "inject_budget_chars": _within(change.inject_budget_chars, INJECT_BUDGET_CHARS),
    }
    after = {name: value for name, value in given.items() if value is not None}
    return dataclasses.replace(
        before,
        collections=None if listed is None else frozenset(listed),
        **after,  # type: ignore[arg-type]
    )


def new_settings(request: NewAgent) -> AgentSettings:
    """The files of an agent to be; InvalidRequestError names what does not fit."""
    name = request.display_name.strip() or request.id
    change = _checked(SettingsChange(name, request.department, (request.model,), request.persona))
    _check_list(request.collections)
    listed = request.collections
    return AgentSettings(
        request.id,
        name,
        change.department or "",
        request.model,
        request.persona,
        AgentKnowledge(
            collections=None if listed is None else frozenset(listed),
            answer_mode=request.answer_mode,
        ),
    )


def settings_change(request: AgentUpdate) -> SettingsChange:
    """What is to change; InvalidRequestError names what does not fit."""
    return _checked(
        SettingsChange(
            request.display_name,
            request.department,
            None if request.models is None else tuple(request.models),
            request.persona,
            request.answer_mode,
        )
    )


def _checked(change: SettingsChange) -> SettingsChange:
    name, department, persona = change.display_name, change.department, change.persona
    if name is not None and (not name.strip() or not is_line(name, NAME_CHARS)):
        reason = f"display_name: one line, 1 to {NAME_CHARS} characters"
        raise InvalidRequestError("name", reason=reason)
    if department is not None and not is_line(department, NAME_CHARS):
        reason = f"department: one line, up to {NAME_CHARS} characters"
        raise InvalidRequestError("department", reason=reason)
    if persona is not None and (len(persona) > PERSONA_CHARS or not _is_text(persona)):
        reason = f"persona: up to {PERSONA_CHARS} characters"
        raise InvalidRequestError("persona", reason=reason)
    _check_models(change.models)
    return dataclasses.replace(
        change,
        display_name=None if name is None else name.strip(),
        department=None if department is None else department.strip(),
    )


def _check_models(models: Sequence[str] | None) -> None:
    if models is None:
        return
    are_names = all(each.strip() and is_line(each, MODEL_CHARS) for each in models)
    if not 1 <= len(models) <= MOST_MODELS or not are_names:
        raise InvalidRequestError("models", reason=f"models: 1 to {MOST_MODELS} names")


def _check_list(slugs: Sequence[str] | None) -> None:
    if len(slugs or ()) > MOST_LISTED or not all(is_line(each, NAME_CHARS) for each in slugs or ()):
        raise InvalidRequestError("collections", reason=f"collections: up to {MOST_LISTED} slugs")


def _is_text(text: str) -> bool:
    """No half characters: such a text cannot be written to a file."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _within(value: int | None, limits: tuple[int, int]) -> int | None:
    return None if value is None else min(max(value, limits[0]), limits[1])

"""The settings of one agent, as `agent.toml` and `persona.md` hold them."""

import dataclasses
from dataclasses import dataclass
from enum import StrEnum

from gateway.core.access import AgentSide
from gateway.core.knowledge_tool import KnowledgeBaseTool

TOP_K = (1, 8)  # lowest and highest allowed; out-of-range values are clamped (FEATURES A5, A29)
INJECT_BUDGET_CHARS = (500, 12_000)


class AnswerMode(StrEnum):
    """`assist`: the model may answer without passages; `kb_only`: it may not (A16)."""

    ASSIST = "assist"
    KB_ONLY = "kb_only"


class RetrieveAnswer(StrEnum):
    """What a retrieval answers with: what it found, or what the model writes of it (E2)."""

    PASSAGES = "passages"
    SYNTHESIS = "synthesis"


@dataclass(frozen=True, slots=True)
class AgentKnowledge:
    """`[knowledge]` of agent.toml, clamped. `collections` None = no list was given."""

    collections: frozenset[str] | None = None
    auto_retrieve: bool = True
    answer_mode: AnswerMode = AnswerMode.ASSIST
    top_k: int = 5
    inject_budget_chars: int = 6_000


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """One agent with all that a turn needs of it. `model` is `extractive` or `provider/model`;
    `fallbacks` are asked in their order where it fails.
    """

    agent_id: str
    display_name: str
    department: str = ""
    model: str = "extractive"
    persona: str = ""
    knowledge: AgentKnowledge = AgentKnowledge()
    is_archived: bool = False
    fallbacks: tuple[str, ...] = ()
    colleagues: tuple[str, ...] = ()  # ids of agents that this one may ask
    knowledge_base: KnowledgeBaseTool | None = None  # None: no such tool
    retrieve_answer: RetrieveAnswer = RetrieveAnswer.PASSAGES

    @property
    def side(self) -> AgentSide:
        """What the scope rule needs of this agent."""
        return AgentSide(
            self.agent_id, self.department, self.knowledge.collections, self.is_archived
        )


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """New values of an agent's settings; None leaves one as it is. `models`: first, fallbacks."""

    display_name: str | None = None
    department: str | None = None
    models: tuple[str, ...] | None = None
    persona: str | None = None
    answer_mode: AnswerMode | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that are given."""
        named = (field.name for field in dataclasses.fields(self))
        return tuple(name for name in named if getattr(self, name) is not None)


class ListChange(StrEnum):
    """What adding a collection to an agent's own list came to (FEATURES A26)."""

    NO_LIST = "no_list"  # the agent uses all that is shared with it
    LISTED = "listed"  # it stands there now, or did already
    ONLY_ONE = "only_one"  # the list was empty: the agent used nothing before

"""What the operations of sharing take and give."""

from dataclasses import dataclass

from gateway.core.access import Role, SubjectKind


@dataclass(frozen=True, slots=True)
class GrantLine:
    """One subject's role; a user is an account's id (at this machine also a login)."""

    subject_kind: SubjectKind
    subject_id: str
    role: Role


@dataclass(frozen=True, slots=True)
class GrantsChange:
    """All grants of a collection, replaced as one batch; `version` is the one listed."""

    collection: str
    version: int
    grants: list[GrantLine]


@dataclass(frozen=True, slots=True)
class GrantWarningView:
    """What whoever shares should know, with its sentence."""

    code: str
    subject_id: str
    message: str


@dataclass(frozen=True, slots=True)
class GrantsView:
    """Who has which role, and the version to save against."""

    collection_id: str
    version: int
    grants: list[GrantLine]
    warnings: list[GrantWarningView]


@dataclass(frozen=True, slots=True)
class PrincipalSearch:
    """Members are looked up by name, from two characters on; the others are also listed."""

    query: str = ""
    kind: SubjectKind | None = None


@dataclass(frozen=True, slots=True)
class PrincipalIds:
    """Ids of people and agents that a collection is shared with."""

    collection: str
    ids: list[str]


@dataclass(frozen=True, slots=True)
class PrincipalView:
    """Somebody or something to share with; `id` is the grant's subject id."""

    kind: SubjectKind
    id: str
    name: str
    department: str = ""
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class AgentReference:
    """An agent by id."""

    agent_id: str


@dataclass(frozen=True, slots=True)
class AgentCollectionView:
    """A collection that is shared with an agent; no more than its owner has to know."""

    id: str
    slug: str
    name: str
    sensitivity: str

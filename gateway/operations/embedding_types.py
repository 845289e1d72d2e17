"""What the operations of the embedding models take and tell."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A model of the catalogue."""

    model: str


@dataclass(frozen=True, slots=True)
class InstallRequest:
    """A model of the catalogue; `source` None is its default one."""

    model: str
    source: str | None = None


@dataclass(frozen=True, slots=True)
class SelectRequest:
    """Who computes vectors from now on: local, none, openai or gemini.

    The last three are for cloud providers; without the acknowledgement these are refused.
    """

    provider: str = "local"
    local_model: str | None = None
    cloud_model: str | None = None
    cloud_account: str | None = None
    acknowledge_disclosure: bool = False


@dataclass(frozen=True, slots=True)
class ProgressView:
    """The step of an install that is running: bytes, or parts when building."""

    step: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ModelView:
    """One row of the catalogue; `size` in bytes on disk, `failure` the code of the last install."""

    name: str
    state: str
    licence: str
    dimensions: int
    size: int
    source: str
    sources: list[str]
    is_selected: bool
    has_bundle: bool
    progress: ProgressView | None
    failure: str | None


@dataclass(frozen=True, slots=True)
class EmbeddingStatus:
    """Whether vectors can be used, and why not.

    `model` answers questions now, `wanted` is the one that vectors are made with; they differ
    while a new model's vectors are not whole. `embedded` of `passages` have their vectors of
    `wanted`.
    """

    model: str
    unavailable: str | None
    wanted: str
    wanted_unavailable: str | None
    passages: int
    embedded: int
    models: list[ModelView]


@dataclass(frozen=True, slots=True)
class VerifiedView:
    """The model that is whole, where it came from, and whether a bundle was opened for it."""

    model: str
    source: str
    from_bundle: bool

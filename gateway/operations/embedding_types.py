"""What the operations of the embedding models take and tell."""

from dataclasses import dataclass

from models.cloud.settings import Consent


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

    The last four are for cloud providers; without the acknowledgement these are refused.
    `disclosure_id` is that of the disclosure that was shown: where another would be shown by now,
    nothing is agreed to.
    """

    provider: str = "local"
    local_model: str | None = None
    cloud_model: str | None = None
    cloud_account: str | None = None
    acknowledge_disclosure: bool = False
    disclosure_id: str | None = None


@dataclass(frozen=True, slots=True)
class ProgressView:
    """The step of an install that is running: bytes, or parts when building."""

    step: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ModelView:
    """One row of the catalogue; `size` in bytes on disk, `failure` the code of the last install.

    `is_verified`: every byte was compared since this gateway started, the files being the same.
    """

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
    failure_message: str | None
    is_verified: bool


@dataclass(frozen=True, slots=True)
class EmbeddingStatus:
    """Whether vectors can be used, and why not.

    `model` answers questions now, `wanted` is the one that vectors are made with; they differ
    while a new model's vectors are not whole. `embedded` of `passages` have their vectors of
    `wanted`: of the whole library, so they are for administrators; None for others, who would
    see documents come and go that they may not read.
    """

    model: str
    unavailable: str | None
    wanted: str
    wanted_unavailable: str | None
    passages: int | None
    embedded: int | None
    models: list[ModelView]


@dataclass(frozen=True, slots=True)
class VerifiedView:
    """The model that is whole, where it came from, and whether a bundle was opened for it."""

    model: str
    source: str
    from_bundle: bool


@dataclass(frozen=True, slots=True)
class CloudChoice:
    """A cloud provider: its default model, where it would be asked, ids of accounts for it."""

    provider: str
    model: str
    host: str
    is_vendors_own: bool
    accounts: list[str]


@dataclass(frozen=True, slots=True)
class Settings:
    """What `[knowledge.embedding]` says, and the cloud providers that it could name."""

    provider: str
    local_model: str
    cloud_model: str
    cloud_account: str
    consent: Consent | None
    clouds: tuple[CloudChoice, ...]

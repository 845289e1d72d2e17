"""`[knowledge]` and `[knowledge.embedding]`: clamped and lenient, unlike the rest (A29)."""

from dataclasses import dataclass, fields, replace
from typing import Any

from gateway.cloud_config import CloudKeys, cloud_of, consent_of
from gateway.config import Config, lenient_section
from gateway.core.agents import INJECT_BUDGET_CHARS
from gateway.core.limits import RANGES, KnowledgeLimits
from models.cloud.settings import CloudSettings

OF_EMBEDDING = ("batch_size", "max_vector_rows")  # limits that stand in the other section
UNAVAILABLE = ("refuse", "run_unsandboxed")


@dataclass(frozen=True, slots=True)
class KnowledgeSwitches:
    """What `[knowledge]` says beside the limits."""

    enabled: bool = True
    auto_retrieve: bool = True
    inject_budget_chars_max: int = 12_000
    access_log_retention_days: int = 180
    summary_model: str = ""  # `<provider id>/<model>`; empty: the document's own sentences
    vision_model: str = ""  # likewise; empty: no page is described


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """`[knowledge.embedding]`; an unknown provider means keyword search only, with the reason."""

    provider: str = "local"
    local_model: str = "multilingual-e5-small"
    threads: int = 0
    idle_unload_minutes: int = 10
    cloud: CloudSettings | None = None  # where the provider is one; read of several sections


@dataclass(frozen=True, slots=True)
class KnowledgeConfig:
    """Both sections, and what was ignored or clamped."""

    switches: KnowledgeSwitches
    limits: KnowledgeLimits
    embedding: EmbeddingSettings
    warnings: tuple[str, ...]


def read(config: Config) -> KnowledgeConfig:
    """Share the keys out to the parts that own them."""
    limit_keys = {field.name for field in fields(KnowledgeLimits)} - set(OF_EMBEDDING)
    knowledge, embedding = dict(config.knowledge), dict(config.embedding)
    limits: dict[str, Any] = {key: knowledge.pop(key) for key in limit_keys & knowledge.keys()}
    of_embedding = {key: embedding.pop(key) for key in OF_EMBEDDING if key in embedding}
    found, some = lenient_section(KnowledgeLimits, limits, "knowledge", RANGES)
    found, more = _with_embedding_limits(found, of_embedding, some)
    if found.extract_when_unavailable not in UNAVAILABLE:
        more = (*more, "knowledge.extract_when_unavailable: refuse or run_unsandboxed, ignored")
        found = replace(found, extract_when_unavailable=UNAVAILABLE[0])
    ranges = {
        "inject_budget_chars_max": INJECT_BUDGET_CHARS,
        "access_log_retention_days": (1, 36_500),
    }
    switches, others = lenient_section(KnowledgeSwitches, knowledge, "knowledge", ranges)
    ranges = {"threads": (0, 64), "idle_unload_minutes": (1, 10_080)}
    consent = consent_of(embedding.pop("cloud_disclosure_ack", None))
    of_cloud = {each.name for each in fields(CloudKeys)} & embedding.keys()
    cloud = {key: embedding.pop(key) for key in of_cloud}
    embedding.pop("cloud", None)  # no key of the file
    keys, even_more = lenient_section(CloudKeys, cloud, "knowledge.embedding", {})
    embedded, last = lenient_section(EmbeddingSettings, embedding, "knowledge.embedding", ranges)
    embedded = replace(embedded, cloud=cloud_of(config, embedded.provider, keys, consent))
    last = (*even_more, *last)
    return KnowledgeConfig(switches, found, embedded, (*more, *others, *last))


def _with_embedding_limits(
    limits: KnowledgeLimits, table: dict[str, Any], warnings: tuple[str, ...]
) -> tuple[KnowledgeLimits, tuple[str, ...]]:
    found, more = lenient_section(KnowledgeLimits, table, "knowledge.embedding", RANGES)
    values = {key: getattr(found, key) for key in OF_EMBEDDING}
    return replace(limits, **values), (*warnings, *more)

"""Puts together what keeps and chooses the embedding models."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from gateway import knowledge_config
from gateway.app_library import Shelves, build_encoder, former_encoders
from gateway.app_reload import ConfigFile
from gateway.cloud_config import cloud_keys, wanted_of
from gateway.config import Config
from gateway.interfaces import Clock, Encoder
from gateway.knowledge_config import EmbeddingSettings
from gateway.operations import embedding_cloud
from gateway.operations.embedding import EmbeddingSeams, ModelDesk
from gateway.operations.embedding_cloud import CloudDesk
from gateway.operations.embedding_types import CloudChoice, Settings
from gateway.settings_file import SettingsFile
from models.bundle import Bundles
from models.cloud.settings import VENDORS, CloudSettings, Vendor, address_of
from models.switching import Former
from models.worker_client import LocalEncoder

FOLDER = Path("models") / "embedding"  # in a home


class EmbeddingChoice:
    """The settings of `[knowledge.embedding]` that hold; changes are taken over while we run."""

    def __init__(
        self, settings: EmbeddingSettings, shelves: Shelves, models_dir: Path, clock: Clock
    ) -> None:
        self.settings = settings
        self._shelves = shelves
        self._models_dir = models_dir
        self._clock = clock

    async def follow(self, config: Config) -> None:
        """Want another encoder when the section says something else than before."""
        settings = knowledge_config.read(config).embedding
        if settings == self.settings:
            return
        self.settings = settings
        encoder = build_encoder(settings, self._models_dir, self._clock)
        await self._shelves.switch.select(encoder)
        await self._shelves.ingestion.backfill()


def build_encoders(settings: EmbeddingSettings, home: Path, clock: Clock) -> tuple[Encoder, Former]:
    """The encoder that the settings want, and how to open one whose vectors are still there."""
    models_dir = home / FOLDER
    encoder = build_encoder(settings, models_dir, clock)
    return encoder, former_encoders(settings, models_dir, clock)


def build_models(
    home: Path,
    settings: EmbeddingSettings,
    shelves: Shelves,
    file: ConfigFile,
    clock: Clock,
) -> tuple[ModelDesk, Callable[[Config], Awaitable[None]]]:
    """What installs, chooses and rebuilds; and what takes a changed config.toml over."""
    chosen = EmbeddingChoice(settings, shelves, home / FOLDER, clock)

    async def look() -> None:
        await chosen.follow(file.peek())

    written = SettingsFile(home / "config.toml")
    store = shelves.store
    cloud = CloudDesk(
        partial(_wanted, file),
        written,
        audit=store.audit,
        clock=clock,
        look=look,
        settled=lambda: _settled(file.peek()),
        is_loaded=partial(_is_loaded, shelves),
        coverage=store.coverage,
        accounts=store.accounts,
    )
    seams = EmbeddingSeams(
        bundles=Bundles(home / FOLDER),
        switch=shelves.switch,
        coverage=store.coverage,
        settings=written,
        selected=lambda: chosen.settings.local_model,
        look=look,
        backfill=shelves.ingestion.backfill,
        audit=store.audit,
        clock=clock,
        choose_cloud=cloud.choose,
        cloud_rows=embedding_cloud.operations(cloud),
    )
    return ModelDesk(seams), chosen.follow


def _wanted(file: ConfigFile, provider: str, model: str, account: str) -> CloudSettings | None:
    return wanted_of(file.peek(), provider, model, account)


def _settled(config: Config) -> Settings:
    embedding = knowledge_config.read(config).embedding
    keys = cloud_keys(config)
    return Settings(
        provider=embedding.provider,
        local_model=embedding.local_model,
        cloud_model=keys.cloud_model,
        cloud_account=keys.cloud_account,
        consent=None if embedding.cloud is None else embedding.cloud.consent,
        clouds=tuple(_choice(config, vendor) for vendor in VENDORS.values()),
    )


def _choice(config: Config, vendor: Vendor) -> CloudChoice:
    cloud = wanted_of(config, vendor.name, "", "")
    host = "" if cloud is None else address_of(cloud)[0]
    is_own = cloud is not None and cloud.is_vendors_own
    accounts = [
        name
        for name, table in config.providers.items()
        if table.get("kind", "openai") == vendor.name
    ]
    return CloudChoice(vendor.name, vendor.model, host, is_own, accounts)


def _is_loaded(shelves: Shelves) -> bool | None:
    serving = shelves.switch.serving
    return bool(serving.worker_pids) if isinstance(serving, LocalEncoder) else None

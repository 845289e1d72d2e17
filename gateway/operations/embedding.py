"""`knowledge.embedding.*`: the models that vectors are made with, installed and chosen (A13)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from gateway import catalogue
from gateway.core.audit import Details, SecurityEvent
from gateway.errors import ConflictError, GatewayError, InvalidRequestError
from gateway.interfaces import Audit, Clock, VectorCoverage
from gateway.operations import embedding_types as types
from gateway.operations.acting import is_admin
from gateway.operations.auth import Nothing
from gateway.operations.table import Caller, Operation, Permission
from gateway.settings_file import SettingsFile
from models import progress as installs
from models.bundle import Bundles
from models.catalogue import get
from models.files import MANIFEST_FILE
from models.install import ListedModel, ModelState, install, listing, remove, verify
from models.switching import EncoderSwitch

log = structlog.get_logger()

SECTION = ("knowledge", "embedding")
LOOK_S = 5.0  # for models that another process put in or took away
LOCAL, NONE = "local", "none"
ChooseCloud = Callable[[Caller, types.SelectRequest], Awaitable[None]]
Done = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class EmbeddingSeams:
    """What the operations are made of."""

    bundles: Bundles
    switch: EncoderSwitch
    coverage: VectorCoverage
    settings: SettingsFile
    selected: Callable[[], str]  # local_model of the settings that hold
    look: Done  # take config.toml over now
    backfill: Done  # make the vectors that are missing
    audit: Audit
    clock: Clock
    choose_cloud: ChooseCloud | None = None
    cloud_rows: tuple[Operation, ...] = ()  # further operations, of the cloud's providers


@dataclass(slots=True)
class ModelDesk:
    """Installs run one after the other beside everything else; `run` is their one task."""

    seams: EmbeddingSeams
    _queue: "asyncio.Queue[types.InstallRequest]" = field(default_factory=asyncio.Queue)
    _waiting: set[str] = field(default_factory=set)
    _failures: dict[str, str] = field(default_factory=dict)
    _verified: dict[str, int] = field(default_factory=dict)  # the manifest of the files compared
    _current: str = ""

    @property
    def _folder(self) -> Path:
        return self.seams.bundles.models_dir

    async def run(self) -> None:
        """Install what is asked for and notice what others install, until cancelled."""
        seen: tuple[int, ...] = ()
        while True:
            try:
                async with asyncio.timeout(LOOK_S):
                    request = await self._queue.get()
            except TimeoutError:
                request = None
            if request is not None:
                await self._install(request)
            now = await asyncio.to_thread(self._looks)
            if now != seen:
                seen = now
                await self.seams.backfill()
            await self.seams.switch.advance()

    def _looks(self) -> tuple[int, ...]:
        """Changes when a model is put in, replaced or removed."""
        manifests = sorted(self._folder.glob(f"*/{MANIFEST_FILE}"))
        return tuple(path.stat().st_ino for path in manifests if path.is_file())

    async def _install(self, request: types.InstallRequest) -> None:
        name = request.model
        if name not in self._waiting:  # it was cancelled before its turn came
            return
        self._current = name
        work = asyncio.get_running_loop().run_in_executor(None, self._put_in, request)
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:  # the gateway stops: the thread must not be left behind
            await asyncio.to_thread(self._cancel_quietly, name)
            await asyncio.wait([work])
            raise
        except GatewayError as error:
            log.warning("model_not_installed", model=name, code=error.code, detail=str(error))
            self._failures[name] = error.code
        else:
            self._verified[name] = self._manifest(name)  # as it was put in
        finally:
            self._current = ""
            self._waiting.discard(name)

    def _put_in(self, request: types.InstallRequest) -> None:
        bundles = self.seams.bundles
        install(request.model, self._folder, source_id=request.source, models=bundles.models)

    def _cancel_quietly(self, name: str) -> None:
        if installs.running(self._folder, name) is not None:
            installs.cancel(self._folder, name)

    # ---------------------------------------------------------------- what can be asked

    async def status(self, caller: Caller, _request: Nothing) -> types.EmbeddingStatus:
        """What answers questions now, what will, and how far it is."""
        switch = self.seams.switch
        passages, embedded = None, None
        if is_admin(caller):
            passages, embedded = await self.seams.coverage.of(switch.wanted.model_key)
        rows = await asyncio.to_thread(listing, self._folder, self.seams.bundles.models)
        bundled = await asyncio.to_thread(self.seams.bundles.found)
        return types.EmbeddingStatus(
            model=switch.questions.model_key,
            unavailable=await switch.questions.unavailable(),
            wanted=switch.wanted.model_key,
            wanted_unavailable=await switch.wanted.unavailable(),
            passages=passages,
            embedded=embedded,
            models=[self._view(row, bundled, caller.language) for row in rows],
        )

    async def install(self, caller: Caller, request: types.InstallRequest) -> None:
        """Begin; `status` tells how far it is. ConflictError: it is being installed already."""
        model = get(request.model, self.seams.bundles.models)
        if request.source is not None:
            model.source_named(request.source)
        if request.model in self._waiting or installs.running(self._folder, request.model):
            raise ConflictError(f"{request.model} is being installed")
        self._waiting.add(request.model)
        self._failures.pop(request.model, None)
        await self._record(caller, "embedding_model_install", {"model": request.model})
        self._queue.put_nowait(request)

    async def cancel(self, _caller: Caller, request: types.ModelRequest) -> None:
        """NotFoundError: it is not being installed."""
        name = get(request.model, self.seams.bundles.models).name
        if name in self._waiting and name != self._current:  # its turn has not come
            self._waiting.discard(name)
            self._failures[name] = "model_install_cancelled"
            return
        await asyncio.to_thread(installs.cancel, self._folder, name)

    async def remove(self, caller: Caller, request: types.ModelRequest) -> None:
        """Delete its files; vectors stay, and are used again once it is installed anew."""
        models = self.seams.bundles.models
        await asyncio.to_thread(remove, request.model, self._folder, models)
        self._failures.pop(request.model, None)
        await self._record(caller, "embedding_model_remove", {"model": request.model})

    async def verify(self, caller: Caller, request: types.ModelRequest) -> types.VerifiedView:
        """Open the model's bundle if one lies there, then hash every file; no network."""
        bundles = self.seams.bundles
        opened = await asyncio.to_thread(bundles.install, request.model)
        source = await asyncio.to_thread(verify, request.model, self._folder, bundles.models)
        self._verified[request.model] = await asyncio.to_thread(self._manifest, request.model)
        if opened is not None:
            details: Details = {"model": request.model, "bundle": True}
            await self._record(caller, "embedding_model_install", details)
            await self.seams.backfill()
        return types.VerifiedView(request.model, source.id, opened is not None)

    async def select(self, caller: Caller, request: types.SelectRequest) -> None:
        """Written to config.toml and taken over at once; the former model serves meanwhile."""
        values: dict[str, str | None] = {"provider": request.provider}
        if request.provider not in {LOCAL, NONE}:
            if self.seams.choose_cloud is None:
                raise InvalidRequestError("provider", reason="provider: local or none")
            await self.seams.choose_cloud(caller, request)
            return
        if request.provider == LOCAL:
            name = request.local_model or self.seams.selected()
            values["local_model"] = get(name, self.seams.bundles.models).name
        values["cloud_disclosure_ack"] = None  # choosing anything else takes the consent back
        await self.seams.settings.put(SECTION, values)
        told = {name: value for name, value in values.items() if value is not None}
        await self._record(caller, "embedding_provider_change", told)
        await self.seams.look()

    async def rebuild(self, caller: Caller, _request: Nothing) -> None:
        """Make all vectors again; each old one is searched until its new one is there."""
        await self.seams.coverage.begin_rebuild()
        key = self.seams.switch.wanted.model_key
        await self._record(caller, "embedding_rebuild", {"model": key})
        await self.seams.backfill()

    def _manifest(self, name: str) -> int:
        """Changes when the files are put in anew; -1 where there are none."""
        path = self._folder / name / MANIFEST_FILE
        return path.stat().st_ino if path.is_file() else -1

    def _view(
        self, row: ListedModel, bundled: Sequence[str], language: str | None
    ) -> types.ModelView:
        name, told = row.model.name, row.progress
        if told is None and name in self._waiting:
            told = installs.InstallProgress("", 0, 0)
        failure = self._failures.get(name)
        is_whole = row.state is ModelState.INSTALLED
        return types.ModelView(
            name=name,
            state=row.state.value,
            licence=row.model.licence,
            dimensions=row.model.recipe.dimensions,
            size=row.size,
            source=row.source.id,
            sources=[source.id for source in row.model.sources],
            is_selected=name == self.seams.selected(),
            has_bundle=name in bundled,
            progress=_progress(told),
            failure=failure,
            failure_message=catalogue.error_text(failure, language) if failure else None,
            is_verified=is_whole and self._verified.get(name) == self._manifest(name),
        )

    async def _record(self, caller: Caller, event: str, details: Details) -> None:
        actor = caller.account.id if caller.account is not None else "operator"
        now = self.seams.clock.now()
        await self.seams.audit.event(SecurityEvent(event, now, actor, details))


def _progress(told: installs.InstallProgress | None) -> types.ProgressView | None:
    return None if told is None else types.ProgressView(told.step, told.done, told.total)


def operations(desk: ModelDesk) -> tuple[Operation, ...]:
    """The rows of the embedding models."""
    name = "knowledge.embedding."
    everybody, admin = Permission.SIGNED_IN_OR_LOCAL, Permission.ADMIN
    rows: tuple[tuple[str, str, Permission, type[Any], Any], ...] = (
        ("status", "Tell whether meaning is searched.", everybody, Nothing, desk.status),
        ("install", "Begin to install a model.", admin, types.InstallRequest, desk.install),
        ("cancel", "End an installation.", admin, types.ModelRequest, desk.cancel),
        ("remove", "Delete a model's files.", admin, types.ModelRequest, desk.remove),
        (
            "verify_offline",
            "Install from a signed bundle if one is there, and check a model's files.",
            *(admin, types.ModelRequest, desk.verify),
        ),
        ("select", "Choose who computes vectors.", admin, types.SelectRequest, desk.select),
        ("rebuild", "Make all vectors again.", admin, Nothing, desk.rebuild),
    )
    own = (Operation(name + row[0], *row[1:]) for row in rows)
    return (*own, *desk.seams.cloud_rows)

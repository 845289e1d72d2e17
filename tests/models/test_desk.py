"""What admins do with models while the gateway runs: install, watch, cancel, remove, choose."""

import asyncio
import http.server
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from gateway.core.access import Audience, AudienceKind
from gateway.core.passages import NoVectors
from gateway.errors import (
    ConfigError,
    ConflictError,
    InvalidRequestError,
    ModelError,
    NotFoundError,
)
from gateway.operations import embedding_types as types
from gateway.operations.auth import Nothing
from gateway.operations.embedding import EmbeddingSeams, ModelDesk
from gateway.operations.table import Caller
from gateway.settings_file import SettingsFile
from models import progress as installs
from models.bundle import Bundles, make
from models.catalogue import HubSource, Model
from models.files import MODEL_FILE, TOKENIZER_FILE
from models.install import install, verify
from models.recipe import Recipe
from models.switching import EncoderSwitch
from tests.fakes.knowledge import FakeAudit, FakeClock, FakeEncoder, FakeLibrary
from tests.models.records import record
from tests.models.test_bundle import PUBLIC, SECRET

FILES = {MODEL_FILE: b"weights!" * 100_000, TOKENIZER_FILE: b"pieces"}
OPERATOR = Caller(None, Audience(AudienceKind.DASHBOARD), "local", is_local=True)
CONFIG = "# ours\n[gateway]\nport = 1 # free\n\n[knowledge]\nenabled = true\n"
TINY = types.ModelRequest("tiny")


class Hub(http.server.BaseHTTPRequestHandler):
    """Gives half of the model, then waits until it may go on."""

    gate: threading.Event

    def do_GET(self) -> None:
        data = FILES[Path(self.path).name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        half = len(data) // 2
        self.wfile.write(data[:half])
        self.gate.wait(30)
        try:
            self.wfile.write(data[half:])
        except OSError:  # nobody wants the rest
            return

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def gate() -> Iterator[tuple[threading.Event, Model]]:
    """A hub that holds back; and the model it has."""
    event = threading.Event()
    handler = type("OneHub", (Hub,), {"gate": event})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        records = {name: record(data) for name, data in FILES.items()}
        address = f"http://127.0.0.1:{server.server_port}/commit"
        source = HubSource("hub", "tiny @ 1", address, {name: name for name in FILES}, records)
        recipe = Recipe(TOKENIZER_FILE, ("query:", "passage:"), "mean", 4, 512)
        yield event, Model("tiny", "MIT", recipe, (source,))
        event.set()
        server.shutdown()
        thread.join()


class FakeCoverage:
    """A library of three passages."""

    def __init__(self) -> None:
        self.rebuilds = 0

    async def rows(self) -> dict[str, int]:
        return {}

    async def of(self, model_key: str) -> tuple[int, int]:
        return 3, 1

    async def covers(self, model_key: str, former: str) -> bool:
        return True

    async def is_whole(self, model_key: str) -> bool:
        return True

    async def kept_here(self) -> tuple[int, int, int]:
        return 0, 0, 0

    async def begin_rebuild(self) -> None:
        self.rebuilds += 1


class Home:
    """A desk with one model in its catalogue; counts what it sets going."""

    def __init__(self, folder: Path, model: Model) -> None:
        self.config, self.models = folder / "config.toml", folder / "models"
        self.config.write_text(
            "# ours\n[gateway]\nport = 1 # free\n\n[knowledge]\nenabled = true\n"
        )
        self.audit, self.coverage = FakeAudit(), FakeCoverage()
        self.looked = self.backfills = 0
        self.filled = asyncio.Event()
        library = FakeLibrary()
        self.encoder = FakeEncoder()
        self.seams = EmbeddingSeams(
            bundles=Bundles(self.models, {"tiny": model}, PUBLIC),
            switch=EncoderSwitch(self.encoder, lambda _key: None, self.coverage, library),
            coverage=self.coverage,
            settings=SettingsFile(self.config),
            selected=lambda: "tiny",
            look=self.look,
            backfill=self.backfill,
            audit=self.audit,
            clock=FakeClock(),
        )
        self.desk = ModelDesk(self.seams)

    async def look(self) -> None:
        self.looked += 1

    async def backfill(self) -> None:
        self.backfills += 1
        self.filled.set()

    async def row(self) -> types.ModelView:
        (row,) = (await self.desk.status(OPERATOR, Nothing())).models
        return row

    async def until_begun(self) -> types.ProgressView:
        """Until bytes have come."""
        while True:
            told = (await self.row()).progress
            if told is not None and told.done > 0:
                return told
            await asyncio.sleep(0.01)

    async def until(self, is_true: Callable[[types.ModelView], bool]) -> None:
        async with asyncio.timeout(10):
            while not is_true(await self.row()):  # noqa: ASYNC110 (told by files alone)
                await asyncio.sleep(0.01)

    def events(self) -> list[str]:
        return [event.event for event in self.audit.events]


@pytest.fixture
async def home(gate: tuple[threading.Event, Model], tmp_path: Path) -> AsyncIterator[Home]:
    """With its one task running."""
    home = Home(tmp_path, gate[1])
    home.models.mkdir()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(home.desk.run())
        yield home
        running.cancel()


async def test_an_install_goes_on_beside_tells_its_bytes_and_is_noticed(
    home: Home, gate: tuple[threading.Event, Model]
) -> None:
    await home.desk.install(OPERATOR, types.InstallRequest("tiny"))
    told = await home.until_begun()
    assert (told.step, told.total) == ("download", sum(map(len, FILES.values())))
    with pytest.raises(ConflictError):
        await home.desk.install(OPERATOR, types.InstallRequest("tiny"))
    home.filled.clear()
    gate[0].set()
    async with asyncio.timeout(10):
        await home.filled.wait()  # the vectors that are missing are looked for
    row = await home.row()
    assert (row.state, row.progress, row.failure) == ("installed", None, None)
    assert row.size == told.total
    assert home.events() == ["embedding_model_install"]
    verified = await home.desk.verify(OPERATOR, TINY)
    assert (verified.source, verified.from_bundle) == ("hub", False)


async def test_cancelling_leaves_nothing_and_the_next_install_begins_anew(
    home: Home, gate: tuple[threading.Event, Model]
) -> None:
    with pytest.raises(NotFoundError):
        await home.desk.cancel(OPERATOR, TINY)
    await home.desk.install(OPERATOR, types.InstallRequest("tiny"))
    await home.until_begun()
    installs.cancel(home.models, "tiny")  # as another process does
    gate[0].set()
    await home.until(lambda row: row.failure is not None)
    row = await home.row()
    assert (row.state, row.progress, row.failure) == (
        "not_installed",
        None,
        "model_install_cancelled",
    )
    assert [path.name for path in home.models.iterdir()] == [".tiny.lock"]
    await home.desk.install(OPERATOR, types.InstallRequest("tiny"))
    await home.until(lambda row: row.state == "installed")


async def test_what_waits_for_its_turn_can_be_cancelled(
    gate: tuple[threading.Event, Model], tmp_path: Path
) -> None:
    home = Home(tmp_path, gate[1])
    await home.desk.install(OPERATOR, types.InstallRequest("tiny"))  # nobody installs yet
    assert (await home.row()).progress is not None
    await home.desk.cancel(OPERATOR, TINY)
    row = await home.row()
    assert (row.progress, row.failure) == (None, "model_install_cancelled")
    assert row.failure_message == "模型安裝已取消。"
    running = asyncio.ensure_future(home.desk.run())
    gate[0].set()
    await asyncio.sleep(0.05)
    assert (await home.row()).state == "not_installed"
    await home.desk.install(OPERATOR, types.InstallRequest("tiny"))
    await home.until(lambda row: row.state == "installed")
    running.cancel()
    await asyncio.wait([running])


async def test_a_model_is_verified_until_its_files_are_others(
    home: Home, gate: tuple[threading.Event, Model]
) -> None:
    gate[0].set()
    catalogue = home.seams.bundles.models
    await asyncio.to_thread(install, "tiny", home.models, models=catalogue)
    assert not (await home.row()).is_verified
    await home.desk.verify(OPERATOR, TINY)
    assert (await home.row()).is_verified
    (home.models / "tiny" / MODEL_FILE).write_bytes(b"x")
    row = await home.row()
    assert (row.state, row.is_verified) == ("damaged", False)
    with pytest.raises(ModelError):
        await home.desk.verify(OPERATOR, TINY)


async def test_a_gateway_that_stops_ends_its_install(
    gate: tuple[threading.Event, Model], tmp_path: Path
) -> None:
    home = Home(tmp_path, gate[1])
    running = asyncio.ensure_future(home.desk.run())
    await home.desk.install(OPERATOR, types.InstallRequest("tiny"))
    await home.until_begun()
    running.cancel()
    await asyncio.sleep(0)
    gate[0].set()
    async with asyncio.timeout(10):
        await asyncio.wait([running])
    assert running.cancelled()
    assert installs.running(home.models, "tiny") is None
    assert not (home.models / "tiny").exists()


async def test_removing_is_told_and_only_what_is_there(
    home: Home, gate: tuple[threading.Event, Model]
) -> None:
    gate[0].set()
    await asyncio.to_thread(install, "tiny", home.models, models=home.seams.bundles.models)
    await home.desk.remove(OPERATOR, TINY)
    assert (await home.row()).state == "not_installed"
    assert home.events() == ["embedding_model_remove"]
    with pytest.raises(NotFoundError):
        await home.desk.remove(OPERATOR, TINY)
    with pytest.raises(ModelError):
        await home.desk.verify(OPERATOR, TINY)
    for call in (home.desk.remove, home.desk.verify, home.desk.cancel):
        with pytest.raises(NotFoundError):
            await call(OPERATOR, types.ModelRequest("gpt-5"))


async def test_a_bundle_that_lies_there_is_opened(
    home: Home, gate: tuple[threading.Event, Model], tmp_path: Path
) -> None:
    gate[0].set()
    catalogue = home.seams.bundles.models
    await asyncio.to_thread(install, "tiny", tmp_path / "other", models=catalogue)
    await asyncio.to_thread(make, "tiny", tmp_path / "other", home.models, SECRET, catalogue)
    assert (await home.row()).has_bundle
    verified = await home.desk.verify(OPERATOR, TINY)
    assert verified.from_bundle
    assert not (await home.row()).has_bundle
    assert verify("tiny", home.models, catalogue).id == "hub"
    assert home.events() == ["embedding_model_install"]


async def test_choosing_is_written_into_the_file_and_taken_over(home: Home) -> None:
    await home.desk.select(OPERATOR, types.SelectRequest("local", "tiny"))
    assert home.config.read_text() == (
        f'{CONFIG}\n[knowledge.embedding]\nprovider = "local"\nlocal_model = "tiny"\n'
    )
    assert home.looked == 1
    assert home.events() == ["embedding_provider_change"]
    with pytest.raises(NotFoundError):
        await home.desk.select(OPERATOR, types.SelectRequest("local", "gpt-5"))
    with pytest.raises(InvalidRequestError):
        await home.desk.select(OPERATOR, types.SelectRequest("acme"))
    assert home.looked == 1


async def test_choosing_something_else_takes_the_consent_back(home: Home) -> None:
    ack = 'cloud_disclosure_ack = { by = "ken", host = "api.openai.com" }'
    home.config.write_text(f'[knowledge.embedding]\nprovider = "openai" # theirs\n{ack}\n')
    await home.desk.select(OPERATOR, types.SelectRequest("none"))
    assert home.config.read_text() == '[knowledge.embedding]\nprovider = "none" # theirs\n'


async def test_a_file_nobody_can_read_is_left_alone(home: Home) -> None:
    home.config.write_text("[knowledge\n")
    with pytest.raises(ConfigError):
        await home.desk.select(OPERATOR, types.SelectRequest("none"))
    assert home.config.read_text() == "[knowledge\n"
    assert home.events() == []


async def test_a_rebuild_is_begun_and_its_coverage_shown(home: Home) -> None:
    await home.desk.rebuild(OPERATOR, Nothing())
    assert (home.coverage.rebuilds, home.events()) == (1, ["embedding_rebuild"])
    home.encoder.reason = NoVectors.MODEL_MISSING
    status = await home.desk.status(OPERATOR, Nothing())
    assert (status.passages, status.embedded) == (3, 1)
    assert (status.model, status.wanted, status.unavailable) == (
        "letters",
        "letters",
        "model_missing",
    )

"""The evaluation from documents to report, over a library in memory."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.core.followups import Wording
from gateway.core.passages import SearchMode, SearchResult
from gateway.errors import ExtractionError, InvalidRequestError
from gateway.evals.evaluate import EvalOptions, evaluate
from gateway.evals.library import Library
from gateway.evals.memory import PeakMemory
from gateway.evals.report import Report
from tests.fakes.knowledge import FakeClock
from tests.knowledge.test_search import World

DOCS = {
    "handbook.md": "到職滿一年的特別休假有七日。",
    "sub/sick.md": "病假一年內不得超過三十日。",
    "broken.pdf": "",
}
QUESTIONS = [
    {
        "id": "a",
        "question": "特別休假有幾日",
        "gold": [{"source": "handbook.md", "contains": "七 日"}],
    },
    {"id": "b", "question": "病假超過", "type": "list", "gold": [{"source": "sub/sick.md"}]},
    {"id": "c", "question": "特別休假", "gold": [{"source": "handbook.md", "contains": "十日"}]},
    {"id": "d", "question": "量子糾纏", "type": "none", "answerable": False},
]


class MemoryLibrary:
    """One collection in memory."""

    def __init__(self) -> None:
        self.world = World()

    async def ingest(self, path: Path) -> str:
        if path.suffix == ".pdf":
            raise ExtractionError("broken", code="no_text_layer")
        self.world.clock.seconds += 1
        number = len(self.world.library.passages) + 1
        text = await asyncio.to_thread(path.read_text, "utf-8")
        return self.world.library.add(number, text).source_id

    async def embed(self) -> AsyncIterator[int]:
        await self.world.library.embed_all()
        self.world.clock.seconds += 30
        yield len(self.world.library.passages)

    async def size(self) -> tuple[int, int]:
        return len(self.world.library.passages), 256 * len(self.world.library.vectors)

    async def search(
        self, wordings: Sequence[Wording], limit: int, mode: SearchMode
    ) -> SearchResult:
        self.world.clock.seconds += 0.01
        return await self.world.search.find_any(wordings, self.world.faq, limit, mode=mode)


fits: type[Library] = MemoryLibrary


@pytest.fixture
def options(tmp_path: Path) -> EvalOptions:
    for name, text in DOCS.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    questions = tmp_path / "questions.jsonl"
    questions.write_text("\n".join(json.dumps(q, ensure_ascii=False) for q in QUESTIONS), "utf-8")
    return EvalOptions(tmp_path / "docs", questions)


async def run(options: EvalOptions, steps: list[tuple[str, int, int]] | None = None) -> Report:
    clock = FakeClock()

    @asynccontextmanager
    async def opened(home: Path) -> AsyncIterator[Library]:
        assert not await asyncio.to_thread(lambda: any(home.iterdir()))
        library = MemoryLibrary()
        library.world.clock = clock
        yield library

    def told(step: str, done: int, total: int) -> None:
        if steps is not None:
            steps.append((step, done, total))

    return await evaluate(options, opened, clock, told)


async def test_the_report_of_all_modes(options: EvalOptions) -> None:
    steps: list[tuple[str, int, int]] = []
    report = await run(replace(options, model="local:letters", min_recall=0.6), steps)
    assert list(report.modes) == ["keyword", "vector", "hybrid"]
    assert (report.judged, report.is_met) == ("hybrid", True)
    assert steps[:4] == [("ingest", 1, 3), ("ingest", 2, 3), ("ingest", 3, 3), ("embed", 2, 2)]
    assert steps[-1] == ("hybrid", 4, 4)
    written = report.to_json()
    assert written["peak_rss_mb"] > 1
    assert {key: written[key] for key in ("passages", "passages_per_minute", "vector_bytes")} == {
        "passages": 2,
        "passages_per_minute": 4.0,
        "vector_bytes": 512,
    }
    assert written["skipped"] == [{"source": "broken.pdf", "code": "no_text_layer"}]
    hybrid = written["modes"]["hybrid"]
    assert hybrid["overall"] == {
        "recall_at_1": pytest.approx(0.6667, abs=1e-4),
        "recall_at_5": pytest.approx(0.6667, abs=1e-4),
        "recall_at_10": pytest.approx(0.6667, abs=1e-4),
        "mrr_at_10": pytest.approx(0.6667, abs=1e-4),
        "n": 3,
    }
    assert {kind: figures["n"] for kind, figures in hybrid["by_type"].items()} == {
        "factoid": 2,
        "list": 1,
    }
    assert hybrid["latency_ms"] == {"p50": 10.0, "p95": 10.0}
    assert written["modes"]["keyword"]["empty_share"] == 1.0
    assert hybrid["refused_share"] == 1.0
    assert [(q["id"], q["rank"]) for q in written["questions"]] == [
        ("a", 1),
        ("b", 1),
        ("c", None),
        ("d", None),
    ]
    assert written["questions"][3]["refused"] is True
    assert any("hybrid" in line for line in report.lines("en"))


async def test_min_recall_judges_the_last_mode(options: EvalOptions, tmp_path: Path) -> None:
    report = await run(replace(options, min_recall=0.9))
    assert list(report.modes) == ["keyword"]
    assert not report.is_met
    assert "0.667" in list(report.lines("en"))[-1]
    report.write(tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text("utf-8")) == report.to_json()
    assert report.to_json()["passages_per_minute"] is None


@pytest.mark.parametrize(
    "changes",
    [
        {"modes": ("keyword", "semantic")},
        {"modes": ("hybrid",)},
        {"model": "cloud:x", "modes": ("keyword",)},
        {"model": "local:"},
        {"k": 0},
        {"min_recall": 1.5},
    ],
)
async def test_options_that_do_not_fit(options: EvalOptions, changes: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError):
        await run(replace(options, **changes))  # type: ignore[arg-type]


async def test_the_work_folder_must_be_empty_and_stays(
    options: EvalOptions, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    await run(replace(options, work_dir=work))
    assert work.is_dir()
    (work / "left").write_text("x", "utf-8")
    with pytest.raises(InvalidRequestError):
        await run(replace(options, work_dir=work))


async def test_a_folder_without_documents(options: EvalOptions, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(InvalidRequestError):
        await run(replace(options, docs=tmp_path / "none"))


def test_peak_memory_sums_the_tree(tmp_path: Path) -> None:
    def process(pid: str, parent: str, kb: int, name: str | None = None) -> None:
        folder = tmp_path / (name or pid)
        folder.mkdir()
        (folder / "status").write_text(f"Pid:\t{pid}\nPPid:\t{parent}\nVmHWM:\t{kb} kB\n")

    process("10", "1", 1024, "self")
    process("10", "1", 1024)
    process("11", "10", 2048)
    process("12", "11", 512)
    process("13", "1", 99_999)
    (tmp_path / "14").mkdir()  # has just ended
    memory = PeakMemory(tmp_path)
    memory.sample()
    assert memory.peak_mb == 3.5
    nowhere = PeakMemory(tmp_path / "absent")
    nowhere.sample()
    assert nowhere.peak_mb == 0.0

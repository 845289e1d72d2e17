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
    {
        "id": "b",
        "question": "病假超過",
        "type": "list",
        "language": "ja",
        "gold": [{"source": "sub/sick.md"}],
    },
    {"id": "c", "question": "特別休假", "gold": [{"source": "handbook.md", "contains": "十日"}]},
    {"id": "d", "question": "量子糾纏", "type": "none", "answerable": False},
]


class MemoryLibrary:
    """One collection in memory."""

    def __init__(self) -> None:
        self.world = World()
        self.sources: dict[str, str] = {}

    async def ingest(self, path: Path) -> str:
        if path.suffix == ".pdf":
            raise ExtractionError("broken", code="no_text_layer")
        self.world.clock.seconds += 1
        number = len(self.world.library.passages) + 1
        text = await asyncio.to_thread(path.read_text, "utf-8")
        if text not in self.sources:
            self.sources[text] = self.world.library.add(number, text).source_id
        return self.sources[text]

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
    return EvalOptions((tmp_path / "docs",), questions)


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
    overall = hybrid["overall"]
    assert {overall[f"recall_at_{k}"] for k in (1, 5, 10)} == {overall["mrr_at_10"]} == {0.6667}
    assert (overall["n"], overall["unanswerable"], overall["empty_share"]) == (3, 1, 0.0)
    kinds = {kind: (each["n"], each["unanswerable"]) for kind, each in hybrid["by_type"].items()}
    assert kinds == {"factoid": (2, 0), "list": (1, 0), "none": (0, 1)}
    spoken = {
        name: (each["n"], each["unanswerable"]) for name, each in hybrid["by_language"].items()
    }
    assert spoken == {"ja": (1, 0), "zh": (2, 1)}
    curve = hybrid["refusal_curve"]
    assert [point["cut"] for point in curve] == [n / 20 for n in range(1, 20)]
    assert hybrid["refusal_at_95_kept"]["kept_share"] == 1.0
    assert 0 < hybrid["recall_at_k_standard_error"] < 0.3
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
    lines = list(report.lines("en"))
    assert any(line.startswith("hybrid") and "3+1" in line for line in lines)
    assert any("[ja]" in line for line in lines)
    assert any("kept/refused by cut: 0.10: 1.000/" in line for line in lines)


async def test_min_recall_judges_the_last_mode(options: EvalOptions, tmp_path: Path) -> None:
    report = await run(replace(options, min_recall=0.9))
    assert list(report.modes) == ["keyword"]
    assert not report.is_met
    below, within = list(report.lines("en"))[-2:]
    assert "0.667, below 0.9" in below
    assert "one standard error (0.272)" in within
    far = await run(replace(options, min_recall=0.95))
    assert "0.667, below 0.95" in list(far.lines("en"))[-1]
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
    with pytest.raises(InvalidRequestError):
        await run(replace(options, work_dir=options.questions))
    work = tmp_path / "work"
    await run(replace(options, work_dir=work))
    assert work.is_dir()
    (work / "left").write_text("x", "utf-8")
    with pytest.raises(InvalidRequestError):
        await run(replace(options, work_dir=work))


async def test_a_folder_without_documents(options: EvalOptions, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / ".git").mkdir()
    (tmp_path / "none" / ".git" / "config").write_text("hidden", "utf-8")
    with pytest.raises(InvalidRequestError):
        await run(replace(options, docs=(tmp_path / "none",)))
    with pytest.raises(InvalidRequestError):
        await run(replace(options, docs=(*options.docs, tmp_path / "absent")))


async def test_several_folders_are_one_library(options: EvalOptions, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "handbook.md").write_text("喪假八日。", "utf-8")
    (other / "only.md").write_text("婚假八日。", "utf-8")
    wanted = {
        "a": ("特別休假", f"{options.docs[0]}/handbook.md", 1),
        "b": ("喪假八日", f"{other}/handbook.md", 1),
        "c": ("婚假八日", "only.md", 1),
        "d": ("特別休假", "handbook.md", None),  # of two folders: which one is not said
    }
    rows = [
        {"id": key, "question": question, "gold": [{"source": source}]}
        for key, (question, source, _) in wanted.items()
    ]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    options.questions.write_text(text, "utf-8")
    report = await run(replace(options, docs=(*options.docs, other, other)))
    assert report.passages == 4
    ranks = {each["id"]: each["rank"] for each in report.to_json()["questions"]}
    assert ranks == {key: rank for key, (_, _, rank) in wanted.items()}
    assert report.to_json()["unknown_sources"] == ["handbook.md"]
    assert any("handbook.md, which" in line for line in report.lines("en"))


async def test_a_document_that_is_there_twice_has_both_names(options: EvalOptions) -> None:
    (options.docs[0] / "copy.md").write_text(DOCS["handbook.md"], "utf-8")
    row = {"id": "a", "question": "特別休假", "gold": [{"source": "handbook.md"}]}
    other = row | {"id": "b", "gold": [{"source": "copy.md"}]}
    options.questions.write_text(f"{json.dumps(row)}\n{json.dumps(other)}", "utf-8")
    report = await run(options)
    assert [each["rank"] for each in report.to_json()["questions"]] == [1, 1]


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

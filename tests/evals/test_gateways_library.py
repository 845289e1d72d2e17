"""The evaluation over the gateway's own store, extraction, index and model."""

import json
import os
from pathlib import Path

import pytest

from gateway.app_evaluation import evaluation_library
from gateway.evals.evaluate import EvalOptions, evaluate
from gateway.evals.report import Report
from models.catalogue import E5_SMALL
from models.install import install
from tests.fakes.times import RealClock
from tests.simulators.shared import shared

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "gateway" / "demo" / "documents"
QUESTIONS = [
    ("到職滿一年的特休有幾天？", "handbook/員工手冊.docx", None),
    ("HK-1203 多少錢", "products/價目表.csv", "HK-1203"),
    ("绿茶可以放多久", "products/產品常見問題.md", "一年六個月"),
    ("Do you ship to Japan?", "products/產品常見問題.md", "ship overseas"),
    ("烏龍茶の淹れ方は？", "products/產品常見問題.md", "九十五度"),
    ("今天天氣如何？", None, None),
    ("東京タワーの高さは？", None, None),
]


def questions_file(folder: Path) -> Path:
    rows = []
    for at, (question, source, words) in enumerate(QUESTIONS):
        gold = [] if source is None else [{"source": source, "contains": words}]
        row = {"id": f"q{at}", "question": question, "gold": gold, "answerable": bool(gold)}
        rows.append(json.dumps(row, ensure_ascii=False))
    path = folder / "questions.jsonl"
    path.write_text("\n".join(rows), "utf-8")
    return path


def ranks(report: Report) -> dict[str, tuple[int | None, bool]]:
    return {q["id"]: (q["rank"], q["refused"]) for q in report.to_json()["questions"]}


WANTED = {f"q{at}": (1, False) for at in range(5)} | {f"q{at}": (None, True) for at in (5, 6)}


async def test_words_alone_over_the_demo_documents(tmp_path: Path) -> None:
    options = EvalOptions((DEMO,), questions_file(tmp_path))
    report = await evaluate(options, evaluation_library(None, tmp_path), RealClock())
    assert ranks(report) == WANTED
    assert report.passages >= 15
    assert (report.skipped, report.vector_bytes) == ((), 0)


@pytest.mark.model
async def test_all_modes_over_the_demo_documents(tmp_path: Path) -> None:
    models = Path(os.environ.get("SHUTTEN_TEST_MODELS", ROOT / ".demo" / "models"))
    install(E5_SMALL, models)
    options = EvalOptions((DEMO,), questions_file(tmp_path), model=f"local:{E5_SMALL}")
    report = await evaluate(options, evaluation_library(E5_SMALL, models), RealClock())
    assert list(report.modes) == ["keyword", "vector", "hybrid"]
    found = ranks(report)
    assert found.pop("q3") in {(1, False), (2, False)}  # its passage holds Chinese and English
    assert found == {key: wanted for key, wanted in WANTED.items() if key != "q3"}
    assert report.vector_bytes >= report.passages * 384 * 4
    assert report.passages_per_minute
    assert report.peak_rss_mb > 100  # the model's process is counted


@pytest.mark.model
async def test_what_a_reader_has_no_document_for_is_refused(tmp_path: Path) -> None:
    """The member's view of the README: without the salary shelf its question has no answer."""
    models = Path(os.environ.get("SHUTTEN_TEST_MODELS", ROOT / ".demo" / "models"))
    install(E5_SMALL, models)
    asked = ["資深專員的月薪級距是多少？", "執行長的電話是多少？"]
    rows = [{"id": each, "question": each, "answerable": False} for each in asked]
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    folders = (DEMO / "handbook", DEMO / "products")
    options = EvalOptions(folders, path, model=f"local:{E5_SMALL}", modes=("hybrid",))
    report = await evaluate(options, evaluation_library(E5_SMALL, models), RealClock())
    assert ranks(report) == dict.fromkeys(asked, (None, True))


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_words_alone_over_a_public_set(tmp_path: Path) -> None:
    folder = shared("eval", "jsquad-ja")
    options = EvalOptions((folder / "docs",), folder / "questions.jsonl")
    report = await evaluate(options, evaluation_library(None, tmp_path), RealClock())
    found = report.modes["keyword"]
    assert found.overall.recall.n == 150
    assert found.overall.recall.recall_at_1 is not None
    assert found.overall.recall.recall_at_1 >= 0.88  # one standard error is 0.024
    assert found.overall.kept_share is not None
    assert found.overall.kept_share >= 0.95
    assert found.overall.refused_share is not None
    assert found.overall.refused_share >= 0.6

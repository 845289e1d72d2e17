"""Examples for calibration: every question in every mode, sorted by the rule that judged it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.core.calibration import Calibration, Logistic
from gateway.core.followups import Wording
from gateway.core.passages import Relevance, SearchMode, SearchResult
from gateway.errors import ExtractionError
from gateway.evals.calibrating import examples_of
from gateway.evals.library import Library
from gateway.evals.questions import Gold, Question

WORDS = Logistic(0.0, {"coverage": 1.0}, 0.5)
SAME = Logistic(0.0, {"coverage": 1.0, "cosine": 1.0}, 0.5)
CROSS = Logistic(0.0, {"cosine": 1.0}, 0.5)
ALONE = Logistic(1.0, {"cosine": 1.0}, 0.5)
KNOWN = (Calibration("keyword", WORDS, WORDS, WORDS), Calibration("model", SAME, CROSS, ALONE))
QUESTIONS = (
    Question("1", "特休幾天", gold=(Gold("handbook.md"),)),
    Question("2", "leave days", gold=(Gold("handbook.md"),)),
    Question("3", "健身房", answerable=False),
    Question("4", "？？", answerable=False),
)


class OneHandbook:
    """Reads one document, refuses another; English is another language to it."""

    def __init__(self) -> None:
        self.read: list[str] = []

    async def ingest(self, path: Path) -> str:
        if path.suffix == ".bin":
            raise ExtractionError(path.name, code="unsupported_format")
        self.read.append(path.name)
        return path.name

    async def embed(self) -> AsyncIterator[int]:
        yield 1

    async def size(self) -> tuple[int, int]:
        return 1, 0

    async def search(
        self, wordings: Sequence[Wording], limit: int, mode: SearchMode
    ) -> SearchResult:
        question = wordings[0].text
        rule = {
            SearchMode.KEYWORD_ONLY: WORDS,
            SearchMode.VECTOR_ONLY: ALONE,
            SearchMode.HYBRID: CROSS if question.isascii() else SAME,
        }[mode]
        found = Relevance(True, 0.9, {"coverage": len(question) / 10}, rule)
        nothing = Relevance(False, 0.0)
        return SearchResult((), mode, 1.0, nothing if question == "？？" else found)


async def test_examples_are_sorted_by_model_and_rule(tmp_path: Path) -> None:
    for name in ("handbook.md", "broken.bin", ".hidden"):
        (tmp_path / name).write_text("x")
    library = OneHandbook()

    @asynccontextmanager
    async def open_library(_home: Path) -> AsyncIterator[Library]:
        yield library

    found = await examples_of(tmp_path, QUESTIONS, open_library, KNOWN)
    assert library.read == ["handbook.md"]
    sizes = {
        model: {rule: [each.is_answerable for each in rows] for rule, rows in rules.items()}
        for model, rules in found.items()
    }
    assert sizes == {
        "keyword": {"same_language": [True, True, False]},
        "model": {
            "same_language": [True, False],
            "cross_language": [True],
            "vector_only": [True, True, False],
        },
    }
    assert found["model"]["cross_language"][0].values == {"coverage": 1.0}

"""Examples for moving the relevance decision: what searches found for one's own questions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.core.calibration import Calibration
from gateway.evals.calibrating import examples_of
from gateway.evals.library import Library
from gateway.evals.questions import read_questions
from tests.evals.test_evaluate import MemoryLibrary, options
from tests.knowledge.test_search import LETTERS, WORDS

fixtures = (options,)


@pytest.mark.parametrize(
    ("calibrations", "expected"),
    [((WORDS,), {"keyword"}), ((WORDS, LETTERS), {"keyword", LETTERS.model_id})],
)
async def test_every_question_that_found_something_is_an_example(
    options: object, tmp_path: Path, calibrations: tuple[Calibration, ...], expected: set[str]
) -> None:
    @asynccontextmanager
    async def opened(home: Path) -> AsyncIterator[Library]:
        yield MemoryLibrary()

    questions = read_questions(tmp_path / "questions.jsonl")
    found = await examples_of(tmp_path / "docs", questions, opened, calibrations)
    assert set(found) == expected
    for rules in found.values():
        examples = [example for each in rules.values() for example in each]
        assert len(examples) >= 3
        assert any(example.values["coverage"] > 0.5 for example in examples)
        assert any(example.is_answerable for example in examples)

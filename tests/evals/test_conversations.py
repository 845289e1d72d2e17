"""Follow-ups of a written set find what the whole question finds, and change no other question.

`half` tells the turns that the rules were tuned on from those that were kept back.
"""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from gateway.app_evaluation import evaluation_library
from gateway.core.followups import Wording
from gateway.core.passages import SearchMode
from gateway.evals.library import Library
from gateway.evals.questions import Question, comparable, read_questions
from models.catalogue import E5_SMALL
from models.install import install

ROOT = Path(__file__).parents[2]
SET = Path(__file__).parent / "conversations"
FOUND_WITHIN = 3  # passages; the model reads five
EVERY = 3  # of the turns that were tuned on, every third is asked by words alone


class Turn(Question, frozen=True):
    """A question after others; `full` says in one what a follow-up means."""

    full: str = ""
    half: str = "tuned"


def turns() -> list[Turn]:
    lines = (SET / "questions.jsonl").read_text("utf-8").splitlines()
    return [msgspec.json.decode(line, type=Turn) for line in lines]


class Asking:
    """The documents of the set in a library, asked one way and the other."""

    def __init__(self, library: Library, mode: SearchMode) -> None:
        self.library = library
        self.mode = mode
        self.names: dict[str, str] = {}

    async def read(self) -> None:
        for path in sorted((SET / "docs").iterdir()):
            self.names[await self.library.ingest(path)] = path.name

    async def finds(self, turn: Turn, wordings: Sequence[Wording]) -> bool:
        """The right passage, accepted; for one without an answer: refused."""
        result = await self.library.search(wordings, 8, self.mode)
        if not turn.is_answerable:
            return not result.relevance.is_relevant
        near = [hit.passage for hit in result.hits[:FOUND_WITHIN]]
        return result.relevance.is_relevant and any(
            gold.is_at(self.names[each.source_id], comparable(each.text), each.locator)
            for gold in turn.gold
            for each in near
        )

    async def shares(self, asked: Sequence[Turn]) -> tuple[float, float]:
        """Of follow-ups whose full question finds: found too. Of the others: harmed."""
        followed: list[bool] = []
        kept: list[bool] = []
        for turn in asked:
            whole = Wording(turn.full or turn.question)
            if await self.finds(turn, (whole,)):
                results = followed if turn.full else kept
                is_alone = turn.wordings == (whole,)
                results.append(is_alone or await self.finds(turn, turn.wordings))
        return sum(followed) / len(followed), 1 - sum(kept) / len(kept)


@asynccontextmanager
async def asking(home: Path, model: str | None, models: Path) -> AsyncIterator[Asking]:
    async with evaluation_library(model, models)(home) as library:
        asked = Asking(library, SearchMode.HYBRID if model else SearchMode.KEYWORD_ONLY)
        await asked.read()
        if model is not None:
            async for _done in library.embed():
                pass
        yield asked


def test_the_set_is_large_mixed_and_fit_for_the_evaluation_command() -> None:
    assert len(read_questions(SET / "questions.jsonl")) >= 200
    found = turns()
    languages = {turn.id[:2] for turn in found}
    assert languages == {"zh", "ja", "en"}
    assert sum(not turn.full for turn in found) >= len(found) / 3
    assert all(turn.history for turn in found)


async def test_follow_ups_find_by_words_alone_what_the_whole_question_finds(
    tmp_path: Path,
) -> None:
    async with asking(tmp_path / "home", None, tmp_path) as library:
        for half, every in (("tuned", EVERY), ("kept", 1)):
            of_half = [each for each in turns() if each.half == half]
            found, harmed = await library.shares(of_half[::every])
            assert found >= 0.85
            assert harmed <= 0.05


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_follow_ups_find_by_words_and_meaning_what_the_whole_question_finds(
    tmp_path: Path,
) -> None:
    models = Path(os.environ.get("SHUTTEN_TEST_MODELS", ROOT / ".demo" / "models"))
    install(E5_SMALL, models)
    async with asking(tmp_path / "home", E5_SMALL, models) as library:
        found, harmed = await library.shares(turns())
    assert found >= 0.85
    assert harmed <= 0.05

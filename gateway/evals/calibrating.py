"""What searches found for one's own questions, as examples for the calibration's rules."""

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from gateway.core.calibration import Calibration
from gateway.core.fitting import Example
from gateway.core.followups import Wording
from gateway.core.passages import SearchMode
from gateway.core.recalibration import rule_name
from gateway.errors import ExtractionError
from gateway.evals.documents import documents_of
from gateway.evals.library import Library, OpenLibrary
from gateway.evals.questions import Question

Examples = dict[str, dict[str, list[Example]]]  # by the calibration's model id and rule
KEYWORD = "keyword"
LIMIT = 3
MODES = {
    KEYWORD: (SearchMode.KEYWORD_ONLY,),
    "model": (SearchMode.HYBRID, SearchMode.VECTOR_ONLY),
}


def no_examples() -> Examples:
    """To be filled."""
    return defaultdict(lambda: defaultdict(list))


async def examples_of(
    documents: Path,
    questions: Sequence[Question],
    open_library: OpenLibrary,
    calibrations: Sequence[Calibration],
) -> Examples:
    """Ask every question of a throw-away library of the documents, in every mode.

    `calibrations` are those the library searches by: of keyword search, and of a model if it has
    one. Raises ModelError; a document that cannot be read is left out.
    """
    return (await examples_of_each(documents, [questions], open_library, calibrations))[0]


async def examples_of_each(
    documents: Path,
    lists: Sequence[Sequence[Question]],
    open_library: OpenLibrary,
    calibrations: Sequence[Calibration],
) -> list[Examples]:
    """As `examples_of`, of several lists of questions in one library."""
    with tempfile.TemporaryDirectory(prefix="shutten-calibrate-") as home:
        async with open_library(Path(home)) as library:
            await _fill(library, documents)
            if any(each.model_id != KEYWORD for each in calibrations):
                async for _done in library.embed():
                    pass
            return [await _ask_all(library, questions, calibrations) for questions in lists]


async def _ask_all(
    library: Library, questions: Sequence[Question], calibrations: Sequence[Calibration]
) -> Examples:
    found = no_examples()
    for calibration in calibrations:
        for mode in MODES[KEYWORD if calibration.model_id == KEYWORD else "model"]:
            for question in questions:
                await _ask(library, question, mode, calibration, found)
    return found


async def _fill(library: Library, documents: Path) -> None:
    for document in await asyncio.to_thread(documents_of, [documents]):
        try:
            await library.ingest(document.path)
        except ExtractionError:
            continue  # `knowledge eval` tells which and why


async def _ask(
    library: Library,
    question: Question,
    mode: SearchMode,
    calibration: Calibration,
    found: Examples,
) -> None:
    result = await library.search((Wording(question.question),), LIMIT, mode)
    rule = result.relevance.rule
    if rule is None:  # nothing was found at all, there is nothing to decide
        return
    example = Example(result.relevance.features, question.is_answerable)
    name = rule_name(calibration, rule, example.values)
    if name is not None:
        found[calibration.model_id][name].append(example)

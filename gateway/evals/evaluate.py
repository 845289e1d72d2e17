"""Run an evaluation: a throw-away library, all its documents, every question in every mode."""

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.catalogue import text
from gateway.core.metrics import RANKS_COUNTED, Outcome, figures
from gateway.core.passages import Passage, SearchMode
from gateway.errors import ExtractionError, InvalidRequestError
from gateway.evals.documents import Document, documents_of
from gateway.evals.library import Library, OpenLibrary
from gateway.evals.memory import PeakMemory
from gateway.evals.questions import Question, comparable, read_questions
from gateway.evals.report import Report
from gateway.interfaces import Clock

NO_MODEL = "none"
MODES = {
    "keyword": SearchMode.KEYWORD_ONLY,
    "vector": SearchMode.VECTOR_ONLY,
    "hybrid": SearchMode.HYBRID,
}
Progress = Callable[[str, int, int], None]
"""Told the step ("ingest", "embed" or a mode), how much of it is done, and of how much."""


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """The options of `shutten knowledge eval` (FEATURES A28); `model` is "none" or "local:NAME".

    `docs` are folders whose files become one library. `modes` empty means keyword alone without a
    model, else keyword, vector, hybrid.
    """

    docs: tuple[Path, ...]
    questions: Path
    model: str = NO_MODEL
    model_home: Path | None = None
    modes: tuple[str, ...] = ()
    k: int = 5
    min_recall: float | None = None
    work_dir: Path | None = None

    @property
    def model_name(self) -> str | None:
        """What follows "local:"; None without a model. InvalidRequestError for other forms."""
        kind, _, name = self.model.partition(":")
        if self.model == NO_MODEL:
            return None
        if kind != "local" or not name:
            raise _refused("bad_option", option="--model", value=self.model)
        return name

    def checked_modes(self) -> tuple[str, ...]:
        """The modes to run. InvalidRequestError for an unknown one or a missing model."""
        has_model = self.model_name is not None
        modes = self.modes or (tuple(MODES) if has_model else ("keyword",))
        for mode in modes:
            if mode not in MODES:
                raise _refused("unknown_mode", mode=mode)
            if mode != "keyword" and not has_model:
                raise _refused("mode_needs_model", mode=mode)
        if self.k < 1:
            raise _refused("bad_option", option="--k", value=self.k)
        if self.min_recall is not None and not 0 <= self.min_recall <= 1:
            raise _refused("bad_option", option="--min-recall", value=str(self.min_recall))
        return tuple(dict.fromkeys(modes))


def _refused(key: str, **params: str | int) -> InvalidRequestError:
    return InvalidRequestError(f"{key} {params}", reason=text(f"eval.{key}", None, **params))


async def evaluate(
    options: EvalOptions,
    open_library: OpenLibrary,
    clock: Clock,
    progress: Progress = lambda step, done, total: None,
) -> Report:
    """Raises InvalidRequestError for options or questions that do not fit, ModelError."""
    modes = options.checked_modes()
    questions = await asyncio.to_thread(read_questions, options.questions)
    documents = await asyncio.to_thread(_documents, options.docs)
    named = {document.name for document in documents}
    with _work_folder(options.work_dir) as home:
        async with open_library(home) as library:
            run = _Run(library, clock, progress)
            await run.ingest(documents)
            rate = await run.embed() if options.model_name else None
            outcomes = {
                mode: await run.search(questions, mode, max(RANKS_COUNTED, options.k))
                for mode in modes
            }
            passages, vector_bytes = await library.size()
            return Report(
                passages=passages,
                passages_per_minute=rate,
                vector_bytes=vector_bytes,
                peak_rss_mb=run.memory.peak_mb,
                k=options.k,
                modes={mode: figures(found, options.k) for mode, found in outcomes.items()},
                outcomes=outcomes,
                skipped=tuple(run.skipped),
                unknown_sources=tuple(sorted(_sources(questions) - named)),
                min_recall=options.min_recall,
            )


def _documents(folders: Sequence[Path]) -> tuple[Document, ...]:
    for folder in folders:
        if not documents_of([folder]):
            raise _refused("no_documents", folder=str(folder))
    return documents_of(folders)


def _sources(questions: Sequence[Question]) -> set[str]:
    return {gold.source for question in questions for gold in question.gold}


@contextmanager
def _work_folder(asked: Path | None) -> Iterator[Path]:
    """The empty folder asked for, which stays, or a temporary one, which goes."""
    if asked is None:
        with tempfile.TemporaryDirectory(prefix="shutten-eval-") as folder:
            yield Path(folder)
        return
    if asked.exists() and (not asked.is_dir() or any(asked.iterdir())):
        raise _refused("work_dir_not_empty", folder=str(asked))
    asked.mkdir(parents=True, exist_ok=True)
    yield asked


class _Run:
    """One library being filled and asked."""

    def __init__(self, library: Library, clock: Clock, progress: Progress) -> None:
        self._library = library
        self._clock = clock
        self._progress = progress
        self._names: dict[str, set[str]] = defaultdict(set)  # source id -> files with its bytes
        self._texts: dict[int, str] = {}  # passage id -> text as gold is compared with
        self.memory = PeakMemory()
        self.skipped: list[tuple[str, str]] = []

    async def ingest(self, documents: Sequence[Document]) -> None:
        for done, document in enumerate(documents, start=1):
            try:
                self._names[await self._library.ingest(document.path)].add(document.name)
            except ExtractionError as error:
                self.skipped.append((document.name, error.code))
            self._tell("ingest", done, len(documents))

    async def embed(self) -> float:
        """Passages a minute."""
        total, _ = await self._library.size()
        began = self._clock.monotonic()
        async for done in self._library.embed():
            self._tell("embed", done, total)
        return 60 * total / max(self._clock.monotonic() - began, 1e-9)

    async def search(
        self, questions: Sequence[Question], mode: str, limit: int
    ) -> tuple[Outcome, ...]:
        outcomes: list[Outcome] = []
        for question in questions:
            outcomes.append(await self._ask(question, MODES[mode], limit))
            self._tell(mode, len(outcomes), len(questions))
        return tuple(outcomes)

    async def _ask(self, question: Question, mode: SearchMode, limit: int) -> Outcome:
        began = self._clock.monotonic()
        result = await self._library.search(question.wordings, limit, mode)
        latency_ms = (self._clock.monotonic() - began) * 1000
        hits = enumerate((hit.passage for hit in result.hits), start=1)
        ranks = (rank for rank, passage in hits if self._answers(question, passage))
        return Outcome(
            question_id=question.id,
            type=question.type,
            is_answerable=question.is_answerable,
            rank=next(ranks, None),
            is_refused=not result.relevance.is_relevant,
            hits=len(result.hits),
            latency_ms=latency_ms,
            probability=result.relevance.probability,
            language=question.group,
        )

    def _answers(self, question: Question, passage: Passage) -> bool:
        names = self._names[passage.source_id]
        if passage.id not in self._texts:
            self._texts[passage.id] = comparable(passage.text)
        folded = self._texts[passage.id]
        return any(
            gold.is_at(name, folded, passage.locator) for gold in question.gold for name in names
        )

    def _tell(self, step: str, done: int, total: int) -> None:
        if step not in MODES or done == total:  # the kernel keeps the peaks of who still runs
            self.memory.sample()
        self._progress(step, done, total)

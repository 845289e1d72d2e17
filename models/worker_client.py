"""The local encoder: texts in, unit vectors out of a worker process that comes and goes."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import structlog

from gateway.core.passages import NoVectors
from gateway.errors import ModelError
from gateway.interfaces import Clock, Vector
from models.catalogue import Model, Source, get
from models.files import BPE_FILE, MODEL_FILE, TOKENIZER_FILE
from models.frames import PASSAGE, QUERY
from models.install import installed_source, verified
from models.pool import WorkerPool
from models.runtime_library import RuntimeLibrary, the_runtime
from models.worker_process import EmbedFailed, WorkerLost, WorkerProcess, start

log = structlog.get_logger()
TRIES = 3  # workers one text may wear out; it may be the text that kills them
RESTS = (5.0, 60.0)  # s without a new start after starts failed; the last one again and again
QUESTION_S = 30.0  # whole way of a question: start, wait, run
PASSAGE_S = 60.0  # one run; a document's paragraph of 100 KB has some 200 windows
QUESTION_CHARS = 4_000
CACHED_QUESTIONS = 256  # 1.5 KB each
_TOKENIZERS = {TOKENIZER_FILE: "sentencepiece", BPE_FILE: "tokenizers"}


class LocalEncoder:
    """Implements Encoder. One loop, one home; the worker starts on the first need."""

    def __init__(
        self,
        models_dir: Path,
        model: str | Model,
        *,
        idle_unload_s: float,
        clock: Clock,
        most_workers: int = 2,
        runtime: RuntimeLibrary | None = None,
    ) -> None:
        """NotFoundError when the catalogue has no such model."""
        self._runtime = runtime or the_runtime()
        self._model = get(model) if isinstance(model, str) else model
        self._folder = models_dir / self._model.name
        self._clock = clock
        self._pool = WorkerPool(self._start, most=most_workers, idle_s=idle_unload_s)
        self._checking = asyncio.Lock()
        self._checked: tuple[int, ...] = ()  # how the verified file looked
        self._source: Source | None = None  # once verified
        self._failures = 0
        self._rest_until = 0.0
        self._questions: OrderedDict[str, Vector] = OrderedDict()

    @property
    def model_key(self) -> str:
        return self._model.key(self._source or self._source_by_manifest())

    @property
    def worker_pids(self) -> frozenset[int]:
        """Processes loaded now; none when idle long enough."""
        return self._pool.pids

    async def unavailable(self) -> NoVectors | None:
        """Hashes the files once, in a thread; again only after they were replaced."""
        if not (self._runtime.is_there and _has(_TOKENIZERS[self._model.recipe.tokenizer])):
            return NoVectors.UNSUPPORTED_PLATFORM
        try:
            await self._verified()
        except ModelError as error:
            is_missing = error.code == "model_missing"
            return NoVectors.MODEL_MISSING if is_missing else NoVectors.VERIFICATION_FAILED
        return NoVectors.ENCODER_FAILED if self._is_resting() else None

    async def prewarm(self) -> None:
        """Load the model before the first question; a failure is logged, not raised."""
        if await self.unavailable() is None:
            try:
                await self.embed_query("")
            except ModelError as error:
                log.warning("embedding_prewarm_failed", code=error.code)

    async def embed_query(self, text: str) -> Vector:
        """Shape (d,). A pasted page as a question counts with its first 4,000 characters."""
        if len(text) > QUESTION_CHARS:
            log.info("embedding_question_cut", chars=len(text))
            text = text[:QUESTION_CHARS]
        cached = self._questions.pop(text, None)
        if cached is None:
            cached = await self._question(text)
        self._questions[text] = cached
        if len(self._questions) > CACHED_QUESTIONS:
            self._questions.popitem(last=False)
        return cached

    def forget_questions(self) -> None:
        """The next one is embedded anew, whoever asked it before; for measuring what that takes."""
        self._questions.clear()

    async def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        """All or ModelError; a caller that is cancelled takes its waiting texts with it."""
        try:
            async with asyncio.TaskGroup() as tasks:
                runs = [tasks.create_task(self._embed(PASSAGE, text)) for text in texts]
        except* ModelError as group:
            raise _first(group) from None
        return [run.result() for run in runs]

    async def close(self) -> None:
        await self._pool.close()

    async def _question(self, text: str) -> Vector:
        try:
            async with asyncio.timeout(QUESTION_S):
                return await self._embed(QUERY, text)
        except TimeoutError as error:
            raise ModelError("no vector in time", code="model_unavailable") from error

    async def _embed(self, kind: int, text: str) -> Vector:
        reason = ""
        for _ in range(TRIES):
            try:
                return await self._once(kind, text)
            except WorkerLost as error:
                reason = str(error)
                log.warning("embedding_worker_lost", reason=reason)
            except EmbedFailed as error:
                raise ModelError(f"worker: {error}", code="model_unavailable") from error
        raise ModelError(f"worker: {reason}", code="model_unavailable")

    async def _once(self, kind: int, text: str) -> Vector:
        worker = await self._pool.take(is_urgent=kind == QUERY)
        is_broken = False
        try:
            vector = await worker.ask(kind, text, PASSAGE_S)
        except WorkerLost:
            is_broken = True
            raise
        finally:
            self._pool.give(worker, is_broken=is_broken)
        vector.flags.writeable = False  # the cache hands the same array to many
        return vector

    async def _start(self) -> WorkerProcess:
        if self._is_resting():
            raise ModelError("the worker does not start", code="model_unavailable")
        await self._verified()
        try:
            worker = await start(self._folder, self._model.recipe)
        except WorkerLost:
            rest_s = RESTS[min(self._failures, len(RESTS) - 1)]
            self._failures += 1
            self._rest_until = self._clock.monotonic() + rest_s
            raise
        self._failures = 0
        return worker

    def _is_resting(self) -> bool:
        return self._failures > 0 and self._clock.monotonic() < self._rest_until

    async def _verified(self) -> None:
        async with self._checking:
            await asyncio.to_thread(self._runtime.check)
            seen = await asyncio.to_thread(_looks, self._folder / MODEL_FILE)
            if not seen or seen != self._checked:
                self._source = await asyncio.to_thread(verified, self._model, self._folder)
                self._checked = seen

    def _source_by_manifest(self) -> Source:
        """Before the first check: what the files say they are, or what would be installed."""
        try:
            return installed_source(self._model, self._folder)
        except ModelError:
            return self._model.source


@cache
def _has(library: str) -> bool:
    """Looked up once: it searches folders."""
    return find_spec(library) is not None


def _looks(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _first(group: ExceptionGroup[ModelError]) -> ModelError:
    """A plain error for the caller: the texts of one call fail for one reason."""
    error = group.exceptions[0]
    return _first(error) if isinstance(error, ExceptionGroup) else error

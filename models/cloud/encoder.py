"""The cloud encoder: redacted texts out, unit vectors in; or a reason, and nothing leaves."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import structlog

from gateway.core.passages import NoVectors
from gateway.core.redaction import RedactionError, Redactor, whole_of
from gateway.errors import ModelError
from gateway.interfaces import Clock, Encoder, Vector
from gateway.pinning import Resolve, resolved
from models.cloud.connection import Connection, Pause, failed
from models.cloud.settings import CloudSettings, problem_of
from models.cloud.wire import Task, WireError, headers_of, request_of, vectors_of

log = structlog.get_logger()
MOST_CHARS = 60_000  # of one request; 8,192 tokens a text and 300,000 a request are the limits
MOST_TEXT_CHARS = 2_000  # of one text: gemini reads 2,048 tokens
QUESTION_CHARS = 500  # a longer one was cut there, perhaps through what a rule would find
_CUT_THROUGH = re.compile(r"[^\s\u3040-\u30ff\u4e00-\u9fff]{1,100}\Z")


class CloudEncoder:
    """Implements Encoder by a provider's API. Every call looks anew whether it may send."""

    def __init__(
        self,
        settings: CloudSettings,
        clock: Clock,
        resolve: Resolve = resolved,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._settings = settings
        self._redactor = Redactor(settings.redaction)
        self._connection = Connection(settings, clock, resolve, pause)

    @property
    def model_key(self) -> str:
        return self._settings.model_key

    async def unavailable(self) -> NoVectors | None:
        """Why nothing is sent."""
        return reason_of(self._settings, self._redactor)

    async def embed_query(self, text: str) -> Vector:
        if len(text) >= QUESTION_CHARS:
            text = _CUT_THROUGH.sub("", text)
        return (await self._embed([text], Task.QUESTION))[0]

    async def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        return await self._embed(texts, Task.PASSAGE)

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _embed(self, texts: Sequence[str], task: Task) -> list[Vector]:
        reason = await self.unavailable()
        if reason is not None:
            raise ModelError(reason, code="model_unavailable")
        safe = await asyncio.to_thread(self._redacted, texts)
        vectors: list[Vector] = []
        for batch in _batches(safe, self._settings.vendor.most_texts):
            path, body = request_of(self._settings, batch, task)
            answer = await self._connection.post(path, headers_of(self._settings), body)
            try:
                vectors += vectors_of(self._settings, answer, len(batch))
            except WireError as error:
                raise failed(str(error)) from error
        return vectors

    def _redacted(self, texts: Sequence[str]) -> list[str]:
        """Each as it may leave; a piece by what its whole passage holds."""
        found: Counter[str] = Counter()
        safe: list[str] = []
        for at, text in enumerate(texts):
            whole, start = whole_of(texts, at)
            try:
                done = self._redactor.apply(whole, start, start + len(text))
            except RedactionError as error:
                raise failed(str(error)) from error
            found.update(done.found)
            safe.append(done.text[:MOST_TEXT_CHARS] or " ")
        if found:
            log.info(
                "redacted", texts=len(texts), **{f"rule_{name}": n for name, n in found.items()}
            )
        return safe


def reason_of(settings: CloudSettings, redactor: Redactor) -> NoVectors | None:
    """The first thing that forbids sending, None where nothing does."""
    if problem_of(settings):
        return NoVectors.CLOUD_ERROR
    if not settings.has_consent:
        return NoVectors.NO_CONSENT
    if redactor.problem:
        return NoVectors.REDACTION_OFF
    return None if settings.key else NoVectors.NO_KEY


def _batches(texts: Sequence[str], most: int) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == most or size + len(text) > MOST_CHARS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


fits: type[Encoder] = CloudEncoder

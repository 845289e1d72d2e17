"""Two encoders while a new model's vectors are made: questions go to the former until then."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

import structlog

from gateway.core.passages import NoVectors
from gateway.errors import ModelError
from gateway.interfaces import Encoder, Vector, VectorCoverage, VectorStore

log = structlog.get_logger()

LOCAL = "local:"  # vectors with these keys may serve on: nobody else computed them
NONE = "none"
Former = Callable[[str], Encoder | None]


class EncoderView:
    """Implements Encoder by whichever one it is at the moment of a call."""

    def __init__(self, now: Callable[[], Encoder]) -> None:
        self._now = now

    @property
    def model_key(self) -> str:
        return self._now().model_key

    async def unavailable(self) -> NoVectors | None:
        return await self._now().unavailable()

    async def embed_query(self, text: str) -> Vector:
        return await self._now().embed_query(text)

    async def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        return await self._now().embed_passages(texts)

    async def close(self) -> None:
        """Nothing: the switch closes what it holds."""


class Waiting:
    """Implements Encoder after a cloud provider was left: words alone until vectors are whole."""

    model_key = NONE

    def __init__(self, wanted: Encoder) -> None:
        self._wanted = wanted

    async def unavailable(self) -> NoVectors | None:
        """What keeps the wanted one from it, else that its vectors are still being made."""
        return await self._wanted.unavailable() or NoVectors.NO_VECTORS_YET

    async def embed_query(self, text: str) -> Vector:
        raise ModelError(NoVectors.NO_VECTORS_YET, code="model_unavailable")

    async def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        raise ModelError(NoVectors.NO_VECTORS_YET, code="model_unavailable")

    async def close(self) -> None:
        """Nothing to end."""


class EncoderSwitch:
    """Holds the encoder that is wanted and the one whose vectors are whole."""

    def __init__(
        self, wanted: Encoder, former: Former, coverage: VectorCoverage, vectors: VectorStore
    ) -> None:
        """`former` gives the encoder of a model key, or None; unused it holds nothing."""
        self._wanted = wanted
        self._serving: Encoder = wanted
        self._former = former
        self._coverage = coverage
        self._vectors = vectors
        self._changing = asyncio.Lock()
        self.passages = EncoderView(lambda: self._wanted)
        self.questions = EncoderView(lambda: self._serving)

    @property
    def wanted(self) -> Encoder:
        """For the passages that lack vectors."""
        return self._wanted

    @property
    def serving(self) -> Encoder:
        """For questions, as long as the next change does not come."""
        return self._serving

    @property
    def is_switching(self) -> bool:
        """Whether questions still go to the former one."""
        return self._serving is not self._wanted

    async def begin(self) -> None:
        """After a start: take up a change of models that had not come to its end."""
        async with self._changing:
            wanted, rows = self._wanted.model_key, await self._coverage.rows()
            has_left = _left(rows, wanted)
            if has_left:
                self._serving = Waiting(self._wanted)
            keys = [key for key in rows if _may_serve(key) and wanted not in {key, NONE}]
            for key in sorted(keys, key=lambda key: -rows[key]):
                if await self._coverage.covers(wanted, key):
                    continue
                if has_left and not await self._coverage.is_whole(key):
                    continue  # it was on its way itself when the cloud was left
                found = self._former(key)
                if found is not None and await found.unavailable() is None:
                    self._serving = found
                    break
        await self.advance()

    async def select(self, encoder: Encoder) -> None:
        """Want another one. What left the machine serves no more, at once."""
        async with self._changing:
            left = {self._wanted, self._serving}
            self._serving = await self._serving_after(encoder)
            self._wanted = encoder
            for other in left - {self._wanted, self._serving}:
                await other.close()
        await self.advance()

    async def _serving_after(self, encoder: Encoder) -> Encoder:
        now, key = self._serving.model_key, encoder.model_key
        if key in {now, NONE}:
            return encoder
        if _may_serve(now):
            return self._serving
        has_left = now != NONE or isinstance(self._serving, Waiting)
        if has_left or _left(await self._coverage.rows(), key):
            return Waiting(encoder)
        return encoder

    async def _is_ready(self) -> bool:
        """The wanted one's vectors are as whole as what serves now asks for."""
        key = self._wanted.model_key
        if isinstance(self._serving, Waiting):
            return await self._coverage.is_whole(key)
        return await self._coverage.covers(key, self._serving.model_key)

    async def advance(self) -> None:
        """Let the wanted one serve when its vectors are whole; the others' go then."""
        async with self._changing:
            former, key = self._serving, self._wanted.model_key
            if not self.is_switching or not await self._is_ready():
                return
            if await self._wanted.unavailable() is not None:
                return
            self._serving = self._wanted
            log.info("embedding_model_switched", model=key, former=former.model_key)
            await former.close()
            for other in await self._coverage.rows():
                if other != key:
                    await self._vectors.remove_model(other)

    async def close(self) -> None:
        for encoder in {self._wanted, self._serving}:
            await encoder.close()


def _may_serve(key: str) -> bool:
    return key.startswith(LOCAL)


def _left(rows: Iterable[str], wanted: str) -> bool:
    """Whether vectors of a cloud provider that is not wanted any more are still there."""
    return wanted != NONE and any(not _may_serve(key) and key != wanted for key in rows)


fits: type[Encoder] = Waiting

"""Two encoders while a new model's vectors are made: questions go to the former until then."""

import asyncio
from collections.abc import Callable, Sequence

import structlog

from gateway.core.passages import NoVectors
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


class EncoderSwitch:
    """Holds the encoder that is wanted and the one whose vectors are whole."""

    def __init__(
        self, wanted: Encoder, former: Former, coverage: VectorCoverage, vectors: VectorStore
    ) -> None:
        """`former` gives the encoder of a model key, or None; unused it holds nothing."""
        self._wanted = wanted
        self._serving = wanted
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
    def is_switching(self) -> bool:
        """Whether questions still go to the former one."""
        return self._serving is not self._wanted

    async def begin(self) -> None:
        """After a start: take up a change of models that had not come to its end."""
        async with self._changing:
            wanted, rows = self._wanted.model_key, await self._coverage.rows()
            keys = [key for key in rows if _may_serve(key) and wanted not in {key, NONE}]
            for key in sorted(keys, key=lambda key: -rows[key]):
                if await self._coverage.covers(wanted, key):
                    continue
                found = self._former(key)
                if found is not None and await found.unavailable() is None:
                    self._serving = found
                    break
        await self.advance()

    async def select(self, encoder: Encoder) -> None:
        """Want another one. What left the machine serves no more, at once."""
        async with self._changing:
            left = {self._wanted, self._serving}
            if encoder.model_key == self._serving.model_key or not (
                _may_serve(self._serving.model_key) and encoder.model_key != NONE
            ):
                self._serving = encoder
            self._wanted = encoder
            for other in left - {self._wanted, self._serving}:
                await other.close()
        await self.advance()

    async def advance(self) -> None:
        """Let the wanted one serve when its vectors are whole; the others' go then."""
        async with self._changing:
            former, key = self._serving, self._wanted.model_key
            if not self.is_switching or not await self._coverage.covers(key, former.model_key):
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

"""The vector of a question, or the stable reason why there is none."""

import asyncio

import structlog

from gateway.core.matching import storable
from gateway.core.passages import NoVectors
from gateway.errors import ModelError
from gateway.interfaces import Clock, Encoder, Vector

log = structlog.get_logger()

EMBED_CHARS = 500  # one window of the model: a pasted page costs no more than a question
EMBED_DEADLINE_S = 20.0  # covers a worker that has yet to load its model
LOG_EVERY_S = 3600.0

_REASONS = {
    "model_missing": NoVectors.MODEL_MISSING,
    "model_verification_failed": NoVectors.VERIFICATION_FAILED,
    "model_unsupported_platform": NoVectors.UNSUPPORTED_PLATFORM,
    "embedding_cloud_failed": NoVectors.CLOUD_ERROR,
}


class Questions:
    """Embeds questions; a failing model never fails a search, and is logged once an hour."""

    def __init__(self, encoder: Encoder, clock: Clock) -> None:
        self._encoder = encoder
        self._clock = clock
        self._said_at: dict[NoVectors, float] = {}

    @property
    def model_key(self) -> str:
        return self._encoder.model_key

    async def embed(self, question: str) -> Vector | NoVectors:
        """The unit vector, shape (d,), or why this search goes by words alone."""
        reason = await self._encoder.unavailable()
        if reason is not None:
            return self.note(reason)
        try:
            async with asyncio.timeout(EMBED_DEADLINE_S):
                return await self._encoder.embed_query(storable(question[:EMBED_CHARS]))
        except ModelError as error:
            return self.note(_REASONS.get(error.code, NoVectors.ENCODER_FAILED), str(error))
        except TimeoutError:
            return self.note(NoVectors.ENCODER_FAILED, f"no vector in {EMBED_DEADLINE_S:.0f} s")

    def note(self, reason: NoVectors, detail: str = "") -> NoVectors:
        """Log a reason unless it was logged within the hour."""
        now = self._clock.monotonic()
        said_at = self._said_at.get(reason)
        if said_at is None or now - said_at >= LOG_EVERY_S:
            self._said_at[reason] = now
            log.warning("search goes without vectors", reason=reason.value, detail=detail)
        return reason

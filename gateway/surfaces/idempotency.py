"""`Idempotency-Key`: a creating call that is sent again is done once, for a day."""

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from gateway.errors import ConflictError, GatewayError, InvalidRequestError
from gateway.interfaces import Clock, Repeats
from gateway.operations.table import Caller

HEADER = "Idempotency-Key"
KEY_CHARS = 200
VALID_FOR = timedelta(hours=24)
# over HTTP: no operations, and yet they make something
UPLOAD = "knowledge.upload"
FOLDER, DOCUMENT = "agents.folders", "agents.documents"
DOCUMENTS = "agents.documents.bulk"
# what makes something; not what tells a secret, which is kept nowhere, nor what quotes documents,
# which somebody may not read any more when it is asked for again
CREATING = frozenset(
    {
        "accounts.create",
        "agents.create",
        "knowledge.agent.own.ensure",
        "knowledge.collections.create",
        "knowledge.sources.add",
        "links.add",
        UPLOAD,
        FOLDER,
        DOCUMENT,
        DOCUMENTS,
    }
)
PARAMETER: Mapping[str, Any] = {  # of OpenAPI
    "name": HEADER,
    "in": "header",
    "description": "Sent again with the same body within 24 hours: done once.",
    "schema": {"type": "string", "minLength": 1, "maxLength": KEY_CHARS},
}


class Idempotency:
    """Keeps a call's answer under its caller's key; a failed call leaves nothing."""

    def __init__(self, repeats: Repeats, clock: Clock) -> None:
        self._repeats = repeats
        self._clock = clock
        self._running: Counter[tuple[str, str]] = Counter()

    async def once(
        self,
        caller: Caller,
        key: str | None,
        name: str,
        params: Mapping[str, Any] | list[Any],
        run: Callable[[], Awaitable[Any]],
    ) -> Any:
        """The answer of `run`, or the one that the same call had under this key.

        ConflictError: `idempotency_reused`, the key was another call's; `idempotency_running`, it
        is being done; `idempotency_unknown`, it was begun and its end is not on record.
        """
        holder = _holder(caller)
        if key is None or holder is None:
            return await run()
        if name not in CREATING:
            raise InvalidRequestError(HEADER, reason=f"{HEADER}: {', '.join(sorted(CREATING))}")
        if not 1 <= len(key) <= KEY_CHARS:
            raise InvalidRequestError(HEADER, reason=f"{HEADER}: 1 to {KEY_CHARS} characters")
        mine = (holder, _sha256(key.encode("utf-8", "surrogateescape")))
        request = _sha256(msgspec.json.encode([name, params], order="sorted"))
        return await self._once(mine, request, run)

    async def _once(
        self, mine: tuple[str, str], request: str, run: Callable[[], Awaitable[Any]]
    ) -> Any:
        others, now = self._running[mine], self._clock.now()
        self._running[mine] += 1
        try:
            found = await self._repeats.claim(*mine, request, now, now - VALID_FOR)
            if found is not None:
                return _answer_of(request, found, is_running=bool(others))
            return await self._done(mine, run)
        finally:
            self._running[mine] -= 1
            if not self._running[mine]:
                del self._running[mine]

    async def _done(self, mine: tuple[str, str], run: Callable[[], Awaitable[Any]]) -> Any:
        try:
            answer = await run()
        except GatewayError:
            await self._repeats.drop(*mine)
            raise
        await self._repeats.keep(*mine, msgspec.json.encode(answer))
        return answer


def _holder(caller: Caller) -> str | None:
    """Whose key it is: an account's, or an agent's with or without an asker."""
    account = None if caller.account is None else caller.account.id
    if caller.agent is None:
        return account
    return f"agent:{caller.agent.agent_id}/{account or ''}"


def _answer_of(request: str, found: tuple[str, bytes | None], *, is_running: bool) -> Any:
    before, answer = found
    if before != request:
        raise ConflictError("idempotency key", code="idempotency_reused")
    if answer is None:
        code = "idempotency_running" if is_running else "idempotency_unknown"
        raise ConflictError("idempotency key", code=code)
    return msgspec.json.decode(answer)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

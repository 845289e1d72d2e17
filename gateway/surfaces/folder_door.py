"""What folders and their documents share over HTTP: the way in, and the table behind it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from gateway.errors import InvalidRequestError
from gateway.operations.folder_query import SURFACE
from gateway.operations.registry import Registry
from gateway.operations.table import Caller
from gateway.surfaces.doors import Doors
from gateway.surfaces.http import error_response, json_response
from gateway.surfaces.idempotency import HEADER, Idempotency
from gateway.surfaces.rest import UNFIT
from gateway.surfaces.retrieve import asker_of

Answer = tuple[int, Any]  # status and body


@dataclass(frozen=True, slots=True)
class FolderDoor:
    """Whoever asks is let in by `Doors`; what they may do is the operations' to say."""

    doors: Doors
    registry: Registry
    repeats: Idempotency

    async def account(self, request: web.Request) -> Caller:
        """An account by its token; an agent's key is none, and every operation says so."""
        return await self.doors.open(request, SURFACE)

    async def anybody(self, request: web.Request, agent_id: str | None = None) -> Caller:
        """An account, or an agent by its key with or without an asker."""
        asker = asker_of(request)
        return await self.doors.open(request, SURFACE, agent_id=agent_id, asker_token=asker)

    async def call(self, caller: Caller, name: str, params: Mapping[str, Any]) -> Any:
        """Run an operation; the result is made of JSON types."""
        return await self.registry.call(caller, name, params)

    async def answer(self, caller: Caller, run: Callable[[], Awaitable[Answer]]) -> web.Response:
        """What `run` comes to; what is well-formed and yet refused is 422, as in the table."""
        try:
            status, body = await run()
        except InvalidRequestError as error:
            response = error_response(error, caller.language)
            response.set_status(UNFIT)
            return response
        return json_response(body, status=status)

    async def create(
        self,
        request: web.Request,
        caller: Caller,
        made: tuple[str, object],
        run: Callable[[], Awaitable[Answer]],
    ) -> web.Response:
        """As `answer`, once for each Idempotency-Key; `made`: the call's name and its body."""
        key, (name, body) = request.headers.get(HEADER), made

        async def once() -> Answer:
            status, told = await self.repeats.once(caller, key, name, [body], run)
            return status, told

        return await self.answer(caller, once)

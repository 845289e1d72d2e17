"""Operations run in the command's own process, where no gateway has the home open."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gateway.app import App, open_app
from gateway.surfaces.local import LocalCall, local_caller


class InProcess:
    """Opens the home itself; nobody else may be using it meanwhile."""

    def __init__(self, app: App, language: str | None) -> None:
        self._app = app
        self._language = language

    async def call(self, method: str, params: dict[str, Any], as_account: str | None) -> Any:
        """Run the operation here."""
        call = LocalCall(method, params, as_account, self._language)
        caller = await local_caller(self._app.store.accounts, call)
        return await self._app.registry.call(caller, method, params)


@asynccontextmanager
async def opened(home: Path, language: str | None) -> AsyncIterator[InProcess]:
    """The home's operations; the caller holds its lock."""
    async with open_app(home, serves=False) as app:
        yield InProcess(app, language)

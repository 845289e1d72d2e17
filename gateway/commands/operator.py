"""Operations from the command line: through a running gateway's socket, or in this process."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from gateway import home as homes
from gateway.errors import TABLE, GatewayError, HomeError
from gateway.surfaces.local_signing import KEY_FILE, signature, socket_address
from gateway.system import SystemClock

LOCK_WAIT_S = 30.0  # another command may hold the home for a moment
LOCK_RETRY_S = 0.1
CALL_TIMEOUT_S = 600.0


class RemoteError(GatewayError):
    """The gateway refused; its sentence is shown as it came."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message, code=code if code in TABLE else "internal")
        self.message = message


class Operator(Protocol):
    """Runs one operation, as an account where one is named."""

    async def call(self, method: str, params: dict[str, Any], as_account: str | None) -> Any: ...


class ThroughSocket:
    """Asks the gateway that is running on this home."""

    def __init__(self, home: Path, key: bytes, language: str | None) -> None:
        self._home = home
        self._key = key
        self._language = language

    async def call(self, method: str, params: dict[str, Any], as_account: str | None) -> Any:
        """Sign the call; RemoteError carries the gateway's own code and sentence."""
        import aiohttp  # noqa: PLC0415 - help and bad usage should not wait for these
        import msgspec  # noqa: PLC0415

        from gateway.surfaces.local import LocalCall  # noqa: PLC0415

        body = msgspec.json.encode(LocalCall(method, params, as_account, self._language))
        at, nonce = SystemClock().now().isoformat(), secrets.token_hex(16)
        headers = {
            "X-Shutten-Time": at,
            "X-Shutten-Nonce": nonce,
            "X-Shutten-Signature": signature(self._key, "POST", "/rpc", body, at, nonce),
        }
        try:
            answer = msgspec.json.decode(await self._post(body, headers))
        except (OSError, aiohttp.ClientError, msgspec.DecodeError) as error:
            raise GatewayError("the gateway went away", code="unavailable") from error
        if "error" in answer:
            raise RemoteError(answer["error"]["code"], answer["error"]["message"])
        return answer["result"]

    async def _post(self, body: bytes, headers: dict[str, str]) -> bytes:
        import aiohttp  # noqa: PLC0415 - as above

        timeout = aiohttp.ClientTimeout(total=CALL_TIMEOUT_S)
        with socket_address(self._home) as address:
            connector = aiohttp.UnixConnector(path=address)
            async with (
                aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
                session.post("http://gateway/rpc", data=body, headers=headers) as response,
            ):
                return await response.read()


@asynccontextmanager
async def operator(home: Path, language: str | None = None) -> AsyncIterator[Operator]:
    """Whichever of the two is possible now."""
    homes.require(home)
    waited = 0.0
    while True:
        remote = _running(home, language)
        if remote is not None:
            yield remote
            return
        try:
            with homes.lock(home):
                from gateway.commands.in_process import opened  # noqa: PLC0415 - the whole program

                async with opened(home, language) as here:
                    yield here
                return
        except HomeError as error:
            if error.code != "home_in_use" or waited >= LOCK_WAIT_S:
                raise
        await asyncio.sleep(LOCK_RETRY_S)
        waited += LOCK_RETRY_S


def _running(home: Path, language: str | None) -> ThroughSocket | None:
    try:
        key = (home / KEY_FILE).read_bytes()
    except FileNotFoundError:
        return None
    if not is_running(home):
        return None
    return ThroughSocket(home, key, language)


def is_running(home: Path) -> bool:
    """Whether a gateway serves this home now."""
    try:
        with socket_address(home) as address, socket.socket(socket.AF_UNIX) as probe:
            probe.connect(address)
    except OSError:  # after a kill the socket's file is still there, and nobody listens
        return False
    return True

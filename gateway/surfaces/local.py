"""The local route: the command line talks to a running gateway over a Unix socket."""

import os
import secrets
import socket
import struct
from pathlib import Path
from typing import Protocol

import msgspec
from aiohttp import web

from gateway.catalogue import error_text
from gateway.core.access import Account, Audience, AudienceKind
from gateway.errors import TABLE, GatewayError, NotFoundError
from gateway.interfaces import Accounts, Clock
from gateway.operations.registry import Registry
from gateway.operations.table import Caller
from gateway.surfaces.local_signing import (
    KEY_BYTES,
    KEY_FILE,
    SOCKET,
    Signed,
    Verifier,
    socket_address,
)

PEER = struct.Struct("3i")  # pid, uid, gid of SO_PEERCRED
RUNS = "/mcp"  # a connection there is a run (surfaces/mcp_runs.py)


class LocalRuns(Protocol):
    """What serves programs that stay: one connection after its signed beginning."""

    async def serve(self, request: web.Request) -> web.StreamResponse: ...
    async def close(self) -> None: ...


class LocalCall(msgspec.Struct):
    """One operation asked for at the command line; `as_account` is an id or a login."""

    method: str
    params: dict[str, object] = {}
    as_account: str | None = None
    language: str | None = None


async def local_caller(accounts: Accounts, call: LocalCall) -> Caller:
    """The operator at this machine, acting as an account where one is named."""
    account: Account | None = None
    if call.as_account is not None:
        account = await accounts.find(call.as_account)
        account = account or await accounts.find_by_login(call.as_account)
        if account is None or not account.is_active:
            raise NotFoundError(call.as_account)
    audience = (
        Audience(AudienceKind.NONE)
        if account is None
        else Audience(AudienceKind.DASHBOARD, account, is_direct=True)
    )
    return Caller(account, audience, "local", is_local=True, language=call.language)


class LocalRoute:
    """Serves the table of operations to this user's own processes."""

    def __init__(
        self,
        home: Path,
        registry: Registry,
        accounts: Accounts,
        clock: Clock,
        runs: LocalRuns | None = None,
    ) -> None:
        self._runs = runs
        self._home = home
        self._registry = registry
        self._accounts = accounts
        self._clock = clock
        self._runner: web.AppRunner | None = None
        self._verifier = Verifier(secrets.token_bytes(KEY_BYTES))

    async def start(self) -> None:
        """Make the key and the socket, both readable by this user alone."""
        folder = self._home / "run"
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
        key = secrets.token_bytes(KEY_BYTES)
        key_file = self._home / KEY_FILE
        key_file.unlink(missing_ok=True)
        descriptor = os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
        self._verifier = Verifier(key)
        app = web.Application(client_max_size=16 * 2**20)
        app.router.add_post("/rpc", self._answer)
        app.router.add_get(RUNS, self._run)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        path = self._home / SOCKET
        path.unlink(missing_ok=True)
        with socket_address(self._home) as address:
            await web.UnixSite(self._runner, address).start()
        path.chmod(0o600)

    async def stop(self) -> None:
        """Close the socket and take it and the key away."""
        if self._runs is not None:
            await self._runs.close()
        if self._runner is not None:
            await self._runner.cleanup()
        for name in (SOCKET, KEY_FILE):
            (self._home / name).unlink(missing_ok=True)

    async def _answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        if not self._is_signed(request, body):
            return _error(GatewayError("local route", code="bad_signature"), None)
        language = None
        try:
            call = msgspec.json.decode(body, type=LocalCall)
            language = call.language
            caller = await local_caller(self._accounts, call)
            result = await self._registry.call(caller, call.method, call.params)
        except msgspec.DecodeError as error:
            return _error(GatewayError(str(error), code="parse_error"), language)
        except GatewayError as error:
            return _error(error, language)
        return web.Response(
            body=msgspec.json.encode({"result": result}), content_type="application/json"
        )

    async def _run(self, request: web.Request) -> web.StreamResponse:
        if self._runs is None or not self._is_signed(request, b""):
            return _error(GatewayError("local route", code="bad_signature"), None)
        return await self._runs.serve(request)

    def _is_signed(self, request: web.Request, body: bytes) -> bool:
        """By a process of this user that can read the key, just now."""
        headers = request.headers
        signed = Signed(
            headers.get("X-Shutten-Time", ""),
            headers.get("X-Shutten-Nonce", ""),
            headers.get("X-Shutten-Signature", ""),
        )
        what = (request.method, request.path, body)
        return _is_own_process(request) and self._verifier.accepts(signed, what, self._clock.now())


def _is_own_process(request: web.Request) -> bool:
    peer = request.transport.get_extra_info("socket") if request.transport else None
    if peer is None:
        return False
    _pid, uid, _gid = PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size))
    return bool(uid == os.getuid())


def _error(error: GatewayError, language: str | None) -> web.Response:
    message = error_text(error.code, language, **error.params)
    body = msgspec.json.encode({"error": {"code": error.code, "message": message}})
    return web.Response(
        body=body, status=TABLE[error.code].http_status, content_type="application/json"
    )

"""How often, how much and how long: by key, by address, and by what a route takes."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer, make_mocked_request

from gateway.accounts.sign_in import SignIn
from gateway.errors import GatewayError
from gateway.surfaces import http
from gateway.surfaces.limits import SMALL_BODY_BYTES, LimitSettings, RequestLimits, most_bytes
from gateway.surfaces.session import HttpCallers
from tests.fakes.times import RealClock, RealIds
from tests.fakes.wound_clock import WoundClock
from tests.stores import new_store

HERE, FAR, NEAR_FAR = "127.0.0.1", "2001:db8::1", "2001:db8::2"
Client = TestClient[web.Request, web.Application]


class Transport(asyncio.Transport):
    """A connection from somewhere."""

    def __init__(self, address: str) -> None:
        super().__init__({"peername": (address, 4)})


def asked(address: str, path: str = "/x", **headers: str) -> web.Request:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return make_mocked_request("POST", path, headers=named, transport=Transport(address))


def admitted(limits: RequestLimits, request: web.Request, times: int = 9) -> int:
    for n in range(times):
        try:
            limits.admit(request)
        except GatewayError as error:
            wait_s = int(error.params["retry_after"])
            return n if error.code == "too_many_requests" and wait_s >= 1 else -1
    return times


def limits_of(clock: WoundClock, **settings: Any) -> RequestLimits:
    return RequestLimits(
        LimitSettings(**{"per_minute": 3, "per_minute_of_address": 2, **settings}), clock
    )


def test_each_key_has_a_rate_of_its_own_wherever_it_comes_from() -> None:
    clock = WoundClock()
    limits = limits_of(clock)
    assert admitted(limits, asked(FAR, Authorization="Bearer a")) == 3
    assert admitted(limits, asked(HERE, Authorization="Bearer a")) == 0
    assert admitted(limits, asked(FAR, Authorization="Bearer b")) == 3
    assert admitted(limits, asked(FAR, X_API_Key="c")) == 3
    assert admitted(limits, asked(FAR, Cookie="shutten_session=d")) == 3
    clock.wind(seconds=20)
    assert admitted(limits, asked(FAR, Authorization="Bearer a")) == 1


def test_strangers_are_counted_by_network_and_this_machine_not_at_all() -> None:
    limits = limits_of(WoundClock())
    assert admitted(limits, asked(FAR)) == 2
    assert admitted(limits, asked(NEAR_FAR)) == 0
    assert admitted(limits, asked("192.0.2.1")) == 2
    assert admitted(limits, asked(HERE), 99) == 99


def test_whoever_guesses_keys_runs_out_of_guesses() -> None:
    limits = limits_of(WoundClock())
    for n in range(2):
        guess = asked(FAR, Authorization=f"Bearer guess{n}")
        assert admitted(limits, guess, 1) == 1
        limits.refused(guess)
    assert admitted(limits, asked(FAR, Authorization="Bearer guess3")) == 0
    assert admitted(limits, asked("192.0.2.1", Authorization="Bearer guess3")) == 3


def test_nothing_is_counted_where_no_limit_is_set() -> None:
    limits = limits_of(WoundClock(), per_minute=0, per_minute_of_address=0)
    assert admitted(limits, asked(FAR), 99) == admitted(limits, asked(FAR, api_key="a"), 99) == 99


@asynccontextmanager
async def site(folder: Path, handler: Any, **settings: Any) -> AsyncIterator[Client]:
    async with new_store(folder, RealClock(), RealIds()) as store:
        sign_in = SignIn(store.accounts, store.account_changes, store.sessions, RealClock())
        callers = HttpCallers(sign_in, frozenset({HERE}))
        limits = RequestLimits(LimitSettings(**settings), RealClock())
        routes = [web.post("/{path:.*}", handler)]
        application = http.build(callers, routes, limits=limits)
        async with TestClient(TestServer(application)) as client:
            yield client


async def sized(request: web.Request) -> web.Response:
    return web.json_response(len(await request.read()))


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_body_is_as_large_as_its_route_takes(tmp_path: Path, is_told: bool) -> None:
    def body(size: int) -> Any:
        async def pieces() -> AsyncIterator[bytes]:
            yield bytes(size)

        return io.BytesIO(bytes(size)) if is_told else pieces()

    assert most_bytes("/api/operations/knowledge.search") > SMALL_BODY_BYTES
    async with site(tmp_path, sized) as client:
        for path, size, status in (
            ("/x", SMALL_BODY_BYTES, 200),
            ("/x", SMALL_BODY_BYTES + 1, 413),
            ("/api/operations/x", SMALL_BODY_BYTES + 1, 200),
            ("/api/operations/x", most_bytes("/api/operations/x") + 1, 413),
        ):
            async with client.post(path, data=body(size)) as response:
                told = await response.json()
                assert response.status == status
                assert status == 200 or told["error"]["code"] == "payload_too_large"


async def test_what_takes_too_long_is_given_up_unless_it_lasts_by_nature(tmp_path: Path) -> None:
    ended = asyncio.Event()

    async def slow(request: web.Request) -> web.Response:
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0.2)
        except TimeoutError:
            return web.json_response("done")
        finally:
            ended.set()
        return web.json_response("never")

    async with site(tmp_path, slow, timeout_s=0.05) as client:
        async with client.post("/api/operations/x") as response:
            assert response.status == 504
            assert (await response.json())["error"]["code"] == "request_timeout"
        assert ended.is_set()
        async with client.post("/mcp") as response:
            assert response.status == 200


async def test_a_handlers_own_missed_time_is_its_fault(tmp_path: Path) -> None:
    async def broken(request: web.Request) -> web.Response:
        raise TimeoutError

    async with site(tmp_path, broken) as client, client.post("/x") as response:
        assert response.status == 500

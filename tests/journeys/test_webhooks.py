"""POST /webhooks/{channel}/{name}: what is answered, and what is stored before it is."""

import gzip
import io
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from channels.line.channel import LineChannel, LineSettings
from gateway.core.messages import InboundMessage
from gateway.core.secrets import Secret
from gateway.errors import StoreError
from gateway.surfaces.webhooks import MAX_BODY_BYTES, Webhooks
from tests.fakes.times import RealClock
from tests.simulators.line import LineSimulator, sign

simulator = LineSimulator()
GOOD = simulator.body(simulator.text_event("hello"))
Client = TestClient[web.Request, web.Application]


class Accepted:
    """Keeps what was accepted, or refuses as a broken store would."""

    def __init__(self, error: Exception | None = None) -> None:
        self.messages: list[InboundMessage] = []
        self._error = error

    async def __call__(self, messages: Sequence[InboundMessage]) -> None:
        if self._error is not None:
            raise self._error
        self.messages.extend(messages)


@asynccontextmanager
async def served(accepted: Accepted) -> AsyncIterator[Client]:
    secret, token = Secret(simulator.secret), Secret("token")
    channel = LineChannel(LineSettings("main", "helper", secret, token))
    app = web.Application(client_max_size=2**30)  # the upload route's; ours has its own cap
    app.add_routes(Webhooks({("line", "main"): channel}, accepted, RealClock()).routes())
    async with TestClient(TestServer(app)) as client:
        yield client


HUGE = b"x" * (MAX_BODY_BYTES + 1)
REQUESTS: list[tuple[str, str, bytes, str | None, int, str]] = [
    ("right", "line/main", GOOD, "right", 200, ""),
    ("no events", "line/main", simulator.body(), "right", 200, ""),
    ("unsigned", "line/main", GOOD, None, 401, "bad_signature"),
    ("wrongly signed", "line/main", GOOD, sign("other", GOOD), 401, "bad_signature"),
    ("signature is odd", "line/main", GOOD, "ÿ\u00fe", 401, "bad_signature"),
    ("truncated", "line/main", GOOD[:-9], "right", 400, "invalid_request"),
    ("not JSON", "line/main", b"hello", "right", 400, "invalid_request"),
    ("empty", "line/main", b"", "right", 400, "invalid_request"),
    ("huge", "line/main", HUGE, "right", 413, "payload_too_large"),
    ("huge and unsigned", "line/main", HUGE, None, 413, "payload_too_large"),
    ("unknown account", "line/other", GOOD, "right", 404, "not_found"),
    ("unknown channel", "fax/main", GOOD, "right", 404, "not_found"),
    ("unknown, unsigned", "line/other", GOOD, None, 404, "not_found"),
]


@pytest.mark.parametrize(
    ("place", "body", "signature", "status", "code"),
    [row[1:] for row in REQUESTS],
    ids=[row[0] for row in REQUESTS],
)
async def test_what_a_request_is_answered(
    place: str, body: bytes, signature: str | None, status: int, code: str
) -> None:
    accepted = Accepted()
    headers = {} if signature is None else {"X-Line-Signature": signature}
    if signature == "right":
        headers = simulator.headers(body)
    async with served(accepted) as client:
        response = await client.post(f"/webhooks/{place}", data=io.BytesIO(body), headers=headers)
        assert response.status == status
        if code:
            assert (await response.json())["error"]["code"] == code
    assert len(accepted.messages) == (1 if body is GOOD and status == 200 else 0)


async def test_a_body_without_a_length_is_cut_off_at_the_cap() -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(400):
            sent += 1
            yield b"x" * 65536

    accepted = Accepted()
    async with served(accepted) as client:
        try:
            response = await client.post("/webhooks/line/main", data=endless())
            assert response.status == 413
        except aiohttp.ClientConnectionError:
            pass  # the server hung up on us in the middle, which is as good
    assert sent < 400


@pytest.mark.parametrize(
    "body", [gzip.compress(b"x" * 3_000_000), b"no gzip at all"], ids=["bomb", "broken"]
)
async def test_a_compressed_body_is_no_way_round_the_cap(body: bytes) -> None:
    async with served(Accepted()) as client:
        response = await client.post(
            "/webhooks/line/main", data=body, headers={"Content-Encoding": "gzip"}
        )
        assert response.status == 400


async def test_what_cannot_be_stored_is_not_acknowledged() -> None:
    async with served(Accepted(StoreError(code="store_full"))) as client:
        response = await client.post(
            "/webhooks/line/main", data=GOOD, headers=simulator.headers(GOOD)
        )
        assert response.status == 507


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_only_post_is_a_webhook(method: str) -> None:
    async with served(Accepted()) as client:
        response = await client.request(method, "/webhooks/line/main")
        assert response.status == 405

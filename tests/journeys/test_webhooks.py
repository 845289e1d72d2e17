"""POST /webhooks/{channel}/{name}: what is answered, and what is stored before it is."""

import asyncio
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
from gateway.interfaces import Channel, Unmetered
from gateway.surfaces.webhooks import MAX_BODY_BYTES, Webhooks
from tests.fakes.channels import FakeChannel
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


async def raw(client: Client, head: str, body: bytes = b"") -> bytes:
    """What comes back first for a request written by hand."""
    port = client.server.port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    host = f"Host: 127.0.0.1:{port}\r\nConnection: close\r\n"
    writer.write((head + host + "\r\n").encode() + body)
    try:
        return await reader.readline()
    finally:
        writer.close()
        await writer.wait_closed()


EXPECTING = [
    ("a good length", "line/main", 100, b"HTTP/1.1 100 Continue\r\n"),
    ("over the cap", "line/main", MAX_BODY_BYTES + 1, b"HTTP/1.1 413 Request Entity Too Large\r\n"),
    ("an unknown account", "line/other", 100, b"HTTP/1.1 404 Not Found\r\n"),
]


@pytest.mark.parametrize(
    ("place", "length", "first"), [row[1:] for row in EXPECTING], ids=[row[0] for row in EXPECTING]
)
async def test_whoever_asks_before_sending_hears_at_once(
    place: str, length: int, first: bytes
) -> None:
    async with served(Accepted()) as client:
        head = (
            f"POST /webhooks/{place} HTTP/1.1\r\nContent-Length: {length}\r\n"
            "Expect: 100-continue\r\n"
        )
        assert await raw(client, head) == first


async def test_a_hundred_endless_unsigned_bodies_are_cut_off_and_real_events_get_in() -> None:
    accepted = Accepted()
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(800):  # 50 MB each
            sent += 1
            yield b"x" * 65536

    async def flood(client: Client) -> None:
        try:
            response = await client.post("/webhooks/line/main", data=endless())
            assert response.status == 413
        except aiohttp.ClientConnectionError:
            pass  # it hung up on us, which is as good

    async with served(accepted) as client:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(100):
                tasks.create_task(flood(client))
            await asyncio.sleep(0)
            async with asyncio.timeout(10):
                response = await client.post(
                    "/webhooks/line/main", data=GOOD, headers=simulator.headers(GOOD)
                )
        assert response.status == 200
    assert len(accepted.messages) == 1
    assert sent < 100 * 800 / 2


async def test_channels_may_change_while_webhooks_are_served() -> None:
    channels: dict[tuple[str, str], Channel] = {}
    webhooks = Webhooks(channels, Accepted(), RealClock())
    app = web.Application()
    app.add_routes(webhooks.routes())
    async with TestClient(TestServer(app)) as client:
        assert (await client.post("/webhooks/fake/main")).status == 404
        channels["fake", "main"] = Echoing()
        assert (await client.post("/webhooks/fake/main")).status == 200
        channels.clear()
        assert (await client.post("/webhooks/fake/main")).status == 404


class Echoing(FakeChannel):
    """Wants a word of the body back, as Slack does when its webhook is set."""

    def challenge(self, body: bytes) -> str | None:
        return body.decode().removeprefix("challenge ") if b"challenge" in body else None


class Timed(Unmetered):
    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def observe(self, name: str, value: float, **labels: str) -> None:
        assert 0.0 <= value < 10.0
        self.seen.append((name, labels["channel"]))


async def test_a_challenge_is_echoed_and_acknowledgements_are_timed() -> None:
    meter = Timed()
    app = web.Application()
    webhooks = Webhooks({("fake", "main"): Echoing()}, Accepted(), RealClock(), meter=meter)
    app.add_routes(webhooks.routes())
    async with TestClient(TestServer(app)) as client:
        for body, said in ((b"challenge xyz", "xyz"), (b"else", "")):
            response = await client.post("/webhooks/fake/main", data=body)
            assert (response.status, await response.text()) == (200, said)
        assert (await client.post("/webhooks/other/main")).status == 404
    assert meter.seen == [("acknowledged", "fake")] * 2


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_only_post_is_a_webhook(method: str) -> None:
    async with served(Accepted()) as client:
        response = await client.request(method, "/webhooks/line/main")
        assert response.status == 405

"""JSON-RPC 2.0 by its own examples, then by what people send instead."""

import gzip
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from gateway.accounts.sign_in import SignIn
from gateway.operations.auth import Nothing
from gateway.operations.registry import Registry
from gateway.operations.table import Caller, Operation, Permission
from gateway.surfaces import http
from gateway.surfaces.rpc import BATCH, Rpc
from gateway.surfaces.session import HttpCallers
from tests.fakes.times import RealClock, RealIds
from tests.simulators.shared import shared
from tests.stores import new_store

Client = TestClient[web.Request, web.Application]


@dataclass(frozen=True)
class Two:
    minuend: int
    subtrahend: int


@dataclass(frozen=True)
class Some:
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0
    e: int = 0


async def subtract(_: Caller, two: Two) -> int:
    return two.minuend - two.subtrahend


async def total(_: Caller, some: Some) -> int:
    return some.a + some.b + some.c + some.d + some.e


async def data(_: Caller, _request: Nothing) -> list[Any]:
    return ["hello", 5]


async def crash(_: Caller, _request: Nothing) -> None:
    raise KeyError("a bug")


def rows() -> list[Operation]:
    anyone = Permission.ANYONE
    totals = ("sum", "update", "notify_hello", "notify_sum")
    return [
        Operation("subtract", "", anyone, Two, subtract),
        Operation("get_data", "", anyone, Nothing, data),
        Operation("crash", "", anyone, Nothing, crash),
        *(Operation(name, "", anyone, Some, total) for name in totals),
    ]


@pytest.fixture
async def client(tmp_path: Any) -> AsyncIterator[Client]:
    async with opened(tmp_path) as client:
        yield client


@asynccontextmanager
async def opened(home: Any) -> AsyncIterator[Client]:
    async with new_store(home, RealClock(), RealIds()) as store:
        callers = HttpCallers(
            SignIn(store.accounts, store.account_changes, store.sessions, RealClock()),
            frozenset({"127.0.0.1"}),
        )
        rpc = Rpc(Registry(rows()), callers, secure_cookie=False)
        async with TestClient(TestServer(http.build(callers, rpc.routes()))) as client:
            yield client


def without_data(answer: Any) -> Any:
    """Our sentence beside the protocol's own words is an addition the protocol allows."""
    if isinstance(answer, list):
        return [without_data(each) for each in answer]
    if "error" in answer:
        answer["error"].pop("data")
    return answer


def vectors() -> list[Any]:
    document = json.loads(shared("platform-specs", "jsonrpc", "jsonrpc2-examples.json").read_text())
    found: list[Any] = document["vectors"]
    return found


async def test_the_examples_of_the_specification(client: Client) -> None:
    for vector in vectors():
        response = await client.post("/rpc", data=vector["request"].encode())
        if vector["response"] is None:
            assert (response.status, await response.read()) == (204, b""), vector["name"]
        else:
            assert without_data(await response.json()) == vector["response"], vector["name"]


LONG = "1" * 30
ODD: list[tuple[str, bytes, int, int | str]] = [
    ("empty", b"", 200, -32700),
    ("lone surrogate", rb'{"jsonrpc":"2.0","id":1,"method":"\ud800"}', 200, -32700),
    ("surrogate bytes", b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}', 200, -32700),
    ("no UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', 200, -32700),
    ("NaN", b'{"jsonrpc":"2.0","id":NaN,"method":"get_data"}', 200, -32700),
    ("infinite", b'{"jsonrpc":"2.0","id":1e999,"method":"get_data"}', 200, -32700),
    ("deep", b"[" * 200_000, 200, -32700),
    ("long id", f'{{"jsonrpc":"2.0","id":{LONG},"method":"get_data"}}'.encode(), 200, -32700),
    (
        "long number deep inside",
        f'{{"jsonrpc":"2.0","id":1,"method":"sum","params":[[{{"a":{LONG}}}]]}}'.encode(),
        200,
        -32700,
    ),
    ("a number", b"7", 200, -32600),
    ("a bare null", b"null", 200, -32600),
    ("version 1", b'{"jsonrpc":"1.0","id":1,"method":"get_data"}', 200, -32600),
    ("id is true", b'{"jsonrpc":"2.0","id":true,"method":"get_data"}', 200, -32600),
    ("id is a list", b'{"jsonrpc":"2.0","id":[1],"method":"get_data"}', 200, -32600),
    ("params null", b'{"jsonrpc":"2.0","id":1,"method":"sum","params":null}', 200, -32600),
    ("too many", b'{"jsonrpc":"2.0","id":1,"method":"sum","params":[1,2,3,4,5,6]}', 200, -32602),
    ("unknown", b'{"jsonrpc":"2.0","id":1,"method":"sum","params":{"z":1}}', 200, -32602),
    ("wrong type", b'{"jsonrpc":"2.0","id":1,"method":"sum","params":["1"]}', 200, -32602),
    ("big batch", b"[" + b",".join([b"1"] * (BATCH + 1)) + b"]", 200, -32600),
    ("huge", b" " * (http.MAX_BODY_BYTES + 1), 413, "payload_too_large"),
    ("a bug of ours", b'{"jsonrpc":"2.0","id":1,"method":"crash"}', 500, "internal"),
]


@pytest.mark.parametrize(("name", "body", "status", "code"), ODD, ids=[row[0] for row in ODD])
async def test_odd_bodies(client: Client, name: str, body: bytes, status: int, code: int) -> None:
    response = await client.post("/rpc", data=io.BytesIO(body))
    answer = await response.json()
    assert (response.status, answer["error"]["code"]) == (status, code), name


async def test_a_text_that_holds_long_digits_is_no_long_number(client: Client) -> None:
    body = {"jsonrpc": "2.0", "id": LONG, "method": "get_data"}
    assert (await (await client.post("/rpc", json=body)).json())["id"] == LONG


async def test_a_compressed_bomb_is_refused_by_its_real_size(client: Client) -> None:
    bomb = gzip.compress(b" " * (4 * http.MAX_BODY_BYTES))
    response = await client.post("/rpc", data=bomb, headers={"Content-Encoding": "gzip"})
    assert response.status in (400, 413)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_what_is_compressed_wrongly_is_refused(client: Client, encoding: str) -> None:
    whole = gzip.compress(b'{"jsonrpc":"2.0","id":1,"method":"get_data"}')
    for body in (b"not compressed at all", whole[:20]):
        response = await client.post("/rpc", data=body, headers={"Content-Encoding": encoding})
        code = (await response.json())["error"]["code"]
        assert (response.status, code) in [(400, "invalid_request"), (200, -32700)], body


async def test_the_sentence_beside_the_code_is_in_the_callers_language(client: Client) -> None:
    said = []
    for language in ("zh-TW", "ja,en;q=0.5", "en", "xx"):
        body = {"jsonrpc": "2.0", "id": 1, "method": "nope"}
        response = await client.post("/rpc", json=body, headers={"Accept-Language": language})
        said.append((await response.json())["error"]["data"]["message"])
    assert len({*said[:3]}) == 3
    assert said[3] == said[0]

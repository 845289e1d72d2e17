"""Our own client for programs: what it sends, and every way in which no answer comes."""

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from gateway.client import KnowledgeBase, KnowledgeBaseError
from tests.simulators.serving import served

TOKEN = "sht_secret_word"
FOUND = {"results": [{"content": "七日", "score": 0.9}]}
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def base(answer: Answer, agent: str = "hana") -> AsyncIterator[KnowledgeBase]:
    app = web.Application()
    app.router.add_get("/at/agents/{id}/documents/query", answer)
    app.router.add_get("/elsewhere", answer)
    async with served(app) as address, KnowledgeBase(f"http://{address}/at/", agent, TOKEN) as kb:
        yield kb


def says(status: int, body: Any) -> Answer:
    async def answer(_request: web.Request) -> web.StreamResponse:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        return web.Response(status=status, body=text)

    return answer


async def test_a_question_goes_out_as_the_contract_has_it() -> None:
    seen: list[Any] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append((request.match_info["id"], dict(request.query), request.headers))
        return web.json_response(FOUND)

    async with base(answer, "a/b c") as kb:
        assert await kb.query("特休 & 假?") == FOUND["results"]
        assert await kb.query("x", {"category": "假", "year": 2026}, top_k=2) == FOUND["results"]
    (agent, first, headers), (_, second, _) = seen
    assert agent == "a/b c"
    assert first == {"query": "特休 & 假?", "top_k": "5"}
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert json.loads(second["filters"]) == {"category": "假", "year": 2026}
    assert second["top_k"] == "2"
    assert "hana" in repr(KnowledgeBase("http://x/y", "hana", TOKEN))
    assert TOKEN not in repr(kb)


async def test_without_a_block_each_query_has_its_own_connection() -> None:
    app = web.Application()
    app.router.add_get("/agents/hana/documents/query", says(200, FOUND))
    async with served(app) as address:
        kb = KnowledgeBase(f"http://{address}", "hana", TOKEN)
        assert await kb.query("x") == FOUND["results"]
        async with kb:
            assert await kb.query("x") == FOUND["results"]
        assert await kb.query("x") == FOUND["results"]
    with pytest.raises(KnowledgeBaseError, match="not reached"):
        await kb.query("x")


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (404, {"error": {"code": "not_found", "message": "x"}}, "not_found"),
        (503, b"<html>down</html>", None),
        (201, FOUND, None),
        (204, b"", None),
        (302, FOUND, None),
        (500, {"error": 3}, None),
    ],
)
async def test_another_status_is_an_error_with_its_code(status: int, body: Any, code: Any) -> None:
    async with base(says(status, body)) as kb:
        with pytest.raises(KnowledgeBaseError) as caught:
            await kb.query("x")
    assert (caught.value.status, caught.value.code) == (status, code)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"\xff\xfe", b"[" * 200_000, [], {}, {"results": None}, {"results": {}},
        {"results": ["x"]}, {"results": [{}]}, {"results": [{"content": 3}]},
        {"results": [{"content": "x"}, {"text": "y"}]},
    ],
)  # fmt: skip
async def test_a_body_that_is_no_answer_is_an_error(body: Any) -> None:
    async with base(says(200, body)) as kb:
        with pytest.raises(KnowledgeBaseError, match="none of a knowledge base"):
            await kb.query("x")


async def test_an_endless_body_ends() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"results": [')
        while True:
            await response.write(b'{"content": "x"},' * 10_000)

    async with base(answer) as kb:
        with pytest.raises(KnowledgeBaseError, match="none of a knowledge base"):
            await kb.query("x", timeout_s=9.0)


async def test_a_redirection_takes_the_key_nowhere() -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(request.path)
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    async with base(answer) as kb:
        with pytest.raises(KnowledgeBaseError, match="302"):
            await kb.query("x")
    assert seen == ["/at/agents/hana/documents/query"]


async def test_who_is_too_slow_or_hangs_up_gave_no_answer() -> None:
    let_go = asyncio.Event()

    async def slow(_request: web.Request) -> web.StreamResponse:
        await let_go.wait()
        return web.json_response(FOUND)

    async def gone(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with base(slow) as kb:
        with pytest.raises(KnowledgeBaseError, match=r"0\.05 s"):
            await kb.query("x", timeout_s=0.05)
        let_go.set()
    async with base(gone) as kb:
        with pytest.raises(KnowledgeBaseError, match="not reached"):
            await kb.query("x")


async def test_a_long_timeout_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "shutten.client")
    async with base(says(200, FOUND)) as kb:
        await kb.query("x", timeout_s=10.0)
        assert not caplog.records
        await kb.query("x", timeout_s=10.5)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


async def test_what_cannot_be_asked_is_the_callers_own_error() -> None:
    for odd in ("hana.example", "ftp://x", "http://"):
        with pytest.raises(ValueError, match="base_url"):
            KnowledgeBase(odd, "hana", TOKEN)
    with pytest.raises(ValueError, match="empty"):
        KnowledgeBase("http://x", "", TOKEN)
    kb = KnowledgeBase("http://127.0.0.1:9", "hana", TOKEN)
    for timeout in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="timeout_s"):
            await kb.query("x", timeout_s=timeout)


def test_it_comes_without_the_gateway() -> None:
    told = (
        "import sys, gateway.client\n"
        "ours = ('gateway', 'channels', 'models')\n"
        "print(*sorted(name for name in sys.modules if name.split('.')[0] in ours))"
    )
    run = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["gateway", "gateway.client", "gateway.client.knowledge_base"]

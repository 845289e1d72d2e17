"""Addresses that others name: inside ones, redirects there, odd spellings, endless bodies."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from gateway.errors import UpstreamError
from gateway.fetching import FetchLimits, GuardedFetch

CAP = 100_000
QUICK = FetchLimits(most_bytes=CAP, total_s=1.0)
HOST = "files.example"


@dataclass
class Site:
    """A server on 127.0.0.1 that the guard may reach, and a second address that it may not."""

    port: int = 0
    asked: list[web.Request] = field(default_factory=list)
    resolved: list[str] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=lambda: {HOST: ["127.0.0.1"]})
    places: dict[str, str] = field(default_factory=dict)  # path -> Location
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def guard(self, limits: FetchLimits = QUICK, **over: Any) -> GuardedFetch:
        options: dict[str, Any] = {
            "has_plain_http": True,
            "allow": {("127.0.0.1", self.port)},
            "resolve": self.resolve,
        }
        return GuardedFetch(limits, **(options | over))

    def url(self, path: str = "/", host: str = HOST, scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def resolve(self, host: str, _port: int) -> Sequence[str]:
        self.resolved.append(host)
        return self.names.get(host, [])

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        if request.path in self.places:
            return web.Response(status=302, headers={"Location": self.places[request.path]})
        if request.path in ANSWERS:
            return ANSWERS[request.path]()
        if request.path == "/hang":
            await self.ended.wait()
        streams = {"/endless": self._endless, "/liar": self._liar, "/trickle": self._trickle}
        if request.path in streams:
            return await streams[request.path](request)
        return web.Response(text="hello", headers={"Set-Cookie": "a=b"})

    async def _trickle(self, request: web.Request) -> web.StreamResponse:
        return await self._endless(request, piece=b"x", pause_s=0.05)

    async def _endless(
        self, request: web.Request, piece: bytes = b"x" * 10_000, pause_s: float = 0.0
    ) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while not self.ended.is_set():
                await response.write(piece)
                await asyncio.sleep(pause_s)
        except ConnectionError:
            pass
        return response

    async def _liar(self, request: web.Request) -> web.StreamResponse:
        """Says ten bytes and sends more: HTTP ends there, whatever follows."""
        response = web.StreamResponse(headers={"Content-Length": "10"})
        await response.prepare(request)
        await response.write(b"x" * 10)
        assert request.transport is not None
        request.transport.write(b"x" * CAP * 2)
        return response


def _encoded(body: bytes, encoding: str) -> web.Response:
    return web.Response(body=body, headers={"Content-Encoding": encoding})


ANSWERS: dict[str, Callable[[], web.Response]] = {
    "/gzip": lambda: _encoded(gzip.compress(b"x" * 50_000), "gzip"),
    "/bomb": lambda: _encoded(gzip.compress(b"\0" * 5_000_000), "gzip"),
    "/cut": lambda: _encoded(zlib.compress(b"abc" * 1000)[:-5], "deflate"),
    "/br": lambda: _encoded(b"??", "br"),
    "/big": lambda: web.Response(body=b"x" * (CAP + 1)),
    "/full": lambda: web.Response(body=b"x" * CAP),
    "/gone": lambda: web.Response(status=404),
}


@asynccontextmanager
async def running() -> AsyncIterator[Site]:
    site = Site()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", site.serve)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    tcp = web.TCPSite(runner, "127.0.0.1", 0)
    await tcp.start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        site.ended.set()
        await runner.cleanup()


async def fetch(guard: GuardedFetch, url: str) -> bytes:
    async with guard.open(url) as opened:
        return b"".join([chunk async for chunk in opened.chunks()])


async def refusal(guard: GuardedFetch, url: str) -> str:
    with pytest.raises(UpstreamError) as caught:
        await fetch(guard, url)
    assert not url or url not in str(
        caught.value
    )  # an address may hold a secret, and goes to no log
    return caught.value.code


async def test_a_page_is_fetched_with_its_kind_and_where_it_was() -> None:
    async with running() as site:
        site.places["/moved"] = "/page#part"
        async with site.guard().open(site.url("/moved")) as opened:
            assert (opened.media_type, opened.charset) == ("text/plain", "utf-8")
            assert opened.url == site.url("/page")
            assert b"".join([chunk async for chunk in opened.chunks()]) == b"hello"
    assert site.resolved == [HOST, HOST]  # each hop once: connected to what was looked at
    assert [each.host for each in site.asked] == [f"{HOST}:{site.port}"] * 2
    assert not [each for each in site.asked if {"Cookie", "Authorization"} & set(each.headers)]


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.2", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "169.254.169.254", "0.0.0.0",
        "10.0.0.1", "100.64.0.1", "192.168.1.1", "[fd00:ec2::254]", "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "017700000001",
        "１２７.０.０.１", "127。0。0。1", "①②⑦.0.0.1",
    ],
)  # fmt: skip
async def test_inside_addresses_are_blocked_however_they_are_spelled(host: str) -> None:
    async with running() as site:
        # the machine's own resolver, which understands most of these spellings
        guard = site.guard(allow={("127.0.0.3", site.port)}, resolve=None)
        assert await refusal(guard, site.url(host=host)) in {"url_blocked", "url_fetch_failed"}
    assert site.asked == []


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.2"],
        ["127.0.0.1", "127.0.0.2"],  # one public, one not: blocked as a whole
        ["127.0.0.2", "127.0.0.1"],
        ["10.0.0.8"],
        ["::1"],
        ["fe80::1%1"],
        ["::ffff:169.254.169.254"],
    ],
)
async def test_a_name_that_leads_inside_is_blocked(addresses: list[str]) -> None:
    async with running() as site:
        site.names["inside.example"] = addresses
        assert await refusal(site.guard(), site.url(host="inside.example")) == "url_blocked"
    assert site.asked == []


async def test_a_name_that_changes_its_mind_is_connected_to_what_was_looked_at() -> None:
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return next(answers)

    async with running() as site:
        guard = site.guard(resolve=resolve)
        assert await fetch(guard, site.url()) == b"hello"
        assert await refusal(guard, site.url()) == "url_blocked"


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("http://169.254.169.254/latest/meta-data", "url_blocked"),
        ("http://127.0.0.2:{port}/", "url_blocked"),
        ("http://inside.example:{port}/", "url_blocked"),
        ("//127.0.0.2:{port}/", "url_blocked"),
        ("http://user:word@files.example:{port}/", "url_blocked"),
        ("file:///etc/passwd", "url_blocked"),
        ("ftp://files.example/", "url_blocked"),
        ("gopher://files.example:{port}/", "url_blocked"),
        ("http://files.example:22/", "url_blocked"),
        ("http://nowhere.example:{port}/", "url_fetch_failed"),
        ("/again", "url_fetch_failed"),
        ("", "url_fetch_failed"),
    ],
)
async def test_a_redirect_is_looked_at_like_the_first_address(place: str, code: str) -> None:
    async with running() as site:
        site.names["inside.example"] = ["10.0.0.1"]
        site.places["/again"] = place.format(port=site.port)
        assert await refusal(site.guard(), site.url("/again")) == code


async def test_five_redirects_are_followed_and_no_sixth() -> None:
    async with running() as site:
        site.places |= {f"/{n}": f"/{n + 1}" for n in range(1, 7)}
        assert await fetch(site.guard(), site.url("/2")) == b"hello"
        assert await refusal(site.guard(), site.url("/1")) == "url_fetch_failed"
    assert len(site.asked) == 12


@pytest.mark.parametrize(
    "url",
    [
        "http://user:word@files.example/", "http://user@files.example/", "file:///etc/passwd",
        "ftp://files.example/", "data:text/plain,x", "javascript:alert(1)", "//files.example/", "/",
        "", "http://", "http:///x", "http://files.example:0/", "http://files.example:99999/",
        "http://files.example:6379/", "http://files.example:25/", "http://[::1", "x" * 3000,
        "http://files.example/" + "x" * 3000, "http://files.example:443/",
    ],
)  # fmt: skip
async def test_what_is_no_web_address_is_blocked(url: str) -> None:
    assert await refusal(GuardedFetch(has_plain_http=True), url) == "url_blocked"


async def test_plain_http_is_for_those_who_ask_for_it() -> None:
    async with running() as site:
        guard = site.guard(has_plain_http=False)
        assert await refusal(guard, site.url()) == "url_blocked"
        assert await refusal(guard, "http://files.example/") == "url_blocked"
    assert site.asked == []


async def test_in_production_no_inside_address_is_allowed() -> None:
    async with running() as site:
        plain = GuardedFetch(has_plain_http=True)
        for port in (80, 443, site.port):
            assert await refusal(plain, f"http://localhost:{port}/") == "url_blocked"
        assert await refusal(GuardedFetch(), "https://localhost/") == "url_blocked"
    assert site.asked == []


@pytest.mark.parametrize("path", ["/endless", "/big", "/bomb"])
async def test_a_body_is_cut_at_the_cap_whatever_it_says(path: str) -> None:
    async with running() as site:
        size, code = 0, ""
        try:
            async with site.guard().open(site.url(path)) as opened:
                async for chunk in opened.chunks():
                    size += len(chunk)
        except UpstreamError as error:
            code = error.code
        assert code == "url_too_large"
        assert size <= CAP


async def test_a_body_of_just_the_cap_is_whole() -> None:
    async with running() as site:
        assert len(await fetch(site.guard(), site.url("/full"))) == CAP


async def test_a_body_longer_than_it_says_ends_where_it_said() -> None:
    async with running() as site:
        body, code = b"x" * 10, "url_fetch_failed"  # the rest may have come with the answer
        try:
            body = await fetch(site.guard(), site.url("/liar"))
        except UpstreamError as error:
            code = error.code
    assert (body, code) == (b"x" * 10, "url_fetch_failed")


async def test_a_compressed_body_is_read_and_a_broken_one_is_not() -> None:
    async with running() as site:
        assert await fetch(site.guard(), site.url("/gzip")) == b"x" * 50_000
        for path in ("/cut", "/br", "/gone"):
            assert await refusal(site.guard(), site.url(path)) == "url_fetch_failed"


@pytest.mark.parametrize("path", ["/hang", "/trickle"])
async def test_a_slow_server_is_left_at_the_deadline(path: str) -> None:
    limits = FetchLimits(most_bytes=CAP, total_s=0.2)
    async with running() as site:
        started = asyncio.get_running_loop().time()
        assert await refusal(site.guard(limits), site.url(path)) == "url_fetch_failed"
        assert asyncio.get_running_loop().time() - started < 5


async def test_a_resolver_that_hangs_is_left_at_the_deadline() -> None:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return ()

    guard = GuardedFetch(FetchLimits(total_s=0.1), resolve=resolve)
    assert await refusal(guard, "https://files.example/") == "url_fetch_failed"


async def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.upper(), "http://127.0.0.1:9")
    async with running() as site:
        assert await fetch(site.guard(), site.url()) == b"hello"

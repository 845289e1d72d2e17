"""Sessions, tokens, foreign pages, foreign names: who may do what over HTTP."""

from dataclasses import replace
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from yarl import URL

from tests.surfaces.serving import operate, serving

ME = {"jsonrpc": "2.0", "id": 1, "method": "auth.me"}
SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


async def test_a_session_lives_in_a_cookie_no_script_can_read(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.nobody() as person:
        params = {"login": "member", "password": world.passwords["member"]}
        body = {"jsonrpc": "2.0", "id": 1, "method": "auth.login", "params": params}
        async with person.post("/rpc", json=body) as response:
            text = await response.text()
            [header] = response.headers.getall("Set-Cookie")
        cookie = SimpleCookie(header)["shutten_session"]
        assert cookie["httponly"]
        assert (cookie["samesite"], cookie["path"]) == ("Strict", "/")
        assert cookie.value not in text
        assert (await person.rpc("auth.me")) == "!origin_refused"  # no CSRF header yet
        async with person.session.get(world.url + "/web/session") as response:
            known = await response.json()
        person.csrf = known["csrf"]
        assert known["me"]["login"] == "member"
        assert (await person.rpc("auth.me"))["login"] == "member"
        assert await person.rpc("auth.logout") is None
        assert await person.rpc("auth.me") == "!not_signed_in"
        old = {"Cookie": f"shutten_session={cookie.value}"}
        async with person.session.get(world.url + "/web/session", headers=old) as response:
            assert (await response.json())["me"] is None


async def test_wrong_passwords_and_unknown_names_answer_alike_until_throttled(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.nobody() as person:
        for login in ("member", "nobody"):
            wrong = {"login": login, "password": "wrong password"}
            assert await person.rpc("auth.login", wrong) == "!wrong_credentials"
        tries = [
            await person.rpc("auth.login", {"login": "hr", "password": str(n)}) for n in range(11)
        ]
        assert tries[:10] == ["!wrong_credentials"] * 10
        assert tries[10] == "!too_many_requests"


async def test_signing_in_within_a_batch_shows_no_secret(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.nobody() as person:
        params = {"login": "member", "password": world.passwords["member"]}
        call = {"jsonrpc": "2.0", "id": 1, "method": "auth.login", "params": params}
        async with person.post("/rpc", json=[call]) as response:
            [answer] = await response.json()
        assert answer["error"]["code"] == -32602
        assert "result" not in answer


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "{own}"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),  # another service of this machine
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[bad"}, 403),
        ({"X-Shutten-CSRF": ""}, 403),
        ({"X-Shutten-CSRF": "ü"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": ""}, 403),
    ],
)
async def test_what_comes_with_a_cookie_must_come_from_our_page(
    template: Path, home: Path, headers: dict[str, str], status: int
) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        sent = {name: value.format(own=world.url) for name, value in headers.items()}
        async with person.post("/rpc", json=ME, headers=sent) as response:
            assert response.status == status


async def test_programs_use_tokens_and_a_wrong_one_is_nobody(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.nobody() as program:
        good = {"Authorization": f"Bearer {await world.token('hr')}"}
        async with program.post("/rpc", json=ME, headers=good) as response:
            assert (await response.json())["result"]["login"] == "hr"
        for wrong in ("Bearer nope", "bearer ü"):
            async with program.post("/rpc", json=ME, headers={"Authorization": wrong}) as response:
                assert response.status == 401
        async with world.person("member") as person:  # a token is no session, nor the reverse
            [cookie] = [each.value for each in person.session.cookie_jar]
            headers = {"Authorization": f"Bearer {cookie}"}
            async with program.post("/rpc", json=ME, headers=headers) as response:
                assert response.status == 401


@pytest.mark.parametrize("path", ["/", "/web/app.js", "/web/strings/ja", "/healthz", "/nope"])
async def test_every_answer_carries_the_headers(template: Path, home: Path, path: str) -> None:
    async with (
        serving(template, home) as world,
        aiohttp.request("GET", world.url + path) as response,
    ):
        assert SECURITY.items() <= dict(response.headers).items()
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        assert response.headers["X-Request-Id"]
        assert response.status == (404 if path == "/nope" else 200)


@pytest.mark.parametrize("name", ["../errors.toml", "..%2Fhttp.py", "__init__.py", "%00", "x.js"])
async def test_only_the_pages_own_files_are_served(template: Path, home: Path, name: str) -> None:
    async with serving(template, home) as world, world.nobody() as person:
        address = URL(f"{world.url}/web/{name}", encoded=True)
        async with person.session.get(address) as response:
            assert response.status in (400, 404)


async def test_figures_are_for_this_machine_or_an_administrators_token(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.nobody() as person:

        async def status(path: str, **headers: str) -> tuple[int, str]:
            async with person.session.get(world.url + path, headers=headers) as response:
                return response.status, await response.text()

        from_elsewhere = {"X-Forwarded-For": "203.0.113.9"}
        admin = {"Authorization": f"Bearer {await world.token('admin')}"}
        member = {"Authorization": f"Bearer {await world.token('member')}"}
        for path in ("/readyz", "/metrics"):
            assert (await status(path))[0] == 200
            assert (await status(path, **from_elsewhere))[0] == 404
            assert (await status(path, **from_elsewhere, **member))[0] == 404
            assert (await status(path, **from_elsewhere, **admin))[0] == 200
        assert (await status("/healthz", **from_elsewhere))[0] == 200
        text = (await status("/metrics"))[1]
        assert "shutten_chat_seats" in text
        assert not any(word in text for word in ("member", "員工手冊", "xiaohe"))


async def test_web_chat_takes_nothing_by_webhook(template: Path, home: Path) -> None:
    entry = {"account_id": "x", "agent_id": "xiaohe", "conversation": "c", "id": "1", "text": "a"}
    async with serving(template, home) as world, world.person("member") as person:
        for seal in ({}, {"X-Webchat-Seal": "0" * 64}):
            async with person.post("/webhooks/webchat/web", json=entry, headers=seal) as response:
                assert response.status == 401


async def test_a_deactivated_account_is_signed_out(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        await deactivate(world.app, "member")
        assert await person.rpc("auth.me") == "!not_signed_in"
        assert (await operate(world.app, "accounts.list", {}, "admin"))[0]


async def deactivate(app: Any, login: str) -> None:
    account = await app.store.accounts.find_by_login(login)
    await app.store.accounts.put(replace(account, is_active=False))

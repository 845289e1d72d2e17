"""Operations at addresses of their own: their description, their pages, repeats and limits."""

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from openapi_schema_validator import OAS31Validator

from gateway.app import open_app
from gateway.operations.table import Permission
from gateway.store.statements import raw
from gateway.surfaces.rest import BY_COOKIE
from tests.surfaces.serving import Person, serving

PROVE = bool(os.environ.get("SHUTTEN_PROVE"))
SETTINGS = Path(__file__).with_name("schemathesis.toml")
FEW = """
[[operations]]  # every odd request by hand costs its time: some, where all is not proven
include-path-regex = "^(?!.*/(readyz|sources.list|collections.create|original)$)"
[operations.phases.coverage]
enabled = false
"""


async def call(
    person: Person, name: str, params: Mapping[str, Any] | None = None, **headers: str
) -> tuple[int, Any]:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    path = f"/api/operations/{name}"
    async with person.post(path, json=dict(params or {}), headers=named) as response:
        return response.status, await response.json()


def limited(home: Path, template: Path, **settings: float) -> Path:
    """A template whose gateway has these settings."""
    shutil.copytree(template, home)
    file = home / "config.toml"
    lines = "".join(f"{key} = {value}\n" for key, value in settings.items())
    file.write_text(file.read_text("utf-8").replace("[gateway]\n", f"[gateway]\n{lines}"), "utf-8")
    return home


async def test_the_description_tells_of_every_operation_and_is_valid(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.nobody() as nobody:
        async with nobody.session.get(f"{world.url}/openapi.json") as response:
            told = await response.json()
        async with nobody.session.get(f"{world.url}/docs") as response:
            assert response.status == 200
            assert "default-src 'self'" in response.headers["Content-Security-Policy"]
            page = await response.text()
        assert "http://" not in page
        assert "https://" not in page
        rows = world.app.registry.rows()
    paths = {path for path in told["paths"] if path.startswith("/api/operations/")}
    assert paths == {
        f"/api/operations/{row.name}"
        for row in rows
        if row.needs is not Permission.LOCAL and row.name not in BY_COOKIE
    }
    for name, schema in told["components"]["schemas"].items():
        OAS31Validator.check_schema(schema)
        assert name.replace(".", "").replace("_", "").isalnum()


# what is no API: our own pages and their parts, and what each platform sends in its own form
NOT_DESCRIBED = frozenset(
    {
        "GET /",
        "GET /web/session",
        "GET /web/strings/{language}",
        "GET /web/{name}",
        "GET /widget.js",
        "GET /widget/{agent}",
        "GET /link/{channel}/{name}",
        "POST /link/{channel}/{name}",
        "POST /webhooks/{channel}/{name}",
        "POST /agents('{agent}')/retrieve",  # OData's form of the address that is described
        "POST /api/operations/{name}",  # each operation at its own address
    }
)
OF_MCP = ("GET", "POST", "DELETE")  # its route takes every method, and refuses the others itself


async def test_every_route_is_described_or_no_api(template: Path, home: Path) -> None:
    shutil.copytree(template, home)
    async with open_app(home) as app, TestClient(TestServer(app.application())) as client:
        async with client.get("/openapi.json") as response:
            paths = (await response.json())["paths"]
        routes = [each for each in client.app.router.routes() if each.method != "HEAD"]
    there = {
        f"{method} {route.resource.canonical}"
        for route in routes
        if route.resource is not None
        for method in (OF_MCP if route.method == "*" else (route.method,))
    }
    told = {f"{method.upper()} {path}" for path, found in paths.items() for method in found}
    assert there - told == NOT_DESCRIBED
    assert {each for each in told - there if "/api/operations/" not in each} == set()


async def test_an_operation_answers_with_its_result_or_a_code(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        made = await call(hr, "knowledge.collections.create", {"name": "新"})
        assert (made[0], made[1]["name"]) == (200, "新")
        cases: tuple[tuple[str, Mapping[str, Any], int, str], ...] = (
            ("no.such", {}, 404, "not_found"),
            ("auth.login", {}, 404, "not_found"),
            ("knowledge.sources.add_file", {"collection": "x", "path": "/"}, 404, "not_found"),
            ("knowledge.collections.create", {"name": " "}, 422, "invalid_request"),
            ("knowledge.collections.create", {"name": 1}, 400, "invalid_request"),
            ("knowledge.collections.create", {"name": "x", "odd": 1}, 400, "invalid_request"),
            ("accounts.list", {}, 404, "not_found"),
        )
        for name, params, status, code in cases:
            assert await said(hr, name, params) == (status, code), name
        async with hr.session.get(f"{world.url}/api/operations/auth.me") as response:
            assert (response.status, response.headers["Allow"]) == (405, "POST")
        async with hr.post("/api/operations/auth.me", data="{}") as response:
            assert response.status == 415
        async with world.nobody() as nobody:
            assert await said(nobody, "knowledge.limits", {}) == (401, "not_signed_in")
            key = {"X-API-Key": await world.token("hr")}
            assert (await call(nobody, "knowledge.limits", {}, **key))[0] == 200
            both = {**key, "Authorization": "Bearer other"}
            assert (await call(nobody, "knowledge.limits", {}, **both))[0] == 400


async def said(person: Person, name: str, params: Mapping[str, Any]) -> tuple[int, str]:
    status, body = await call(person, name, params)
    return status, body["error"]["code"]


async def test_a_creating_call_that_is_sent_again_is_done_once_and_after_a_restart_too(
    template: Path, home: Path
) -> None:
    params, name = {"name": "一次"}, "knowledge.collections.create"
    async with serving(template, home) as world, world.person("hr") as hr:
        first = await call(hr, name, params, Idempotency_Key="k1")
        assert await call(hr, name, params, Idempotency_Key="k1") == first
        status, body = await call(hr, name, {"name": "別"}, Idempotency_Key="k1")
        assert (status, body["error"]["code"]) == (409, "idempotency_reused")
        assert (await call(hr, name, params, Idempotency_Key="k2"))[1]["id"] != first[1]["id"]
        async with world.person("admin") as other:  # a key is its account's own
            assert (await call(other, name, params, Idempotency_Key="k1"))[1]["id"] != (
                first[1]["id"]
            )
        status, body = await call(hr, name, {"name": " "}, Idempotency_Key="k3")
        assert status == 422
        assert (await call(hr, name, params, Idempotency_Key="k3"))[0] == 200  # nothing is left
        rpc = {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}
        async with hr.post("/rpc", json=rpc, headers={"Idempotency-Key": "k1"}) as response:
            assert (await response.json())["result"] == first[1]
        for odd in ("knowledge.search", "auth.tokens.create"):
            asked = {"query": "x"} if odd == "knowledge.search" else {"label": "x"}
            assert (await call(hr, odd, asked, Idempotency_Key="k4"))[0] == 422
    async with serving(home, home.with_name("again")) as world, world.person("hr") as hr:
        assert await call(hr, name, params, Idempotency_Key="k1") == first
        listed = (await call(hr, "knowledge.collections.list"))[1]
        assert sum(each["name"] == "一次" for each in listed) == 3


async def test_of_two_calls_at_once_one_is_done(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        asked = [
            call(hr, "knowledge.collections.create", {"name": "同"}, Idempotency_Key="k")
            for _ in range(5)
        ]
        answers = await asyncio.gather(*asked)
        made = {body["id"] for status, body in answers if status == 200}
        codes = {body["error"]["code"] for status, body in answers if status != 200}
        assert len(made) == 1
        assert codes <= {"idempotency_running"}


async def test_a_list_by_pages_is_the_list_whatever_is_added_meanwhile(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        name = "knowledge.collections.list"
        whole = (await call(hr, name))[1]
        seen, cursor = [], None
        while True:
            page = (await call(hr, name, {"limit": 2, "cursor": cursor}))[1]
            seen += page["rows"]
            assert len(page["rows"]) <= 2
            await call(hr, "knowledge.collections.create", {"name": f"後來 {len(seen)}"})
            cursor = page["next"]
            if cursor is None or len(seen) > 2 * len(whole):
                break
        ids = [each["id"] for each in seen]
        assert len(set(ids)) == len(ids)
        assert {each["id"] for each in whole} <= set(ids)
        for odd in ({"limit": 0}, {"limit": 501}, {"cursor": "odd"}, {"cursor": "cDE6"}):
            status = (await call(hr, name, odd))[0]
            assert status == (200 if odd == {"cursor": "cDE6"} else 422)


async def test_who_asks_too_often_is_told_when_to_come_back(
    template: Path, home: Path, tmp_path: Path
) -> None:
    source = limited(tmp_path / "slow", template, requests_per_minute=3)
    async with serving(source, home) as world, world.nobody() as nobody:
        token = {"Authorization": f"Bearer {await world.token('hr')}"}
        statuses = [(await call(nobody, "auth.me", {}, **token))[0] for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        path = "/api/operations/auth.me"
        async with nobody.post(path, json={}, headers=token) as response:
            assert 1 <= int(response.headers["Retry-After"]) <= 20
            assert (await response.json())["error"]["code"] == "too_many_requests"
        other = {"X-API-Key": await world.token("hr")}
        assert (await call(nobody, "auth.me", {}, **other))[0] == 200


async def test_a_call_that_was_begun_before_the_end_is_not_begun_again(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        name, params = "knowledge.collections.create", {"name": "一半"}
        await call(hr, name, params, Idempotency_Key="k")
        write = world.app.store._knowledge.write
        await write(lambda c: raw(c).execute("UPDATE repeats SET answer = NULL").rowcount)
        assert (await call(hr, name, params, Idempotency_Key="k"))[1]["error"]["code"] == (
            "idempotency_unknown"
        )
        old = "UPDATE repeats SET at = at - 24 * 3600 * 1000000"
        await write(lambda c: raw(c).execute(old).rowcount)
        assert (await call(hr, name, params, Idempotency_Key="k"))[0] == 200


@pytest.mark.timeout(1800 if PROVE else 180)
async def test_requests_made_from_the_description_meet_no_fault(
    template: Path, home: Path, tmp_path: Path
) -> None:
    source = limited(tmp_path / "open", template, requests_per_minute=0)
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(SETTINGS.read_text("utf-8") + ("" if PROVE else FEW), "utf-8")
    async with serving(source, home) as world:
        program = Path(sys.executable).with_name("schemathesis")
        running = await asyncio.create_subprocess_exec(
            program,
            *("--config-file", settings, "run", f"{world.url}/openapi.json"),
            *("-H", f"Authorization: Bearer {await world.token('admin')}"),
            *("--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--no-color"),
            *("--generation-with-security-parameters", "false"),
            *("--generation-database", "none", "--seed", "1", "--warnings", "off"),
            *("--max-examples", "200" if PROVE else "1"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=tmp_path,
        )
        output, _ = await running.communicate()
    assert running.returncode == 0, output.decode("utf-8", "replace")[-8000:]

"""The whole program on a temporary home, reached over HTTP as a browser or a program would."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
from argon2 import PasswordHasher

from gateway import home as homes
from gateway.app import App, open_app
from gateway.demo.company import PASSWORDS, passwords, set_up
from gateway.surfaces.local import LocalCall, local_caller

CONFIG = """
[gateway]
language = "zh-TW"
[knowledge]
max_source_bytes = 1048576
[knowledge.embedding]
provider = "none"
"""


QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)  # tests/accounts pays in full


async def operate(app: App, method: str, params: dict[str, Any], as_account: str | None) -> Any:
    """As the operator at the command line would."""
    call = LocalCall(method, params, as_account)
    return await app.registry.call(await local_caller(app.store.accounts, call), method, params)


def make_home(home: Path) -> Path:
    """The demo's company, its documents read; made once, then copied."""
    homes.make(home)
    (home / "config.toml").write_text(CONFIG, "utf-8")
    made, _ = passwords(home)

    async def fill() -> None:
        async with open_app(home) as app:
            app.sign_in._hasher = QUICK

            async def call(method: str, params: dict[str, Any], who: str | None) -> Any:
                return await operate(app, method, params, who)

            for added in await set_up(call, made):
                await ready(app, added["source"]["id"])

    asyncio.run(fill())
    return home


async def ready(app: App, source_id: str) -> None:
    """Wait for a job of another task; there is no event to wait for from outside."""
    async with asyncio.timeout(30):
        while (source := await app.store.sources.find(source_id)) is not None:
            if source.state.value in ("ready", "failed"):
                return
            await asyncio.sleep(0.02)


@dataclass
class Person:
    """Somebody signed in with a browser."""

    url: str
    session: aiohttp.ClientSession
    csrf: str = ""

    async def rpc(self, method: str, params: Any = None) -> Any:
        """The result, or the error's code as a string after "!"."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        async with self.post("/rpc", json=body) as response:
            answer = await response.json()
        if "error" in answer:
            return "!" + (answer["error"].get("data") or answer["error"])["code"]
        return answer["result"]

    def post(self, path: str, **options: Any) -> Any:
        headers = {"X-Shutten-CSRF": self.csrf, **options.pop("headers", {})}
        return self.session.post(self.url + path, headers=headers, **options)

    def chat(self, conversation: str = "c1", **options: Any) -> Any:
        after = options.pop("after", None)
        query = f"?conversation_id={conversation}" + (
            f"&after={after}" if after is not None else ""
        )
        return self.session.ws_connect(self.url + "/ws/chat" + query, **options)


@dataclass
class World:
    """A running gateway."""

    app: App
    url: str
    passwords: dict[str, str]

    @asynccontextmanager
    async def nobody(self) -> AsyncIterator[Person]:
        jar = aiohttp.CookieJar(unsafe=True)  # cookies of an address without a name
        async with aiohttp.ClientSession(cookie_jar=jar) as session:
            yield Person(self.url, session)

    @asynccontextmanager
    async def person(self, login: str) -> AsyncIterator[Person]:
        async with self.nobody() as person:
            entered = await person.rpc(
                "auth.login", {"login": login, "password": self.passwords[login]}
            )
            person.csrf = entered["csrf"]
            yield person

    async def token(self, login: str) -> str:
        account = await self.app.store.accounts.find_by_login(login)
        assert account is not None
        issued = await self.app.sign_in.issue(
            account, kind="token", label="test", valid_for=timedelta(hours=1)
        )
        return issued.secret


@asynccontextmanager
async def serving(template: Path, home: Path, *, config: str = "") -> AsyncIterator[World]:
    """Serve a copy of the template home, with more settings, until the block ends."""
    shutil.copytree(template, home)
    with (home / "config.toml").open("a", encoding="utf-8") as file:
        file.write(config)
    made = json.loads((home / PASSWORDS).read_text("utf-8"))
    stop = asyncio.Event()
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with open_app(home) as app, asyncio.TaskGroup() as tasks:
        app.sign_in._hasher = QUICK
        tasks.create_task(app.serve(stop, port=0, on_ready=address.set_result))
        try:
            yield World(app, await address, made)
        finally:
            stop.set()


async def answer(socket: aiohttp.ClientWebSocketResponse, text: str, **fields: Any) -> Any:
    """Ask, and return the frames up to the last one of the answer."""
    frame = {"type": "user_message", "id": text, "text": text, "attachments": [], **fields}
    await socket.send_json(frame)
    frames = []
    async with asyncio.timeout(20):
        while True:
            frames.append(await socket.receive_json())
            if frames[-1]["type"] != "assistant_delta":
                return frames

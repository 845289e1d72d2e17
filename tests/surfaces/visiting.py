"""A home with a widget on a website, and visitors who come by sockets as browsers would."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from gateway.app import open_app
from tests.surfaces.serving import World, operate

SITE = "https://www.example.com"
ASK = "茶葉可以放多久？"  # of a public collection
OF_STAFF = "到職滿一年的特休有幾天？"  # of an internal one
WIDGET: dict[str, Any] = {"agent": "xiaohe", "origins": [SITE]}


def toml(table: str, values: Mapping[str, Any]) -> str:
    def shown(value: Any) -> str:
        if isinstance(value, list):
            return "[" + ", ".join(map(shown, value)) + "]"
        return str(value) if isinstance(value, int) else f'"{value}"'

    return "\n".join([f"[{table}]", *(f"{key} = {shown(each)}" for key, each in values.items())])


def configured(template: Path, folder: Path, **tables: Mapping[str, Any]) -> Path:
    """A copy with the demo's products and handbook granted to the widget, and these tables.

    `channels__widget__site={…}` is the table [channels.widget.site].
    """
    shutil.copytree(template, folder)
    with (folder / "config.toml").open("a", encoding="utf-8") as config:
        for name, values in tables.items():
            config.write("\n" + toml(name.replace("__", "."), values) + "\n")

    async def grant() -> None:
        async with open_app(folder, serves=False) as app:
            for shelf in ("products", "handbook"):
                await change(app, shelf, add=("widget", "odoolivechat"))

    asyncio.run(grant())
    return folder


async def change(app: Any, shelf: str, *, add: tuple[str, ...] = (), without: str = "") -> None:
    """Change to whom a collection is granted."""
    now = await operate(app, "knowledge.grants.list", {"collection": shelf}, "admin")
    kept = [line for line in now["grants"] if line["subject_id"] != without]
    new = [{"subject_kind": "channel", "subject_id": each, "role": "viewer"} for each in add]
    params = {"collection": shelf, "version": now["version"], "grants": kept + new}
    await operate(app, "knowledge.grants.replace", params, "admin")


class Guest:
    """One socket of a visitor, past its greeting."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, session: Any) -> None:
        self.socket = socket
        self.token: str = session["token"]

    async def ask(self, text: str, **fields: Any) -> dict[str, Any]:
        """The frame that ends the answer."""
        frame = {"type": "user_message", "id": text, "text": text, **fields}
        await self.socket.send_json(frame)
        return await self.end()

    async def end(self) -> dict[str, Any]:
        async with asyncio.timeout(20):
            while True:
                frame: dict[str, Any] = await self.socket.receive_json()
                if frame["type"] != "assistant_delta":
                    return frame


@asynccontextmanager
async def socket_of(
    world: World, agent: str = "xiaohe", origin: str | None = SITE, **headers: str
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    if origin is not None:
        headers["Origin"] = origin
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{world.url}/ws/widget/{agent}", headers=headers) as socket,
    ):
        yield socket


@asynccontextmanager
async def guest(
    world: World,
    token: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    **hello: Any,
) -> AsyncIterator[Guest]:
    """A visitor, new or with the token of before."""
    async with socket_of(world, **(headers or {})) as socket:
        await socket.send_json({"type": "hello", "token": token, **hello})
        session = await socket.receive_json()
        assert session["type"] == "session"
        yield Guest(socket, session)


async def refused(world: World, agent: str = "xiaohe", **options: Any) -> tuple[int, str]:
    """Status and body of a handshake that must not succeed."""
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        **options,
    }
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{world.url}/ws/widget/{agent}", headers=headers) as response,
    ):
        return response.status, await response.text()

"""The embedding APIs of openai and gemini on a local port; keeps every byte that arrives."""

import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np
from aiohttp import web

from tests.simulators.serving import served

DIMENSIONS = {"openai": 1536, "gemini": 768}


@dataclass
class Trouble:
    """What one request gets instead of vectors."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""


@dataclass
class Embeddings:
    """`arrived` is all of it: request lines, headers and bodies."""

    address: str = ""
    arrived: bytearray = field(default_factory=bytearray)
    texts: list[list[str]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.address}/v1"

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.arrived += f"{request.method} {request.raw_path}\n".encode()
        for name, value in request.raw_headers:
            self.arrived += name + b": " + value + b"\n"
        self.arrived += body
        told = json.loads(body)
        self.arrived += json.dumps(told, ensure_ascii=False).encode()  # as it reads, too
        if self.troubles:
            trouble = self.troubles.pop(0)
            return web.Response(status=trouble.status, headers=trouble.headers, text=trouble.body)
        if "requests" in told:
            return self._gemini(request, told["requests"])
        return self._openai(request, told["input"])

    def _openai(self, request: web.Request, texts: list[str]) -> web.Response:
        self._note(request.headers["Authorization"].removeprefix("Bearer "), texts)
        rows = [{"index": at, "embedding": vector("openai", text)} for at, text in enumerate(texts)]
        return web.json_response({"data": rows[::-1]})

    def _gemini(self, request: web.Request, asked: Sequence[dict[str, object]]) -> web.Response:
        texts = [each["content"]["parts"][0]["text"] for each in asked]  # type: ignore[index]
        self._note(request.headers["x-goog-api-key"], texts)
        rows = [{"values": vector("gemini", text)} for text in texts]
        return web.json_response({"embeddings": rows})

    def _note(self, key: str, texts: list[str]) -> None:
        self.keys.append(key)
        self.texts.append(texts)


def vector(provider: str, text: str) -> list[float]:
    """The same for the same text, and not of length 1."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    made: list[float] = np.random.default_rng(seed).normal(size=DIMENSIONS[provider]).tolist()
    return made


@asynccontextmanager
async def embeddings() -> AsyncIterator[Embeddings]:
    """The server while the block runs."""
    here = Embeddings()
    app = web.Application(client_max_size=2**26)
    app.router.add_route("*", "/{path:.*}", here.answer)
    async with served(app) as here.address:
        yield here

"""A local server that speaks OpenAI's chat completions, scripted, and misbehaves on demand."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aiohttp import web

PIECE_CHARS = 2  # small enough to cut every mark


@dataclass(frozen=True)
class Say:
    """Answer with this text, in small pieces."""

    text: str
    piece_chars: int = PIECE_CHARS


@dataclass(frozen=True)
class UseTool:
    """Ask for a tool; the arguments come in two pieces. A str is sent as it is."""

    arguments: dict[str, Any] | str
    name: str = "knowledge_search"
    text: str = ""
    calls: int = 1
    has_ids: bool = True  # false: every call says the same


class Trouble(StrEnum):
    """What a server may do to us."""

    HANG = "hang"  # takes the request and says nothing
    HANG_MID_STREAM = "hang_mid_stream"
    DROP_MID_STREAM = "drop_mid_stream"
    END_EARLY = "end_early"  # a clean end, but the answer was not finished
    RATE_LIMIT = "rate_limit"  # 429 with Retry-After
    SERVER_ERROR = "server_error"
    WRONG_KEY = "wrong_key"  # 401 whose body repeats the key
    NOTHING = "nothing"  # finished, without a word
    NO_CHOICES = "no_choices"
    ODD_CHUNKS = "odd_chunks"  # null choices, null delta, unknown fields; then an answer
    NOT_JSON = "not_json"
    NOT_AN_OBJECT = "not_an_object"
    ERROR_EVENT = "error_event"
    NOT_A_STREAM = "not_a_stream"


Step = Say | UseTool | Trouble


@dataclass
class OpenAISimulator:
    """Plays its script, one step a request; the last step repeats for ever."""

    script: list[Step]
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    base_url: str = ""
    retry_after_s: float = 0.05

    async def completions(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.keys.append(request.headers.get("Authorization", ""))
        complaint = _complaint(body)
        if complaint:
            return self._refuse(400, complaint)
        step = self.script[min(len(self.requests), len(self.script) - 1)]
        self.requests.append(body)
        if step is Trouble.HANG:
            await asyncio.sleep(3600)
        refusal = self._refusal(step)
        return refusal if refusal is not None else await self._stream(request, step)

    def _refusal(self, step: Step) -> web.Response | None:
        again = {"Retry-After": str(self.retry_after_s)}
        if step is Trouble.RATE_LIMIT:
            return self._refuse(429, "slow down", again)
        if step is Trouble.SERVER_ERROR:
            return self._refuse(500, "broken", again)
        if step is Trouble.WRONG_KEY:
            return self._refuse(401, f"Incorrect API key provided: {self.keys[-1]}")
        if step is Trouble.NOT_A_STREAM:
            return web.json_response({"choices": [{"message": {"content": "whole"}}]})
        return None

    def _refuse(
        self, status: int, message: str, headers: dict[str, str] | None = None
    ) -> web.Response:
        self.statuses.append(status)
        return web.json_response({"error": {"message": message}}, status=status, headers=headers)

    async def _stream(self, request: web.Request, step: Step) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for line in _lines(step):
            await response.write(f"data: {line}\n\n".encode())
        if step is Trouble.DROP_MID_STREAM and request.transport is not None:
            request.transport.abort()
        if step is Trouble.HANG_MID_STREAM:
            await asyncio.sleep(3600)
        if step is not Trouble.END_EARLY:
            await response.write(b"data: [DONE]\n\n")
        self.statuses.append(200)
        return response


def _lines(step: Step) -> Sequence[str]:
    if isinstance(step, Say):
        size = step.piece_chars
        pieces = [step.text[i : i + size] for i in range(0, len(step.text), size)]
        return [_chunk({"content": piece}) for piece in pieces] + [_chunk({}, "stop")]
    if isinstance(step, UseTool):
        return _tool_lines(step)
    return _troubled_lines()[step]


def _troubled_lines() -> dict[Trouble, list[str]]:
    half = [_chunk({"role": "assistant", "content": ""}), _chunk({"content": "half an "})]
    return {
        Trouble.HANG_MID_STREAM: half,
        Trouble.DROP_MID_STREAM: half,
        Trouble.END_EARLY: half,
        Trouble.NOTHING: [_chunk({"role": "assistant", "content": ""}), _chunk({}, "stop")],
        Trouble.NO_CHOICES: [json.dumps({"id": "c", "choices": []})],
        Trouble.ODD_CHUNKS: [
            json.dumps({"id": "c", "choices": None}),
            json.dumps({"id": "c", "choices": [{"index": 0, "delta": None}]}),
            json.dumps({"id": "c", "choices": [{"index": 0, "delta": {"content": None}}]}),
            json.dumps({"id": "c", "usage": {"total_tokens": "many"}, "surprise": [1]}),
            _chunk({"content": "fine", "reasoning_content": "hm"}),
            _chunk({}, "stop"),
        ],
        Trouble.NOT_JSON: [_chunk({"content": "so far "}), '{"choices": [{"delta": {"con'],
        Trouble.NOT_AN_OBJECT: ["[1, 2]", '"text"', "7"],
        Trouble.ERROR_EVENT: [_chunk({"content": "so"}), '{"error": {"message": "overloaded"}}'],
    }


def _tool_lines(step: UseTool) -> list[str]:
    written = step.arguments
    arguments = written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)
    half = len(arguments) // 2
    lines = [_chunk({"content": step.text})] if step.text else []
    for index in range(step.calls):
        head = {"name": step.name, "arguments": arguments[:half]}
        call_id = f"c{index}" if step.has_ids else "same"
        first = {"index": index, "id": call_id, "type": "function", "function": head}
        rest = {"index": index, "function": {"arguments": arguments[half:]}}
        lines += [_chunk({"tool_calls": [first]}), _chunk({"tool_calls": [rest]})]
    return [*lines, _chunk({}, "tool_calls")]


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 0, "choices": [choice]}
    return json.dumps(body, ensure_ascii=False)


def _complaint(body: dict[str, Any]) -> str:
    """What the real server would refuse with 400."""
    if not isinstance(body.get("model"), str) or body.get("stream") is not True:
        return "model and stream are required"
    open_calls: set[str] = set()
    for message in body["messages"]:
        if complaint := _message_complaint(message, open_calls):
            return complaint
    return f"tool calls without an answer: {sorted(open_calls)}" if open_calls else ""


def _message_complaint(message: dict[str, Any], open_calls: set[str]) -> str:
    role = message["role"]
    if role == "tool":
        if message["tool_call_id"] not in open_calls:
            return "a tool message must answer a tool call"
        open_calls.remove(message["tool_call_id"])
    elif open_calls:
        return f"tool calls without an answer: {sorted(open_calls)}"
    elif role not in {"system", "user", "assistant"}:
        return f"unknown role {role}"
    open_calls |= {call["id"] for call in message.get("tool_calls", [])}
    return "" if isinstance(message.get("content"), str) else "content must be a string"


@asynccontextmanager
async def openai_simulator(*script: Step) -> AsyncIterator[OpenAISimulator]:
    """The server on a free local port, gone at the end."""
    simulator = OpenAISimulator(list(script))
    app = web.Application(client_max_size=8 * 1024 * 1024)
    app.router.add_post("/v1/chat/completions", simulator.completions)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    simulator.base_url = f"http://{host}:{port}/v1"
    try:
        yield simulator
    finally:
        await runner.cleanup()

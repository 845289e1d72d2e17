"""A local server that speaks OpenAI's chat completions, scripted, and misbehaves on demand."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.simulators.scripted import Say, ScriptedServer, Step, Trouble, UseTool, is_png, running

__all__ = ["OpenAISimulator", "Say", "Step", "Trouble", "UseTool", "openai_simulator"]


class OpenAISimulator(ScriptedServer):
    """Chat completions."""

    PATH = "/v1/chat/completions"
    BASE = "/v1"

    def key_of(self, request: web.Request) -> str:
        return request.headers.get("Authorization", "")

    def complaint(self, body: dict[str, Any]) -> str:
        return _complaint(body)

    def frames(self, step: Step) -> Sequence[bytes]:
        lines = [f"data: {line}\n\n".encode() for line in _lines(step)]
        wants_usage = self.requests[-1].get("stream_options") == {"include_usage": True}
        if isinstance(step, Say) and step.tokens is not None and wants_usage:
            read, written = step.tokens
            usage = {"prompt_tokens": read, "completion_tokens": written}
            body = json.dumps({"id": "c", "choices": [], "usage": usage})
            lines.append(f"data: {body}\n\n".encode())
        return lines

    def end(self) -> bytes:
        return b"data: [DONE]\n\n"

    def error(self, message: str) -> dict[str, Any]:
        return {"error": {"message": message}}


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
        Trouble.REFUSAL: [_chunk({"refusal": "I cannot"}), _chunk({}, "content_filter")],
        Trouble.CUT_OFF: [*half, _chunk({}, "length")],
        Trouble.NO_CONTENT: [json.dumps({"id": "c", "choices": []})],
        Trouble.ODD_EVENTS: [
            json.dumps({"id": "c", "choices": None}),
            json.dumps({"id": "c", "choices": [{"index": 0, "delta": None}]}),
            json.dumps({"id": "c", "choices": [{"index": 0, "delta": {"content": None}}]}),
            json.dumps({"id": "c", "usage": {"prompt_tokens": "many"}, "surprise": [1]}),
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
    return _content_complaint(role, message.get("content"))


def _content_complaint(role: str, content: Any) -> str:
    if isinstance(content, str):
        return ""
    if role != "user" or not isinstance(content, list) or not content:
        return "content must be a string, or a user's list of parts"
    return next(filter(None, map(_part_complaint, content)), "")


def _part_complaint(part: dict[str, Any]) -> str:
    if part["type"] == "text":
        return "" if isinstance(part["text"], str) else "text must be a string"
    if part["type"] != "image_url":
        return f"unknown part {part['type']}"
    url = part["image_url"]["url"]
    is_data = isinstance(url, str) and url.startswith("data:image/png;base64,")
    return "" if is_data and is_png(url.partition(",")[2]) else "image_url: no PNG"


@asynccontextmanager
async def openai_simulator(*script: Step) -> AsyncIterator[OpenAISimulator]:
    """The server on a free local port, gone at the end."""
    async with running(OpenAISimulator(list(script))) as simulator:
        yield simulator

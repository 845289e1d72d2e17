"""A local server that speaks Anthropic's messages API, scripted, as strict as the real one."""

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.simulators.scripted import Say, ScriptedServer, Step, Trouble, UseTool, is_png, running

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
Block = dict[str, Any]


class AnthropicSimulator(ScriptedServer):
    """Messages."""

    PATH = "/v1/messages"

    def key_of(self, request: web.Request) -> str:
        if "anthropic-version" not in request.headers:
            return ""
        return request.headers.get("x-api-key", "")

    def complaint(self, body: dict[str, Any]) -> str:
        found = (_shape(body), _turns(body["messages"]), _calls(body), _tools(body))
        return next(filter(None, found), "")

    def frames(self, step: Step) -> Sequence[bytes]:
        return [
            _frame(event) if isinstance(event, dict) else f"event: {event}\n\n".encode()
            for event in _events(step)
        ]

    def end(self) -> bytes:
        return _frame({"type": "message_stop"})

    def error(self, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": "some_error", "message": message}}


def _frame(event: dict[str, Any]) -> bytes:
    body = json.dumps(event, ensure_ascii=False)
    return f"event: {event['type']}\ndata: {body}\n\n".encode()


def _events(step: Step) -> Sequence[dict[str, Any] | str]:
    if isinstance(step, Say):
        return _say(step)
    if isinstance(step, UseTool):
        return _use_tool(step)
    return _troubled_events()[step]


def _start(tokens_in: int = 120) -> dict[str, Any]:
    # the sum of three counts is what was read
    usage = {"input_tokens": tokens_in - 20, "output_tokens": 1, "cache_read_input_tokens": 15}
    usage["cache_creation_input_tokens"] = 5
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m"}
    return {"type": "message_start", "message": message | {"stop_reason": None, "usage": usage}}


def _block(index: int, block: Block) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, kind: str, field: str, value: str) -> dict[str, Any]:
    delta = {"type": kind, field: value}
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def _finish(reason: str, tokens_out: int = 30) -> dict[str, Any]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": tokens_out}}


def _say(step: Say) -> list[dict[str, Any] | str]:
    size = step.piece_chars
    pieces = [step.text[i : i + size] for i in range(0, len(step.text), size)]
    read, written = step.tokens or (20, 0)
    said = [_delta(0, "text_delta", "text", piece) for piece in pieces]
    begin = [_start(read), _block(0, {"type": "text", "text": ""}), {"type": "ping"}]
    return [*begin, *said, _stop(0), _finish("end_turn", written)]


def _use_tool(step: UseTool) -> list[dict[str, Any] | str]:
    written = step.arguments
    arguments = written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)
    half = len(arguments) // 2
    events: list[dict[str, Any] | str] = [_start(), _block(0, {"type": "text", "text": ""})]
    if step.text:
        events.append(_delta(0, "text_delta", "text", step.text))
    events.append(_stop(0))
    for index in range(1, step.calls + 1):
        call_id = f"c{index - 1}" if step.has_ids else "same"
        block = {"type": "tool_use", "id": call_id, "name": step.name, "input": {}}
        events += [
            _block(index, block),
            _delta(index, "input_json_delta", "partial_json", arguments[:half]),
            _delta(index, "input_json_delta", "partial_json", arguments[half:]),
            _stop(index),
        ]
    return [*events, _finish("tool_use")]


def _troubled_events() -> dict[Trouble, list[dict[str, Any] | str]]:
    text = {"type": "text", "text": ""}
    half = [_start(), _block(0, text), _delta(0, "text_delta", "text", "half an ")]
    overloaded = {"type": "overloaded_error", "message": "Overloaded"}
    odd_start = {"type": "message_start", "message": {"usage": {"input_tokens": "many"}}}
    return {
        Trouble.HANG_MID_STREAM: [*half],
        Trouble.DROP_MID_STREAM: [*half],
        Trouble.END_EARLY: [*half],
        Trouble.NOTHING: [_start(), _finish("end_turn")],
        Trouble.REFUSAL: [*half, _stop(0), _finish("refusal")],
        Trouble.CUT_OFF: [*half, _stop(0), _finish("max_tokens")],
        Trouble.NO_CONTENT: [_start()],
        Trouble.ODD_EVENTS: [
            odd_start,
            {"type": "message_start", "message": None},
            {"type": "content_block_start", "index": None, "content_block": None},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
            _delta(0, "thinking_delta", "thinking", "hm"),
            {"type": "content_block_delta", "delta": {"type": "text_delta", "text": None}},
            {"type": "something_new", "surprise": [1]},
            _delta(1, "text_delta", "text", "fine"),
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": None},
        ],
        Trouble.NOT_JSON: [*half, 'content_block_delta\ndata: {"type": "content_blo'],
        Trouble.NOT_AN_OBJECT: [
            "message_start\ndata: [1, 2]",
            'content_block_delta\ndata: "text"',
            "message_delta\ndata: 7",
        ],
        Trouble.ERROR_EVENT: [*half, {"type": "error", "error": overloaded}],
    }


def _shape(body: dict[str, Any]) -> str:
    if not isinstance(body.get("model"), str) or body.get("stream") is not True:
        return "model and stream are required"
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        return "max_tokens: at least 1"
    if "system" in body and not body["system"].strip():
        return "system: must not be empty"
    return "" if body["messages"] else "messages: at least one"


def _turns(messages: Sequence[Block]) -> str:
    if messages[0]["role"] != "user":
        return "the first message must be the user's"
    for before, message in zip([{"role": ""}, *messages], messages, strict=False):
        if message["role"] not in {"user", "assistant"} or message["role"] == before["role"]:
            return "roles must alternate between user and assistant"
        blocks = message["content"]
        if not blocks or any(b["type"] == "text" and not b["text"].strip() for b in blocks):
            return "content must be non-empty"
        if any(not _is_image(block) for block in blocks if block["type"] == "image"):
            return "image: no PNG"
    return ""


def _is_image(block: Block) -> bool:
    source = block["source"]
    is_base64 = (source["type"], source["media_type"]) == ("base64", "image/png")
    return is_base64 and is_png(source["data"])


def _calls(body: dict[str, Any]) -> str:
    waiting: set[str] = set()
    seen: set[str] = set()
    for message in body["messages"]:
        asked = [block for block in message["content"] if block["type"] == "tool_use"]
        if complaint := _results(message["content"], waiting) or _asked(asked, seen):
            return complaint
        waiting = {call["id"] for call in asked}
        seen |= waiting
    if waiting:
        return "tool_use without tool_result"
    return "tools: must be defined" if seen and not body.get("tools") else ""


def _results(blocks: Sequence[Block], waiting: set[str]) -> str:
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if set(results) != waiting or len(results) != len(waiting):
        return f"tool_use without tool_result, or the reverse: {sorted(waiting)}"
    return "tool_result blocks come first" if results and "tool_use_id" not in blocks[0] else ""


def _asked(asked: Sequence[Block], seen: set[str]) -> str:
    ids = {call["id"] for call in asked}
    return "tool_use ids must be unique" if len(ids) != len(asked) or ids & seen else _odd(asked)


def _odd(asked: Sequence[Block]) -> str:
    for call in asked:
        if not NAME.fullmatch(call["id"]) or not NAME.fullmatch(call["name"]):
            return "tool_use: id and name are letters, digits, _ and -"
        if not isinstance(call["input"], dict):
            return "tool_use.input: must be an object"
    return ""


def _tools(body: dict[str, Any]) -> str:
    for tool in body.get("tools", []):
        if not NAME.fullmatch(tool["name"]) or tool["input_schema"].get("type") != "object":
            return "tools: name and input_schema"
    return ""


@asynccontextmanager
async def anthropic_simulator(*script: Step) -> AsyncIterator[AnthropicSimulator]:
    """The server on a free local port, gone at the end."""
    async with running(AnthropicSimulator(list(script))) as simulator:
        yield simulator

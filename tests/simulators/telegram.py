"""Telegram's Bot API on the wire: every call checked against the official specification."""

import asyncio
import contextlib
import itertools
import json
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aiohttp import web

from tests.simulators.serving import served
from tests.simulators.telegram_api import TelegramApi

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"
BOT_ID, BOT_NAME = 4242, "ShuttenBot"
TOKEN = f"{BOT_ID}:AAtest-TOKEN_of-the-simulator"


class Fault(StrEnum):
    """How the next call is treated, whichever it is."""

    RATE = "429"
    RATE_BARE = "429 without parameters"
    SERVER_ERROR = "500"
    BAD_GATEWAY = "502"
    UNAVAILABLE = "503"
    UNAVAILABLE_PAGE = "503 page"
    BROKEN_PAGE = "500 page"
    UNAUTHORISED = "401"
    BLOCKED = "403"
    CHAT_NOT_FOUND = "400 chat not found"
    BAD_REQUEST = "400 something else"
    ENTITIES = "400 can't parse entities"
    NOT_MODIFIED = "400 message is not modified"
    MIGRATED = "400 with migrate_to_chat_id"
    CONFLICT = "409"
    FILE_TOO_BIG = "400 file is too big"
    HANG = "no answer, not accepted"
    CLOSE_BEFORE = "closed, not accepted"
    CLOSE_AFTER = "accepted, closed without an answer"
    HANG_AFTER = "accepted, no answer"
    TRUNCATED = "accepted, half of the answer"
    GARBAGE = "accepted, answer unreadable"
    ODD = "accepted, answer of another shape"


REFUSALS = {
    Fault.RATE_BARE: (429, "Too Many Requests"),
    Fault.SERVER_ERROR: (500, "Internal Server Error"),
    Fault.BAD_GATEWAY: (502, "Bad Gateway"),
    Fault.UNAVAILABLE: (503, "Service Unavailable"),
    Fault.UNAUTHORISED: (401, "Unauthorized"),
    Fault.BLOCKED: (403, "Forbidden: bot was blocked by the user"),
    Fault.CHAT_NOT_FOUND: (400, "Bad Request: chat not found"),
    Fault.BAD_REQUEST: (400, "Bad Request: what it says here may quote the text"),
    Fault.ENTITIES: (400, "Bad Request: can't parse entities: Can't find end of the entity"),
    Fault.NOT_MODIFIED: (400, "Bad Request: message is not modified: specified new message"),
    Fault.FILE_TOO_BIG: (400, "Bad Request: file is too big"),
    Fault.CONFLICT: (409, "Conflict: terminated by other getUpdates request"),
}
PAGES = {Fault.UNAVAILABLE_PAGE: 503, Fault.BROKEN_PAGE: 500}
ACCEPTED = frozenset(
    {Fault.CLOSE_AFTER, Fault.HANG_AFTER, Fault.TRUNCATED, Fault.GARBAGE, Fault.ODD}
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that reached a chat."""

    chat: str
    text: str
    thread: int | None = None
    reply_to: int | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass
class TelegramSimulator:
    """State of the pretended platform; faults are taken from the queues, one a call."""

    secret: str = "telegram-secret"
    token: str = TOKEN
    deliveries: list[Delivery] = field(default_factory=list)
    drafts: list[tuple[str, int, str]] = field(default_factory=list)  # chat, draft id, text
    actions: list[tuple[str, int | None]] = field(default_factory=list)  # chat, thread
    violations: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    poll_faults: deque[Fault] = field(default_factory=deque)  # of getUpdates alone
    retry_after_s: int = 7
    migrated_to: int = -1009999
    updates: list[dict[str, Any]] = field(default_factory=list)  # waiting for a poll
    offsets: list[int | None] = field(default_factory=list)  # what polls confirmed
    webhook: dict[str, Any] = field(default_factory=lambda: {"url": "", "pending_update_count": 0})
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)  # id -> path, content
    fetched: list[str] = field(default_factory=list)
    file_answer: web.StreamResponse | None = None  # instead of the content
    url: str = ""
    received: asyncio.Event = field(default_factory=asyncio.Event)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _api: TelegramApi = field(default_factory=TelegramApi)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _pushed: asyncio.Event = field(default_factory=asyncio.Event)

    # ------------------------------------------------------------ what Telegram sends to us

    def message(self, text: str | None, user: int = 1001, /, **over: Any) -> dict[str, Any]:
        """An update with a private message; any field of the message can be replaced."""
        n = next(self._numbers)
        message: dict[str, Any] = {
            "message_id": 100 + n,
            "date": int(time.time()),
            "chat": {"id": user, "type": "private", "first_name": "Mei"},
            "from": {"id": user, "is_bot": False, "first_name": "Mei", "last_name": "Lin"},
        }
        if text is not None:
            message["text"] = text
        message |= over
        known = {key: value for key, value in message.items() if value is not None}
        return {"update_id": 700_000 + n, "message": known}

    def in_group(self, text: str, user: int = 1001, /, **over: Any) -> dict[str, Any]:
        """The same in a supergroup."""
        chat = {"id": -1001234, "type": "supergroup", "title": "Office"}
        return self.message(text, user, **({"chat": chat} | over))

    def body(self, update: Any) -> bytes:
        return json.dumps(update).encode()

    def headers(self) -> dict[str, str]:
        return {SECRET_HEADER: self.secret, "Content-Type": "application/json"}

    def push(self, *updates: dict[str, Any]) -> None:
        """For the next poll, and every further one until it is confirmed."""
        self.updates += updates
        self._pushed.set()

    # ------------------------------------------------------------ what we send to Telegram

    def texts_to(self, chat: int) -> list[str]:
        return [each.text for each in self.deliveries if each.chat == str(chat)]

    async def wait_for(self, deliveries: int, timeout_s: float = 20.0) -> None:
        async with asyncio.timeout(timeout_s):
            while len(self.deliveries) < deliveries:
                self.received.clear()
                await self.received.wait()

    async def wait_for_calls(self, method: str, calls: int, timeout_s: float = 20.0) -> None:
        async with asyncio.timeout(timeout_s):
            while self.calls.count(method) < calls:
                self.received.clear()
                await self.received.wait()

    async def wait_for_offset(self, offset: int | None, timeout_s: float = 20.0) -> None:
        """Until a poll confirms everything before it."""
        async with asyncio.timeout(timeout_s):
            while self.offsets[-1:] != [offset]:
                self.received.clear()
                await self.received.wait()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        token, method = request.match_info["token"], request.match_info["method"]
        given = {key: str(value) for key, value in (await request.post()).items()}
        self.violations += self._api.violations(method, given)
        self.calls.append(method)
        self.received.set()
        faults = self.poll_faults if method == "getUpdates" else self.faults
        fault = faults.popleft() if faults else None
        if fault is not None and fault not in ACCEPTED:
            return await self._refuse(request, fault)
        if token != self.token:
            return _error(401, "Unauthorized")
        name = re.sub("(?=[A-Z])", "_", method).lower()
        result = await getattr(self, f"_answer_{name}")(given)
        self.received.set()
        if isinstance(result, web.Response):
            return result
        return await self._answer(request, result, fault)

    async def _answer_get_me(self, _: Mapping[str, str]) -> Any:
        return {"id": BOT_ID, "is_bot": True, "first_name": "Shutten", "username": BOT_NAME}

    async def _answer_delete_webhook(self, _: Mapping[str, str]) -> Any:
        self.webhook["url"] = ""
        return True

    async def _answer_get_webhook_info(self, _: Mapping[str, str]) -> Any:
        return self.webhook

    async def _answer_get_updates(self, given: Mapping[str, str]) -> Any:
        """Everything from the offset on; what is before it is confirmed and gone."""
        if self.webhook["url"]:
            return _error(409, "Conflict: can't use getUpdates method while webhook is active")
        offset = int(given["offset"]) if "offset" in given else None
        self.offsets.append(offset)
        self.received.set()
        self.updates = [each for each in self.updates if each["update_id"] >= (offset or 0)]
        if not self.updates:
            self._pushed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(float(given.get("timeout", 0))):
                    await self._pushed.wait()
        return self.updates[: int(given.get("limit", 100))]

    async def _answer_send_message(self, given: Mapping[str, str]) -> Any:
        n = next(self._numbers)
        reply = json.loads(given.get("reply_parameters", "{}")).get("message_id")
        thread = int(given["message_thread_id"]) if "message_thread_id" in given else None
        delivery = Delivery(given["chat_id"], given["text"], thread, reply, dict(given))
        self.deliveries.append(delivery)
        chat = {"id": int(given["chat_id"]), "type": "private"}
        return {"message_id": 900 + n, "date": 1, "chat": chat, "text": given["text"]}

    async def _answer_send_message_draft(self, given: Mapping[str, str]) -> Any:
        if int(given["chat_id"]) < 0 or int(given["draft_id"]) == 0:
            return _error(400, "Bad Request: drafts are for private chats")
        self.drafts.append((given["chat_id"], int(given["draft_id"]), given["text"]))
        return True

    async def _answer_send_chat_action(self, given: Mapping[str, str]) -> Any:
        thread = int(given["message_thread_id"]) if "message_thread_id" in given else None
        self.actions.append((given["chat_id"], thread))
        return True

    async def _answer_get_file(self, given: Mapping[str, str]) -> Any:
        if given["file_id"] not in self.files:
            return _error(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        path, content = self.files[given["file_id"]]
        return {"file_id": given["file_id"], "file_size": len(content), "file_path": path}

    async def serve_file(self, request: web.Request) -> web.StreamResponse:
        self.fetched.append(request.match_info["path"])
        if request.match_info["token"] != self.token:
            return _error(401, "Unauthorized")
        if self.file_answer is not None:
            return self.file_answer
        contents = dict(self.files.values())
        content = contents.get(request.match_info["path"])
        return web.Response(body=content) if content is not None else _error(404, "Not Found")

    async def _refuse(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        if fault is Fault.CLOSE_BEFORE:
            return _cut(request)
        if fault is Fault.HANG:
            await self._ended.wait()
        if fault is Fault.RATE:
            said = f"Too Many Requests: retry after {self.retry_after_s}"
            return _error(429, said, {"retry_after": self.retry_after_s})
        if fault is Fault.MIGRATED:
            said = "Bad Request: group chat was upgraded to a supergroup chat"
            return _error(400, said, {"migrate_to_chat_id": self.migrated_to})
        if fault in PAGES:
            return web.Response(text="<html>", content_type="text/html", status=PAGES[fault])
        return _error(*REFUSALS.get(fault, (500, "Something is wrong")))

    async def _answer(
        self, request: web.Request, result: Any, fault: Fault | None
    ) -> web.StreamResponse:
        if fault is Fault.CLOSE_AFTER:
            return _cut(request)
        if fault is Fault.HANG_AFTER:
            await self._ended.wait()
        if fault is Fault.TRUNCATED:
            return web.Response(body=json.dumps({"ok": True, "result": result}).encode()[:-9])
        if fault is Fault.GARBAGE:
            return web.Response(body=b"<html>\xff", content_type="text/html")
        if fault is Fault.ODD:
            return web.json_response(["ok", "result"])
        return web.json_response({"ok": True, "result": result})

    @asynccontextmanager
    async def running(self) -> AsyncIterator["TelegramSimulator"]:
        app = web.Application()
        app.router.add_post("/bot{token:[^/]+}/{method}", self.serve)
        app.router.add_get("/file/bot{token:[^/]+}/{path:.*}", self.serve_file)
        async with served(app) as place:
            self.url = f"http://{place}"
            try:
                yield self
            finally:
                self._ended.set()
                self._pushed.set()


def _error(
    status: int, description: str, parameters: Mapping[str, int] | None = None
) -> web.Response:
    said: dict[str, Any] = {"ok": False, "error_code": status, "description": description}
    if parameters:
        said["parameters"] = dict(parameters)
    return web.json_response(said, status=status)


def _cut(request: web.Request) -> web.Response:
    """Close the connection under the client's feet."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()

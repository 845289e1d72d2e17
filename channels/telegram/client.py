"""The only file that talks to Telegram, through python-telegram-bot's Bot."""

import asyncio
import importlib
import logging
import re
import warnings
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import aiohttp
from yarl import URL

from channels.telegram.render import ALLOWED_UPDATES, Address
from channels.telegram.troubles import TelegramTrouble, Trouble, meaning, outcome_of
from gateway.core.messages import Delivered, SendOutcome
from gateway.core.secrets import Secret
from gateway.errors import ChannelError

CONNECT_TIMEOUT_S = 5.0
SEND_TIMEOUT_S = 15.0
SHOW_TIMEOUT_S = 5.0  # of what only passes the time
POLL_S = 25  # how long Telegram holds a poll open where nothing is new
FILE_TIMEOUT_S = 120.0
FILE_BYTES_MAX = 20 * 1024 * 1024  # of getFile
FILE_CHUNK_BYTES = 64 * 1024
MOST_MOVES = 1_000  # remembered
for _name, _level in (
    ("httpx", logging.WARNING),  # says every URL, and the token is a part of it
    ("httpcore", logging.WARNING),
    ("telegram", logging.CRITICAL),  # says payloads it cannot read, people's texts among them
):
    logging.getLogger(_name).setLevel(_level)


class TelegramClient:
    """One bot's way out. The SDK comes at first use, in a thread: its import holds the loop."""

    def __init__(self, token: Secret, base_url: str, *, send_timeout_s: float = SEND_TIMEOUT_S):
        self._token = token
        self._base_url = base_url.rstrip("/")
        self._send_timeout_s = send_timeout_s
        self._opening = asyncio.Lock()
        self._sdk: Any = None
        self._httpx: Any = None
        self._bot: Any = None
        self._requests: Sequence[Any] = ()
        self._moved: dict[int, int] = {}

    async def send(self, to: Address, body: Mapping[str, Any]) -> SendOutcome:
        """A message has no idempotency key: once it may have been read, its outcome is unknown.

        Where it was certainly refused, for a chat that moved or for its markup, once more.
        """
        try:
            return await self._post(to, body)
        except TelegramTrouble as trouble:
            match trouble.trouble:
                case Trouble.MOVED:
                    self.moved(to.chat_id, trouble.chat_id)
                    again = body
                case Trouble.MARKUP:
                    again = {"text": body["text"]}
                case _:
                    return outcome_of(trouble)
        try:
            return await self._post(to, again)
        except TelegramTrouble as trouble:
            return outcome_of(trouble)

    async def show_typing(self, to: Address) -> None:
        """For five seconds. TelegramTrouble."""
        fields = self._at(to) | {"action": "typing"}
        await self._ask("sendChatAction", fields, SHOW_TIMEOUT_S)

    async def show_draft(self, to: Address, draft_id: int, text: str) -> None:
        """In private chats only, for half a minute or until the message. TelegramTrouble."""
        fields = self._at(to) | {"draft_id": draft_id, "text": text}
        await self._ask("sendMessageDraft", fields, SHOW_TIMEOUT_S)

    def moved(self, old: int, new: int) -> None:
        """A group became a supergroup; what is still addressed to the old one goes there."""
        self._moved[old] = new
        if len(self._moved) > MOST_MOVES:
            del self._moved[next(iter(self._moved))]

    def where(self, chat_id: int) -> int:
        """The chat's id now."""
        return self._moved.get(chat_id, chat_id)

    async def me(self) -> str:
        """The bot's user name. TelegramTrouble."""
        told = await self._ask("getMe", {}, self._send_timeout_s)
        name = told.get("username") if isinstance(told, dict) else None
        if not isinstance(name, str) or not name:
            raise TelegramTrouble(Trouble.IN_DOUBT, "an answer without a user name")
        return name

    async def webhook(self) -> dict[str, Any]:
        """What Telegram knows about our webhook. TelegramTrouble."""
        told = await self._ask("getWebhookInfo", {}, self._send_timeout_s)
        return told if isinstance(told, dict) else {}

    async def delete_webhook(self) -> None:
        """What waits there stays, for polling. TelegramTrouble."""
        fields = {"drop_pending_updates": False}
        await self._ask("deleteWebhook", fields, self._send_timeout_s)

    async def updates(self, offset: int | None, poll_s: int = POLL_S) -> list[Any]:
        """Those from `offset` on, which confirms the ones before it. TelegramTrouble."""
        fields = {"timeout": poll_s, "allowed_updates": list(ALLOWED_UPDATES)}
        if offset is not None:
            fields["offset"] = offset
        told = await self._ask("getUpdates", fields, poll_s + self._send_timeout_s)
        if not isinstance(told, list):
            raise TelegramTrouble(Trouble.IN_DOUBT, "an answer without updates")
        return told

    async def file(self, file_id: str) -> AsyncGenerator[bytes, None]:
        """Its bytes, from the Bot API's own host alone. ChannelError `attachment_unavailable`."""
        try:
            told = await self._ask("getFile", {"file_id": file_id}, self._send_timeout_s)
        except TelegramTrouble as trouble:
            raise _unavailable(trouble.reason) from None
        path = told.get("file_path") if isinstance(told, dict) else None
        url = self._file_url(path)
        timeout = aiohttp.ClientTimeout(
            FILE_TIMEOUT_S, connect=CONNECT_TIMEOUT_S, sock_read=SEND_TIMEOUT_S
        )
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, trust_env=False) as session,
                session.get(url, allow_redirects=False) as answer,
            ):
                if answer.status != 200:
                    raise _unavailable(f"status {answer.status}")
                async for chunk in answer.content.iter_chunked(FILE_CHUNK_BYTES):
                    yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise _unavailable(type(error).__name__) from None  # their words hold the URL

    async def close(self) -> None:
        """Our requests own the sockets; Bot closes only what it opened itself."""
        requests, self._requests, self._bot = self._requests, (), None
        for request in requests:
            await request.shutdown()

    def _file_url(self, path: Any) -> URL:
        """A relative path below our own base: a whole URL or a local path leads elsewhere."""
        parts = path.split("/") if isinstance(path, str) else [""]
        if any(part in {"", ".", ".."} or re.search(r"[\\\0]", part) for part in parts):
            raise _unavailable("file_path is not a relative path")
        quoted = "/".join(quote(part, safe="") for part in parts)
        base = f"{self._base_url}/file/bot{self._token.reveal()}"
        return URL(f"{base}/{quoted}", encoded=True)

    def _at(self, to: Address) -> dict[str, Any]:
        return to.fields | {"chat_id": self.where(to.chat_id)}

    async def _post(self, to: Address, body: Mapping[str, Any]) -> Delivered:
        fields = self._at(to) | dict(body)
        if fields["chat_id"] != to.chat_id:
            fields.pop("reply_parameters", None)  # a number of the old chat's
        told = await self._ask("sendMessage", fields, self._send_timeout_s)
        number = told.get("message_id") if isinstance(told, dict) else None
        if not isinstance(number, int):
            raise TelegramTrouble(Trouble.IN_DOUBT, "an answer without a message")
        return Delivered((str(number),))

    async def _ask(self, method: str, fields: Mapping[str, Any], timeout_s: float) -> Any:
        """The result as plain JSON, so that one odd object in it fails nothing else."""
        bot = await self._open()
        # spelled get_Updates, it goes out as getUpdates; by its own name Bot would advise a
        # method that builds objects and fails them all where one is odd
        name = re.sub(r"(?=[A-Z])", "_", method)
        try:
            async with asyncio.timeout(timeout_s + CONNECT_TIMEOUT_S):
                return await bot.do_api_request(name, dict(fields), read_timeout=timeout_s)
        except self._sdk.error.TelegramError as error:
            raise meaning(error, self._sdk.error, self._httpx) from None
        except (TimeoutError, OSError, LookupError, TypeError, AttributeError, ValueError) as error:
            # an answer of a shape that the SDK did not expect
            raise TelegramTrouble(Trouble.IN_DOUBT, type(error).__name__) from None

    async def _open(self) -> Any:
        async with self._opening:
            if self._bot is None:
                try:
                    await asyncio.to_thread(self._build)
                except (ImportError, RuntimeError, ValueError) as error:
                    reason = f"client cannot be built: {type(error).__name__}"
                    raise TelegramTrouble(Trouble.NOT_SENT, reason) from None
            return self._bot

    def _build(self) -> None:
        """Import and SSL contexts take half a second: not in the loop."""
        self._sdk = importlib.import_module("telegram")
        self._httpx = importlib.import_module("httpx")
        notice = importlib.import_module("telegram.warnings").PTBDeprecationWarning
        warnings.filterwarnings("ignore", ".*retry_after.*", notice)  # both its types are read
        request = importlib.import_module("telegram.request").HTTPXRequest
        times = {"connect_timeout": CONNECT_TIMEOUT_S, "write_timeout": self._send_timeout_s}
        # a context takes a tenth of a second; a proxy of the environment is never asked
        shared = {"verify": self._httpx.create_ssl_context(), "trust_env": False}
        self._requests = [
            request(connection_pool_size=size, httpx_kwargs=shared, **times) for size in (2, 256)
        ]
        polling, others = self._requests
        self._bot = self._sdk.Bot(
            self._token.reveal(),
            base_url=f"{self._base_url}/bot",
            base_file_url=f"{self._base_url}/file/bot",
            request=others,
            get_updates_request=polling,
        )


def _unavailable(reason: str) -> ChannelError:
    return ChannelError(f"telegram file: {reason}", code="attachment_unavailable")

"""Slack's Web API, through the official asynchronous SDK."""

import asyncio
import importlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import structlog
from yarl import URL

from channels.slack.outcomes import Answer, edited, is_in_doubt, is_stuck, posted
from gateway.core.messages import Delivered, OutcomeUnknown, RetryLater, SendOutcome
from gateway.core.secrets import Secret
from gateway.errors import ChannelError

log = structlog.get_logger()

CONNECT_TIMEOUT_S = 5.0
SEND_TIMEOUT_S = 15.0
DOWNLOAD_TIMEOUT_S = 120.0
KEEPALIVE_S = 5.0  # a connection that Slack closed meanwhile would leave a post in doubt
LOOKED_BACK_S = 300.0  # when a post is looked up: for a clock that is ahead of Slack's
SETTLE_S = 1.0  # before that, so that what Slack still does is done
LOOKED_AT = 200  # messages
MOST_REDIRECTS = 3
CHUNK_BYTES = 64 * 1024
EVENT_TYPE = "shutten_reply"  # of the metadata by which a post is found again
UNSENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
UNANSWERED = (
    *(aiohttp.ClientError, TimeoutError, OSError, ValueError),
    # what the SDK makes of an answer that is no object, and of a closed session
    *(AttributeError, RuntimeError, TypeError),
)
SDK_MODULE = "slack_sdk.web.async_client"


def quiet_logger() -> logging.Logger:
    """The SDK writes messages and the addresses of sockets into its log: nothing of it is kept."""
    logger = logging.getLogger("channels.slack.sdk")
    logger.setLevel(logging.CRITICAL + 1)
    return logger


@dataclass(frozen=True, slots=True)
class Post:
    """A message to go out; `key` finds it again, `since_s` is the time it was first owed."""

    channel: str
    thread: str | None
    text: str  # escaped
    key: str
    since_s: float


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file at Slack: where its bytes are, and what they are said to be."""

    url: str
    media_type: str = ""
    size_bytes: int | None = None


@dataclass(slots=True)
class _Opened:
    api: Any
    session: aiohttp.ClientSession
    error: type[Exception]


@dataclass
class SlackClient:
    """One Slack account's way out. The SDK comes at first use."""

    token: Secret
    api_base_url: str
    send_timeout_s: float = SEND_TIMEOUT_S
    settle_s: float = SETTLE_S
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    _opened: _Opened | None = field(default=None, repr=False)

    async def post(self, post: Post) -> SendOutcome:
        """A post has no idempotency key; one that is in doubt is looked for in the chat."""
        answer = await self._post(post, post.thread)
        if answer.error == "cannot_reply_to_message" and post.thread is not None:
            answer = await self._post(post, None)  # a root that takes no answers
        if not is_in_doubt(answer):
            return posted(answer)
        return await self._looked_up(post, answer)

    async def update(self, channel: str, ts: str, text: str) -> SendOutcome:
        """Saying the same twice changes nothing, so what is in doubt is tried again.

        A message that cannot be edited goes: no draft stays beside the reply that is posted anew.
        """
        answer = await self.ask(
            # without `parse` an edit, other than a post, is read as a person's typing
            lambda api: api.chat_update(channel=channel, ts=ts, text=text, parse="none")
        )
        if is_stuck(answer):
            await self.ask(lambda api: api.chat_delete(channel=channel, ts=ts))
        return edited(answer)

    async def set_status(self, channel: str, thread: str, status: str) -> Answer:
        """Best effort: what is only shown to pass the time never fails a turn."""
        answer = await self.ask(
            lambda api: api.assistant_threads_setStatus(
                channel_id=channel, thread_ts=thread, status=status
            )
        )
        if answer.error:
            log.info("slack status not shown", reason=answer.error)
        return answer

    async def file(self, file_id: str) -> RemoteFile:
        """Where a file's bytes are, where its event did not say; ChannelError."""
        answer = await self.ask(lambda api: api.files_info(file=file_id))
        found = answer.data.get("file")
        if answer.error or not isinstance(found, Mapping):
            raise _unavailable(answer.error or "no file")
        url = found.get("url_private_download") or found.get("url_private")
        size = found.get("size")
        if not isinstance(url, str):
            raise _unavailable("no address")
        is_size = isinstance(size, int) and not isinstance(size, bool)
        return RemoteFile(url, str(found.get("mimetype") or ""), size if is_size else None)

    async def download(self, file: RemoteFile) -> AsyncIterator[bytes]:
        """The bytes as they come; ChannelError when they are not the file's."""
        count = 0
        try:
            async with self._response(file.url) as response:
                _check_file(response, file)
                async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                    count += len(chunk)
                    if file.size_bytes is not None and count > file.size_bytes:
                        raise _unavailable("longer than announced")
                    yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise _unavailable(type(error).__name__) from error
        if file.size_bytes is not None and count != file.size_bytes:
            raise _unavailable("shorter than announced")

    async def identity(self) -> Answer:
        """Who the bot token is: team_id, user_id; its scopes are in the headers."""
        return await self.ask(lambda api: api.auth_test())

    async def ask(self, call: Callable[[Any], Awaitable[Any]]) -> Answer:
        """One call of the SDK, whatever comes back."""
        opened = await self.open()
        try:
            answer = await call(opened.api)
        except opened.error as error:
            return Answer.refused(getattr(error, "response", None))
        except UNSENT as error:
            return Answer(error=f"not connected: {type(error).__name__}", is_unsent=True)
        except UNANSWERED as error:
            return Answer(error=type(error).__name__, is_unanswered=True)
        if not isinstance(answer.data, Mapping):
            return Answer(error="no JSON", is_vague=True)
        return Answer(data=answer.data, headers=answer.headers)

    async def open(self) -> _Opened:
        """The SDK's client over a session of ours: our deadlines, no retries, no proxy."""
        async with self._opening:
            if self._opened is None:
                sdk = await asyncio.to_thread(importlib.import_module, SDK_MODULE)
                errors = importlib.import_module("slack_sdk.errors")
                timeout = aiohttp.ClientTimeout(
                    total=self.send_timeout_s, connect=CONNECT_TIMEOUT_S
                )
                session = aiohttp.ClientSession(
                    timeout=timeout,
                    connector=aiohttp.TCPConnector(keepalive_timeout=KEEPALIVE_S),
                )
                api = sdk.AsyncWebClient(
                    token=self.token.reveal(),
                    base_url=f"{self.api_base_url.rstrip('/')}/",
                    session=session,
                    retry_handlers=[],  # its own would repeat a post whose connection broke
                    logger=quiet_logger(),
                )
                api.proxy = None  # the SDK takes it from the environment, past NO_PROXY
                self._opened = _Opened(api, session, errors.SlackApiError)
            return self._opened

    async def close(self) -> None:
        """The session goes with us."""
        if self._opened is not None:
            await self._opened.session.close()
            self._opened = None

    async def _post(self, post: Post, thread: str | None) -> Answer:
        metadata = {"event_type": EVENT_TYPE, "event_payload": {"key": post.key}}
        return await self.ask(
            lambda api: api.chat_postMessage(
                channel=post.channel,
                thread_ts=thread,
                text=post.text,
                unfurl_links=False,
                unfurl_media=False,
                parse="none",
                metadata=metadata,
            )
        )

    async def _looked_up(self, post: Post, doubtful: Answer) -> SendOutcome:
        """Delivered if it stands in the chat. A call that was answered has ended, so that what it
        did not post it never will; one that was not answered may still be on its way.
        """
        await asyncio.sleep(self.settle_s)
        found = await self._found(post)
        if found:
            return Delivered((found,))
        if found is not None and not doubtful.is_unanswered:
            return RetryLater(doubtful.retry_after_s, f"not posted: {doubtful.error}")
        return OutcomeUnknown(doubtful.error)

    async def _found(self, post: Post) -> str | None:
        """The ts of the post with this key, empty if there is none, None if nobody can tell."""
        span = {
            "channel": post.channel,
            "oldest": f"{max(0.0, post.since_s - LOOKED_BACK_S):.6f}",
            "limit": LOOKED_AT,
            "include_all_metadata": True,
        }
        if post.thread is None:
            answer = await self.ask(lambda api: api.conversations_history(**span))
        else:
            thread = post.thread
            answer = await self.ask(lambda api: api.conversations_replies(ts=thread, **span))
        listed = answer.data.get("messages")
        if answer.error or not isinstance(listed, list):
            return None
        for message in listed:
            if isinstance(message, Mapping) and _key(message) == post.key:
                return str(message.get("ts") or "") or None
        return None if answer.data.get("has_more") else ""

    @asynccontextmanager
    async def _response(self, url: str) -> AsyncIterator[aiohttp.ClientResponse]:
        """Our token goes to Slack's hosts alone, and never from one host on to another."""
        opened, target = await self.open(), URL(url)
        headers = {
            "Authorization": f"Bearer {self.token.reveal()}",
            "Accept-Encoding": "identity",  # so that lengths are those of the file
        }
        for _ in range(MOST_REDIRECTS + 1):
            if not self._is_slacks(target):
                raise _unavailable("foreign address")
            async with opened.session.get(
                target, headers=headers, allow_redirects=False, timeout=_download_timeout()
            ) as response:
                if response.status // 100 != 3:
                    yield response
                    return
                onward = target.join(URL(response.headers.get("Location", "")))
            if onward.origin() != target.origin():
                raise _unavailable("redirected to another host")
            target = onward
        raise _unavailable("redirected too often")

    def _is_slacks(self, url: URL) -> bool:
        if not url.is_absolute() or url.user is not None or url.password is not None:
            return False
        if url.origin() == URL(self.api_base_url).origin():
            return True
        host = url.host or ""
        is_slack = host == "slack.com" or host.endswith(".slack.com")
        return is_slack and url.scheme == "https" and url.port == 443


def _download_timeout() -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=DOWNLOAD_TIMEOUT_S, connect=CONNECT_TIMEOUT_S, sock_read=SEND_TIMEOUT_S
    )


def _key(message: Mapping[str, Any]) -> Any:
    metadata = message.get("metadata")
    payload = metadata.get("event_payload") if isinstance(metadata, Mapping) else None
    return payload.get("key") if isinstance(payload, Mapping) else None


def _check_file(response: aiohttp.ClientResponse, file: RemoteFile) -> None:
    """Without the right to a file Slack answers 200 with its login page."""
    is_page = response.content_type == "text/html" and file.media_type != "text/html"
    sizes = {response.content_length, file.size_bytes} - {None}
    if response.status != 200 or is_page or len(sizes) > 1:
        raise _unavailable(f"status {response.status} {response.content_type}")


def _unavailable(reason: str) -> ChannelError:
    return ChannelError(f"Slack file: {reason}", code="attachment_unavailable")

"""The only file that talks to LINE, through the official asynchronous SDK."""

import asyncio
import importlib
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

import aiohttp
import structlog

from channels.line.render import LOADING_SECONDS
from channels.pacing import retry_after_s
from gateway.core.messages import (
    Delivered,
    OutcomeUnknown,
    Refused,
    RetryLater,
    SendOutcome,
    TryOtherMethod,
)
from gateway.core.secrets import Secret
from gateway.errors import ChannelError

log = structlog.get_logger()

CONNECT_TIMEOUT_S = 5.0
SEND_TIMEOUT_S = 15.0  # the SDK's own default is five minutes, longer than a reply token lives
LOADING_TIMEOUT_S = 5.0
LINK_TIMEOUT_S = 10.0
LOOK_UP_TIMEOUT_S = 5.0
FILE_TIMEOUT_S = 120.0  # whoever reads has a deadline and a cap of his own
FILE_SILENCE_S = 15.0
FILE_READ_BYTES = 64 * 1024
TRANSCODING_POLLS = 10
TRANSCODING_PAUSE_S = 2.0
MOST_REMEMBERED = 1_000  # reply tokens of calls that LINE answered with 5xx
SDK_MODULE = "linebot.v3.messaging"


class LineClient:
    """One LINE account's way out. The SDK (48 MB, over a second of import) comes at first use."""

    def __init__(
        self,
        access_token: Secret,
        api_base_url: str,
        api_data_base_url: str = "https://api-data.line.me",
        *,
        send_timeout_s: float = SEND_TIMEOUT_S,
        transcoding_pause_s: float = TRANSCODING_PAUSE_S,
    ) -> None:
        self._send_timeout = _timeout(send_timeout_s)
        self._transcoding_pause_s = transcoding_pause_s
        self._api_data_base_url = api_data_base_url.rstrip("/")
        self._access_token = access_token
        self._api_base_url = api_base_url.rstrip("/")
        self._opening = asyncio.Lock()
        self._sdk: Any = None
        self._api: Any = None
        self._failed: deque[str] = deque(maxlen=MOST_REMEMBERED)

    async def reply(self, token: str, messages: Sequence[dict[str, str]]) -> SendOutcome:
        """A reply has no idempotency key: once it may have been read, its outcome is unknown.

        But its token is good once. What LINE answered with 5xx goes again by the same token, which
        cannot arrive twice; and where the token was used up after all, no push follows.
        """
        api = await self._open()

        def failed(reason: str) -> SendOutcome:
            self._failed.append(token)
            return RetryLater(None, reason)

        request = self._sdk.ReplyMessageRequest.from_dict(
            {"replyToken": token, "messages": list(messages)}
        )
        outcome = await self._outcome(
            lambda: api.reply_message(request, _request_timeout=self._send_timeout),
            OutcomeUnknown,
            failed,
        )
        if isinstance(outcome, TryOtherMethod) and token in self._failed:
            return OutcomeUnknown("accepted, or expired, after a server error")
        return outcome

    async def push(self, to: str, messages: Sequence[dict[str, str]], key: str) -> SendOutcome:
        """Repeated under the same key it is accepted once; a repeat of an accepted one is 409."""
        api = await self._open()
        request = self._sdk.PushMessageRequest.from_dict({"to": to, "messages": list(messages)})

        def again(reason: str) -> SendOutcome:
            return RetryLater(None, reason)

        return await self._outcome(
            lambda: api.push_message(
                request, x_line_retry_key=key, _request_timeout=self._send_timeout
            ),
            again,
            again,
        )

    async def show_loading(self, user_id: str) -> None:
        """Best effort: what is only shown to pass the time never fails a turn."""
        api = await self._open()
        request = self._sdk.ShowLoadingAnimationRequest.from_dict(
            {"chatId": user_id, "loadingSeconds": LOADING_SECONDS}
        )
        try:
            await api.show_loading_animation(request, _request_timeout=_timeout(LOADING_TIMEOUT_S))
        except self._sdk.ApiException as error:
            log.info("line loading animation refused", status=error.status)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            log.info("line loading animation failed", reason=type(error).__name__)

    async def link_token(self, user_id: str) -> str:
        """A token of the account-link flow, good once and for ten minutes. ChannelError."""
        api = await self._open()
        timeout = _timeout(LINK_TIMEOUT_S)
        try:
            answer = await api.issue_link_token(user_id, _request_timeout=timeout)
        except self._sdk.ApiException as error:
            raise ChannelError(f"link token: status {error.status}") from error
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise ChannelError(f"link token: {type(error).__name__}") from error
        return str(answer.link_token)

    async def bot_name(self) -> str:
        """The account's own LINE id: whether the token is right. ChannelError."""
        api = await self._open()
        return str((await self._looked_up(api.get_bot_info)).basic_id)

    async def webhook(self) -> tuple[str, bool] | None:
        """(URL, whether it is in use), or None where none is set. ChannelError."""
        api = await self._open()
        try:
            found = await self._looked_up(api.get_webhook_endpoint)
        except ChannelError as error:
            if getattr(error.__cause__, "status", None) == 404:
                return None
            raise
        return str(found.endpoint), bool(found.active)

    async def _looked_up(self, call: Callable[..., Awaitable[Any]]) -> Any:
        try:
            return await call(_request_timeout=_timeout(LOOK_UP_TIMEOUT_S))
        except self._sdk.ApiException as error:
            raise ChannelError(f"status {error.status}") from error
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise ChannelError(type(error).__name__) from error

    async def content(self, message_id: str) -> AsyncGenerator[bytes, None]:
        """A message's file as it comes; ChannelError `attachment_unavailable`.

        By the SDK's own session, not by its call: that reads the whole body into memory before
        anybody can count, and knows no other host.
        """
        if not (message_id.isascii() and message_id.isalnum()):
            raise _unavailable("not a message id")
        path = f"/v2/bot/message/{message_id}/content"
        response = await self._data(path)
        try:
            if response.status == 202:  # LINE is still preparing a large video or audio
                response.close()
                await self._transcoded(f"{path}/transcoding")
                response = await self._data(path)
            if response.status != 200:
                raise _unavailable(f"status {response.status}")
            async for chunk in response.content.iter_chunked(FILE_READ_BYTES):
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unavailable(type(error).__name__) from error
        finally:
            response.close()

    async def _transcoded(self, path: str) -> None:
        for _ in range(TRANSCODING_POLLS):
            async with await self._data(path) as response:
                body = await response.content.read(1024)
            if response.status != 200 or b'"failed"' in body:
                raise _unavailable("not transcoded")
            if b'"succeeded"' in body:
                return
            await asyncio.sleep(self._transcoding_pause_s)
        raise _unavailable("still being transcoded")

    async def _data(self, path: str) -> aiohttp.ClientResponse:
        api = await self._open()
        session: aiohttp.ClientSession = api.api_client.rest_client.pool_manager
        timeout = aiohttp.ClientTimeout(
            total=FILE_TIMEOUT_S, connect=CONNECT_TIMEOUT_S, sock_read=FILE_SILENCE_S
        )
        headers = {"Authorization": f"Bearer {self._access_token.reveal()}"}
        url = self._api_data_base_url + path
        try:
            return await session.get(url, headers=headers, timeout=timeout, allow_redirects=False)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise _unavailable(type(error).__name__) from error

    async def close(self) -> None:
        """The SDK owns the sockets; they go with its client."""
        if self._api is not None:
            await self._api.api_client.close()
            self._api = None

    async def _open(self) -> Any:
        async with self._opening:
            if self._api is None:
                # importing it in the loop would hold every lane for more than a second
                self._sdk = await asyncio.to_thread(importlib.import_module, SDK_MODULE)
                settings = self._sdk.Configuration(
                    host=self._api_base_url, access_token=self._access_token.reveal()
                )
                client = self._sdk.AsyncApiClient(settings)
                _forget_environment(client.rest_client)
                self._api = self._sdk.AsyncMessagingApi(client)
            return self._api

    async def _outcome(
        self,
        call: Callable[[], Awaitable[Any]],
        in_doubt: Callable[[str], SendOutcome],
        failed: Callable[[str], SendOutcome],
    ) -> SendOutcome:
        """`in_doubt` makes the outcome of a call that may have been accepted, `failed` of a 5xx."""
        try:
            answer = await call()
        except self._sdk.ApiException as error:
            return _refusal(error.status, error.body or "", error.headers or {}, failed)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            return RetryLater(None, f"not connected: {type(error).__name__}")
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return in_doubt(type(error).__name__)  # ValueError: an answer the SDK cannot read
        return Delivered(tuple(message.id for message in answer.sent_messages or ()))


def _forget_environment(rest: Any) -> None:
    """The SDK's session would tell a proxy of the environment our token and people's texts."""
    theirs: aiohttp.ClientSession = rest.pool_manager
    rest.pool_manager = aiohttp.ClientSession(connector=theirs.connector, trust_env=False)
    theirs.detach()


def _unavailable(reason: str) -> ChannelError:
    return ChannelError(f"line file: {reason}", code="attachment_unavailable")


def _timeout(total_s: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=total_s, connect=CONNECT_TIMEOUT_S)


def _refusal(
    status: int, body: str, headers: Any, failed: Callable[[str], SendOutcome]
) -> SendOutcome:
    """What an answer other than 2xx means; 429 is either the rate or the month's quota."""
    said = body.lower()
    match status:
        case 409:
            outcome: SendOutcome = Delivered()  # this retry key was accepted before
        case 429 if "monthly limit" in said:
            outcome = Refused("monthly quota used up")
        case 429:
            outcome = RetryLater(retry_after_s(headers.get("Retry-After")), "rate limit")
        case 400 if "invalid reply token" in said:
            outcome = TryOtherMethod("reply token expired or used")
        case _ if 400 <= status < 500:
            outcome = Refused(f"status {status}")
        case _:
            outcome = failed(f"status {status}")
    return outcome

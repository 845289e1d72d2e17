"""The half of the client that is made of discord.py, so that importing it can wait for first use.

Importing discord.py costs memory and holds the loop; `client.py` does it in a thread.
"""

import asyncio
import contextlib
import logging
import zlib
from collections.abc import Callable
from types import TracebackType
from typing import Any

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from discord.http import HTTPClient, Ratelimit, Route

from channels.discord.client import Ended, Hold, Take, Trouble
from channels.pacing import retry_after_s
from gateway.errors import GatewayError

OPEN_TIMEOUT_S = 60.0  # of the socket, from its address to IDENTIFY
CLOSE_TIMEOUT_S = 2.0
ALWAYS_RAISED_S = 1e-6  # discord.py would sleep through any shorter 429, with a call in its hands
CLOUDFLARE_S = 60.0  # a 429 of the edge that names no time
LEFT_OPEN = 4000  # a close code that keeps the session, so that the next connection resumes it
FATAL = {
    4004: "wrong_token",
    4010: "bad_shard",
    4011: "sharding_required",
    4012: "bad_api_version",
    4013: "bad_intents",
    4014: "message_content_intent_off",
}

# what discord.py raises for frames that Discord should never send
ODD = (ValueError, LookupError, TypeError, AttributeError, RecursionError, zlib.error)

# below this level it writes whole frames, texts and our token among them
logging.getLogger("discord").setLevel(logging.WARNING)


class _Edge(aiohttp.ClientError):
    """A 5xx, raised at once: discord.py would repeat it itself, and sleep in between."""


class _Unpaced(Ratelimit):
    """The outbox waits for rates, not a call that holds one of its places."""

    def __init__(self, told: Callable[[aiohttp.ClientResponse], None]) -> None:
        super().__init__(None)
        self._told = told

    async def acquire(self) -> None:
        """At once."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nobody waits."""

    def update(self, response: aiohttp.ClientResponse, *, use_clock: bool = False) -> None:
        """What the headers say of the rate goes to whoever paces."""
        self._told(response)


class Rest(HTTPClient):
    """discord.py's HTTP layer at an address of this account, without its sleeps."""

    def __init__(self, base_url: str, hold: Hold, call_timeout_s: float) -> None:
        super().__init__(asyncio.get_running_loop())
        self.max_ratelimit_timeout = ALWAYS_RAISED_S
        self._base_url = base_url  # Route.BASE is one for all accounts of the process
        self._hold = hold
        self._call_timeout_s = call_timeout_s

    def get_ratelimit(self, key: str) -> Ratelimit:
        """Rates are kept outside."""
        return _Unpaced(self._spent)

    async def request(self, route: Route, **kwargs: Any) -> Any:
        """Any call that discord.py makes, its own login too."""
        route.url = self._base_url + route.url.removeprefix(route.BASE)
        return await super().request(route, raise_for_status=self._look, **kwargs)

    async def call(self, route: Route, **kwargs: Any) -> Any:
        """A call and its answer. Trouble; `status` None: nobody knows what became of it."""
        try:
            async with asyncio.timeout(self._call_timeout_s):
                return await self.request(route, **kwargs)
        except discord.RateLimited as error:
            raise Trouble("rate limit", status=429, after_s=error.retry_after) from error
        except discord.HTTPException as error:
            after_s = self._edge_wait(error) if error.status == 429 else None
            raise Trouble(
                f"status {error.status}", status=error.status, code=error.code, after_s=after_s
            ) from error
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise Trouble(type(error).__name__) from error

    async def login(self, token: str) -> str:
        """Our own user id. Trouble; status 401: the token is wrong."""
        try:
            async with asyncio.timeout(self._call_timeout_s):
                me: Any = await self.static_login(token)
            return str(me["id"])
        except discord.LoginFailure as error:
            raise Trouble("wrong_token", status=401) from error
        except discord.RateLimited as error:
            raise Trouble("rate limit", status=429, after_s=error.retry_after) from error
        except discord.HTTPException as error:
            raise Trouble(f"status {error.status}", status=error.status) from error
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise Trouble(type(error).__name__) from error
        except (KeyError, TypeError) as error:
            raise Trouble("not an answer of Discord") from error

    async def _look(self, response: aiohttp.ClientResponse) -> None:
        if response.status >= 500:
            response.close()
            raise _Edge(f"status {response.status}")
        is_global = response.headers.get("X-RateLimit-Scope") == "global"
        if response.status == 429 and (is_global or "X-RateLimit-Global" in response.headers):
            self._hold(None, _seconds(response, "Retry-After"))

    def _spent(self, response: aiohttp.ClientResponse) -> None:
        """The last message of a window: no more to that channel before it ends."""
        *_, channel_id, last = response.url.parts
        if response.method != "POST" or last != "messages":
            return
        if response.headers.get("X-RateLimit-Remaining") == "0":
            self._hold(channel_id, _seconds(response, "X-RateLimit-Reset-After"))

    def _edge_wait(self, error: discord.HTTPException) -> float:
        """The edge in front of Discord refuses us all, whatever we call."""
        assert isinstance(error.response, aiohttp.ClientResponse)
        wait_s = _seconds(error.response, "Retry-After") or CLOUDFLARE_S
        self._hold(None, wait_s)
        return wait_s


class Socket(DiscordWebSocket):
    """A gateway socket whose sequence moves only when what it brought is durable.

    So a heartbeat or a RESUME never claims a message that we would lose.
    """

    async def received_message(self, msg: Any, /) -> None:
        text = self._decompressor.decompress(msg) if type(msg) is bytes else msg
        if text is None:
            return  # the rest of the frame is still to come
        client = self._connection._get_client()  # noqa: SLF001 - there is no public way
        assert isinstance(client, Connection)
        client.socket = self
        await client.take(text.encode("utf-8", "surrogatepass"))
        await super().received_message(text)


class Connection(discord.Client):
    """One connection to the gateway, without any cache: whole frames go to `take`, in order."""

    def __init__(self, rest: Rest, take: Take) -> None:
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # no voice here
        intents = discord.Intents.none()
        intents.guilds = intents.guild_messages = intents.dm_messages = True
        intents.message_content = True
        super().__init__(
            intents=intents,
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
        )
        self._connection.parsers = {}  # what would build objects and keep them
        self.loop = asyncio.get_running_loop()
        self.http = rest
        self.take = take
        self.socket: Socket | None = None

    async def listen(self, url: str, session_id: str, sequence: int) -> None:
        """Receive until the connection ends; always raises: Ended, or GatewayError of `take`."""
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S):
                socket = await Socket.from_client(
                    self,
                    initial=True,
                    gateway=yarl.URL(url),
                    session=session_id or None,
                    sequence=sequence if session_id else None,
                    resume=bool(session_id),
                )
            while True:
                await socket.poll_event()
        except ReconnectWebSocket as error:
            raise Ended("reconnect", may_resume=error.resume) from error
        except discord.ConnectionClosed as error:
            reason = FATAL.get(error.code, f"closed_{error.code}")
            raise Ended(reason, is_fatal=error.code in FATAL) from error
        except GatewayError:
            raise  # not durable, so not acknowledged: the next connection brings it again
        except (aiohttp.ClientError, TimeoutError, OSError, discord.DiscordException) as error:
            raise Ended(type(error).__name__) from error
        except ODD as error:
            raise Ended("odd_frame") from error
        finally:
            await self._leave()

    async def _leave(self) -> None:
        if self.socket is not None:
            with contextlib.suppress(TimeoutError, aiohttp.ClientError, OSError):
                # it may be gone already, and the session outlives the socket in any case
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await self.socket.close(LEFT_OPEN)
            self.socket = None


def _seconds(response: aiohttp.ClientResponse, header: str) -> float:
    return retry_after_s(response.headers.get(header)) or 0.0

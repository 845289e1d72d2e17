"""Keeps the gateway connection of one account, and passes on what it brings once it is durable."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import structlog

from channels.discord.client import DiscordClient, Ended, Trouble
from channels.discord.intake import Intake, Missed, Session, found_again
from channels.discord.parse import DISPATCH, Envelope, envelope
from gateway.core.messages import ChannelState, InboundMessage, LinkState
from gateway.errors import ChannelError, GatewayError
from gateway.interfaces import Accept, Clock

log = structlog.get_logger()

Read = Callable[[bytes, Mapping[str, str]], Sequence[InboundMessage]]
SAVED_EVERY_S = 0.5
LOOK_BACK_S = 20.0  # the socket waits meanwhile, and is given up after a minute
MOST_LOOKS = 50  # chats of one frame
MOST_FAILED_RESUMES = 3  # then the session is given up and begun anew


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long to wait before the next connection."""

    first_s: float = 1.0  # doubled each time
    longest_s: float = 60.0
    standing_s: float = 300.0  # what somebody has to put right: a token, an intent
    identify_s: float = 5.0  # Discord takes one IDENTIFY in that time


class Reception:
    """One account's way in; `state` is how it does."""

    def __init__(
        self,
        client: DiscordClient,
        gateway_url: str,
        clock: Clock,
        session_file: Path | None = None,
        pauses: Pauses = Pauses(),
    ) -> None:
        self._client = client
        self._gateway_url = gateway_url
        self._clock = clock
        self._file = session_file
        self._pauses = pauses
        self._intake = Intake()
        self._read: Read | None = None
        self._accept: Accept | None = None
        self._is_up = False
        self._saved_at_s = float("-inf")
        self._identify_at_s = float("-inf")
        self._told = ""  # the standing trouble that is in the log already
        self.state = ChannelState(LinkState.STARTING)

    async def run(self, read: Read, accept: Accept) -> None:
        """Connect again whenever a connection ends, until cancelled."""
        self._read, self._accept = read, accept
        self._intake = Intake(await asyncio.to_thread(self._load))
        failures = 0
        try:
            while True:
                self._is_up = False
                reason, is_standing = await self._connect()
                failures = 0 if self._is_up else failures + 1
                if failures >= MOST_FAILED_RESUMES:
                    self._intake.session = self._intake.session.ended()
                self._tell(reason, is_standing=is_standing)
                await asyncio.sleep(self._pause_s(failures, is_standing=is_standing))
        finally:
            self.state = ChannelState(LinkState.DOWN, "stopped")
            await self._save()

    async def _connect(self) -> tuple[str, bool]:
        """Why a connection ended, and whether it takes a person to put that right."""
        session = self._intake.session
        if not session.id:
            await self._wait_to_identify()
        url = session.gateway_url or self._gateway_url
        try:
            await self._client.listen(url, session.id, session.sequence, self._take)
        except Ended as error:
            if error.is_fatal or not error.may_resume:
                self._intake.session = self._intake.session.ended()
            return error.reason, error.is_fatal
        except Trouble as error:
            return ("wrong_token", True) if error.status == 401 else (error.reason, False)
        except GatewayError as error:
            return error.code, False
        return "closed", False

    async def _wait_to_identify(self) -> None:
        now_s = self._clock.monotonic()
        await asyncio.sleep(max(0.0, self._identify_at_s + self._pauses.identify_s - now_s))
        self._identify_at_s = self._clock.monotonic()

    def _tell(self, reason: str, *, is_standing: bool) -> None:
        """What stands is told once, until it goes well again."""
        self.state = ChannelState(LinkState.DOWN, reason)
        if not is_standing:
            log.info("discord connection ended", reason=reason)
        elif reason != self._told:
            self._told = reason
            log.error("discord does not let us in", reason=reason)

    def _pause_s(self, failures: int, *, is_standing: bool) -> float:
        if is_standing:
            return self._pauses.standing_s
        if failures == 0:
            return 0.0  # it was up: come back at once
        return min(self._pauses.first_s * 2.0 ** min(failures - 1, 16), self._pauses.longest_s)

    async def _take(self, payload: bytes) -> None:
        """One frame, made durable. GatewayError: it is not, and has to come again."""
        frame = envelope(payload)
        if frame.op != DISPATCH:
            return
        self._intake.look(frame)
        if frame.t in ("READY", "RESUMED"):
            self._is_up, self._told = True, ""
            self.state = ChannelState(LinkState.READY)
        await self._pass_on(frame, payload)
        await self._look_back(self._intake.missed(frame, self._clock.now()))
        self._intake.taken(frame)
        self._intake.began(self._clock.now())
        if frame.t == "READY" or self._clock.monotonic() - self._saved_at_s >= SAVED_EVERY_S:
            await self._save()

    async def _pass_on(self, frame: Envelope, payload: bytes) -> None:
        assert self._read is not None
        assert self._accept is not None
        unclear = self._intake.unclear(frame)
        if unclear is not None:
            payload = self._intake.cleared(frame, await self._channel(unclear))
        messages = self._read(payload, self._intake.parents)
        if messages:
            await self._accept(messages)

    async def _channel(self, channel_id: str) -> object:
        try:
            return await self._client.channel(channel_id)
        except Trouble as error:
            if _is_refusal(error):
                return None  # nothing proven, so a group
            raise ChannelError(error.reason) from error

    async def _look_back(self, places: Sequence[Missed]) -> None:
        """Messages that no event brought, because their session was lost."""
        try:
            async with asyncio.timeout(LOOK_BACK_S):
                for where in places[:MOST_LOOKS]:
                    await self._look_at(where)
        except TimeoutError:
            log.warning("discord gap not read to its end", chats=len(places))

    async def _look_at(self, where: Missed) -> None:
        try:
            messages = await self._client.messages(where.channel_id, where.after)
        except Trouble as error:
            if _is_refusal(error):
                return  # a channel that is not open to us
            raise ChannelError(error.reason) from error
        for message in messages:
            payload = found_again(message, where)
            frame = envelope(payload)
            await self._pass_on(frame, payload)
            self._intake.taken(frame)

    def _load(self) -> Session:
        if self._file is None:
            return self._intake.session  # of an earlier run, if there was one
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=Session)
        except FileNotFoundError:
            return Session()
        except (OSError, msgspec.DecodeError) as error:
            log.warning("discord session not read", reason=type(error).__name__)
            return Session()

    async def _save(self) -> None:
        if self._file is None:
            return
        self._saved_at_s = self._clock.monotonic()
        await asyncio.to_thread(_write, self._file, msgspec.json.encode(self._intake.session))


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all; what a crash loses is only brought again."""
    fresh = path.with_suffix(".new")
    try:
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()  # of a crash
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        fresh.replace(path)
    except OSError as error:
        log.warning("discord session not kept", reason=type(error).__name__)


def _is_refusal(error: Trouble) -> bool:
    return error.status is not None and 400 <= error.status < 500 and error.status != 429

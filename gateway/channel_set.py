"""The channels that are up: each runs by itself, and any may be replaced without a restart."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from gateway.core.messages import ChannelState, LinkState
from gateway.errors import GatewayError
from gateway.interfaces import Accept, Channel

log = structlog.get_logger()
Key = tuple[str, str]  # (platform, account name)


@dataclass(frozen=True, slots=True)
class Configured:
    """A channel as config.toml wants it: equal settings mean the same channel."""

    settings: object
    build: Callable[[], Channel]  # opens nothing; ConfigError


@dataclass(frozen=True, slots=True)
class SetOptions:
    """How patient the set is."""

    first_pause_s: float = 1.0  # before a connection that broke down is tried again; doubled
    longest_pause_s: float = 60.0
    linger_s: float = 30.0  # a removed channel still sends what its last turns left in the outbox
    grace_s: float = 660.0  # longer than any turn


class ChannelSet(Mapping[Key, Channel]):
    """The live mapping of channels; `run` keeps their connections, `replace` changes them.

    One account has one connection at any time: the old one has ended before the new one begins.
    A channel that left still sends for the turns it had begun; then it is closed.
    """

    def __init__(
        self,
        fixed: Iterable[Channel] = (),
        wanted: Mapping[Key, Configured] | None = None,
        options: SetOptions = SetOptions(),
    ) -> None:
        """`fixed` ones always stay. ConfigError."""
        self._options = options
        self._fixed = {(each.name, each.account_name): each for each in fixed}
        self._settings = {key: each.settings for key, each in (wanted or {}).items()}
        built = {key: each.build() for key, each in (wanted or {}).items()}
        self._channels: dict[Key, Channel] = self._fixed | built
        self._leaving: dict[Key, Channel] = {}  # removed, the newest of each key
        self._closing: set[Channel] = set()
        self._users: Counter[Channel] = Counter()
        self._free = asyncio.Event()  # a user went
        self._broken: dict[Channel, ChannelState] = {}
        self._connections: dict[Key, asyncio.Task[None]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._accept: Accept | None = None
        self._replacing = asyncio.Lock()

    def __getitem__(self, key: Key) -> Channel:
        return self._channels[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._channels)

    def __len__(self) -> int:
        return len(self._channels)

    @property
    def outgoing(self) -> Mapping[Key, Channel]:
        """Those that may still send: the live ones, and removed ones whose turns are ending."""
        return _Outgoing(self._channels, self._leaving)

    def states(self) -> Mapping[Key, ChannelState]:
        """How each connection is doing; "down" where `run` itself failed."""
        return {key: self._broken.get(each, each.state) for key, each in self._channels.items()}

    @contextmanager
    def using(self, channel: Channel) -> Iterator[None]:
        """Hold it open meanwhile, even if it is replaced."""
        self._users[channel] += 1
        try:
            yield
        finally:
            self._users[channel] -= 1
            if not self._users[channel]:
                del self._users[channel]
            self._free.set()

    async def run(self, accept: Accept) -> None:
        """Keep every connection until cancelled; one that fails holds up no other."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks, self._accept = tasks, accept
            for key in self._channels:
                self._connect(key)
            try:
                await asyncio.Event().wait()
            finally:
                self._tasks = None

    async def replace(self, wanted: Mapping[Key, Configured]) -> None:
        """Take over new settings. Nothing changes when one of them cannot be built: ConfigError."""
        async with self._replacing:
            changed = {
                key: each.build()
                for key, each in wanted.items()
                if key not in self._fixed and self._settings.get(key) != each.settings
            }
            gone = self._settings.keys() - wanted.keys()
            for key in (*gone, *changed):  # a token that moved has one connection at any time
                await self._swap(key, changed.get(key))
            self._settings = {key: each.settings for key, each in wanted.items()}

    async def close(self) -> None:
        """Close every channel, those too that are still leaving."""
        for channel in (*self._closing, *self._channels.values()):
            await channel.close()
        self._closing.clear()

    async def _swap(self, key: Key, new: Channel | None) -> None:
        """The old connection has ended when the new channel takes its place."""
        connection = self._connections.pop(key, None)
        if connection is not None:
            connection.cancel()
            await asyncio.wait([connection])
        old = self._channels.pop(key, None)
        if new is not None:
            self._channels[key] = new
            self._leaving.pop(key, None)
        elif old is not None:
            self._leaving[key] = old
        self._connect(key)
        log.info("channel replaced", channel=key[0], account=key[1], is_gone=new is None)
        if old is not None:
            self._closing.add(old)
            if self._tasks is not None:
                self._tasks.create_task(self._see_off(key, old))

    def _connect(self, key: Key) -> None:
        if self._tasks is not None and key in self._channels:
            name = "/".join(key)
            channel = self._channels[key]
            self._connections[key] = self._tasks.create_task(self._keep(channel), name=name)

    async def _keep(self, channel: Channel) -> None:
        """Run the channel's connection again whenever it fails; return when it has none."""
        assert self._accept is not None  # set together with the task group
        pause_s = self._options.first_pause_s
        while True:
            # a channel's bug comes out as a value: it must not take the others down
            (outcome,) = await asyncio.gather(channel.run(self._accept), return_exceptions=True)
            if not isinstance(outcome, BaseException):
                self._broken.pop(channel, None)
                return
            code = outcome.code if isinstance(outcome, GatewayError) else type(outcome).__name__
            self._broken[channel] = ChannelState(LinkState.DOWN, code)
            log.error("channel down", channel=channel.name, account=channel.account_name, code=code)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, self._options.longest_pause_s)
            self._broken.pop(channel, None)

    async def _see_off(self, key: Key, old: Channel) -> None:
        """Close it when its last turn has ended and gone out."""
        try:
            async with asyncio.timeout(self._options.grace_s):
                await self._unused(old)
                if self._leaving.get(key) is old:
                    await asyncio.sleep(self._options.linger_s)
                    await self._unused(old)
        except TimeoutError:
            log.warning("channel closed in use", channel=old.name, account=old.account_name)
        if self._leaving.get(key) is old:
            del self._leaving[key]
        self._broken.pop(old, None)
        if old in self._closing:
            self._closing.discard(old)
            await old.close()

    async def _unused(self, channel: Channel) -> None:
        while self._users[channel]:
            self._free.clear()
            await self._free.wait()


@dataclass(frozen=True, slots=True)
class _Outgoing(Mapping[Key, Channel]):
    """A live view on two mappings; the first has the say."""

    live: Mapping[Key, Channel]
    leaving: Mapping[Key, Channel]

    def __getitem__(self, key: Key) -> Channel:
        return self.live[key] if key in self.live else self.leaving[key]

    def __iter__(self) -> Iterator[Key]:
        return iter({**self.leaving, **self.live})

    def __len__(self) -> int:
        return len({**self.leaving, **self.live})

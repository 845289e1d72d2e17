"""Channels that come, change and go while the gateway runs: one connection each, no turn lost."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from gateway.app_channels import read_channels
from gateway.app_reload import ACCEPTED, REJECTED, ConfigFile, ConfigWatcher
from gateway.channel_set import ChannelSet, Configured, SetOptions
from gateway.core.messages import InboundMessage, LinkState
from gateway.errors import ChannelError, ConfigError
from gateway.inbox import InboxLanes
from gateway.interfaces import Accept, Channel, Claimed
from gateway.llm.registry import ModelRegistry
from gateway.outbox import OutboxSender
from tests.fakes.channels import FakeChannel, said
from tests.fakes.times import RealClock, RealIds
from tests.journeys.durable import FAST_LANES, FAST_SENDING, Durable, durable

FAST_SET = SetOptions(first_pause_s=0.001, longest_pause_s=0.01, linger_s=0.05, grace_s=5.0)
KEY = ("fake", "main")


async def until(is_so: Callable[[], bool]) -> None:
    """For what tells nobody: files, and the end of a pause."""
    async with asyncio.timeout(10):
        while True:
            if is_so():
                return
            await asyncio.sleep(0.01)


@dataclass
class Platform:
    """Counts who is connected; delivers a message to whoever is."""

    open: list["Connected"] = field(default_factory=list)
    most_open: int = 0
    begun: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def until_connected(self, begun: int) -> None:
        async with asyncio.timeout(10):
            while self.begun < begun:
                self.news.clear()
                await self.news.wait()

    async def deliver(self, message: InboundMessage) -> None:
        for channel in self.open:
            assert channel.accept is not None
            await channel.accept([message])


class Connected(FakeChannel):
    """A channel with a connection that takes a while to end."""

    def __init__(self, platform: Platform, failures: Sequence[Exception] = ()) -> None:
        super().__init__()
        self.platform = platform
        self.failures = [*failures]
        self.accept: Accept | None = None

    async def run(self, accept: Accept) -> None:
        if self.failures:
            raise self.failures.pop()
        self.accept = accept
        self.platform.open.append(self)
        self.platform.most_open = max(self.platform.most_open, len(self.platform.open))
        self.platform.begun += 1
        self.platform.news.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)  # saying good-bye to the platform
            self.platform.open.remove(self)


def wanted(**channels: tuple[object, Channel]) -> dict[tuple[str, str], Configured]:
    return {
        ("fake", name): Configured(settings, lambda built=built: built)  # type: ignore[misc]
        for name, (settings, built) in channels.items()
    }


@asynccontextmanager
async def running(
    tmp_path: Path, channels: ChannelSet, turn: object = None
) -> AsyncIterator[Durable]:
    async with durable(tmp_path) as world:
        sending = replace(FAST_SENDING, using=channels.using)
        lanes = replace(FAST_LANES, using=channels.using)
        clock = RealClock()
        world.sender = OutboxSender(world.outbox, world.inbox, channels.outgoing, clock, sending)
        world.lanes = InboxLanes(
            world.inbox, world.sender, channels.outgoing, clock, RealIds(), lanes
        )

        async def run_turn(claimed: Claimed, channel: Channel) -> None:
            if callable(turn):
                await turn(claimed)
            text = f"re: {claimed.message.text}"
            await world.reply(claimed, text)

        async with world.running(run_turn), asyncio.TaskGroup() as tasks:
            connections = tasks.create_task(channels.run(world.lanes.accept))
            yield world
            connections.cancel()
    await channels.close()


# ---------------------------------------------------------------- the set


async def test_a_channel_toggled_three_times_has_one_connection_and_answers_once(
    tmp_path: Path,
) -> None:
    platform = Platform()
    made = [Connected(platform) for _ in range(4)]
    channels = ChannelSet([], wanted(main=(0, made[0])), FAST_SET)
    async with running(tmp_path, channels):
        await platform.until_connected(1)
        for version in range(1, 4):
            await channels.replace(wanted(main=(version, made[version])))
            await platform.until_connected(version + 1)
        await platform.deliver(said("hello", 1))
        await made[3].until(lambda: made[3].texts() == ["re: hello"])
    assert platform.most_open == 1
    assert [each.texts() for each in made[:3]] == [[], [], []]
    assert all(each.is_closed for each in made)


async def test_unchanged_settings_keep_the_connection(tmp_path: Path) -> None:
    platform = Platform()
    first, other = Connected(platform), Connected(platform)
    channels = ChannelSet([], wanted(main=("same", first)), FAST_SET)
    async with running(tmp_path, channels):
        await platform.until_connected(1)
        await channels.replace(wanted(main=("same", other)))
        assert channels[KEY] is first
        assert not first.is_closed
    assert platform.begun == 1


async def test_a_turn_in_flight_ends_and_its_reply_goes_out_by_the_new_account(
    tmp_path: Path,
) -> None:
    platform = Platform()
    old, new = Connected(platform), Connected(platform)
    channels = ChannelSet([], wanted(main=(1, old)), FAST_SET)
    begun, is_free = asyncio.Event(), asyncio.Event()

    async def turn(_: Claimed) -> None:
        begun.set()
        await is_free.wait()

    async with running(tmp_path, channels, turn):
        await platform.until_connected(1)
        await platform.deliver(said("hello", 1))
        await begun.wait()
        await channels.replace(wanted(main=(2, new)))
        assert not old.is_closed  # its turn is still running
        is_free.set()
        await new.until(lambda: new.texts() == ["re: hello"])
    assert old.texts() == []


async def test_a_removed_channel_still_sends_for_its_turn_in_flight_and_is_closed_then(
    tmp_path: Path,
) -> None:
    platform = Platform()
    old = Connected(platform)
    channels = ChannelSet([], wanted(main=(1, old)), FAST_SET)
    begun, is_free = asyncio.Event(), asyncio.Event()

    async def turn(_: Claimed) -> None:
        begun.set()
        await is_free.wait()

    async with running(tmp_path, channels, turn) as world:
        await platform.until_connected(1)
        await platform.deliver(said("hello", 1))
        await begun.wait()
        await channels.replace({})
        assert KEY not in channels
        assert platform.open == []
        is_free.set()
        await old.until(lambda: old.texts() == ["re: hello"])
        assert await world.settled() == ["sent"]
        await until(lambda: old.is_closed)  # it lingers for a moment
        assert KEY not in channels.outgoing


@pytest.mark.parametrize("error", [ChannelError(), OSError(), ZeroDivisionError()])
async def test_a_platform_that_is_down_at_start_holds_up_no_other(
    tmp_path: Path, error: Exception
) -> None:
    platform = Platform()
    weak, well = Connected(platform, [error] * 3), Connected(platform)
    weak._account_name = "weak"
    patient = replace(FAST_SET, first_pause_s=0.1, longest_pause_s=0.1)
    channels = ChannelSet([well, weak], {}, patient)
    async with running(tmp_path, channels):
        await platform.until_connected(1)
        await until(lambda: channels.states()["fake", "weak"].state is LinkState.DOWN)
        assert platform.open == [well]
        await platform.deliver(said("hello", 1))
        await well.until(lambda: well.texts() == ["re: hello"])
        await platform.until_connected(2)  # it was tried again
        assert channels.states()["fake", "weak"].state is LinkState.READY


async def test_settings_that_cannot_be_built_leave_everything_as_it_was(tmp_path: Path) -> None:
    platform = Platform()
    old = Connected(platform)
    channels = ChannelSet([], wanted(main=(1, old)), FAST_SET)

    def refuse() -> Channel:
        raise ConfigError("channels.fake.other.token is empty")

    broken = {
        **wanted(main=(2, Connected(platform))),
        ("fake", "other"): Configured(1, refuse),
    }
    async with running(tmp_path, channels):
        await platform.until_connected(1)
        with pytest.raises(ConfigError):
            await channels.replace(broken)
        assert channels[KEY] is old
        assert platform.open == [old]


async def test_an_account_that_is_renamed_has_one_connection_at_any_time(tmp_path: Path) -> None:
    for n in range(8):  # which of two names is swapped first would be chance
        platform = Platform()
        before, after = f"before{n}", f"after{n}"
        channels = ChannelSet([], wanted(**{before: (1, Connected(platform))}), FAST_SET)
        async with running(tmp_path / str(n), channels):
            await platform.until_connected(1)
            await channels.replace(wanted(**{after: (1, Connected(platform))}))
            await platform.until_connected(2)
        assert platform.most_open == 1


# ---------------------------------------------------------------- the file

LINE = """
[channels.line.{name}]
agent = "a"
channel_secret = "{secret}"
channel_access_token_file = "{token}"
"""


class Watched:
    """A config.toml, what watches it, and the channels it makes."""

    def __init__(self, folder: Path) -> None:
        self.path, self.token = folder / "config.toml", folder / "token"
        self.token.write_text("t1")
        self.write("s1")
        file = ConfigFile(self.path)
        self.channels = ChannelSet([], read_channels(file.read()), FAST_SET)
        self.watcher = ConfigWatcher(file, self.channels, ModelRegistry({}), poll_s=0.02)

    def write(self, secret: str, name: str = "main", more: str = "") -> None:
        text = LINE.format(name=name, secret=secret, token=self.token) + more
        self.path.write_text(text, "utf-8")

    async def until(self, state: str, before: object = None) -> None:
        now = self.channels
        await until(lambda: self.watcher.state == state and now.get(("line", "main")) is not before)


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    it = Watched(tmp_path)
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(it.watcher.run())
        yield it
        watching.cancel()
    await it.channels.close()


async def test_a_changed_file_is_taken_over_without_being_told(watched: Watched) -> None:
    before = watched.channels["line", "main"]
    watched.write("s2")
    await watched.until(ACCEPTED, before)
    watched.write("s2", more=LINE.format(name="second", secret="s", token=watched.token))
    await until(lambda: ("line", "second") in watched.channels)


async def test_a_changed_secret_file_is_read_again(watched: Watched) -> None:
    before = watched.channels["line", "main"]
    watched.token.write_text("t2-longer")
    await watched.until(ACCEPTED, before)


BAD = [
    ("no TOML", "[channels.line", "config.toml"),
    ("an unknown key", '\ncolour = "red"\n', "channels.line.main.colour"),
    ("an unknown platform", '\n[channels.fax.main]\nagent = "a"\n', "channels.fax"),
    ("an empty secret", "\n[channels.line.b]\nagent = 'a'\nchannel_secret = ''\n"
     "channel_access_token = 'x'\n", "channels.line.b.channel_secret"),
    ("a wrong provider", "\n[providers.x]\nkind = 'abacus'\n", "providers.x.kind"),
    ("an empty secret file", "\n[channels.line.b]\nagent = 'a'\nchannel_secret = 's'\n"
     "channel_access_token_file = '/dev/null'\n", "channels.line.b.channel_access_token"),
    ("an empty secret of a platform with others", "\n[channels.slack.b]\nagent = 'a'\n"
     "bot_token = 'xoxb-1'\nsigning_secret = ' '\n", "channels.slack.b.signing_secret"),
    ("a secret file that is gone", "\n[channels.line.b]\nagent = 'a'\nchannel_secret = 's'\n"
     "channel_access_token_file = '/nowhere/at/all'\n", "channels.line.b.channel_access_token"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "key"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
async def test_a_bad_file_keeps_the_old_and_names_the_key(
    watched: Watched, more: str, key: str
) -> None:
    before = watched.channels["line", "main"]
    watched.write("s2", more=more)
    await watched.until(REJECTED)
    assert watched.channels["line", "main"] is before
    if key != "config.toml":
        assert key in watched.watcher.reason
    assert "s2" not in watched.watcher.reason
    watched.write("s3")
    await watched.until(ACCEPTED, before)


async def test_a_file_that_is_gone_drops_no_channel(watched: Watched) -> None:
    before = watched.channels["line", "main"]
    watched.path.unlink()
    watched.watcher.look()
    await watched.until(REJECTED)
    assert watched.channels["line", "main"] is before

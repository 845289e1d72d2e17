"""The shelf of files: whose, where, how long and how much; what is refused, and what is told."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from channels.plain import PlainChannel
from gateway.attachments import AttachmentShelf, ShelfLimits
from gateway.catalogue import text
from gateway.core.messages import Attachment, Conversation, InboundMessage, Sender
from gateway.downloads import DownloadLimits, Downloads
from gateway.errors import ChannelError, UpstreamError
from gateway.interfaces import Claimed
from tests.fakes.channels import FakeChannel
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock

CAP = 1000
USUAL = ShelfLimits()
PLACE = Conversation("fake", "main", "c1", is_direct=True)
GROUP = Conversation("fake", "main", "g1")
KEN, MEI = Sender("fake", "main", "ken"), Sender("fake", "main", "mei")


class Files(FakeChannel):
    """Gives files by handle; `after` counts the bytes it was asked for beyond the first piece."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.closed = 0
        self.given = 0
        self.failures: dict[str, BaseException] = {}
        self.waits: dict[str, asyncio.Event] = {}
        self.begun = asyncio.Event()

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        self.fetched.append(attachment.handle)
        self.begun.set()
        try:
            yield b"first "
            if attachment.handle in self.failures:
                raise self.failures[attachment.handle]
            if attachment.handle in self.waits:
                await self.waits[attachment.handle].wait()
            if attachment.handle == "endless":
                while True:
                    self.given += 100
                    yield b"x" * 100
            yield attachment.handle.encode()
        finally:
            self.closed += 1


@dataclass
class World:
    """A shelf on a temporary folder, with time that moves when told."""

    shelf: AttachmentShelf
    folder: Path
    clock: WoundClock
    channel: Files
    n: int = 0

    def message(self, *handles: str, **over: Any) -> InboundMessage:
        self.n += 1
        values: dict[str, Any] = {
            "conversation": PLACE,
            "delivery_id": f"d{self.n}",
            "message_key": f"m{self.n}",
            "text": "",
            "received_at": self.clock.now(),
            "sender": KEN,
            "language": "en",
            "attachments": tuple(
                Attachment(each, f"{each}.pdf", "application/pdf") for each in handles
            ),
        }
        return InboundMessage(**(values | over))

    async def receive(self, message: InboundMessage) -> str | None:
        self.shelf.note(message)
        return await self.shelf.receive(Claimed("turn", message, 1), self.channel)

    async def names(self, place: Conversation = PLACE, sender: Sender = KEN) -> list[str]:
        return [each.name for each in await self.shelf.files(place, sender, self.channel)]

    def on_disk(self) -> list[Path]:
        return sorted(self.folder.iterdir()) if self.folder.exists() else []


async def language_of(message: InboundMessage) -> str | None:
    return message.language


def world(tmp_path: Path, limits: ShelfLimits = USUAL, **downloads: Any) -> World:
    clock, folder = WoundClock(), tmp_path / "run" / "attachments"
    caps = DownloadLimits(**({"file_bytes": CAP} | downloads))
    kept = Downloads(folder, RealIds(), caps)
    return World(AttachmentShelf(kept, clock, language_of, limits), folder, clock, Files())


def said(key: str, **params: Any) -> str:
    return text(f"attachments.{key}", "en", **params)


KEPT = said("kept", count=1, minutes=30)


async def test_a_file_alone_is_kept_and_told(tmp_path: Path) -> None:
    here = world(tmp_path)
    assert await here.receive(here.message("a")) == KEPT
    [kept] = await here.shelf.files(PLACE, KEN, here.channel)
    data = b"first a"
    assert (kept.name, kept.size, kept.media_type) == ("a.pdf", len(data), "application/pdf")
    assert kept.sha256 == hashlib.sha256(data).hexdigest()
    assert (kept.path.read_bytes(), kept.message_key) == (data, "m1")
    assert here.on_disk() == [kept.path]
    assert (kept.path.stat().st_mode & 0o777, here.folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert here.channel.fetched == ["a"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a\0b", "..", "x" * 500])
async def test_a_given_name_is_never_a_path(tmp_path: Path, name: str) -> None:
    here = world(tmp_path)
    message = here.message("a")
    named = replace(message, attachments=(Attachment("a", name),))
    assert await here.receive(named) == KEPT
    [kept] = await here.shelf.files(PLACE, KEN, here.channel)
    assert kept.path.parent == here.folder
    assert len(kept.path.name) == 36
    assert "/" not in kept.name
    assert len(kept.name) <= 200


async def test_a_question_with_a_file_is_left_to_the_turn_and_the_file_kept(tmp_path: Path) -> None:
    here = world(tmp_path)
    assert await here.receive(here.message("a", text="what is this?")) is None
    assert here.channel.fetched == ["a"]
    assert await here.receive(here.message(text="no file")) is None
    assert await here.names() == ["a.pdf"]


async def test_a_question_does_not_wait_for_a_slow_file(tmp_path: Path) -> None:
    here = world(tmp_path, ShelfLimits(beside_text_s=0.05))
    here.channel.waits["slow"] = asyncio.Event()
    assert await here.receive(here.message("slow", text="?")) is None
    assert here.on_disk() == []
    here.channel.waits["slow"].set()
    assert await here.names() == ["slow.pdf"]  # fetched when it is asked for


async def test_files_belong_to_their_sender_and_their_chat(tmp_path: Path) -> None:
    here = world(tmp_path)
    for name, sender, place in (("a", KEN, PLACE), ("b", KEN, GROUP), ("c", MEI, GROUP)):
        here.shelf.note(here.message(name, sender=sender, conversation=place, is_addressed=False))
    assert here.channel.fetched == []  # noted, not fetched: nobody asked us
    assert await here.names(GROUP, MEI) == ["c.pdf"]
    assert await here.names(GROUP, KEN) == ["b.pdf"]
    assert await here.names(PLACE, KEN) == ["a.pdf"]
    assert await here.names(PLACE, MEI) == []
    thread = replace(GROUP, id="g1/thread", parent_id="g1")
    assert await here.names(thread, KEN) == []


@pytest.mark.parametrize("over", [{"sender": None}, {"is_visitor": True}])
async def test_nobody_in_particular_has_no_shelf(tmp_path: Path, over: dict[str, Any]) -> None:
    here = world(tmp_path)
    assert await here.receive(here.message("a", **over)) == said("not_kept")
    assert await here.receive(here.message("a", text="?", **over)) is None
    assert here.channel.fetched == []
    assert await here.names() == []


async def test_files_go_after_half_an_hour(tmp_path: Path) -> None:
    here = world(tmp_path)
    await here.receive(here.message("a"))
    here.clock.wind(minutes=10)
    await here.receive(here.message("b"))
    here.clock.wind(minutes=19, seconds=59)
    assert await here.names() == ["a.pdf", "b.pdf"]
    here.clock.wind(seconds=1)
    assert await here.names() == ["b.pdf"]
    assert len(here.on_disk()) == 1
    here.clock.wind(minutes=10)
    await here.shelf.sweep()
    assert here.on_disk() == []


async def test_the_half_hour_counts_from_when_it_was_sent(tmp_path: Path) -> None:
    here = world(tmp_path)
    sent_at = here.clock.now() - timedelta(minutes=20)
    await here.receive(here.message("a", received_at=sent_at))
    here.clock.wind(minutes=10)
    assert await here.names() == []
    old = here.message("b", received_at=here.clock.now() - timedelta(minutes=30))
    assert await here.receive(old) == said("unavailable")
    ahead = here.message("c", received_at=here.clock.now() + timedelta(days=1))
    await here.receive(ahead)
    here.clock.wind(minutes=30)
    assert await here.names() == []


async def test_files_from_before_a_restart_are_gone(tmp_path: Path) -> None:
    here = world(tmp_path)
    await here.receive(here.message("a"))
    again = world(tmp_path)
    await again.shelf.start()
    assert again.on_disk() == []
    assert await again.names() == []
    assert again.folder.stat().st_mode & 0o777 == 0o700


async def test_a_folder_that_was_made_a_link_is_not_followed(tmp_path: Path) -> None:
    here = world(tmp_path)
    target = tmp_path / "precious"
    target.mkdir()
    (target / "file").write_text("keep me")
    here.folder.parent.mkdir(parents=True)
    here.folder.symlink_to(target)
    await here.shelf.start()
    await here.receive(here.message("a"))
    assert [each.name for each in target.iterdir()] == ["file"]
    assert len(here.on_disk()) == 1


async def test_an_endless_file_is_cut_at_the_cap_and_told_politely(tmp_path: Path) -> None:
    here = world(tmp_path, file_bytes=CAP)
    assert await here.receive(here.message("endless")) == said("too_large", limit_mb=0)
    assert here.channel.given <= CAP + 200
    assert here.channel.closed == 1  # the connection is let go
    assert here.on_disk() == []
    assert await here.names() == []


async def test_a_file_that_says_it_is_too_large_is_not_fetched(tmp_path: Path) -> None:
    here = world(tmp_path)
    message = here.message("a")
    large = replace(message, attachments=(Attachment("a", "a", size_bytes=CAP + 1),))
    assert await here.receive(large) == said("too_large", limit_mb=0)
    lying = replace(
        here.message("endless"), attachments=(Attachment("endless", "e", size_bytes=1),)
    )
    assert await here.receive(lying) == said("too_large", limit_mb=0)
    assert here.channel.fetched == ["endless"]


@pytest.mark.parametrize(
    ("failure", "key"),
    [
        (ChannelError("gone", code="attachment_unavailable"), "unavailable"),
        (UpstreamError("inside", code="url_blocked"), "unavailable"),
        (UpstreamError("big", code="url_too_large"), "too_large"),
        (TimeoutError(), "unavailable"),
        (ConnectionResetError(), "unavailable"),
        (OSError(28, "No space left on device"), "full"),
    ],
)
async def test_a_file_that_cannot_be_had_is_told_and_leaves_nothing(
    tmp_path: Path, failure: BaseException, key: str
) -> None:
    here = world(tmp_path)
    here.channel.failures["a"] = failure
    message = here.message("a")
    told = said(key, limit_mb=0) if key == "too_large" else said(key)
    assert await here.receive(message) == told
    assert here.on_disk() == []
    del here.channel.failures["a"]
    assert await here.receive(message) == KEPT  # a re-run of the turn tries again


async def test_a_channel_without_files_says_so(tmp_path: Path) -> None:
    here = world(tmp_path)
    message = here.message("a")

    class Without(Files):
        fetch = PlainChannel.fetch  # type: ignore[assignment]

    assert await here.shelf.receive(Claimed("t", message, 1), Without()) == said("unavailable")


async def test_a_hanging_file_ends_at_the_deadline(tmp_path: Path) -> None:
    here = world(tmp_path, total_s=0.05)
    here.channel.waits["a"] = asyncio.Event()
    assert await here.receive(here.message("a")) == said("unavailable")
    assert (here.on_disk(), here.channel.closed) == ([], 1)


async def test_a_turn_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    here = world(tmp_path)
    here.channel.waits["a"] = asyncio.Event()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await here.receive(here.message("a"))
    assert (here.on_disk(), here.channel.closed) == ([], 1)


async def test_several_files_are_told_in_one_reply(tmp_path: Path) -> None:
    here = world(tmp_path)
    here.channel.failures["b"] = ChannelError(code="attachment_unavailable")
    told = await here.receive(here.message("a", "b", "c", "endless"))
    kept = said("kept", count=2, minutes=30)
    assert told == "\n".join([kept, said("too_large", limit_mb=0), said("unavailable")])
    many = await here.receive(here.message(*"defghij"))
    assert many == "\n".join([said("kept", count=5, minutes=30), said("only_first", count=5)])
    assert await here.names() == [f"{each}.pdf" for each in "defgh"]


async def test_a_sixth_file_pushes_the_oldest_out(tmp_path: Path) -> None:
    here = world(tmp_path)
    for name in "abcdefg":
        await here.receive(here.message(name))
    assert await here.names() == [f"{each}.pdf" for each in "cdefg"]
    assert len(here.on_disk()) == 5


async def test_a_redelivery_is_no_second_file(tmp_path: Path) -> None:
    here = world(tmp_path)
    message = here.message("a")
    for _ in range(3):
        assert await here.receive(message) == KEPT
    assert (here.channel.fetched, await here.names()) == (["a"], ["a.pdf"])


async def test_a_hundred_at_once_stay_within_all_caps(tmp_path: Path) -> None:
    here = world(tmp_path, total_bytes=100, at_once=4)  # a file has seven bytes or eight
    senders = [Sender("fake", "main", f"s{n}") for n in range(100)]
    messages = [here.message(f"{n}", sender=each) for n, each in enumerate(senders)]
    told = await asyncio.gather(*(here.receive(each) for each in messages))
    assert set(told) == {KEPT, said("full")}
    assert sum(each.stat().st_size for each in here.on_disk()) <= 100
    assert told.count(KEPT) == len(here.on_disk()) >= 10
    here.clock.wind(minutes=30)
    await here.shelf.sweep()
    assert here.on_disk() == []
    assert await here.receive(here.message("a")) == KEPT  # what was freed can be used again


async def test_one_sender_cannot_fill_the_disk_from_many_chats(tmp_path: Path) -> None:
    here = world(tmp_path, sender_bytes=30)
    places = [Conversation("fake", "main", f"c{n}") for n in range(20)]
    told = [await here.receive(here.message("a", conversation=each)) for each in places]
    assert told == [KEPT] * 4 + [said("full")] * 16
    assert await here.receive(here.message("b", sender=MEI)) == KEPT


async def test_what_is_remembered_is_bounded(tmp_path: Path) -> None:
    here = world(tmp_path, ShelfLimits(entries=10))
    for n in range(50):
        here.shelf.note(here.message("a", sender=Sender("fake", "main", f"s{n}")))
        await here.shelf.forget(PLACE, [f"other{n}"])
    assert await here.names(PLACE, Sender("fake", "main", "s39")) == []
    assert await here.names(PLACE, Sender("fake", "main", "s40")) == ["a.pdf"]
    assert len(here.shelf._entries) == len(here.shelf._retracted) == 10


# ---------------------------------------------------------------- taken back


async def test_a_file_taken_back_is_gone_with_its_bytes(tmp_path: Path) -> None:
    here = world(tmp_path)
    message, other = here.message("a"), here.message("b")
    await here.receive(message)
    await here.receive(other)
    await here.shelf.forget(PLACE, [message.message_key])
    assert len(here.on_disk()) == 1
    assert await here.names() == ["b.pdf"]
    assert await here.receive(message) == said("unavailable")  # it comes once more
    assert await here.names() == ["b.pdf"]


async def test_a_file_that_comes_after_its_retraction_is_not_kept(tmp_path: Path) -> None:
    here = world(tmp_path)
    message = here.message("a")
    await here.shelf.forget(PLACE, [message.message_key])
    await here.receive(message)
    assert (here.channel.fetched, here.on_disk()) == ([], [])


async def test_a_file_is_taken_back_only_in_its_own_chat(tmp_path: Path) -> None:
    here = world(tmp_path)
    message = here.message("a")
    await here.receive(message)
    await here.shelf.forget(GROUP, [message.message_key])
    assert await here.names() == ["a.pdf"]


async def test_a_file_taken_back_while_it_comes_in_is_not_kept(tmp_path: Path) -> None:
    here = world(tmp_path)
    here.channel.waits["a"] = asyncio.Event()
    message = here.message("a")
    async with asyncio.TaskGroup() as tasks:
        told = tasks.create_task(here.receive(message))
        await here.channel.begun.wait()
        await here.shelf.forget(PLACE, [message.message_key])
        here.channel.waits["a"].set()
    assert told.result() == said("unavailable")
    assert here.on_disk() == []

"""Who reads what from where: every proof of a platform, and everything that only looks like one."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from gateway.core.messages import Sender
from tests.faults.premises import HANDBOOK, SALARY, Premises, premises
from tests.simulators import discord as discords
from tests.simulators import slack as slacks

Say = Callable[[Premises, str], Awaitable[None]]
USER, GROUP, ROOM = "U" + "1" * 32, "C" + "2" * 32, "R" + "3" * 32
PERSON = 1001  # at Telegram
HR = (  # one person of ours, who has a link on account a alone
    Sender("line", "a", USER),
    Sender("telegram", "a", str(PERSON)),
    Sender("slack", "a", f"{slacks.TEAM}:{slacks.PERSON}"),
    Sender("discord", "a", discords.PERSON_ID),
)
NOTHING: set[str] = set()
OPEN, ALL = {"handbook"}, {"handbook", "salary"}


def asked(words: str, is_own: bool) -> str:
    """With what addresses us where the chat is not one's own."""
    return words if is_own else f"/ask {words}"


def line(account: str = "a", **source: Any) -> Say:
    def say(it: Premises, words: str) -> Awaitable[None]:
        place = {"type": "user", "userId": USER} | source
        known = {key: value for key, value in place.items() if value is not None}
        is_own = known.keys() == {"type", "userId"} and known["type"] == "user"
        return it.line(it.at.line.text_event(asked(words, is_own), source=known), account)

    return say


def telegram(account: str = "a", *, private: bool = True, **over: Any) -> Say:
    def say(it: Premises, words: str) -> Awaitable[None]:
        simulator = it.at.telegram
        make = simulator.message if private else simulator.in_group
        return it.telegram(make(asked(words, private), PERSON, **over), account)

    return say


def slack(account: str = "a", *, shared: bool = False, **over: Any) -> Say:
    def say(it: Premises, words: str) -> Awaitable[None]:
        is_own = not shared and over.keys() <= {"thread_ts", "type"}  # or a mention
        event = it.at.slack.event(asked(words, is_own)) | over
        known = {key: value for key, value in event.items() if value is not None}
        return it.slack(known, account, is_ext_shared_channel=shared)

    return say


def discord(*, guild: bool = False, **over: Any) -> Say:
    def say(it: Premises, words: str) -> Awaitable[None]:
        make = it.at.discord.in_guild if guild else it.at.discord.said
        return it.discord(make(asked(words, not guild and not over), **over))

    return say


def livechat(it: Premises, words: str) -> Awaitable[None]:
    return it.livechat(it.at.livechat.event(words, user_id=USER, sender=USER, is_direct=True))


IN_GROUP: dict[str, Any] = {"type": "group", "groupId": GROUP}
TOPIC: dict[str, Any] = {"message_thread_id": 7, "is_topic_message": True}
SOMEBODY = {"id": -1009, "type": "supergroup"}
ELSEWHERE = "T0000EXT1"
PLACES: list[tuple[str, Say, set[str]]] = [
    ("LINE, own chat", line(), ALL),
    ("LINE, same id at our other account", line("b"), NOTHING),
    ("LINE, group", line(**IN_GROUP), OPEN),
    ("LINE, group without a user", line(**IN_GROUP, userId=None), NOTHING),
    ("LINE, room", line(type="room", roomId=ROOM), OPEN),
    ("LINE, a place of unknown kind", line(type="orbit"), OPEN),
    ("LINE, a user who is in a group", line(groupId=GROUP), OPEN),
    ("Telegram, own chat", telegram(), ALL),
    ("Telegram, a topic of one's own chat", telegram(**TOPIC), ALL),
    ("Telegram, same id at our other bot", telegram("b"), NOTHING),
    ("Telegram, group", telegram(private=False), OPEN),
    ("Telegram, topic", telegram(private=False, **TOPIC), OPEN),
    ("Telegram, anonymous admin", telegram(private=False, sender_chat=SOMEBODY), NOTHING),
    ("Telegram, in a channel's name", telegram(sender_chat=SOMEBODY), NOTHING),
    ("Telegram, another's private chat", telegram(chat={"id": 2, "type": "private"}), NOTHING),
    ("Slack, im", slack(), ALL),
    ("Slack, thread in an im", slack(thread_ts="1772355000.000100"), ALL),
    ("Slack, same user at our other account", slack("b"), NOTHING),
    ("Slack, mpim that looks like an im", slack(channel_type="mpim"), OPEN),
    ("Slack, im without its kind", slack(channel_type=None), OPEN),
    ("Slack, mention in an im", slack(type="app_mention"), OPEN),
    ("Slack, channel", slack(channel=slacks.CHANNEL, channel_type="channel"), OPEN),
    ("Slack, guest of another workspace", slack(user_team=ELSEWHERE), NOTHING),
    ("Slack, guest by the profile", slack(user_profile={"team": ELSEWHERE}), NOTHING),
    ("Slack, shared chat", slack(shared=True), NOTHING),
    ("Discord, own chat", discord(), ALL),
    ("Discord, server", discord(guild=True), OPEN),
    ("Discord, group chat", discord(channel_id="71", channel_type=3), OPEN),
    ("Discord, a chat of no kind", discord(channel_id="72", channel_type=None), OPEN),
    ("Discord, ephemeral", discord(channel_id="73", flags=64), NOTHING),
    ("Discord, of an interaction", discord(channel_id="74", interaction_metadata={}), NOTHING),
    ("live chat that claims a user", livechat, NOTHING),
]  # fmt: skip
SILENT: list[tuple[str, Say]] = [
    ("Telegram, business chat", telegram(business_connection_id="b")),
    ("Telegram, guest's chat", telegram(guest_query_id="g")),
    ("Discord, webhook", discord(channel_id="75", webhook_id="5")),
]


async def linked(it: Premises) -> None:
    for sender in HR:
        await it.link(sender, "hr")


async def read_at(it: Premises, n: int, say: Say) -> set[str]:
    """What two questions get to see there; each is asked in words of its own."""
    found: set[str] = set()
    for question in (HANDBOOK, SALARY):
        words = f"{question}（{n}）"
        await say(it, words)
        found |= await it.read_for(words)
    return found - {"products"}


async def test_every_place_reads_what_its_proof_allows(template: Path, tmp_path: Path) -> None:
    async with premises(template, tmp_path / "home") as it:
        await linked(it)
        for n, (_, say) in enumerate(SILENT):
            await say(it, f"{SALARY}（silent {n}）")
        async with asyncio.TaskGroup() as tasks:
            reading = [
                tasks.create_task(read_at(it, n, say)) for n, (_, say, _) in enumerate(PLACES)
            ]
        read = {name: each.result() for (name, _, _), each in zip(PLACES, reading, strict=True)}
        assert read == {name: expected for name, _, expected in PLACES}
        for n, (name, _) in enumerate(SILENT):
            assert await it.find(f"{SALARY}（silent {n}）") is None, name


STRANGER = "U" + "9" * 32
GRANTS: list[tuple[str, str, Say, bool]] = [
    # granted to, where it is asked, and whether that is covered
    ("all of LINE", "line", line(userId=STRANGER), True),
    ("all of LINE, from Telegram", "line", telegram("b"), False),
    ("one account", "line/b", line("b", userId=STRANGER), True),
    ("the other account", "line/b", line(userId=STRANGER), False),
    ("a chat", f"line:{GROUP}", line(**IN_GROUP, userId=STRANGER), True),
    ("a chat, from a user without one", f"line:{GROUP}", line(**IN_GROUP, userId=None), False),
    ("a chat's id on another platform", "line:-1001234", telegram(private=False), False),
    ("a group, from its topic", "telegram:-1001234", telegram("b", private=False, **TOPIC), True),
    ("a topic, from its group", "telegram:-1001234:7", telegram("b", private=False), False),
    ("one's own chat, from a group", f"telegram:{PERSON}", telegram("b", private=False), False),
    ("a channel, from its thread", f"slack:{slacks.CHANNEL}",
     slack("b", channel=slacks.CHANNEL, channel_type="channel"), True),
    ("a channel, by a guest", f"slack:{slacks.CHANNEL}",
     slack("b", channel=slacks.CHANNEL, channel_type="channel", user_team=ELSEWHERE), False),
    ("live chat, where nothing internal is read", "odoolivechat", livechat, False),
]  # fmt: skip


async def test_a_grant_to_a_chat_covers_that_chat_and_no_other(
    template: Path, tmp_path: Path
) -> None:
    async with premises(template, tmp_path / "home") as it:
        for n, (name, subject, say, is_covered) in enumerate(GRANTS):
            words = f"{HANDBOOK}（grant {n}）"
            await it.grant("handbook", subject)
            await say(it, words)
            assert ("handbook" in await it.read_for(words)) is is_covered, name
            await it.grant("handbook", without=subject)

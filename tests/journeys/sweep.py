"""Five simulated platforms that send, redeliver and count, while the gateway is killed."""

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from tests.journeys.swept import DRAFT, SweepOrder, parts_of
from tests.simulators.discord import PERSON_ID, DiscordSimulator
from tests.simulators.line import LineSimulator
from tests.simulators.livechat import LiveChatSimulator
from tests.simulators.slack import SlackSimulator, shown
from tests.simulators.telegram import TelegramSimulator

Post = Callable[[str, bytes, dict[str, str]], Awaitable[bool]]  # True: acknowledged
REDELIVERED = 0.25  # of acknowledged events come once more, as after an answer that got lost
FORGETFUL = frozenset({"reply", "post"})  # ways without an idempotency key


@dataclass
class Platforms:
    """All five, behind the same three questions: say, heard, violations."""

    line: LineSimulator
    telegram: TelegramSimulator
    slack: SlackSimulator
    discord: DiscordSimulator
    livechat: LiveChatSimulator

    names = ("line", "telegram", "slack", "discord", "odoolivechat")

    def order(self, home: Path) -> SweepOrder:
        urls = {
            "line": self.line.url,
            "telegram": self.telegram.url,
            "slack": self.slack.api_url,
            "discord": self.discord.url,
            "odoolivechat": self.livechat.url,
        }
        known = {
            "line": self.line.secret,
            "line_token": self.line.access_token,
            "telegram": self.telegram.secret,
            "telegram_token": self.telegram.token,
            "slack": self.slack.secret,
            "slack_token": self.slack.token,
            "discord": self.discord.token,
            "odoolivechat": self.livechat.secret,
        }
        return SweepOrder(str(home), urls, known, self.discord.gateway.url)

    def event(self, name: str, chat: int, text: str) -> tuple[bytes, Callable[[], dict[str, str]]]:
        """The body of a webhook, and its headers, which are made anew for each delivery."""
        if name == "line":
            body = self.line.body(self.line.text_event(text, f"U{chat:032d}"))
            return body, lambda: self.line.headers(body)
        if name == "telegram":
            return self.telegram.body(self.telegram.message(text, chat)), self.telegram.headers
        if name == "slack":
            event = self.slack.event(text, channel=f"D{chat:09d}", user=f"U{chat:09d}")
            body = self.slack.body(event)
            return body, lambda: self.slack.headers(body)
        body = self.livechat.signed(self.livechat.event(text, f"session-{chat}"))[1]
        return body, lambda: self.livechat.signed(body)[0]

    async def say_on_discord(self, chat: int, text: str) -> None:
        """Its session keeps what nobody was there to take."""
        author = str(int(PERSON_ID) + chat)
        await self.discord.send(self.discord.said(text, author, channel_id=str(7 * 10**17 + chat)))

    def heard(self, name: str, chat: int) -> list[str]:
        """What stands in the chat now, in order, one text a part."""
        if name == "line":
            return [text for texts in self.line.texts_to(f"U{chat:032d}") for text in texts]
        if name == "telegram":
            return self.telegram.texts_to(chat)
        if name == "slack":
            return [
                shown(each.text) for each in self.slack.messages if each.channel == f"D{chat:09d}"
            ]
        if name == "discord":
            return self.discord.ours(str(7 * 10**17 + chat))
        return self.livechat.texts_to(f"session-{chat}")

    @property
    def violations(self) -> list[str]:
        every = (self.line, self.telegram, self.slack, self.discord, self.livechat)
        return [violation for each in every for violation in each.violations]

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator["Platforms"]:
        async with AsyncExitStack() as stack:
            yield cls(
                await stack.enter_async_context(LineSimulator().running()),
                await stack.enter_async_context(TelegramSimulator().running()),
                await stack.enter_async_context(SlackSimulator().running()),
                await stack.enter_async_context(DiscordSimulator().running()),
                await stack.enter_async_context(LiveChatSimulator().running()),
            )


@dataclass
class Sweep:
    """Messages on their way into a gateway that dies again and again."""

    home: Path
    platforms: Platforms
    forge: subprocess.Popen[bytes]
    kills: int
    messages: int
    chats: int  # of each platform
    chance: random.Random
    url: str = ""
    killed: int = 0
    redelivered: int = 0
    pid: int = 0
    began: asyncio.Event = field(default_factory=asyncio.Event)
    said: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    async def run(self) -> None:
        """Every message acknowledged, every kill done, and a last gateway that ends the rest."""
        async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
            await self._start()
            await self.platforms.discord.gateway.wait_for_up(1)
            sending = [
                tasks.create_task(self._talk(session, name, chat))
                for name in self.platforms.names
                for chat in range(1, self.chats + 1)
            ]
            for _ in range(self.kills):
                await asyncio.sleep(self.chance.uniform(0.02, 0.4))
                await self._kill()
                self.killed += 1
                await self._start()
            await asyncio.wait(sending)
            await self._settled(session)

    def stop(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    async def _start(self) -> None:
        assert self.forge.stdin is not None
        assert self.forge.stdout is not None
        self.forge.stdin.write(self.platforms.order(self.home).line())
        self.forge.stdin.flush()
        said = json.loads(await asyncio.to_thread(self.forge.stdout.readline))
        self.pid, self.url = said["pid"], f"http://127.0.0.1:{said['port']}"
        self.began.set()

    async def _kill(self) -> None:
        descriptor = os.pidfd_open(self.pid)
        try:
            os.kill(self.pid, signal.SIGKILL)
            gone = asyncio.Event()
            loop = asyncio.get_running_loop()
            loop.add_reader(descriptor, gone.set)
            async with asyncio.timeout(20):
                await gone.wait()
            loop.remove_reader(descriptor)
        finally:
            os.close(descriptor)
        self.began.clear()

    async def _talk(self, session: aiohttp.ClientSession, name: str, chat: int) -> None:
        """One conversation: the next message when the last is acknowledged, spread over the run."""
        count = self.messages // (self.chats * len(self.platforms.names))
        texts = self.said.setdefault((name, chat), [])
        for number in range(count):
            await self._until_due((number + self.chance.random()) / count)
            text = f"m{chat * 1000 + number}"
            texts.append(text)
            if name == "discord":
                await self.platforms.say_on_discord(chat, text)
                continue
            body, headers = self.platforms.event(name, chat, text)
            await self._insist(session, name, body, headers)
            if self.chance.random() < REDELIVERED:
                is_taken = await self._post(session, name, body, headers())
                self.redelivered += is_taken

    async def _until_due(self, share: float) -> None:
        while True:
            if self.killed >= self.kills * share:
                return
            await asyncio.sleep(0.01 + self.chance.random() * 0.05)

    async def _insist(
        self,
        session: aiohttp.ClientSession,
        name: str,
        body: bytes,
        headers: Callable[[], dict[str, str]],
    ) -> None:
        """As platforms do: again until it is acknowledged."""
        while True:
            if await self._post(session, name, body, headers()):
                return
            await asyncio.sleep(0.02)

    async def _post(
        self, session: aiohttp.ClientSession, name: str, body: bytes, headers: dict[str, str]
    ) -> bool:
        await self.began.wait()
        url = f"{self.url}/webhooks/{name}/main"
        try:
            async with session.post(url, data=body, headers=headers) as answer:
                return answer.status == 200
        except (aiohttp.ClientError, OSError):
            return False

    async def _settled(self, session: aiohttp.ClientSession) -> None:
        expected = sum(len(texts) for texts in self.said.values())
        async with asyncio.timeout(300):
            while True:
                counted = self.rows("SELECT count(*), sum(state = 'done') FROM inbox")[0]
                [[unsent]] = self.rows(
                    "SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending')"
                )
                if counted == (expected, expected) and not unsent:
                    return
                async with session.get(f"{self.url}/news") as news:
                    assert news.status == 200

    def rows(self, query: str) -> list[Any]:
        with sqlite3.connect(f"file:{self.home}/inbox.db?mode=ro", uri=True) as database:
            return database.execute(query).fetchall()

    # ------------------------------------------------------------ what came of it

    def report(self) -> "Report":
        report = Report(kills=self.killed, redelivered=self.redelivered)
        unknown = Counter(lane for [lane] in self.rows(
            "SELECT lane FROM outbox WHERE state = 'unknown'"))  # fmt: skip
        report.unknown = sum(unknown.values())
        report.misplaced = self.rows(
            "SELECT channel_name.lane, method, reason FROM outbox AS channel_name "
            "WHERE state = 'dead' OR (state = 'unknown' AND (method NOT IN ('reply', 'post') "
            "OR reason != 'stopped_while_sending'))"
        )
        for (name, chat), texts in self.said.items():
            report.messages += len(texts)
            self._look(name, chat, texts, report, unknown)
        return report

    def _look(
        self, name: str, chat: int, texts: list[str], report: "Report", unknown: Counter[str]
    ) -> None:
        heard = self.platforms.heard(name, chat)
        report.drafts_left += sum(text.startswith(DRAFT) for text in heard)
        heard = [text for text in heard if not text.startswith(DRAFT)]
        owed = [part for text in texts for part in parts_of(text, name)]
        counts = Counter(heard)
        report.twice += [f"{name}: {text}" for text, times in counts.items() if times > 1]
        missing = [part for part in owed if part not in counts]
        lane = self._lane(name, chat)
        if len(missing) > unknown[lane]:
            report.lost += [f"{name}: {part}" for part in missing]
        if heard != [part for part in owed if part in counts]:
            report.disordered.append(f"{name}/{chat}")

    def _lane(self, name: str, chat: int) -> str:
        place = {
            "line": f"U{chat:032d}",
            "telegram": str(chat),
            "slack": f"D{chat:09d}",
            "discord": str(7 * 10**17 + chat),
            "odoolivechat": f"session-{chat}",
        }[name]
        lanes = [lane for [lane] in self.rows("SELECT DISTINCT lane FROM outbox")]
        [found] = [lane for lane in lanes if lane.startswith(name) and lane.endswith(place)]
        return str(found)


@dataclass
class Report:
    """Figures of one sweep; all lists should be empty."""

    kills: int
    redelivered: int
    messages: int = 0
    unknown: int = 0
    drafts_left: int = 0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    disordered: list[str] = field(default_factory=list)
    misplaced: list[Any] = field(default_factory=list)

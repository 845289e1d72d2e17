"""The demo's company with accounts on every platform, the whole program behind them."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from gateway.core.messages import Sender
from gateway.core.turns import TurnRecord
from tests.simulators.discord import DiscordSimulator
from tests.simulators.line import LineSimulator
from tests.simulators.livechat import LiveChatSimulator
from tests.simulators.slack import TEAM, SlackSimulator
from tests.simulators.telegram import TelegramSimulator
from tests.surfaces.serving import World, operate, serving
from tests.surfaces.visiting import toml

AGENT = "xiaohe"
HANDBOOK, SALARY = "到職滿一年的特休有幾天？", "績效考核的等第怎麼分？"  # internal; personal, of hr


@dataclass
class Platforms:
    """One pretended platform each; accounts `a` and `b` of ours differ in our name alone."""

    line: LineSimulator
    telegram: TelegramSimulator
    slack: SlackSimulator
    discord: DiscordSimulator
    livechat: LiveChatSimulator

    def tables(self) -> Mapping[str, Mapping[str, Any]]:
        """As they stand in config.toml; Discord's one account has its socket open."""
        common = {"agent": AGENT, "prefix": "/ask"}
        of_line = {
            "channel_secret": self.line.secret,
            "channel_access_token": self.line.access_token,
            "api_base_url": self.line.url,
        }
        of_telegram = {
            "bot_token": self.telegram.token,
            "secret_token": self.telegram.secret,
            "api_base_url": self.telegram.url,
        }
        of_slack = {
            "bot_token": self.slack.token,
            "signing_secret": self.slack.secret,
            "api_base_url": self.slack.api_url,
            "team_id": TEAM,
        }
        of_discord = {
            "bot_token": self.discord.token,
            "api_base_url": self.discord.url,
            "gateway_url": self.discord.gateway.url,
        }
        of_livechat = {"secret": self.livechat.secret, "reply_url": self.livechat.url}
        return {
            **{f"channels.line.{name}": common | of_line for name in "ab"},
            **{f"channels.telegram.{name}": common | of_telegram for name in "ab"},
            **{f"channels.slack.{name}": common | of_slack for name in "ab"},
            "channels.discord.a": common | of_discord,
            "channels.odoolivechat.a": {"agent": AGENT} | of_livechat,
        }


@dataclass
class Premises:
    """The company at work."""

    world: World
    at: Platforms
    http: aiohttp.ClientSession

    async def _post(self, place: str, headers: Mapping[str, str], body: bytes) -> None:
        url = f"{self.world.url}/webhooks/{place}"
        async with self.http.post(url, data=body, headers=headers) as answer:
            assert answer.status == 200

    async def line(self, event: dict[str, Any], account: str = "a") -> None:
        body = self.at.line.body(event)
        await self._post(f"line/{account}", self.at.line.headers(body), body)

    async def telegram(self, update: dict[str, Any], account: str = "a") -> None:
        body = self.at.telegram.body(update)
        await self._post(f"telegram/{account}", self.at.telegram.headers(), body)

    async def slack(self, event: dict[str, Any], account: str = "a", **over: Any) -> None:
        body = self.at.slack.body(event, **over)
        await self._post(f"slack/{account}", self.at.slack.headers(body), body)

    async def discord(self, data: dict[str, Any]) -> None:
        await self.at.discord.gateway.dispatch("MESSAGE_CREATE", data)

    async def livechat(self, event: dict[str, Any]) -> None:
        await self._post("odoolivechat/a", *self.at.livechat.signed(event))

    async def operate(self, method: str, **params: Any) -> Any:
        return await operate(self.world.app, method, params, "admin")

    async def link(self, sender: Sender, login: str) -> None:
        params = {"channel": sender.channel, "account_name": sender.account_name}
        await self.operate("links.add", **params, sender=sender.id, account=login)

    async def unlink(self, sender: Sender) -> None:
        params = {"channel": sender.channel, "account_name": sender.account_name}
        await self.operate("links.remove", **params, sender=sender.id)

    async def grant(self, shelf: str, *chats: str, without: str = "") -> None:
        """To these channel subjects too, and no more to the subject `without`."""
        now = await self.operate("knowledge.grants.list", collection=shelf)
        kept = [each for each in now["grants"] if each["subject_id"] != without]
        new = [{"subject_kind": "channel", "subject_id": each, "role": "viewer"} for each in chats]
        params = {"collection": shelf, "version": now["version"], "grants": kept + new}
        await self.operate("knowledge.grants.replace", **params)

    async def turn_about(self, question: str) -> TurnRecord:
        """The turn of this very question, once it is recorded; no event of ours tells when."""
        async with asyncio.timeout(30):
            while (turn := await self.find(question)) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return turn

    async def find(self, question: str) -> TurnRecord | None:
        file = self.world.app.home / "knowledge" / "knowledge.db"
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            found = database.execute("SELECT id FROM turns WHERE question = ?", (question,))
            row = found.fetchone()
        return await self.world.app.store.turns.find(row[0]) if row else None

    async def read_for(self, question: str) -> set[str]:
        """Slugs of the collections that the turn of this question was shown something of."""
        turn = await self.turn_about(question)
        ids = frozenset(each.collection_id for each in turn.citations)
        return {each.slug for each in await self.world.app.store.collections.list(ids)}


@asynccontextmanager
async def premises(template: Path, home: Path, *, more: str = "") -> AsyncIterator[Premises]:
    """`more` are further tables of config.toml."""
    async with AsyncExitStack() as stack:
        at = Platforms(
            await stack.enter_async_context(LineSimulator().running()),
            await stack.enter_async_context(TelegramSimulator().running()),
            await stack.enter_async_context(SlackSimulator().running()),
            await stack.enter_async_context(DiscordSimulator().running()),
            await stack.enter_async_context(LiveChatSimulator().running()),
        )
        tables = at.tables()
        config = "\n".join([*(toml(key, table) for key, table in tables.items()), more])
        http = await stack.enter_async_context(aiohttp.ClientSession())
        async with serving(template, home, config=config) as world:
            await at.discord.gateway.wait_for_up(1)
            yield Premises(world, at, http)

"""A running gateway whose config.toml is edited: taken over without a restart, or refused aloud."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.simulators.line import LineSimulator
from tests.surfaces.serving import Person, World, serving

LINE = """
[channels.line.{name}]
agent = "xiaohe"
channel_secret = "line-secret"
channel_access_token = "line-token"
api_base_url = "{url}"
"""


@dataclass
class Edited:
    """The gateway, LINE, and the file between."""

    world: World
    person: Person
    line: LineSimulator
    home: Path
    asked: int = 0

    def edit(self, *names: str, more: str = "") -> None:
        tables = "".join(LINE.format(name=name, url=self.line.url) for name in names)
        plain = (self.home / "config.toml").read_text("utf-8").partition("\n[channels.line")[0]
        (self.home / "config.toml").write_text(plain + tables + more, "utf-8")

    async def until(self, status: int, name: str) -> None:
        """The account's webhook answers so; a refused signature means that it is there."""
        async with asyncio.timeout(20):
            while True:
                url = f"{self.world.url}/webhooks/line/{name}"
                async with self.person.session.post(url, data=b"{}") as answer:
                    if answer.status == status:
                        return
                await asyncio.sleep(0.05)

    async def ask(self, name: str) -> None:
        self.asked += 1
        body = self.line.body(self.line.text_event("特休有幾天？", f"U{self.asked:032d}"))
        url = f"{self.world.url}/webhooks/line/{name}"
        headers = self.line.headers(body)
        async with self.person.session.post(url, data=body, headers=headers) as answer:
            assert answer.status == 200
        await self.line.wait_for(self.asked)

    async def ready(self, config: str) -> dict[str, object]:
        async with asyncio.timeout(20):
            while True:
                async with self.person.session.get(f"{self.world.url}/readyz") as answer:
                    told: dict[str, object] = json.loads(await answer.text())
                if told["config"] == config:
                    return told
                await asyncio.sleep(0.05)


@asynccontextmanager
async def edited(template: Path, home: Path) -> AsyncIterator[Edited]:
    async with LineSimulator().running() as line:
        first = LINE.format(name="main", url=line.url)
        async with serving(template, home, config=first) as world, world.nobody() as person:
            yield Edited(world, person, line, home)


async def test_accounts_come_and_go_with_the_file(template: Path, home: Path) -> None:
    async with edited(template, home) as it:
        await it.ask("main")
        it.edit("main", "second")
        await it.until(401, "second")
        await it.ask("second")
        it.edit("second")
        await it.until(404, "main")
        await it.ask("second")
        assert it.line.violations == []


async def test_a_wrong_key_keeps_what_runs_and_is_shown_until_it_is_put_right(
    template: Path, home: Path
) -> None:
    async with edited(template, home) as it:
        it.edit("main", more='colour = "red"\n')
        told = await it.ready("rejected")
        assert told["status"] == "degraded"
        assert "colour" not in json.dumps(told)
        await it.ask("main")
        it.edit("main", "second")
        assert (await it.ready("ok"))["status"] == "ready"
        await it.until(401, "second")

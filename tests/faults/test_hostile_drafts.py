"""A draft was shown, then the right to read it ended: nothing of it stays, nothing more comes."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from gateway.catalogue import text
from gateway.core.messages import Sender
from tests.faults.premises import AGENT, SALARY, Premises, premises
from tests.simulators import discord as discords
from tests.simulators import slack as slacks
from tests.simulators.openai import OpenAISimulator, Say, Step
from tests.simulators.scripted import running
from tests.surfaces.visiting import toml

PERSON = 1001
SHOWN = "等第由年終考核決定，分成四等，"
ANSWER = SHOWN + "名額比例與獎金的對應由主管與人資共同核定。[1]"
REFUSAL = text("chat.no_passage", "zh-TW")


class Held(OpenAISimulator):
    """Stops behind the first piece until it is told to go on."""

    async def _stream(self, request: web.Request, step: Step) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        first, *others = self.frames(step)
        await response.write(first)
        await self.released.wait()
        for frame in [*others, self.end()]:
            await response.write(frame)
        return response


async def unlinked(it: Premises, sender: Sender) -> None:
    await it.unlink(sender)


async def deactivated(it: Premises, _: Sender) -> None:
    accounts = it.world.app.store.accounts
    account = await accounts.find_by_login("hr")
    assert account is not None
    await accounts.put(replace(account, is_active=False))


async def revoked(it: Premises, _: Sender) -> None:
    await it.grant("salary", without=AGENT)


async def deleted(it: Premises, _: Sender) -> None:
    for source in await it.operate("knowledge.sources.list", collection="salary"):
        await it.operate("knowledge.sources.delete", source_id=source["id"])


End = Callable[[Premises, Sender], Awaitable[None]]


class Telegram:
    sender = Sender("telegram", "a", str(PERSON))

    async def ask(self, it: Premises) -> None:
        await it.telegram(it.at.telegram.message(SALARY, PERSON))

    def drafts(self, it: Premises) -> list[str]:
        """They go by themselves when the message comes."""
        return [draft for _, _, draft in it.at.telegram.drafts]

    def chat(self, it: Premises) -> list[str]:
        return it.at.telegram.texts_to(PERSON)


class Slack:
    sender = Sender("slack", "a", f"{slacks.TEAM}:{slacks.PERSON}")

    async def ask(self, it: Premises) -> None:
        await it.slack(it.at.slack.event(SALARY))

    def drafts(self, it: Premises) -> list[str]:
        return [each for message in it.at.slack.messages for each in (*message.edits, message.text)]

    def chat(self, it: Premises) -> list[str]:
        return it.at.slack.texts_in(slacks.DIRECT)


class Discord:
    sender = Sender("discord", "a", discords.PERSON_ID)

    async def ask(self, it: Premises) -> None:
        await it.discord(it.at.discord.said(SALARY))

    def drafts(self, it: Premises) -> list[str]:
        return [payload["content"] for payload in it.at.discord.payloads]

    def chat(self, it: Premises) -> list[str]:
        return it.at.discord.ours()


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_so():  # noqa: ASYNC110 - three simulators, no event of theirs in common
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    "place", [Telegram(), Slack(), Discord()], ids=lambda it: type(it).__name__
)
@pytest.mark.parametrize("end", [unlinked, deactivated, revoked, deleted])
async def test_what_was_shown_of_a_draft_does_not_outlive_the_right_to_read_it(
    template: Path, tmp_path: Path, place: Telegram | Slack | Discord, end: End
) -> None:
    async with running(Held([Say(ANSWER, piece_chars=len(SHOWN))])) as model:
        provider = {"kind": "openai", "base_url": model.base_url, "api_key": "k"}
        more = toml("providers.house", provider)
        async with premises(template, tmp_path / "home", more=more) as it:
            settings = it.world.app.home / "agents" / AGENT / "agent.toml"
            told = settings.read_text("utf-8")
            settings.write_text(re.sub("model = .*", 'model = "house/m"', told), "utf-8")
            await it.link(place.sender, "hr")
            await place.ask(it)
            await until(lambda: any(SHOWN[:10] in draft for draft in place.drafts(it)))
            await end(it, place.sender)
            model.released.set()
            await until(lambda: place.chat(it) == [REFUSAL])
            assert not any(ANSWER[-15:-5] in each for each in place.drafts(it))
            assert (await it.turn_about(SALARY)).answer == REFUSAL

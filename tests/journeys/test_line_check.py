"""What doctor hears about a LINE account: its token and its webhook."""

import dataclasses

import pytest

from channels.line.channel import LineChannel, LineSettings
from gateway.core.messages import Check
from gateway.core.secrets import Secret
from tests.simulators.line import LineSimulator


def settings(line: LineSimulator) -> LineSettings:
    return LineSettings("main", "helper", Secret(line.secret), Secret(line.access_token), line.url)


async def checks(line: LineSimulator, wanted: LineSettings) -> list[Check]:
    channel = LineChannel(wanted)
    try:
        return list(await channel.check())
    finally:
        await channel.close()


@pytest.mark.parametrize(
    ("webhook", "is_active", "is_ok", "said"),
    [
        ("https://chat.example/webhooks/line/main", True, True, ""),
        ("https://chat.example/webhooks/line/main", False, False, "switched off"),
        ("https://chat.example/webhooks/line/other", True, False, "another address"),
        ("https://elsewhere.example/callback", True, False, "another address"),
        (None, True, False, "not set"),
    ],
)
async def test_the_webhook_is_set_in_use_and_ours(
    webhook: str | None, is_active: bool, is_ok: bool, said: str
) -> None:
    async with LineSimulator(webhook=webhook, webhook_is_active=is_active).running() as line:
        own, of_webhook = await checks(line, settings(line))
        assert (own.name, own.is_ok, own.detail) == ("credentials", True, "@216ru")
        assert (of_webhook.name, of_webhook.is_ok) == ("webhook", is_ok)
        assert said in of_webhook.detail
        assert line.violations == []
        assert line.calls == []  # nothing was sent


async def test_a_wrong_token_is_told_without_showing_it() -> None:
    async with LineSimulator().running() as line:
        wrong = dataclasses.replace(settings(line), channel_access_token=Secret("of another"))
        (own,) = await checks(line, wrong)
    assert (own.name, own.is_ok, own.detail) == ("credentials", False, "status 401")


async def test_nobody_there_is_a_finding() -> None:
    async with LineSimulator().running() as line:
        gone = settings(line)
    (own,) = await checks(line, gone)
    assert not own.is_ok

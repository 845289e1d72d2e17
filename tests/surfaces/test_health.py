"""Whether we live, can work, and what we count: for operators, in figures without names."""

import asyncio
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from channels.plain import PlainChannel
from gateway.core.messages import ChannelState, LinkState, SendMethod
from gateway.surfaces.meter import FIGURES, PREFIX, LoopLag, PrometheusMeter
from tests.fakes.channels import said
from tests.fakes.wound_clock import WoundClock
from tests.simulators.line import LineSimulator
from tests.surfaces.serving import Person, World, answer, serving

LINE = """
[channels.line.{name}]
agent = "xiaohe"
channel_secret = "line-secret"
channel_access_token = "line-token"
api_base_url = "{url}"
"""
OPERATING = Path(__file__).parents[2] / "docs" / "operating.md"


async def get(person: Person, url: str) -> tuple[int, str]:
    async with person.session.get(url) as response:
        return response.status, await response.text()


def figure(text: str, name: str, **labels: str) -> float | None:
    """One sample of Prometheus' text form."""
    for line in text.splitlines():
        match = re.fullmatch(rf"shutten_{name}(?:{{(.*)}})? (\S+)", line)
        if match and dict(re.findall(r'(\w+)="([^"]*)"', match[1] or "")) == labels:
            return float(match[2])
    return None


async def figures(world: World, person: Person) -> str:
    status, text = await get(person, f"{world.url}/metrics")
    assert status == 200
    return text


async def test_a_turn_leaves_its_figures_and_nobodys_name(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        async with person.chat() as socket:
            await answer(socket, "特休有幾天？")
            again = {"type": "user_message", "id": "特休有幾天？", "text": "特休有幾天？"}
            await socket.send_json({**again, "attachments": []})  # the same id: said before
            await answer(socket, "出差住宿費上限？")
        async with asyncio.timeout(20):  # the loop is sampled now and then
            while not figure(text := await figures(world, person), "loop_lag_seconds_count"):
                continue
    assert figure(text, "received_total", channel="webchat") == 2
    assert figure(text, "deduplicated_total", channel="webchat") == 1
    for stage in ("queued", "scope", "search", "model", "total"):
        assert figure(text, "turn_seconds_count", stage=stage) == 2, stage
    frames = figure(text, "sent_total", channel="webchat", method=SendMethod.FRAME.value)
    assert (frames or 0) >= 1  # the last one may not be written down yet
    assert figure(text, "outbox_unsettled", kind="dead") == 0
    assert figure(text, "loop_lag_p99_seconds") is not None
    assert "process_resident_memory_bytes" in text
    assert not any(word in text for word in ("member", "員工手冊", "xiaohe", "特休"))


async def test_webhooks_are_timed_and_accounts_counted_by_state(template: Path, home: Path) -> None:
    async with LineSimulator().running() as line:
        tables = [LINE.format(name=name, url=line.url) for name in ("main", "secretname")]
        async with serving(template, home, config="".join(tables)) as world, world.nobody() as p:
            body = line.body(line.text_event("特休有幾天？"))
            webhook = f"{world.url}/webhooks/line/main"
            async with p.session.post(webhook, data=body, headers=line.headers(body)) as response:
                assert response.status == 200
            await line.wait_for(1)
            text = await figures(world, p)
            status, ready = await get(p, f"{world.url}/readyz")
    assert figure(text, "acknowledged_seconds_count", channel="line") == 1
    assert figure(text, "received_total", channel="line") == 1
    assert figure(text, "channels", channel="line", state="ready") == 2
    assert (status, '"line":{"ready":2}' in ready) == (200, True)
    assert "secretname" not in text + ready


class Down(PlainChannel):
    """A platform that cannot be reached."""

    @property
    def state(self) -> ChannelState:
        return ChannelState(LinkState.DOWN, "ConnectionError")


async def test_a_channel_that_is_down_is_shown_and_fails_only_the_strict(
    template: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(template, home) as world, world.nobody() as person:
        states = world.app.channels.states()
        assert all(state.state is LinkState.READY for state in states.values())
        world.app.channels._channels["telegram", "main"] = Down()  # type: ignore[assignment]
        plain = await get(person, f"{world.url}/readyz")
        strict = await get(person, f"{world.url}/readyz?strict=1")
        text = await figures(world, person)
        del world.app.channels._channels["telegram", "main"]
    assert (plain[0], strict[0]) == (200, 503)
    assert '"telegram":{"down":1}' in plain[1]
    assert "ConnectionError" not in plain[1]
    assert figure(text, "channels", channel="telegram", state="down") == 1


async def test_waiting_messages_are_counted_with_the_age_of_the_oldest(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.nobody() as person:
        before = await figures(world, person)
        asked = [said("one", 1), said("two", 2), said("other", 3, "c2")]
        for n, age_s in enumerate((50, 0, 900)):  # put behind the lanes' back, so they stay there
            received = world.app.clock.now() - timedelta(seconds=age_s)
            message = replace(asked[n], received_at=received)
            await world.app.store.inbox.put([(f"t{n}", message)], 20)
        text = await figures(world, person)
    assert figure(before, "lanes", kind="waiting") is None  # nothing waits
    assert figure(before, "messages", kind="running") is None
    assert figure(text, "lanes", kind="waiting") == 2
    assert figure(text, "messages", kind="waiting") == 3


def test_the_lag_of_all_but_one_in_a_hundred_is_told() -> None:
    meter = PrometheusMeter()
    lag = LoopLag(meter, WoundClock())
    for late_s in [0.001] * 99 + [7.0]:
        lag.add(late_s)
    p99 = meter.registry.get_sample_value("shutten_loop_lag_p99_seconds")
    lag.add(7.0)
    assert p99 == 0.001
    assert meter.registry.get_sample_value("shutten_loop_lag_p99_seconds") == 7.0


@pytest.mark.parametrize(
    ("name", "labels"),
    [("recieved", {"channel": "line"}), ("received", {}), ("received", {"chanel": "line"})],
)
def test_a_misspelt_figure_is_an_error_at_once(name: str, labels: dict[str, str]) -> None:
    with pytest.raises(KeyError):
        PrometheusMeter().count(name, 1.0, **labels)
    with pytest.raises(KeyError):
        PrometheusMeter().observe("turn", 1.0, **labels)


def test_every_figure_is_documented() -> None:
    table = OPERATING.read_text("utf-8")
    for name, each in FIGURES.items():
        ending = "seconds" if each.buckets else "total"
        assert f"| {PREFIX}_{name}_{ending}" in table, name

"""SIGKILL at each state change of a turn: exactly one reply, and `unknown` in one window only."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.journeys.killed import LONG, Order
from tests.journeys.sweep import Platforms, Sweep
from tests.simulators.line import PUSH, REPLY, Fault, LineSimulator

USER = "U" + "1" * 32
Forge = subprocess.Popen[bytes]
ROOT = Path(__file__).parent.parent.parent


@dataclass
class Gateway:
    """One process that can be killed."""

    pid: int
    url: str

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    async def ended(self) -> None:
        """Wait until the process is gone."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        loop, is_gone = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(descriptor, is_gone.set)
        try:
            async with asyncio.timeout(20):
                await is_gone.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)

    async def states(self) -> list[list[str]]:
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/states") as answer:
            found: list[list[str]] = await answer.json()
            return found

    async def settled(self, rows: int) -> list[str]:
        async with asyncio.timeout(20):
            while True:
                states = [state for state, _ in await self.states()]
                if len(states) >= rows and not {"pending", "sending"} & set(states):
                    return states
                await asyncio.sleep(0.02)


@dataclass
class Machine:
    """A simulated platform, a home, and gateways that live and die on it."""

    line: LineSimulator
    order: Order
    forge: Forge
    alive: list[Gateway]

    async def start(self, kill_at: str | None = None, occurrence: int = 1, **over: Any) -> Gateway:
        order = replace(self.order, kill_at=kill_at, occurrence=occurrence, **over)
        assert self.forge.stdin is not None
        assert self.forge.stdout is not None
        self.forge.stdin.write(order.line())
        self.forge.stdin.flush()
        said = json.loads(await asyncio.to_thread(self.forge.stdout.readline))
        gateway = Gateway(said["pid"], f"http://127.0.0.1:{said['port']}")
        self.alive.append(gateway)
        return gateway

    async def post(self, gateway: Gateway, event: dict[str, Any]) -> bool:
        """True when the gateway acknowledged the event."""
        body = self.line.body(event)
        url, headers = f"{gateway.url}/webhooks/line/main", self.line.headers(body)
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.post(url, data=body, headers=headers) as answer,
            ):
                return answer.status == 200
        except aiohttp.ClientError:
            return False

    async def through_a_kill(
        self, event: dict[str, Any], kill_at: str, occurrence: int = 1, **over: Any
    ) -> Gateway:
        """Send the event, see the gateway die, start another; redeliver what nobody took."""
        first = await self.start(kill_at, occurrence, **over)
        is_taken = await self.post(first, event)
        await first.ended()
        second = await self.start()
        if not is_taken:
            assert await self.post(second, event | {"deliveryContext": {"isRedelivery": True}})
        return second


@pytest.fixture(scope="module")
def forge() -> Iterator[Forge]:
    """One process with everything imported, which forks a gateway an order."""
    command = [sys.executable, "-m", "tests.journeys.killed"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield process


@pytest.fixture
async def machine(tmp_path: Path, forge: Forge) -> AsyncIterator[Machine]:
    async with LineSimulator().running() as line:
        order = Order(str(tmp_path), line.url, line.secret, line.access_token, 45.0)
        machine = Machine(line, order, forge, [])
        yield machine
        for gateway in machine.alive:
            try:
                gateway.kill()
            except ProcessLookupError:
                continue
    assert line.violations == []


POINTS = [
    "received",  # the body is read, nothing is stored, nothing was acknowledged
    "stored",
    "claimed",
    "in the turn",
    "answering",  # the reply is made, not yet written down
    "answered",  # the turn is over, its call is owed
    "before sending",
    "sending",  # written down that the socket comes next
    "sent",  # the platform has answered, nothing is written down
    "recorded",
]
IN_DOUBT = {"sending": 0, "sent": 1}  # what can have reached the chat, for a reply


@pytest.mark.parametrize("method", ["reply", "push"])
@pytest.mark.parametrize("point", POINTS)
async def test_killed_at(machine: Machine, point: str, method: str) -> None:
    machine.order = replace(machine.order, reply_window_s=45.0 if method == "reply" else 0.0)
    event = machine.line.text_event("hello", USER)
    survivor = await machine.through_a_kill(event, point)
    states = await survivor.settled(rows=1)
    is_unknown = method == "reply" and point in IN_DOUBT
    assert states == (["unknown"] if is_unknown else ["sent"])
    arrived = IN_DOUBT[point] if is_unknown else 1
    assert machine.line.texts_to(USER) == [("re: hello",)] * arrived
    assert {each.path for each in machine.line.deliveries} <= {REPLY if method == "reply" else PUSH}
    # neither a redelivery nor a further message brings the old reply back
    assert await machine.post(survivor, event)
    assert await machine.post(survivor, machine.line.text_event("next", USER))
    await machine.line.wait_for(arrived + 1)
    assert machine.line.texts_to(USER) == [("re: hello",)] * arrived + [("re: next",)]


@pytest.mark.parametrize("method", ["reply", "push"])
@pytest.mark.parametrize(
    ("fault", "arrived"),
    [(Fault.HANG, 0), (Fault.HANG_AFTER, 1)],
    ids=["written, not accepted", "written and accepted"],
)
async def test_killed_while_the_platform_has_the_call(
    machine: Machine, fault: Fault, arrived: int, method: str
) -> None:
    machine.order = replace(machine.order, reply_window_s=45.0 if method == "reply" else 0.0)
    machine.line.faults.append(fault)
    first = await machine.start()
    assert await machine.post(first, machine.line.text_event("hello", USER))
    await machine.line.wait_for_calls(1)
    await machine.line.wait_for(arrived)
    first.kill()
    await first.ended()
    survivor = await machine.start()
    states = await survivor.settled(rows=1)
    assert states == (["unknown"] if method == "reply" else ["sent"])
    assert machine.line.texts_to(USER) == [("re: hello",)] * (arrived if method == "reply" else 1)


TWO_CALLS = [
    ("answered", 1),
    ("before sending", 1),
    ("recorded", 1),
    ("before sending", 2),
    ("sending", 2),
    ("sent", 2),
    ("recorded", 2),
]


@pytest.mark.parametrize(("point", "occurrence"), TWO_CALLS)
async def test_killed_between_the_calls_of_a_long_reply(
    machine: Machine, point: str, occurrence: int
) -> None:
    event = machine.line.text_event("long", USER)
    survivor = await machine.through_a_kill(event, point, occurrence)
    assert await survivor.settled(rows=2) == ["sent", "sent"]
    assert machine.line.texts_to(USER) == [LONG[:5], LONG[5:]]


async def test_killed_before_the_busy_sentence(machine: Machine) -> None:
    event = machine.line.text_event("hello", USER)
    survivor = await machine.through_a_kill(event, "stored", lane_limit=0)
    assert await survivor.settled(rows=1) == ["sent"]
    assert machine.line.texts_to(USER) == [("re: hello",)]


async def test_one_message_killed_at_every_point_in_turn(machine: Machine) -> None:
    machine.order = replace(machine.order, reply_window_s=0.0, reruns=len(POINTS))
    event = machine.line.text_event("hello", USER)
    is_taken = False
    for point in POINTS:
        gateway = await machine.start(point)
        is_taken = is_taken or await machine.post(gateway, event)
        await gateway.ended()
    survivor = await machine.start()
    assert await survivor.settled(rows=1) == ["sent"]
    assert machine.line.texts_to(USER) == [("re: hello",)]


# ---------------------------------------------------------------- many at once

PROVES = bool(os.environ.get("SHUTTEN_PROVE"))
KILLS, MESSAGES, CHATS = (200, 500, 5) if PROVES else (8, 50, 2)


@pytest.fixture
def sweep_forge() -> Iterator[Forge]:
    command = [sys.executable, "-m", "tests.journeys.swept"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        yield process


@pytest.mark.slow
@pytest.mark.timeout(1500 if PROVES else 120)
async def test_a_sweep_of_kills_over_five_channels_loses_and_doubles_nothing(
    tmp_path: Path, sweep_forge: Forge
) -> None:
    async with Platforms.running() as platforms:
        chance = random.Random(20260301)
        sweep = Sweep(tmp_path, platforms, sweep_forge, KILLS, MESSAGES, CHATS, chance)
        try:
            await sweep.run()
        finally:
            sweep.stop()
        report = sweep.report()
    sys.stdout.write(f"{report}\n")
    assert (report.kills, report.messages) == (KILLS, MESSAGES)
    assert report.redelivered > 0
    assert (report.lost, report.twice, report.disordered, report.misplaced) == ([], [], [], [])
    # a kill can catch one call without a key in each chat of LINE, Telegram and Slack, no more
    assert report.unknown <= report.kills * CHATS * 3
    assert report.drafts_left <= report.kills * CHATS  # Slack alone posts a draft without a key
    assert platforms.violations == []

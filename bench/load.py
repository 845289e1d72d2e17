"""Many conversations at once against one gateway: answers, memory, loop lag, acknowledgements.

    .venv/bin/python -m bench.load [--conversations 2000] [--home .demo/home] [--only load]

Works on a copy of the demo's home (`make demo ASK=…` makes it) whose agent asks a simulated
OpenAI-compatible model that answers after two seconds; another process plays LINE and the model.
Three parts: `load`, all conversations at once; `slow`, one conversation whose model takes long
beside one that is quick; `flood`, a gigabyte of unsigned bodies beside real events.
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from bench.memory import tree_pss_mb
from tests.simulators.line import sign

SECRET, TOKEN = "bench-secret", "bench-token"
AGENT, MODEL = "xiaohe", "bench/model"
QUESTION = "可以用哪些方式付款？"
SLOW = "慢慢回答"
ANSWER = "可以用信用卡付款。[1]"
SAMPLED_EVERY_S = 0.5
FLOOD_CHUNK = b"x" * 65536
PROBES = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=2000)
    parser.add_argument("--in-flight", type=int, default=64, help="webhook calls at a time")
    parser.add_argument("--model-s", type=float, default=2.0)
    parser.add_argument("--slow-s", type=float, default=40.0)
    parser.add_argument("--flood-mb", type=int, default=1000)
    parser.add_argument("--home", type=Path, default=Path(".demo/home"))
    parser.add_argument("--only", choices=["load", "slow", "flood"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(shutil.copytree(options.home, Path(folder) / "home"))
        print(json.dumps(asyncio.run(measure(options, home)), indent=2))


async def measure(options: argparse.Namespace, home: Path) -> dict[str, Any]:
    here, there = multiprocessing.get_context("spawn").Pipe()
    world = multiprocessing.get_context("spawn").Process(
        target=_play, args=(there, options.model_s, options.slow_s), daemon=True
    )
    world.start()
    _configure(home, await asyncio.to_thread(here.recv))
    figures: dict[str, Any] = {}
    async with _gateway(home) as (pid, url):
        asker = Asker(url, here, pid)
        async with asker.running():
            for count in (3, options.in_flight):  # loads the model and the SDKs, and connects
                await asker.ask_all(count, count)
            parts = {"load": _load, "slow": _slow, "flood": _flood}
            for name, part in parts.items():
                if options.only in (None, name):
                    figures[name] = await part(asker, options)
    world.kill()
    return figures


# ---------------------------------------------------------------- the three parts


async def _load(asker: "Asker", options: argparse.Namespace) -> dict[str, Any]:
    count = options.conversations
    await asker.lag_since_before()
    begun, cpu_s = time.perf_counter(), _cpu_s(asker.pid)
    async with asker.sampling() as memory:
        acknowledged, waits = await asker.ask_all(count, options.in_flight)
        in_s = time.perf_counter() - begun
        lag = await asker.lag_since_before()
    return {
        "conversations": count,
        "answered": len(waits),
        "all_answered_s": round(in_s, 2),
        "answer_p50_s": round(statistics.median(waits), 2),
        "answer_longest_s": round(max(waits), 2),
        "acknowledged_p50_ms": _ms(statistics.median(acknowledged)),
        "acknowledged_p99_ms": _ms(_p99(acknowledged)),
        "loop_lag_p99_ms": lag,
        "gateway_cpu_ms_a_turn": _ms((_cpu_s(asker.pid) - cpu_s) / count),
        "stages_mean_ms": await asker.stages(),
        "pss_peak_mb": max(memory),
        "pss_end_mb": memory[-1],
    }


async def _slow(asker: "Asker", options: argparse.Namespace) -> dict[str, Any]:
    async def quick() -> list[float]:
        waits = []
        for _ in range(PROBES):
            waits += (await asker.ask_all(1, 1))[1]
        return waits

    alone = await quick()
    async with asyncio.TaskGroup() as tasks:
        slow = tasks.create_task(asker.ask_all(1, 1, SLOW, timeout_s=options.slow_s + 60))
        await asyncio.sleep(0.5)
        beside = await quick()
        was_running = not slow.done()
    return {
        "alone_p50_s": round(statistics.median(alone), 3),
        "beside_a_slow_one_p50_s": round(statistics.median(beside), 3),
        "ratio": round(statistics.median(beside) / statistics.median(alone), 3),
        "slow_one_ran_meanwhile": was_running,
    }


async def _flood(asker: "Asker", options: argparse.Namespace) -> dict[str, Any]:
    flood = Flood(asker.url, options.flood_mb * 1_000_000)
    before = tree_pss_mb(asker.pid)
    acknowledged: list[float] = []
    async with asker.sampling() as memory, asyncio.TaskGroup() as tasks:
        floods = [tasks.create_task(flood.run()) for _ in range(4)]
        while not all(each.done() for each in floods):
            acknowledged += (await asker.ask_all(1, 1, waits_for_answer=False))[0]
            await asyncio.sleep(0.05)
    return {
        "sent_mb": round(flood.sent / 1_000_000),
        "refused": flood.refused,
        "pss_before_mb": before,
        "pss_peak_mb": max(memory),
        "acknowledged_real_events": len(acknowledged),
        "acknowledged_longest_ms": _ms(max(acknowledged)),
    }


@dataclass
class Flood:
    """Endless unsigned bodies, one after the other, until so much went out."""

    url: str
    total: int
    sent: int = 0
    refused: int = 0

    async def run(self) -> None:
        async with aiohttp.ClientSession() as session:
            while self.sent < self.total:
                try:
                    async with session.post(
                        f"{self.url}/webhooks/line/main", data=self._body()
                    ) as answer:
                        self.refused += answer.status == 413
                except aiohttp.ClientError:
                    self.refused += 1  # it hung up on us

    async def _body(self) -> AsyncIterator[bytes]:
        for _ in range(800):  # 50 MB
            self.sent += len(FLOOD_CHUNK)
            yield FLOOD_CHUNK


# ---------------------------------------------------------------- who asks


@dataclass
class Asker:
    """Sends signed events and hears from the other process which chats were answered."""

    url: str
    world: Connection
    pid: int
    number: int = 0
    answered_at: dict[str, float] = field(default_factory=dict)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    session: aiohttp.ClientSession | None = None
    lag_before: dict[float, float] = field(default_factory=dict)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        loop.add_reader(self.world.fileno(), self._hear)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as self.session:
            yield
        loop.remove_reader(self.world.fileno())

    def _hear(self) -> None:
        while self.world.poll():
            self.answered_at[self.world.recv()] = time.perf_counter()
        self.news.set()

    async def ask_all(
        self,
        count: int,
        in_flight: int,
        text: str = QUESTION,
        *,
        timeout_s: float = 600.0,
        waits_for_answer: bool = True,
    ) -> tuple[list[float], list[float]]:
        """(acknowledgement, answer) times of each, seconds; every one in a chat of its own."""
        chats = [f"U{self.number + n:032d}" for n in range(count)]
        self.number += count
        sent_at: dict[str, float] = {}
        acknowledged: list[float] = []
        left = iter(chats)

        async def send() -> None:
            for chat in left:
                sent_at[chat] = time.perf_counter()
                # each question is another one, or its vector would come out of the cache
                await self._post(_event(chat, f"{text} {int(chat[1:])}"))
                acknowledged.append(time.perf_counter() - sent_at[chat])

        await asyncio.gather(*(send() for _ in range(in_flight)))
        if not waits_for_answer:
            return acknowledged, []
        async with asyncio.timeout(timeout_s):
            while not all(chat in self.answered_at for chat in chats):
                self.news.clear()
                await self.news.wait()
        return acknowledged, [self.answered_at[chat] - sent_at[chat] for chat in chats]

    async def _post(self, body: bytes) -> None:
        assert self.session is not None
        headers = {"X-Line-Signature": sign(SECRET, body)}
        url = f"{self.url}/webhooks/line/main"
        async with self.session.post(url, data=body, headers=headers) as answer:
            if answer.status != 200:
                raise SystemExit(f"status {answer.status}")

    @asynccontextmanager
    async def sampling(self) -> AsyncIterator[list[float]]:
        """Proportional set size of the whole tree, MB, twice a second."""
        samples = [tree_pss_mb(self.pid)]

        async def sample() -> None:
            while True:
                await asyncio.sleep(SAMPLED_EVERY_S)
                with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                    # a worker may end while it is looked at
                    samples.append(await asyncio.to_thread(tree_pss_mb, self.pid))

        async with asyncio.TaskGroup() as tasks:
            sampler = tasks.create_task(sample())
            yield samples
            sampler.cancel()
        samples.append(tree_pss_mb(self.pid))

    async def stages(self) -> dict[str, float]:
        """What a turn spends where, on average since the gateway's start, ms."""
        assert self.session is not None
        async with self.session.get(f"{self.url}/metrics") as answer:
            text = await answer.text()
        found = re.findall(r'shutten_turn_seconds_(sum|count)\{stage="(\w+)"\} ([0-9.e+-]+)', text)
        values = {(kind, stage): float(value) for kind, stage, value in found}
        stages = {stage for _, stage in values}
        return {
            stage: _ms(values["sum", stage] / values["count", stage]) for stage in sorted(stages)
        }

    async def lag_since_before(self) -> float:
        """Bucket of the gateway's loop lag below which 99 in 100 samples stay, ms."""
        assert self.session is not None
        async with self.session.get(f"{self.url}/metrics") as answer:
            text = await answer.text()
        found = re.findall(r'shutten_loop_lag_seconds_bucket\{le="([^"]+)"\} ([0-9.e+]+)', text)
        now = {float(bound): float(count) for bound, count in found}
        since = {bound: count - self.lag_before.get(bound, 0.0) for bound, count in now.items()}
        self.lag_before = now
        total = since.get(float("inf"), 0.0)
        return min(
            (_ms(bound) for bound, count in since.items() if count >= 0.99 * total),
            default=-1.0,
        )


def _event(chat: str, text: str) -> bytes:
    number = os.urandom(12).hex()
    event = {
        "type": "message",
        "message": {"id": number, "type": "text", "text": text, "quoteToken": "q"},
        "webhookEventId": f"01{number}",
        "deliveryContext": {"isRedelivery": False},
        "timestamp": int(time.time() * 1000),
        "source": {"type": "user", "userId": chat},
        "replyToken": chat,
        "mode": "active",
    }
    return json.dumps({"destination": "U" + "0" * 32, "events": [event]}).encode()


# ---------------------------------------------------------------- the gateway and the world


def _configure(home: Path, world_url: str) -> None:
    (home / "config.toml").write_text(
        f'[channels.line.main]\nagent = "{AGENT}"\nchannel_secret = "{SECRET}"\n'
        f'channel_access_token = "{TOKEN}"\napi_base_url = "{world_url}"\n'
        f'[providers.bench]\nkind = "openai"\nbase_url = "{world_url}/v1"\napi_key = "k"\n'
        "first_token_timeout_s = 120.0\ntotal_timeout_s = 300.0\n",
        "utf-8",
    )
    agent = home / "agents" / AGENT / "agent.toml"
    text = agent.read_text("utf-8")
    agent.write_text(re.sub(r'(?m)^model = ".*"$', f'model = "{MODEL}"', text), "utf-8")


@asynccontextmanager
async def _gateway(home: Path) -> AsyncIterator[tuple[int, str]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", "--home", str(home), "serve", "--port", "0",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = (await process.stdout.readline()).decode()
        drain = asyncio.get_running_loop().create_task(_drain(process.stdout))
        yield process.pid, "http://" + said.split("http://")[1].split()[0]
        drain.cancel()
    finally:
        process.terminate()
        await process.wait()


async def _drain(stream: asyncio.StreamReader) -> None:
    while await stream.read(65536):
        continue


def _play(told: Connection, model_s: float, slow_s: float) -> None:
    """LINE and the model in a process of their own; says which chat was answered."""

    async def complete(request: web.Request) -> web.StreamResponse:
        prompt = await request.read()
        is_slow = json.dumps(SLOW).strip('"').encode() in prompt or SLOW.encode() in prompt
        await asyncio.sleep(slow_s if is_slow else model_s)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for delta, reason in (({"content": ANSWER}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0}
            await response.write(f"data: {json.dumps(chunk | {'choices': [choice]})}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response

    async def take(request: web.Request) -> web.Response:
        body = await request.json()
        told.send(body.get("replyToken") or body["to"])
        return web.json_response({"sentMessages": [{"id": "1", "quoteToken": "q"}]})

    async def load(_: web.Request) -> web.Response:
        return web.json_response({}, status=202)

    async def serve() -> None:
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/v1/chat/completions", complete)
        app.router.add_post("/v2/bot/message/{how}", take)
        app.router.add_post("/v2/bot/chat/loading/start", load)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=4096).start()
        told.send(f"http://127.0.0.1:{runner.addresses[0][1]}")
        await asyncio.Event().wait()

    asyncio.run(serve())


def _cpu_s(pid: int) -> float:
    """User and system time of the gateway's own process."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _p99(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[(len(ordered) * 99 - 1) // 100]


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)


if __name__ == "__main__":
    main()

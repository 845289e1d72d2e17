"""What a document that takes over the reading child can do: nothing but end."""

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError
from gateway.extract.supervisor import ExtractionSupervisor
from gateway.interfaces import Extractor
from tests.extract import hostile_child

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOSTILE = str(Path(hostile_child.__file__))
WITHOUT = str(Path(hostile_child.__file__).with_name("without.py"))
COMMAND = (sys.executable, "-I", HOSTILE)
LIMITS = KnowledgeLimits(max_source_chars=2000, extract_timeout_secs=20, extract_memory_mb=512)
HASTY = KnowledgeLimits(max_source_chars=2000, extract_timeout_secs=1, extract_memory_mb=512)

# by the sandbox, not for want of sense in the call
REFUSED = {
    "refused: Operation not permitted",
    "refused: can't start new thread",
    "refused: Bad file descriptor",  # the document's is not open for writing
    "refused: not allowed to raise maximum limit",
}

fits: type[Extractor] = ExtractionSupervisor


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def hostile() -> AsyncIterator[ExtractionSupervisor]:
    supervisor = ExtractionSupervisor(LIMITS, COMMAND)
    yield supervisor
    await supervisor.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "document"
    path.write_bytes(b"content")
    return path


async def code_of(supervisor: ExtractionSupervisor, file: Path, name: str) -> str:
    with pytest.raises(ExtractionError) as raised:
        await supervisor.extract(file, name)
    return raised.value.code


def process_of(supervisor: ExtractionSupervisor) -> asyncio.subprocess.Process:
    assert supervisor._zygote.process is not None
    return supervisor._zygote.process


def child_of(zygote: int) -> int:
    """The process id of the reading child, once there is one."""
    children = Path(f"/proc/{zygote}/task/{zygote}/children")
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if found := children.read_text().split():
            return int(found[0])
    raise AssertionError("no child came")


def is_gone(process: int) -> bool:
    """Ended, though perhaps not yet waited for."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):  # between opening and reading
            return True
        if state == "Z":
            return True
    return False


@pytest.mark.parametrize("deed", hostile_child.DEEDS)
async def test_every_deed_is_refused(hostile: ExtractionSupervisor, file: Path, deed: str) -> None:
    read = await hostile.extract(file, deed)
    assert read.is_sandboxed
    assert read.blocks[0].text in REFUSED
    assert await asyncio.to_thread(file.read_bytes) == b"content"


@pytest.mark.parametrize(
    ("deed", "code"),
    [
        ("allocate", "extract_oom"),
        ("recurse", "extract_oom"),
        ("print for ever", "too_many_chars"),
        ("crash", "extract_crashed"),
        ("abort", "extract_crashed"),
        ("exit", "extract_crashed"),
        ("raise", "extract_crashed"),
        ("pretend", "extract_crashed"),
        ("page outside", "extract_crashed"),
        ("many characters", "too_many_chars"),
    ],
)
async def test_a_bad_end_has_a_code_and_the_next_document_is_read(
    hostile: ExtractionSupervisor, file: Path, deed: str, code: str
) -> None:
    assert await code_of(hostile, file, deed) == code
    assert (await hostile.extract(file, "harmless")).blocks[0].text == "done"


async def test_what_it_says_is_cleaned(hostile: ExtractionSupervisor, file: Path) -> None:
    assert (await hostile.extract(file, "odd text")).blocks[0].text == "ab[31mc\nd\ne"
    assert (await hostile.extract(file, "odd type")).media_type == "application/octet-stream"


@pytest.mark.parametrize("deed", ["spin", "sleep"])
async def test_the_time_limit_ends_it_and_the_event_loop_goes_on(file: Path, deed: str) -> None:
    supervisor = ExtractionSupervisor(HASTY, COMMAND)
    await supervisor.extract(file, "harmless")  # the zygote is up
    gaps = [0.0]

    async def beat() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            gaps.append(time.monotonic() - before)

    async with asyncio.TaskGroup() as tasks:
        beating = tasks.create_task(beat())
        started = time.monotonic()
        assert await code_of(supervisor, file, deed) == "extract_timeout"
        beating.cancel()
    assert 0.9 < time.monotonic() - started < 4
    assert len(gaps) > 20
    assert max(gaps) < 0.5
    await supervisor.close()


async def test_the_zygote_has_no_environment_goes_when_idle_and_comes_again(file: Path) -> None:
    supervisor = ExtractionSupervisor(LIMITS, (*COMMAND, "0.3"))
    await supervisor.extract(file, "harmless")
    first = process_of(supervisor)
    assert await asyncio.to_thread(Path(f"/proc/{first.pid}/environ").read_bytes) == b""
    assert await first.wait() == 0
    assert (await supervisor.extract(file, "harmless")).blocks[0].text == "done"
    assert process_of(supervisor).pid != first.pid
    await supervisor.close()


async def test_a_zygote_that_is_killed_takes_its_child_along(file: Path) -> None:
    supervisor = ExtractionSupervisor(HASTY, COMMAND)
    await supervisor.extract(file, "harmless")
    zygote = process_of(supervisor).pid
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(code_of(supervisor, file, "spin"))
        child = await asyncio.to_thread(child_of, zygote)
        os.kill(zygote, signal.SIGKILL)
        # it is asked once more, of a new zygote, and then runs into its limit
        assert await reading == "extract_timeout"
    assert await asyncio.to_thread(is_gone, child)
    await supervisor.close()


async def test_cancelling_ends_the_child(file: Path) -> None:
    supervisor = ExtractionSupervisor(LIMITS, COMMAND)
    await supervisor.extract(file, "harmless")
    zygote = process_of(supervisor).pid
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(supervisor.extract(file, "spin"))
        child = await asyncio.to_thread(child_of, zygote)
        reading.cancel()
    assert await asyncio.to_thread(is_gone, child)
    assert await asyncio.to_thread(is_gone, zygote)


async def test_documents_are_read_one_at_a_time(hostile: ExtractionSupervisor, file: Path) -> None:
    async with asyncio.TaskGroup() as tasks:
        reading = [tasks.create_task(hostile.extract(file, f"harmless {n}")) for n in range(5)]
    assert [task.result().blocks[0].text for task in reading] == ["done"] * 5


@pytest.mark.parametrize("lacking", ["landlock", "seccomp"])
async def test_without_the_sandbox_nothing_is_read_unless_the_operator_accepts_it(
    file: Path, lacking: str
) -> None:
    command = (sys.executable, WITHOUT, lacking, HOSTILE)
    strict = ExtractionSupervisor(LIMITS, command)
    assert await code_of(strict, file, "harmless") == "sandbox_unavailable"
    await strict.close()

    accepted = KnowledgeLimits(
        max_source_chars=2000, extract_timeout_secs=1, extract_when_unavailable="run_unsandboxed"
    )
    loose = ExtractionSupervisor(accepted, command)
    read = await loose.extract(file, "harmless")
    assert not read.is_sandboxed
    assert [warning.code for warning in read.warnings] == ["extract_unsandboxed"]
    assert await code_of(loose, file, "spin") == "extract_timeout"
    await loose.close()


async def test_a_file_that_is_gone_is_an_error_not_a_hang(
    hostile: ExtractionSupervisor, tmp_path: Path
) -> None:
    assert await code_of(hostile, tmp_path / "gone", "harmless") == "extract_crashed"
    assert (await hostile.extract(Path(HOSTILE), "harmless")).blocks[0].text == "done"


async def test_a_command_that_does_not_start_is_an_error(file: Path) -> None:
    broken = ExtractionSupervisor(LIMITS, ("/bin/false",))
    assert await code_of(broken, file, "harmless") == "extract_crashed"
    await broken.close()


async def test_a_reading_that_is_given_up_while_its_process_starts_leaves_nothing_open(
    file: Path,
) -> None:
    supervisor = ExtractionSupervisor(LIMITS, COMMAND)
    for steps in range(12):
        reading = asyncio.create_task(supervisor.extract(file, "read"))
        for _ in range(steps):
            await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    await supervisor.close()
    gc.collect()  # a socket nobody closed would be told of here

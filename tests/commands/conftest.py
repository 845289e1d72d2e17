"""The command line as a person meets it, on a temporary home; processes where they matter."""

import asyncio
import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog

from gateway.__main__ import main
from tests.once import made_once

ROOT = Path(__file__).parents[2]
PASSWORD = "a long password"
HANDBOOK = """# 員工手冊

## 特別休假

同仁到職滿一年者，給予特別休假七日；滿二年者十日。

## 出差

國內出差住宿費每晚上限新臺幣二千四百元。
"""


_ALONE = threading.Lock()  # the environment and standard output belong to the whole process


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class CommandLine:
    home: Path

    def environment(self, **more: str) -> dict[str, str]:
        kept = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
        return {**kept, "SHUTTEN_LANGUAGE": "en", "SHUTTEN_PASSWORD": PASSWORD, **more}

    def __call__(self, *arguments: str, **environment: str) -> Ran:
        """Run one command to its end in this process: an interpreter's start takes a second."""
        if "serve" in arguments:  # it minds signals, which only a process's main thread can
            return self.process(*arguments, **environment)
        said = io.StringIO(), io.StringIO()

        def run() -> int:
            try:
                return main(["--home", str(self.home), *arguments])
            except SystemExit as left:  # argparse's way out
                return int(left.code or 0)

        surroundings = _surroundings(self.environment(**environment), *said)
        with _ALONE, surroundings, ThreadPoolExecutor(1) as thread:  # the test's may have a loop
            code = thread.submit(run).result()
        return Ran(code, said[0].getvalue(), said[1].getvalue())

    def process(self, *arguments: str, **environment: str) -> Ran:
        """The same as a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "gateway", "--home", str(self.home), *arguments],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=self.environment(**environment),
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def ok(self, *arguments: str) -> Ran:
        ran = self(*arguments)
        assert ran.code == 0, ran.err + ran.out
        return ran

    @asynccontextmanager
    async def serving(self, **environment: str) -> AsyncIterator["Gateway"]:
        """A gateway process on this home, on a free port."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "gateway", "--home", str(self.home), "serve", "--port", "0",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=ROOT,
            env=self.environment(**environment),
        )  # fmt: skip
        assert process.stdout is not None
        try:
            line = (await asyncio.wait_for(process.stdout.readline(), 60)).decode()
            assert "http://" in line, "the gateway did not start"
            yield Gateway(process, "http://" + line.split("http://")[1].split()[0])
        finally:
            if process.returncode is None:
                process.terminate()
            await asyncio.wait_for(process.wait(), 30)
            process._transport.close()  # type: ignore[attr-defined]


@contextlib.contextmanager
def _surroundings(
    environment: dict[str, str], out: io.StringIO, err: io.StringIO
) -> Iterator[None]:
    """What a process of its own would have: environment, standard output and error, logging."""
    before, logging = dict(os.environ), structlog.get_config()
    os.environ.clear()
    os.environ.update(environment)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        structlog.configure(**logging)


@dataclass(frozen=True)
class Gateway:
    process: asyncio.subprocess.Process
    url: str

    async def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()


@pytest.fixture(scope="session")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new home with its admin, searched by words alone; tests work on copies."""
    return made_once(tmp_path_factory, "new", _make_new) / "home"


def _make_new(folder: Path) -> None:
    command_line = CommandLine(folder / "home")
    made = command_line.process("init")
    assert made.code == 0, made.err
    config = command_line.home / "config.toml"
    config.write_text(
        config.read_text("utf-8") + '\n[knowledge.embedding]\nprovider = "none"\n', "utf-8"
    )


@pytest.fixture(scope="session")
def stocked_home(new_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a handbook that anna may read and bob may not, and an agent bound to both."""
    return made_once(tmp_path_factory, "stocked", lambda folder: _stock(new_home, folder)) / "home"


def _stock(new_home: Path, folder: Path) -> None:
    shutten = CommandLine(copy(new_home, folder))
    (folder / "員工手冊.md").write_text(HANDBOOK, "utf-8")
    shutten.ok("user", "add", "anna", "--department", "業務部")
    shutten.ok("user", "add", "bob", "--department", "倉儲部")
    shutten.ok("knowledge", "create", "員工手冊", "--slug", "handbook", "--as", "admin")
    shutten.ok("agent", "add", "helper", "--name", "Helper")
    for login in ("anna", "bob"):
        shutten.ok("agent", "bind", "helper", login)
    for subject in ("user:anna", "agent:helper"):
        shutten.ok("knowledge", "grant", "handbook", subject, "viewer", "--as", "admin")
    added = shutten.ok(
        "add", str(folder / "員工手冊.md"), "--collection", "handbook", "--as", "admin", "--json"
    )
    assert added.json[0]["source"]["state"] == "ready"


async def eventually(check: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Wait until what another process does has been done."""
    async with asyncio.timeout(timeout_s):
        while not check():  # noqa: ASYNC110 - another process sets no event of ours
            await asyncio.sleep(0.05)


def copy(home: Path, folder: Path) -> Path:
    return Path(shutil.copytree(home, folder / "home"))


@pytest.fixture
def shutten(new_home: Path, tmp_path: Path) -> CommandLine:
    """A new home with its admin."""
    return CommandLine(copy(new_home, tmp_path))


@pytest.fixture
def stocked(stocked_home: Path, tmp_path: Path) -> CommandLine:
    """A home with people, an agent and a handbook."""
    return CommandLine(copy(stocked_home, tmp_path))

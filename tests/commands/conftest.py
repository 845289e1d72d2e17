"""The command line as a person meets it: real processes on a temporary home."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PASSWORD = "a long password"
HANDBOOK = """# 員工手冊

## 特別休假

同仁到職滿一年者，給予特別休假七日；滿二年者十日。

## 出差

國內出差住宿費每晚上限新臺幣二千四百元。
"""


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
        """Run one command to its end."""
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


@dataclass(frozen=True)
class Gateway:
    process: asyncio.subprocess.Process
    url: str

    async def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()


@pytest.fixture
def shutten(tmp_path: Path) -> CommandLine:
    """A new home with its admin, searched by words alone."""
    command_line = CommandLine(tmp_path / "home")
    command_line.ok("init")
    config = tmp_path / "home" / "config.toml"
    config.write_text(
        config.read_text("utf-8") + '\n[knowledge.embedding]\nprovider = "none"\n', "utf-8"
    )
    return command_line


@pytest.fixture
def stocked(shutten: CommandLine, tmp_path: Path) -> CommandLine:
    """With a handbook that anna may read and bob may not, and an agent bound to both."""
    (tmp_path / "員工手冊.md").write_text(HANDBOOK, "utf-8")
    shutten.ok("user", "add", "anna", "--department", "業務部")
    shutten.ok("user", "add", "bob", "--department", "倉儲部")
    shutten.ok("knowledge", "create", "員工手冊", "--slug", "handbook", "--as", "admin")
    shutten.ok("agent", "add", "helper", "--name", "Helper")
    for login in ("anna", "bob"):
        shutten.ok("agent", "bind", "helper", login)
    for subject in ("user:anna", "agent:helper"):
        shutten.ok("knowledge", "grant", "handbook", subject, "viewer", "--as", "admin")
    added = shutten.ok(
        "add", str(tmp_path / "員工手冊.md"), "--collection", "handbook", "--as", "admin", "--json"
    )
    assert added.json[0]["source"]["state"] == "ready"
    return shutten


Change = Callable[[Path], None]

"""`shutten mcp` as a process: its tools, the gateway that is away, a kill, bad usage."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from mcp import Client, StdioServerParameters

from gateway.demo.company import AGENT
from tests.surfaces.serving import World, serving


def program(home: Path, **environment: str) -> StdioServerParameters:
    kept = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    arguments = ["-m", "gateway", "--home", str(home), "mcp", "--agent", AGENT]
    return StdioServerParameters(
        command=sys.executable,
        args=arguments,
        env={**kept, "SHUTTEN_LANGUAGE": "en", **environment},
    )


def children() -> list[psutil.Process]:
    """The processes of `shutten mcp` that this one started."""
    return [each for each in psutil.Process().children() if "mcp" in each.cmdline()]


async def until(holds: Callable[[], bool]) -> None:
    """Wait for another process; it has no event for us."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def open_runs(world: World) -> int:
    return len(world.app.mcp.runs.open)


async def test_a_program_reads_through_it_and_a_kill_ends_the_run(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world:
        token = await world.token("member")
        with contextlib.suppress(Exception):  # how a client takes it is its own matter
            async with Client(program(home, SHUTTEN_TOKEN=token), mode="auto") as client:
                assert len((await client.list_tools()).tools) == 10
                many = [client.call_tool("knowledge_search", {"query": "特休"}) for _ in range(20)]
                answers = await asyncio.gather(*many)
                assert all(answer.structured_content["passages"] for answer in answers)
                assert open_runs(world) == 1
                for process in children():
                    process.send_signal(signal.SIGKILL)
                await until(lambda: open_runs(world) == 0)
        assert open_runs(world) == 0


async def test_a_call_that_is_too_large_says_so_and_ends_no_other(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world:
        token = await world.token("member")
        async with Client(program(home, SHUTTEN_TOKEN=token), mode="auto") as client:
            await client.call_tool("knowledge_search", {"query": "特休"})
            (run,) = world.app.mcp.runs.open
            file = {"namespace": "x", "file_path": "x.txt", "content": "QUFB" * (4 * 2**20)}
            refused = await client.call_tool("IngestDocument", file)
            assert refused.structured_content["error"]["code"] == "payload_too_large"
            assert "shutten serve" not in getattr(refused.content[0], "text", "")
            assert (await client.call_tool("knowledge_search", {"query": "特休"})).is_error is False
            assert world.app.mcp.runs.open == {run}


async def test_it_serves_while_the_gateway_is_away(home: Path) -> None:
    (home / "run").mkdir(parents=True)
    (home / "config.toml").write_text("", "utf-8")
    async with Client(program(home, SHUTTEN_TOKEN="any"), mode="legacy") as client:
        assert (await client.list_tools()).tools == []
        answer = await client.call_tool("knowledge_search", {"query": "特休"})
        assert answer.is_error
        assert "shutten serve" in getattr(answer.content[0], "text", "")
        again = await client.call_tool("knowledge_list_collections", {})
        assert again.structured_content["error"]["code"] == "unavailable"


@pytest.mark.parametrize("has_token", [True, False])
async def test_without_a_token_that_holds_it_ends(
    template: Path, home: Path, capfd: pytest.CaptureFixture[str], *, has_token: bool
) -> None:
    from gateway.commands.parser import parser  # noqa: PLC0415 - the whole tree

    async with serving(template, home):
        file = home / "token"
        file.write_text("wrong\n" if has_token else "", "utf-8")
        options = parser().parse_args(
            ["--home", str(home), "mcp", "--agent", AGENT, "--token-file", str(file)]
        )
        code = await options.run(options)
    assert code == (1 if has_token else 2)
    assert ("not_signed_in" if has_token else "invalid_request") in capfd.readouterr().err

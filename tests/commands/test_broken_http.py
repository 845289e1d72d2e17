"""Requests that are no HTTP: refused, and nothing of what they hold reaches the log."""

import asyncio
import sys

from tests.commands.conftest import ROOT, CommandLine

MARK = b"x-not-for-the-log"


async def test_what_a_broken_request_holds_is_not_logged(shutten: CommandLine) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", "--home", str(shutten.home), "serve", "--port", "0",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        cwd=ROOT, env=shutten.environment(),
    )  # fmt: skip
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), 60)).decode()
    port = int(line.split(":")[-1].split()[0])
    for raw in (
        b"GET /" + MARK + b"\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + MARK * 2_000 + b"\r\n\r\n",
        MARK + b"\r\n\r\n",
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(raw)
        answer = await asyncio.wait_for(reader.read(), 20)
        assert b" 400 " in answer.split(b"\r\n")[0]
        writer.close()
        await writer.wait_closed()
    process.terminate()
    _out, err = await asyncio.wait_for(process.communicate(), 30)
    assert MARK not in err
    assert b"Traceback" not in err

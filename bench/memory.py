"""Memory of the whole process tree, PSS: LINE and web chat in use, model loaded and unloaded.

    .venv/bin/python -m bench.memory [--home .demo/home]

Works on a copy of the demo's home (`make demo ASK=…` makes it) with LINE's simulator configured:
starts the gateway, asks once through LINE, opens the page, measures with the model loaded; then
waits until it has been unloaded (a minute without questions) and measures again.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import aiohttp

from tests.simulators.line import LineSimulator

UNLOADS_WITHIN_S = 150
WORKER = "models.worker"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, default=Path(".demo/home"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(shutil.copytree(options.home, Path(folder) / "home"))
        print(json.dumps(asyncio.run(measure(home)), indent=2))


async def measure(home: Path) -> dict[str, float]:
    simulator = LineSimulator()
    async with simulator.running():
        _configure(home, simulator)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "gateway", "--home", str(home), "serve", "--port", "0",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            url = (
                "http://"
                + (await process.stdout.readline()).decode().split("http://")[1].split()[0]
            )
            await _use(simulator, url)
            loaded = tree_pss_mb(process.pid)
            async with asyncio.timeout(UNLOADS_WITHIN_S):
                while any(WORKER in name for _, name in _tree(process.pid)):  # noqa: ASYNC110
                    await asyncio.sleep(1)
            unloaded = tree_pss_mb(process.pid)
        finally:
            process.terminate()
            await process.wait()
    return {"loaded_mb": loaded, "unloaded_mb": unloaded}


def _configure(home: Path, simulator: LineSimulator) -> None:
    (home / "config.toml").write_text(
        '[channels.line.main]\nagent = "xiaohe"\n'
        f'channel_secret = "{simulator.secret}"\n'
        f'channel_access_token = "{simulator.access_token}"\n'
        f'api_base_url = "{simulator.url}"\n'
        "[knowledge.embedding]\nidle_unload_minutes = 1\n",
        "utf-8",
    )


async def _use(simulator: LineSimulator, url: str) -> None:
    body = simulator.body(simulator.text_event("可以用哪些方式付款？"))
    async with aiohttp.ClientSession() as session:
        headers = simulator.headers(body)
        async with session.post(f"{url}/webhooks/line/main", data=body, headers=headers) as answer:
            assert answer.status == 200
        await simulator.wait_for(1, timeout_s=90)
        async with session.get(url) as page:
            assert page.status == 200


def tree_pss_mb(pid: int) -> float:
    """Proportional set size of a process and its descendants, MB."""
    kilobytes = 0
    for process, _name in _tree(pid):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text("utf-8").splitlines():
            if line.startswith("Pss:"):
                kilobytes += int(line.split()[1])
    return round(kilobytes / 1024, 1)


def _tree(pid: int) -> Iterator[tuple[int, str]]:
    name = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    yield pid, name
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text("utf-8").split():
            yield from _tree(int(child))


if __name__ == "__main__":
    main()

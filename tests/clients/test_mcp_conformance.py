"""The protocol's own conformance suite, unchanged, against `/mcp`: all that needs no test tools."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.clients.bearer_proxy import bearer_proxy
from tests.surfaces.serving import serving

MODULES = Path(sys.prefix) / "clients" / "mcp" / "node_modules" / ".bin"  # `make test-clients`
NODE, SUITE = MODULES / "node", MODULES / "conformance"
pytestmark = pytest.mark.skipif(not SUITE.exists(), reason="its suite is not installed here")
# The others want tools made for the suite, or resources and prompts, which this server neither has
# nor says that it has.
SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)


async def told(url: str, scenario: str, folder: Path) -> tuple[int | None, str]:
    """How it ended, and what it says."""
    running = await asyncio.create_subprocess_exec(
        *(str(NODE), str(SUITE), "server", "--url", url, "--scenario", scenario),
        *("-o", str(folder / "results")),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=folder,
    )
    output, _ = await running.communicate()
    return running.returncode, output.decode("utf-8", "replace")[-4000:]


@pytest.mark.timeout(300)
async def test_the_suite_finds_no_fault(template: Path, tmp_path: Path) -> None:
    async with (
        serving(template, tmp_path / "home") as world,
        bearer_proxy(world.url, await world.token("member")) as url,
    ):
        for scenario in SCENARIOS:
            code, output = await told(f"{url}/mcp", scenario, tmp_path)
            assert code == 0, output
            assert "Passed: 0/" not in output

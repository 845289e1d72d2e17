"""A voice agent's own client of its knowledge base asks, unchanged, over HTTP with a key."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.demo.company import AGENT
from tests.surfaces.serving import ready, serving

HERE = Path(__file__).parent
# `make test-clients` makes it
PYTHON = Path(sys.prefix) / "clients" / "cartesia" / "bin" / "python"
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="its client is not installed here")
TEXT = "未拆封的商品可以在三十天內退貨，退款於七個工作天內完成。"
QUESTION = "未拆封的商品幾天內可以退貨？"


async def told_by_client(*arguments: str) -> Any:
    script = str(HERE / "cartesia_kb.py")
    process = await asyncio.create_subprocess_exec(
        str(PYTHON), script, *arguments, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(out)


@pytest.mark.timeout(180)
async def test_the_voice_agents_client_and_tool_ask_and_map_errors(
    template: Path, tmp_path: Path
) -> None:
    async with serving(template, tmp_path / "home") as world, world.person("admin") as admin:
        made = await admin.rpc("agents.keys.create", {"agent_id": AGENT, "label": "voice"})
        headers = {"X-API-Key": await world.token("admin"), "Cartesia-Version": "2026-03-01"}
        async with aiohttp.ClientSession(world.url, headers=headers) as session:
            folder: dict[str, Any] = {"name": "Product Docs", "parent_id": None}
            async with session.post("/agents/folders", json=folder) as response:
                assert response.status == 201
                folder = await response.json()
            path, attached = f"/agents/folders/{folder['id']}", {"agents": [{"id": AGENT}]}
            async with session.patch(path, json=attached) as response:
                assert response.status == 200
            document = {
                "folder_id": folder["id"],
                "name": "Return Policy",
                "content": TEXT,
                "metadata": {"category": "policy", "audience": "customer"},
            }
            async with session.post("/agents/documents", json=document) as response:
                assert response.status == 201
                await ready(world.app, (await response.json())["id"])
        found = await told_by_client(world.url, AGENT, made["secret"], QUESTION)
    assert TEXT in [each["content"] for each in found["plain"]]
    assert len(found["plain"]) <= 5
    assert len(found["one"]) == 1
    assert [each["content"] for each in found["filtered"]] == [TEXT]
    assert found["nothing"] == []
    assert "status 401" in found["bad key"]
    assert "status 404" in found["bad agent"]
    assert "status 400" in found["bad number"]
    assert "timed out" in found["too slow"]
    assert found["tool"] == TEXT
    assert found["tool finds nothing"].startswith("No relevant information")
    assert "unavailable" in found["tool without agent"]

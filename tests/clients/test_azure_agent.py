"""A search service's own client asks for agentic retrieval, unchanged, over HTTP with a key."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.demo.company import AGENT
from tests.surfaces.serving import serving

HERE = Path(__file__).parent
PYTHON = Path(sys.prefix) / "clients" / "azure" / "bin" / "python"  # `make test-clients` makes it
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="its client is not installed here")
QUESTION = "到職滿一年的特休有幾天？另外，寄送運費怎麼計算？"


async def told_by_client(*arguments: str) -> Any:
    script = str(HERE / "azure_agent.py")
    process = await asyncio.create_subprocess_exec(
        str(PYTHON), script, *arguments, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(out)


async def test_the_preview_client_retrieves_and_maps_errors(template: Path, tmp_path: Path) -> None:
    async with serving(template, tmp_path / "home") as world, world.person("admin") as admin:
        made = await admin.rpc("agents.keys.create", {"agent_id": AGENT, "label": "azure"})
        asker = await world.token("member")
        found = await told_by_client(world.url, AGENT, made["secret"], QUESTION, asker)
    plain = found["plain"]
    assert plain["activity"][0] == "KnowledgeAgentModelQueryPlanningActivityRecord"
    assert plain["activity"][-1] == "KnowledgeAgentSemanticRerankerActivityRecord"
    assert set(plain["activity"][1:-1]) == {"KnowledgeAgentSearchIndexActivityRecord"}
    assert set(plain["references"]) == {"KnowledgeAgentSearchIndexReference"}
    assert sum(plain["counts"]) >= len(plain["keys"]) > 0
    assert all(0 < score <= 4 for score in plain["scores"])
    assert all(plain["titles"])
    assert all("+00:00" in each or each.endswith("Z") for each in plain["times"])
    grounds = json.loads(plain["text"])
    assert [each["title"] for each in grounds] == plain["titles"]
    assert found["async"]["keys"] == plain["keys"]
    assert found["asker"]["keys"]
    assert found["filtered"]["keys"] == []
    assert found["echoed"] is True
    assert found["bad key"][:3] == ["ClientAuthenticationError", 401, "not_signed_in"]
    assert found["bad agent"][:3] == ["ResourceNotFoundError", 404, "not_found"]
    assert found["bad version"][:3] == ["HttpResponseError", 400, "invalid_request"]
    assert found["bad filter"][:3] == ["HttpResponseError", 400, "invalid_request"]
    assert "character 8" in found["bad filter"][3]

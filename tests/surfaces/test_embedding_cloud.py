"""A cloud provider chosen by way of the whole program: disclosed, agreed to, left again."""

import tomllib
from pathlib import Path
from typing import Any

from tests.simulators.embeddings import embeddings
from tests.surfaces.serving import serving

OPENAI = {"provider": "openai"}
CONFIG = """
# the operator's own words stay
[redaction]
enabled = true
rules = [{ name = "email", pattern = '[\\w.+-]+@[\\w.-]+' }]

[providers.vectors]
kind = "openai"
base_url = "{url}"
api_key = "sk-vectors"

[knowledge.embedding]
provider = "none"
cloud_base_url = "{url}"
allow_private_endpoint = true
"""


async def test_nothing_goes_to_a_cloud_before_an_admin_has_agreed_to_just_that(
    template: Path, home: Path
) -> None:
    select, refused = "knowledge.embedding.select", "!cloud_disclosure_needed"
    async with (
        embeddings() as server,
        serving(template, home) as world,
        world.person("admin") as admin,
    ):
        path = home / "config.toml"
        path.write_text(CONFIG.replace("{url}", server.url), "utf-8")
        told = await admin.rpc("knowledge.embedding.disclosure", OPENAI)
        assert (told["host"], told["is_vendors_own"]) == ("127.0.0.1", False)
        assert (told["redaction_rules"], told["has_key"], told["problem"]) == (1, True, "")
        assert await admin.rpc(select, OPENAI) == refused
        await admin.rpc(select, OPENAI | {"acknowledge_disclosure": True})
        now = await admin.rpc("knowledge.embedding.status")
        assert now["wanted"].startswith("cloud:openai:127.0.0.1:")
        assert now["wanted_unavailable"] is None
        written = path.read_text("utf-8")
        record = embedding(written)["cloud_disclosure_ack"]
        host, port = server.address.split(":")
        assert record.items() >= {"provider": "openai", "host": host, "port": int(port)}.items()
        assert record["model"] == "text-embedding-3-small"
        assert record["by"]
        assert "# the operator's own words stay" in written
        assert await admin.rpc(select, OPENAI | {"cloud_model": "another"}) == refused
        await admin.rpc(select, {"provider": "none"})
        assert "cloud_disclosure_ack" not in embedding(path.read_text("utf-8"))
        assert (await admin.rpc("knowledge.embedding.status"))["wanted"] == "none"


def embedding(text: str) -> dict[str, Any]:
    section: dict[str, Any] = tomllib.loads(text)["knowledge"]["embedding"]
    return section


async def test_only_an_admin_is_told_and_an_unknown_provider_is_no_choice(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world:
        async with world.person("admin") as admin:
            unknown = {"provider": "elsewhere"}
            assert await admin.rpc("knowledge.embedding.disclosure", unknown) == "!invalid_request"
            assert await admin.rpc("knowledge.embedding.select", unknown) == "!invalid_request"
        async with world.nobody() as nobody:
            asked = await nobody.rpc("knowledge.embedding.disclosure", OPENAI)
            assert asked == "!not_signed_in"

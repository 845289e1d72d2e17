"""Models by way of the whole program: chosen in the page or in the file, without a restart."""

import asyncio
from pathlib import Path

from tests.surfaces.serving import serving

LOCAL = {"provider": "local", "local_model": "qwen3-embedding-0.6b"}


async def test_a_model_is_chosen_and_left_again_while_the_gateway_runs(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("admin") as admin:
        assert (await admin.rpc("knowledge.embedding.status"))["wanted"] == "none"
        await admin.rpc("knowledge.embedding.select", LOCAL)
        now = await admin.rpc("knowledge.embedding.status")
        assert now["wanted"].startswith("local:qwen3-embedding-0.6b@")
        assert (now["wanted_unavailable"], now["embedded"]) == ("model_missing", 0)
        assert now["passages"] > 0
        assert [row["name"] for row in now["models"] if row["is_selected"]] == [
            LOCAL["local_model"]
        ]
        path = home / "config.toml"
        path.write_text(path.read_text("utf-8").replace('"local"', '"none"'), "utf-8")
        async with asyncio.timeout(20):
            # a file that is looked at raises no event here
            while (await admin.rpc("knowledge.embedding.status"))["wanted"] != "none":  # noqa: ASYNC110
                await asyncio.sleep(0.05)


async def test_how_much_the_library_holds_is_told_to_admins_alone(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world:
        told = {}
        for login in ("admin", "hr", "member"):
            async with world.person(login) as person:
                told[login] = await person.rpc("knowledge.embedding.status")
        assert told["admin"]["passages"] > 0
        assert told["admin"]["embedded"] == 0
        for login in ("hr", "member"):
            assert (told[login]["passages"], told[login]["embedded"]) == (None, None)
            assert told[login]["unavailable"] == told["admin"]["unavailable"]

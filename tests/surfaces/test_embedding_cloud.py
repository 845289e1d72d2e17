"""A cloud provider chosen by way of the whole program: disclosed, agreed to, left again."""

import asyncio
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.simulators.embeddings import Trouble, embeddings
from tests.surfaces.serving import Person, serving

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
        assert (told["rules_compiled"], told["rules_broken"]) == (1, 0)
        assert (told["collections"], told["restricted"], told["local_only"]) == (3, 0, 0)
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


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await holds():  # noqa: ASYNC110 - what another task does raises no event here
            await asyncio.sleep(0.02)


async def details(person: Person, *shelves: str) -> set[tuple[str, str, bool]]:
    """(state, how far it is searched, has a warning) of all documents."""
    lists = [await person.rpc("knowledge.sources.list", {"collection": each}) for each in shelves]
    return {
        (each["state"], each["status_detail"], bool(each["warnings"]))
        for sources in lists
        for each in sources
    }


async def test_after_a_cloud_provider_searches_go_by_words_until_the_new_vectors_are_whole(
    template: Path, home: Path
) -> None:
    shelves, question = ("products", "handbook", "salary"), {"query": "特別休假有幾天？"}
    whole, half = ("ready", "hybrid", False), ("ready", "keyword_only", True)
    async with (
        embeddings() as server,
        serving(template, home) as world,
        world.person("admin") as admin,
    ):
        text = CONFIG.replace("{url}", server.url)
        gemini_key = '\n[providers.theirs]\nkind = "gemini"\nbase_url = "{url}"\napi_key = "k"\n'
        (home / "config.toml").write_text(text + gemini_key.replace("{url}", server.url), "utf-8")

        async def choose(provider: str) -> None:
            chosen = {"provider": provider, "acknowledge_disclosure": True}
            assert await admin.rpc("knowledge.embedding.select", chosen) is None

        async def mode() -> tuple[str, str | None]:
            found = await admin.rpc("knowledge.search", question)
            return found["mode"], found["vector_unavailable"]

        async def is_settled(*wanted: tuple[str, str, bool]) -> bool:
            return await details(admin, *shelves) == set(wanted)

        await choose("openai")
        await until(lambda: is_settled(whole))
        assert await mode() == ("hybrid", None)
        server.troubles = [Trouble(401)]  # one document fails with the new provider, others do not
        await choose("gemini")
        assert await mode() == ("keyword_only", "no_vectors_yet")
        await until(lambda: is_settled(whole, half))
        now = await admin.rpc("knowledge.embedding.status")
        assert 0 < now["embedded"] < now["passages"]
        assert (now["unavailable"], now["wanted_unavailable"]) == ("no_vectors_yet", None)
        assert await mode() == ("keyword_only", "no_vectors_yet")
        await admin.rpc("knowledge.embedding.rebuild")
        await until(lambda: is_settled(whole))
        assert await mode() == ("hybrid", None)
        await choose("local")  # the model is not installed
        assert await mode() == ("keyword_only", "model_missing")


async def test_a_collection_that_stays_here_is_labelled_so_and_again_when_it_may_leave(
    template: Path, home: Path
) -> None:
    async with (
        embeddings() as server,
        serving(template, home) as world,
        world.person("admin") as admin,
    ):
        (home / "config.toml").write_text(CONFIG.replace("{url}", server.url), "utf-8")
        agreed = OPENAI | {"acknowledge_disclosure": True}

        async def change(policy: str) -> None:
            shelves = await admin.rpc("knowledge.collections.list")
            version = next(each["version"] for each in shelves if each["slug"] == "salary")
            asked = {"collection": "salary", "version": version, "embedding_policy": policy}
            assert (await admin.rpc("knowledge.collections.update", asked))["slug"] == "salary"

        async def is_now(detail: str) -> bool:
            return await details(admin, "salary") == {("ready", detail, False)}

        await change("local_only")
        await admin.rpc("knowledge.embedding.select", agreed)
        await until(lambda: is_handbook_done(admin))
        assert await is_now("keyword_only")
        assert "月薪".encode() not in server.arrived
        await change("any")
        await until(lambda: is_now("hybrid"))
        await change("local_only")
        await until(lambda: is_now("keyword_only"))


async def is_handbook_done(person: Person) -> bool:
    return await details(person, "handbook") == {("ready", "hybrid", False)}


async def test_what_was_shown_is_agreed_to_and_nothing_else(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("admin") as admin:
        path = home / "config.toml"
        path.write_text(CONFIG.replace("{url}", "https://one.example/v1"), "utf-8")
        told = await admin.rpc("knowledge.embedding.disclosure", OPENAI)
        agreed = OPENAI | {"acknowledge_disclosure": True, "disclosure_id": told["id"]}
        changes = (("one.example", "two.example"), ("enabled = true", "enabled = false"))
        for one, other in changes:  # somebody edits the file while the dialog is open
            before = path.read_text("utf-8")
            path.write_text(before.replace(one, other), "utf-8")
            answer = await admin.rpc("knowledge.embedding.select", agreed)
            assert answer == "!cloud_disclosure_needed"
            assert "cloud_disclosure_ack" not in path.read_text("utf-8")
            path.write_text(before, "utf-8")
        another = agreed | {"cloud_model": "text-embedding-3-large"}
        answer = await admin.rpc("knowledge.embedding.select", another)
        assert answer == "!cloud_disclosure_needed"
        assert await admin.rpc("knowledge.embedding.select", agreed) is None
        now = await admin.rpc("knowledge.embedding.settings")
        assert now["consent"].items() >= {"by": "林管理", "host": "one.example"}.items()
        assert (now["provider"], now["is_loaded"]) == ("openai", None)
        openai = now["clouds"][0]
        assert (openai["host"], openai["is_vendors_own"]) == ("one.example", False)
        assert openai["accounts"] == ["vectors"]
        assert "sk-vectors" not in str(now)


async def test_broken_rules_and_collections_that_stay_are_counted(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("admin") as admin:
        rules = "[{ name = \"a\", pattern = '(' }, { name = \"b\", pattern = 'x' }]"
        text = f"\n[redaction]\nenabled = true\nrules = {rules}\n"
        with (home / "config.toml").open("a", encoding="utf-8") as file:
            file.write(text)
        shelves = {
            each["slug"]: each["version"] for each in await admin.rpc("knowledge.collections.list")
        }
        changes = (
            {"collection": "salary", "sensitivity": "restricted", "embedding_policy": "local_only"},
            {"collection": "handbook", "embedding_policy": "local_only"},
        )
        for change in changes:
            asked = change | {"version": shelves[change["collection"]]}
            assert (await admin.rpc("knowledge.collections.update", asked))["version"]
        told = await admin.rpc("knowledge.embedding.disclosure", OPENAI)
        assert (told["collections"], told["restricted"], told["local_only"]) == (3, 1, 1)
        assert (told["rules_compiled"], told["rules_broken"]) == (1, 1)
        assert (told["redaction_rules"], told["problem"]) == (
            0,
            "redaction.rules.a: does not compile",
        )


async def test_members_and_managers_neither_see_nor_change_who_computes_vectors(
    template: Path, home: Path
) -> None:
    asked: tuple[tuple[str, dict[str, Any]], ...] = (
        ("settings", {}),
        ("disclosure", OPENAI),
        ("select", OPENAI | {"acknowledge_disclosure": True}),
        ("install", {"model": "multilingual-e5-small"}),
        ("remove", {"model": "multilingual-e5-small"}),
        ("rebuild", {}),
    )
    async with serving(template, home) as world:
        before = (home / "config.toml").read_bytes()
        for login in ("member", "hr"):
            async with world.person(login) as person:
                answers = {
                    await person.rpc(f"knowledge.embedding.{name}", params)
                    for name, params in asked
                }
                assert answers == {"!not_found"}
        assert (home / "config.toml").read_bytes() == before

"""`accounts.*`, `auth.*`, `agents.*` over HTTP: the right person, the wrong one, a program."""

import shutil
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.serving import Person, World, answer, operate, serving

AGENT = "xiaohe"
NEW = {"login": "new", "display_name": "新人", "password": "a long password"}


@pytest.fixture
async def world(template: Path, home: Path) -> AsyncIterator[World]:
    async with serving(template, home) as opened:
        yield opened


class Program:
    """Somebody's token at work."""

    def __init__(self, person: Person, secret: str) -> None:
        self._person = person
        self._headers = {"Authorization": f"Bearer {secret}"}

    async def rpc(self, method: str, params: Any = None) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        async with self._person.post("/rpc", json=body, headers=self._headers) as response:
            found = await response.json()
        if "error" in found:
            return "!" + (found["error"].get("data") or found["error"])["code"]
        return found["result"]


async def test_a_token_is_shown_once_works_and_ends(world: World) -> None:
    async with world.person("member") as member, world.nobody() as nobody:
        made = await member.rpc("auth.tokens.create", {"label": "ci", "expires_in_days": 1})
        program = Program(nobody, made["secret"])
        assert (await program.rpc("auth.me"))["login"] == "member"
        (listed,) = await member.rpc("auth.tokens.list")
        assert (listed["id"], listed["label"]) == (made["id"], "ci")
        assert made["secret"] not in str(listed)
        async with world.person("hr") as other:
            assert await other.rpc("auth.tokens.list") == []
            assert await other.rpc("auth.tokens.list", {"account": "member"}) == "!not_found"
            assert await other.rpc("auth.tokens.revoke", {"id": made["id"]}) == "!not_found"
        async with world.person("admin") as admin:
            (seen,) = await admin.rpc("auth.tokens.list", {"account": "member"})
            assert seen == listed
            assert await admin.rpc("auth.tokens.revoke", {"id": made["id"]}) is None
        assert await program.rpc("auth.me") == "!not_signed_in"
        assert await member.rpc("auth.tokens.list") == []


@pytest.mark.parametrize(
    "params",
    [
        {"label": ""},
        {"label": "a\nb"},
        {"label": "x" * 101},
        {"label": "ci", "expires_in_days": 366},
        {"label": "ci", "expires_in_days": 0},
        {"label": "ci", "expires_in_days": 10**15},
    ],
)
async def test_odd_tokens_are_refused(world: World, params: dict[str, Any]) -> None:
    async with world.person("member") as member:
        assert await member.rpc("auth.tokens.create", params) == "!invalid_request"


async def test_a_token_makes_nothing_that_outlives_it(world: World) -> None:
    """Not an administrator's either: a stolen one must end when it is revoked."""
    async with world.person("admin") as admin, world.nobody() as nobody:
        made = await admin.rpc("auth.tokens.create", {"label": "ops"})
        program = Program(nobody, made["secret"])
        password = {"account": "member", "password": "another password"}
        own = {"password": "another password", "old_password": world.passwords["admin"]}
        refused = [
            ("auth.tokens.create", {"label": "more"}),
            ("accounts.set_password", password),
            ("accounts.set_password", own),
            ("accounts.create", NEW),
            ("accounts.update", {"account": "member", "role": "admin"}),
        ]
        for method, params in refused:
            assert await program.rpc(method, params) == "!session_needed"
        assert len(await program.rpc("accounts.list")) == 3
        changed = {"account": "member", "department": "倉儲部"}
        assert (await program.rpc("accounts.update", changed))["department"] == "倉儲部"
        for method, params in refused[1:2] + refused[3:]:
            assert not str(await admin.rpc(method, params)).startswith("!")


async def test_sessions_are_listed_and_ended_by_their_owner(world: World) -> None:
    async with world.person("member") as here, world.person("member") as there:
        listed = await here.rpc("auth.sessions.list")
        (current,) = [each for each in listed if each["is_current"]]
        (other,) = [each for each in listed if not each["is_current"]]
        async with world.person("hr") as stranger:
            for each in (current, other):
                assert await stranger.rpc("auth.sessions.revoke", {"id": each["id"]}) == (
                    "!not_found"
                )
        assert await here.rpc("auth.sessions.revoke", {"id": other["id"]}) is None
        assert await there.rpc("auth.me") == "!not_signed_in"
        assert (await here.rpc("auth.me"))["login"] == "member"


async def test_ones_own_password_needs_the_old_one(world: World) -> None:
    old = world.passwords["member"]
    async with world.person("member") as here, world.person("member") as there:
        new = {"password": "another password"}
        for given in ({}, {"old_password": "wrong password"}):
            assert await here.rpc("accounts.set_password", {**new, **given}) == (
                "!wrong_credentials"
            )
        other = {**new, "account": "hr", "old_password": old}
        assert await here.rpc("accounts.set_password", other) == "!not_found"
        assert await here.rpc("accounts.set_password", {**new, "account": "nobody"}) == "!not_found"
        short = {"password": "short", "old_password": old}
        assert await here.rpc("accounts.set_password", short) == "!invalid_request"
        assert await here.rpc("accounts.set_password", {**new, "old_password": old}) is None
        assert (await here.rpc("auth.me"))["login"] == "member"
        assert await there.rpc("auth.me") == "!not_signed_in"
        login = {"login": "member", "password": old}
        assert await there.rpc("auth.login", login) == "!wrong_credentials"
        entered = await there.rpc("auth.login", {"login": "member", **new})
        assert entered["me"]["login"] == "member"


async def test_guessing_the_old_password_is_throttled_like_signing_in(world: World) -> None:
    async with world.person("member") as member:
        guess = {"password": "another password", "old_password": "wrong"}
        said = [await member.rpc("accounts.set_password", guess) for _ in range(11)]
        assert said == ["!wrong_credentials"] * 10 + ["!too_many_requests"]


async def test_only_an_admin_keeps_people_and_everybody_their_language(world: World) -> None:
    calls = [
        ("accounts.list", {}),
        ("accounts.create", NEW),
        ("accounts.get", {"account": "admin"}),
        ("accounts.update", {"account": "hr", "language": "ja"}),
        ("accounts.update", {"account": "member", "department": "人力資源部"}),
        ("accounts.update", {"account": "member", "display_name": "林管理"}),
        ("accounts.update", {"account": "member", "role": "admin"}),
        ("accounts.update", {"account": "member", "language": "ja", "active": True}),
        ("accounts.deactivate", {"account": "admin"}),
        ("accounts.activate", {"account": "member"}),
    ]
    async with world.person("member") as member, world.nobody() as nobody:
        for method, params in calls:
            assert await member.rpc(method, params) == "!not_found", (method, params)
            assert await nobody.rpc(method, params) == "!not_signed_in"
        own = await member.rpc("accounts.update", {"account": "member", "language": "ja"})
        assert own["language"] == "ja"
        assert (await member.rpc("accounts.get"))["id"] == own["id"]
        assert "業務部" in await member.rpc("accounts.departments")


async def test_an_account_locked_is_out_at_once_and_its_old_sessions_stay_ended(
    world: World,
) -> None:
    async with world.person("admin") as admin, world.person("member") as member:
        made = await member.rpc("auth.tokens.create", {"label": "ci"})
        async with world.nobody() as nobody:
            program = Program(nobody, made["secret"])
            await admin.rpc("accounts.deactivate", {"account": "member"})
            for _ in range(2):
                assert await member.rpc("auth.me") == "!not_signed_in"
                assert await program.rpc("auth.me") == "!not_signed_in"
                await admin.rpc("accounts.activate", {"account": "member"})
        assert await admin.rpc("accounts.deactivate", {"account": "admin"}) == "!last_admin"
        demoted = {"account": "admin", "role": "member"}
        assert await admin.rpc("accounts.update", demoted) == "!last_admin"


@pytest.mark.parametrize(
    "params",
    [
        {"login": "a b"},
        {"login": ""},
        {"login": "x" * 65},
        {"display_name": "a\nb"},
        {"display_name": "x\u202ey"},
        {"department": "x" * 101},
        {"language": "tlh"},
        {"password": "short"},
        {"password": "x" * 1_001},
        {"role": "owner"},
    ],
)
async def test_odd_people_are_refused(world: World, params: dict[str, Any]) -> None:
    async with world.person("admin") as admin:
        assert await admin.rpc("accounts.create", {**NEW, **params}) == "!invalid_request"
        assert await admin.rpc("accounts.create", {**NEW, "login": "hr"}) == "!login_taken"


# ------------------------------------------------------------ agents


async def test_a_manager_makes_an_agent_and_owns_it(world: World) -> None:
    async with world.person("hr") as hr, world.person("member") as member:
        new = {"id": "mai", "display_name": "麥"}
        assert await member.rpc("agents.create", new) == "!not_found"
        assert await hr.rpc("agents.create", {**new, "department": "業務部"}) == "!invalid_request"
        assert await hr.rpc("agents.create", {**new, "id": "folders"}) == "!invalid_request"
        made = await hr.rpc("agents.create", {**new, "department": "人力資源部"})
        assert (made["role"], made["is_folder_missing"]) == ("owner", False)
        assert await hr.rpc("agents.create", new) == "!agent_exists"
        moved = {"agent_id": "mai", "department": "業務部"}
        assert await hr.rpc("agents.update", moved) == "!invalid_request"
        async with world.person("admin") as admin:
            assert (await admin.rpc("agents.update", moved))["department"] == "業務部"
        changes = {"agent_id": "mai", "display_name": "小麥", "persona": "簡短", "models": ["a/b"]}
        assert (await hr.rpc("agents.update", changes))["display_name"] == "小麥"
        found = await hr.rpc("agents.get", {"agent_id": "mai"})
        assert (found["models"], found["persona"]) == (["a/b"], "簡短")
        assert [each["login"] for each in found["bindings"]] == ["hr"]
        assert await member.rpc("agents.get", {"agent_id": "mai"}) == "!not_found"


async def test_a_folder_that_lies_there_already_is_no_managers_to_take(world: World) -> None:
    folder = world.app.home / "agents" / "left"
    folder.mkdir()
    (folder / "agent.toml").write_text('[agent]\ndepartment = "業務部"\n', "utf-8")
    async with world.person("hr") as hr:
        new = {"id": "left", "display_name": "x"}
        assert await hr.rpc("agents.create", new) == "!agent_exists"


async def test_operators_see_and_viewers_talk_but_neither_edits(world: World) -> None:
    edits: list[tuple[str, dict[str, Any]]] = [
        ("agents.update", {"display_name": "x"}),
        ("agents.bind", {"account": "member", "role": "owner"}),
        ("agents.archive", {}),
        ("agents.restore", {}),
        ("agents.hand_over", {"to": "member"}),
        ("agents.knowledge.set", {"collections": None}),
    ]
    async with world.person("member") as member:
        for role in ("viewer", "operator", None):
            bound = {"agent_id": AGENT, "account": "member", "role": role}
            await operate(world.app, "agents.bind", bound, None)
            for method, params in edits:
                for agent_id in (AGENT, "missing"):
                    said = await member.rpc(method, {"agent_id": agent_id, **params})
                    assert said == "!not_found", (role, method, agent_id)
            listed = [(each["id"], each["role"]) for each in await member.rpc("agents.list")]
            assert listed == ([(AGENT, role)] if role else [])
            knowledge = await member.rpc("agents.knowledge.get", {"agent_id": AGENT})
            assert (knowledge == "!not_found") is (role != "operator")
            found = await member.rpc("agents.get", {"agent_id": AGENT})
            if role is None:
                assert found == "!not_found"
            else:
                assert bool(found["bindings"]) is (role == "operator")
                assert bool(found["persona"]) is (role == "operator")


async def test_what_an_agent_uses_can_only_be_what_is_shared_with_it(world: World) -> None:
    async with world.person("hr") as hr, world.person("admin") as admin:
        await hr.rpc("agents.create", {"id": "mai", "display_name": "麥"})
        change = {"agent_id": "mai", "collections": ["products"], "top_k": 99}
        for slug in ("products", "salary", "no-such"):  # hr's own ones too
            wanted = {**change, "collections": [slug]}
            assert await hr.rpc("agents.knowledge.set", wanted) == "!invalid_request"
        await share(admin, "products", "mai")
        saved = await hr.rpc("agents.knowledge.set", change)
        assert (saved["collections"], saved["top_k"], saved["is_readable"]) == (
            ["products"],
            8,
            True,
        )
        assert saved == await hr.rpc("agents.knowledge.get", {"agent_id": "mai"})
        toml = world.app.home / "agents" / "mai" / "agent.toml"
        toml.write_text('[knowledge]\ncollections = "products"', "utf-8")
        assert await hr.rpc("agents.knowledge.set", change) == "!agent_file_broken"
        unread = await hr.rpc("agents.knowledge.get", {"agent_id": "mai"})
        assert (unread["collections"], unread["is_readable"]) == ([], False)
        assert await hr.rpc("agents.knowledge.set", {**change, "replace": True}) == saved


async def share(admin: Person, slug: str, agent_id: str) -> None:
    now = await admin.rpc("knowledge.grants.list", {"collection": slug})
    line = {"subject_kind": "agent", "subject_id": agent_id, "role": "viewer"}
    params = {"collection": slug, "version": now["version"], "grants": [*now["grants"], line]}
    assert "version" in await admin.rpc("knowledge.grants.replace", params)


async def test_an_agent_put_away_answers_nobody_until_it_is_taken_back(
    world: World, tmp_path: Path
) -> None:
    folder, away = world.app.home / "agents" / AGENT, tmp_path / "away"
    ask = {"text": "特休幾天？", "agent": AGENT}
    async with world.person("admin") as admin, world.person("member") as member:

        async def answers() -> bool:
            said = await member.rpc("chat.ask", ask)
            assert said == "!not_found" or said["text"]
            return bool(said != "!not_found")

        assert await answers()
        assert (await admin.rpc("agents.archive", {"agent_id": AGENT}))["is_archived"]
        assert not await answers()
        (view,) = await member.rpc("agents.list")
        assert view["is_archived"]
        assert not (await admin.rpc("agents.restore", {"agent_id": AGENT}))["is_archived"]
        assert await answers()
        shutil.move(folder, away)
        assert not await answers()
        (view,) = await member.rpc("agents.list")
        assert (view["is_archived"], view["is_folder_missing"]) == (False, True)
        async with member.chat() as socket:
            frames = await answer(socket, "特休幾天？", agent_id=AGENT)
        assert "七日" not in str(frames)
        shutil.move(away, folder)
        assert await answers()


async def test_a_hand_over_leaves_the_old_owner_nothing(world: World) -> None:
    async with world.person("hr") as hr, world.person("admin") as admin:
        await hr.rpc("agents.create", {"id": "mai", "display_name": "麥"})
        missing = {"agent_id": "mai", "to": "nobody"}
        assert await hr.rpc("agents.hand_over", missing) == "!not_found"
        view = await hr.rpc("agents.hand_over", {"agent_id": "mai", "to": "member"})
        assert (view["is_archived"], view["role"]) == (True, None)
        assert await hr.rpc("agents.get", {"agent_id": "mai"}) == "!not_found"
        async with world.person("member") as member:
            restored = await member.rpc("agents.restore", {"agent_id": "mai"})
            assert (restored["is_archived"], restored["role"]) == (False, "owner")
            last = {"agent_id": "mai", "account": "member", "role": None}
            assert await member.rpc("agents.bind", last) == "!last_owner"
            assert await admin.rpc("agents.bind", last) is None


async def test_every_change_is_on_record_without_a_secret(world: World) -> None:
    async with world.person("admin") as admin:
        made = await admin.rpc("auth.tokens.create", {"label": "ops"})
        await admin.rpc("accounts.create", NEW)
        await admin.rpc("accounts.update", {"account": "new", "department": "倉儲部"})
        await admin.rpc("accounts.set_password", {"account": "new", "password": "other words"})
        await admin.rpc("accounts.deactivate", {"account": "new"})
        await admin.rpc("accounts.activate", {"account": "new"})
        await admin.rpc("agents.create", {"id": "mai", "display_name": "麥"})
        await admin.rpc("agents.update", {"agent_id": "mai", "display_name": "小麥"})
        await admin.rpc("agents.bind", {"agent_id": "mai", "account": "hr", "role": "viewer"})
        await admin.rpc("agents.knowledge.set", {"agent_id": "mai", "collections": []})
        await admin.rpc("agents.archive", {"agent_id": "mai"})
        await admin.rpc("agents.restore", {"agent_id": "mai"})
        await admin.rpc("agents.hand_over", {"agent_id": "mai", "to": "hr"})
        await admin.rpc("auth.tokens.revoke", {"id": made["id"]})
        audit = world.app.home / "security_audit.jsonl"
        while await world.app.store.audit.export(audit):
            continue
    text = audit.read_text("utf-8")
    for event in (
        *("token_created", "account_created", "account_updated", "password_changed"),
        *("account_deactivated", "account_activated", "agent_created", "agent_updated"),
        *("agent_binding_changed", "knowledge_agent_binding_changed", "agent_archived"),
        *("agent_restored", "agent_handed_over", "token_revoked"),
    ):
        assert f'"{event}"' in text, event
    for secret in (made["secret"], NEW["password"], "other words"):
        assert secret not in text


async def test_the_operator_keeps_people_and_agents_without_an_account(world: World) -> None:
    await operate(world.app, "accounts.create", NEW, None)
    await operate(
        world.app, "accounts.set_password", {"account": "new", "password": "12345678"}, None
    )
    account = await world.app.store.accounts.find_by_login("new")
    assert account is not None
    await world.app.sign_in.sign_in("new", "12345678", valid_for=timedelta(days=1))
    (listed,) = await operate(world.app, "auth.sessions.list", {"account": "new"}, None)
    await operate(world.app, "auth.sessions.revoke", {"id": listed["id"]}, None)
    made = await operate(world.app, "auth.tokens.create", {"label": "x"}, "new")
    assert made["id"] in [
        each["id"] for each in await operate(world.app, "auth.tokens.list", {}, None)
    ]
    assert {each["id"] for each in await operate(world.app, "agents.list", {}, None)} == {AGENT}
    await operate(world.app, "agents.hand_over", {"agent_id": AGENT, "to": "new"}, None)

"""Every key, asker and agent at a program's door, against the document's table told naively."""

import itertools
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp.test_utils import make_mocked_request

from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.sign_in import SignIn
from gateway.core.access import Account, AccountRole, Agent, AudienceKind, BindingRole
from gateway.core.agents import AgentSettings
from gateway.core.people import AccountChange
from gateway.errors import ConflictError, GatewayError
from gateway.interfaces import Act
from gateway.store import Store
from gateway.surfaces.doors import Doors
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.stores import new_store

PROVE = bool(os.environ.get("SHUTTEN_PROVE"))
DAY = timedelta(days=1)
PEOPLE = ("admin", "bound", "unbound", "gone", "left")  # the last two are deactivated later
AGENTS = ("hana", "koto", "old")  # "old" is archived later
OPERATOR = None
CREDENTIALS = (
    *("nothing", "nonsense", "session of bound", "expired token of bound", "revoked token"),
    *(f"token of {name}" for name in PEOPLE),
    *("key of hana", "key of koto", "key of old", "key by gone", "revoked key", "expired key"),
)
ASKERS = (
    *("no asker", "", "nonsense", "session of bound", "key of hana", "expired token of bound"),
    *(f"token of {name}" for name in PEOPLE[:4]),
)
PATHS = (None, *AGENTS, "nobody")


@dataclass
class Street:
    """The doors, and every secret by its name."""

    store: Store
    clock: WoundClock
    sign_in: SignIn
    doors: Doors
    secrets: dict[str, str]

    async def enter(self, credential: str, asker: str, path: str | None) -> tuple[object, ...]:
        headers = {}
        if credential != "nothing":
            headers["Authorization"] = f"Bearer {self.secrets.get(credential, credential)}"
        token = None if asker == "no asker" else self.secrets.get(asker, asker)
        return await self.go(headers, path, token)

    async def go(
        self, headers: dict[str, str], path: str | None = None, token: str | None = None
    ) -> tuple[object, ...]:
        request = make_mocked_request("POST", "/", headers=headers)
        try:
            caller = await self.doors.open(request, "test", agent_id=path, asker_token=token)
        except GatewayError as error:
            return (error.code,)
        person = None if caller.account is None else caller.account.login
        behind = caller.audience.account
        assert (None if behind is None else behind.login) == person
        agent = None if caller.agent is None else caller.agent.agent_id
        return (caller.audience.kind, person, agent, caller.audience.is_direct)


TOKENS = {f"token of {name}": name for name in ("admin", "bound", "unbound")}
KEYS = {"key of hana": "hana", "key of koto": "koto"}
TALKS_TO = {"admin": ("hana", "koto"), "bound": ("hana",), "unbound": ()}
STRANGER, NONE_HERE = ("not_signed_in",), ("not_found",)


def reference(credential: str, asker: str, path: str | None) -> tuple[object, ...]:
    """FEATURES "Doors and audiences", sentence by sentence."""
    if credential not in TOKENS | KEYS:
        return STRANGER
    if asker != "no asker" and asker not in TOKENS:
        return STRANGER  # a bad one is an error, never a fallback
    return (of_key if credential in KEYS else of_token)(credential, asker, path)


def of_key(key: str, asker: str, path: str | None) -> tuple[object, ...]:
    if path not in (None, KEYS[key]):
        return NONE_HERE
    if asker == "no asker":
        return (AudienceKind.SYSTEM, None, KEYS[key], False)
    return (AudienceKind.ACCOUNT_DOOR, TOKENS[asker], KEYS[key], False)


def of_token(token: str, asker: str, path: str | None) -> tuple[object, ...]:
    person = TOKENS[token]
    if asker not in ("no asker", token):
        return STRANGER
    if path is None:
        return (AudienceKind.DASHBOARD, person, None, True)
    if path not in TALKS_TO[person]:
        return NONE_HERE
    return (AudienceKind.ACCOUNT_DOOR, person, path, False)


@asynccontextmanager
async def street(folder: Path) -> AsyncIterator[Street]:
    """A small company after some of it ended."""
    clock = WoundClock()
    async with new_store(folder, clock, RealIds()) as store:
        files = AgentFolder(folder / "agents", store.agents)
        sign_in = SignIn(store.accounts, store.account_changes, store.sessions, clock)
        secrets = await _issued(store, files, sign_in, clock)
        yield Street(store, clock, sign_in, Doors(sign_in, store.agents, files), secrets)


async def _issued(
    store: Store, files: AgentFolder, sign_in: SignIn, clock: WoundClock
) -> dict[str, str]:
    secrets: dict[str, str] = {}
    people = {}
    operator = Act(OPERATOR, clock.now())
    for name in PEOPLE:
        role = AccountRole.ADMIN if name in ("admin", "gone") else AccountRole.MEMBER
        people[name] = Account(name, name, name, role)
        await store.accounts.put(people[name])
    for name in AGENTS:
        await files.create(AgentSettings(name, name))
        await store.agents.put(Agent(name, name))
    await store.agents.bind("hana", "bound", BindingRole.OWNER)
    await store.agents.bind("old", "bound", BindingRole.OWNER)
    for name, account in people.items():
        issued = await sign_in.issue(account, kind="token", label="", valid_for=30 * DAY)
        secrets[f"token of {name}"] = issued.secret
    for name, kind in (("session of bound", "session"), ("expired token of bound", "token")):
        held_for = 30 * DAY if kind == "session" else DAY
        made = await sign_in.issue(people["bound"], kind=kind, label="", valid_for=held_for)
        secrets[name] = made.secret
    token, secrets["revoked token"] = await sign_in.issue_token(
        people["bound"], "x", 30 * DAY, operator
    )
    await store.sessions.revoke(token.id, "token", operator)
    for name, agent, maker, days in (
        *((f"key of {agent}", agent, "admin", 30) for agent in AGENTS),
        *(("key by gone", "hana", "gone", 30), ("revoked key", "hana", "bound", 30)),
        ("expired key", "hana", "bound", 1),
    ):
        by = Act(maker, clock.now())
        key, secrets[name] = sign_in.agent_key(agent, "x", days * DAY, by)
        await store.agent_keys.add(key, 50, by)
        if name == "revoked key":
            await store.agent_keys.revoke(key.id, by)
    clock.wind(days=2)
    for name in ("gone", "left"):
        await store.account_changes.change(name, AccountChange(is_active=False), operator)
    await store.agent_changes.set_archived("old", is_archived=True, by=operator)
    return secrets


def cases() -> Iterable[tuple[str, str, str | None]]:
    """The whole table when it is proven; else all of it but askers that are refused alike."""
    if PROVE:
        return itertools.product(CREDENTIALS, ASKERS, PATHS)
    few = ("no asker", "nonsense", "token of bound")
    wide = itertools.product(CREDENTIALS, few, (None, "hana", "old"))
    deep = itertools.product(("token of bound", "key of hana"), ASKERS, ("hana", "koto"))
    return dict.fromkeys((*wide, *deep))


async def test_whom_a_door_lets_in_and_for_whom_they_ask_is_the_table(tmp_path: Path) -> None:
    async with street(tmp_path) as here:
        for case in cases():
            assert await here.enter(*case) == reference(*case), case


async def test_keys_of_several_headers_are_one_key_or_an_error(tmp_path: Path) -> None:
    async with street(tmp_path) as here:
        key, token = here.secrets["key of hana"], here.secrets["token of bound"]
        let_in = (AudienceKind.SYSTEM, None, "hana", False)
        assert await here.go({"X-API-Key": key}) == let_in
        assert await here.go({"api-key": key, "Authorization": f"bearer {key}"}) == let_in
        for other in (token, "", "nonsense"):
            headers = {"X-API-Key": key, "Authorization": f"Bearer {other}"}
            assert await here.go(headers) == ("invalid_request",)
        assert await here.go({"Authorization": f"Basic {key}"}) == ("not_signed_in",)
        assert await here.go({"X-API-Key": ""}) == ("not_signed_in",)


async def test_a_key_does_not_come_back_with_its_agent_or_its_maker(tmp_path: Path) -> None:
    async with street(tmp_path) as here:
        operator = Act(OPERATOR, here.clock.now())
        await here.store.agent_changes.set_archived("old", is_archived=False, by=operator)
        await here.store.account_changes.change("gone", AccountChange(is_active=True), operator)
        for name in ("key of old", "key by gone", "token of gone"):
            assert await here.go({"X-API-Key": here.secrets[name]}) == ("not_signed_in",)


async def test_keys_are_told_of_in_the_audit_and_limited_by_agent(tmp_path: Path) -> None:
    async with street(tmp_path) as here:
        by = Act("bound", here.clock.now())
        (held,) = await here.store.agent_keys.list("hana", by)  # one of five holds
        assert (held.agent_id, held.account_id) == ("hana", "admin")
        key, _ = here.sign_in.agent_key("hana", "x", DAY, by)
        with pytest.raises(ConflictError) as refused:
            await here.store.agent_keys.add(key, 1, by)
        assert refused.value.code == "too_many_tokens"
        await here.store.agent_keys.add(key, 2, by)
        for agent, code in (("old", "agent_archived"), ("koto", "not_found"), ("x", "not_found")):
            other, _ = here.sign_in.agent_key(agent, "x", DAY, by)
            with pytest.raises(GatewayError) as why:
                await here.store.agent_keys.add(other, 50, by)
            assert why.value.code == code
        while await here.store.audit.export(tmp_path / "audit.jsonl"):
            continue
        told = (tmp_path / "audit.jsonl").read_text("utf-8")
        assert told.count("agent_key_created") == 7
        assert told.count("agent_key_revoked") == 1
        assert not any(secret in told for secret in here.secrets.values())

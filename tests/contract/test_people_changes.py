"""Changes of people and agents: rule, change, generation and audit row in one transaction."""

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.core.access import Account, AccountRole, Agent, BindingRole
from gateway.core.people import AccountChange
from gateway.errors import ConflictError, GatewayError, InvalidRequestError, NotFoundError
from gateway.interfaces import Act, Session
from gateway.store import Store
from tests.contract.world import IDS, World
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.stores import new_store

ADMIN, MEMBER = AccountRole.ADMIN, AccountRole.MEMBER
OWNER, OPERATOR, VIEWER = BindingRole.OWNER, BindingRole.OPERATOR, BindingRole.VIEWER
OUT, IN = AccountChange(is_active=False), AccountChange(is_active=True)


def by(world: World, account: Account | None = None) -> Act:
    return Act(account.id if account is not None else None, world.clock.now())


async def told(world: World, folder: Path) -> list[dict[str, Any]]:
    """The audit's lines since the last look."""
    path = folder / "audit.jsonl"
    path.unlink(missing_ok=True)
    while await world.store.audit.export(path):
        continue
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def code_of(call: Awaitable[object]) -> str:
    try:
        await call
    except GatewayError as error:
        return error.code
    return ""


async def session(world: World, account: Account, kind: str = "session") -> Session:
    now = world.clock.now()
    made = Session(IDS.new() * 2, account.id, kind, "", now, now + timedelta(days=1))
    await world.store.sessions.put(made)
    return made


async def test_the_last_active_admin_stays_whoever_asks(world: World) -> None:
    boss, changes = await world.account("boss", ADMIN), world.store.account_changes
    idle = await world.account("idle", ADMIN)
    await changes.change(idle.id, OUT, by(world, boss))
    for change in (OUT, AccountChange(role=MEMBER), AccountChange(role=AccountRole.MANAGER)):
        for actor in (boss, None):
            assert await code_of(changes.change(boss.id, change, by(world, actor))) == "last_admin"
    await changes.change(idle.id, IN, by(world, boss))
    assert not (await changes.change(boss.id, OUT, by(world, boss))).is_active
    assert await code_of(changes.change(idle.id, OUT, by(world))) == "last_admin"


async def test_of_two_admins_who_lock_each_other_one_stays(world: World) -> None:
    one, two = await world.account("one", ADMIN), await world.account("two", ADMIN)
    changes = world.store.account_changes
    codes = await asyncio.gather(
        code_of(changes.change(two.id, OUT, by(world, one))),
        code_of(changes.change(one.id, OUT, by(world, two))),
    )
    assert sorted(codes)[0] == ""
    assert sorted(codes)[1] in ("not_found", "last_admin")
    active = [each for each in await world.store.accounts.list() if each.is_admin]
    assert len(active) == 1


PEOPLE = 4
STEPS = st.lists(
    st.tuples(
        st.integers(-1, PEOPLE - 1),
        st.integers(0, PEOPLE - 1),
        st.builds(
            AccountChange,
            role=st.none() | st.sampled_from(AccountRole),
            department=st.none() | st.sampled_from(["HR", ""]),
            language=st.none() | st.just("ja"),
            is_active=st.none() | st.booleans(),
        ),
    ),
    max_size=25,
)


@settings(max_examples=15)
@given(steps=STEPS)
def test_no_order_of_changes_leaves_nobody_who_administers(
    steps: list[tuple[int, int, AccountChange]],
) -> None:
    async def run(folder: str) -> None:
        clock = WoundClock()
        async with new_store(Path(folder), clock, RealIds()) as store:
            world = World(store, clock)
            roles = (ADMIN, ADMIN, MEMBER, AccountRole.MANAGER)
            people = [await world.account(f"p{n}", role) for n, role in enumerate(roles)]
            for actor, of, change in steps:
                now = {each.id: each for each in await store.accounts.list()}
                who = None if actor < 0 else now[people[actor].id]
                before = now[people[of].id]
                code = await code_of(
                    store.account_changes.change(before.id, change, by(world, who))
                )
                after = await store.accounts.find(before.id)
                assert after is not None
                if code:
                    assert after == before
                elif who is not None and not who.is_admin:
                    assert who.id == before.id
                    assert who.is_active
                    assert replace(after, language=None) == replace(before, language=None)
                assert any(each.is_admin for each in await store.accounts.list())

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(folder))


async def test_deactivation_ends_sessions_and_tokens_for_good(world: World, tmp_path: Path) -> None:
    boss, ken = await world.account("boss", ADMIN), await world.account("ken")
    kept, sessions = await session(world, boss), world.store.sessions
    ended = [await session(world, ken), await session(world, ken, "token")]
    await world.store.account_changes.change(ken.id, OUT, by(world, boss))
    await world.store.account_changes.change(ken.id, IN, by(world, boss))
    assert [await sessions.find(each.secret_sha256, world.clock.now()) for each in ended] == [
        None,
        None,
    ]
    assert await sessions.find(kept.secret_sha256, world.clock.now()) == kept
    events = [(each["event"], each["actor"]) for each in await told(world, tmp_path)]
    assert events == [("account_deactivated", boss.id), ("account_activated", boss.id)]


async def test_a_new_password_ends_all_but_the_session_it_was_set_in(
    world: World, tmp_path: Path
) -> None:
    ken, lee, changes = await world.account("ken"), await world.account("lee"), world.store
    here, there = await session(world, ken), await session(world, ken)
    token, other = await session(world, ken, "token"), await session(world, lee)
    await changes.account_changes.set_password(
        ken.id, "hash", by(world, ken), keep=here.secret_sha256
    )
    found = [
        await changes.sessions.find(each.secret_sha256, world.clock.now())
        for each in (here, there, token, other)
    ]
    assert found == [here, None, None, other]
    assert await changes.accounts.password_hash(ken.id) == "hash"
    assert [each["event"] for each in await told(world, tmp_path)] == ["password_changed"]
    refused = changes.account_changes.set_password(lee.id, "mine", by(world, ken))
    assert await code_of(refused) == "not_found"
    assert await changes.accounts.password_hash(lee.id) is None


async def test_accounts_are_added_whole_or_not_at_all(world: World, tmp_path: Path) -> None:
    boss, ken = await world.account("boss", ADMIN), await world.account("ken")
    changes, new = world.store.account_changes, Account(IDS.new(), "new", "New", MEMBER, "HR")
    assert await code_of(changes.add(new, "h", by(world, ken))) == "not_found"
    assert await code_of(changes.add(replace(new, login="ken"), "h", by(world, boss))) == (
        "login_taken"
    )
    assert await world.store.accounts.find(new.id) is None
    await changes.add(new, "h", by(world, boss))
    assert await world.store.accounts.find(new.id) == new
    assert await world.store.accounts.password_hash(new.id) == "h"
    (event,) = await told(world, tmp_path)
    assert (event["event"], event["actor"]) == ("account_created", boss.id)


async def test_what_changes_nothing_counts_and_tells_nothing(world: World, tmp_path: Path) -> None:
    boss = await world.account("boss", ADMIN)
    before = await world.store.generation()
    same = AccountChange(role=ADMIN, department="HR", is_active=True)
    await world.store.account_changes.change(boss.id, same, by(world, boss))
    assert await world.store.generation() == before
    assert await told(world, tmp_path) == []
    await world.store.account_changes.change(boss.id, AccountChange(department="IT"), by(world))
    assert await world.store.generation() > before
    (event,) = await told(world, tmp_path)
    assert (event["event"], event["actor"], event["details"]["fields"]) == (
        "account_updated",
        "operator",
        "department",
    )


async def test_departments_are_those_of_active_people_and_working_agents(world: World) -> None:
    boss, ken = await world.account("boss", ADMIN), await world.account("ken")
    change = world.store.account_changes.change
    await change(ken.id, AccountChange(department="業務部"), by(world))
    await world.store.agents.put(Agent("a", "A", "倉儲部"))
    await world.store.agents.put(Agent("b", "B", ""))
    await world.store.agents.put(Agent("c", "C", "HR"))
    assert set(await world.store.accounts.departments()) == {"HR", "業務部", "倉儲部"}
    await change(ken.id, OUT, by(world, boss))
    await world.store.agents.put(Agent("a", "A", "倉儲部", is_archived=True))
    assert await world.store.accounts.departments() == ["HR"]


# ------------------------------------------------------------ sessions and tokens


async def test_a_token_is_revoked_by_its_owner_or_an_admin_alone(
    world: World, tmp_path: Path
) -> None:
    boss, ken, lee = [await world.account(n, r) for n, r in
                      (("boss", ADMIN), ("ken", MEMBER), ("lee", MEMBER))]  # fmt: skip
    sessions = world.store.sessions
    for actor, code in ((lee, "not_found"), (ken, ""), (boss, ""), (None, "")):
        token = await session(world, ken, "token")
        assert await code_of(sessions.revoke(token.id, "session", by(world, actor))) == "not_found"
        assert await code_of(sessions.revoke(token.id, "token", by(world, actor))) == code
        is_left = await sessions.find(token.secret_sha256, world.clock.now()) is not None
        assert is_left is bool(code)
    kept = await session(world, ken, "token")
    for odd in ("", "0", kept.id[:31], f"{kept.id}0", "g" * 32):
        assert await code_of(sessions.revoke(odd, "token", by(world, boss))) == "not_found"
    assert await sessions.find(kept.secret_sha256, world.clock.now()) == kept
    assert [each["event"] for each in await told(world, tmp_path)] == ["token_revoked"] * 3


async def test_lists_hold_what_still_lets_in(world: World) -> None:
    ken, lee, sessions = await world.account("ken"), await world.account("lee"), world.store
    one = await session(world, ken, "token")
    world.clock.wind(minutes=1)
    two = await session(world, ken, "token")
    other, browser = await session(world, lee, "token"), await session(world, ken)
    listed = sessions.sessions.list
    assert await listed("token", ken.id, world.clock.now()) == [two, one]
    assert {each.id for each in await listed("token", None, world.clock.now())} == {
        one.id,
        two.id,
        other.id,
    }
    assert await listed("session", ken.id, world.clock.now()) == [browser]
    await world.store.accounts.put(replace(lee, is_active=False))
    assert other not in await listed("token", None, world.clock.now())
    assert await listed("token", ken.id, world.clock.wind(days=2)) == []


async def test_tokens_have_a_limit_that_expired_ones_do_not_count_against(
    world: World, tmp_path: Path
) -> None:
    ken, sessions = await world.account("ken"), world.store.sessions

    def token() -> Session:
        now = world.clock.now()
        return Session(IDS.new() * 2, ken.id, "token", "ci", now, now + timedelta(days=1))

    for _ in range(3):
        await sessions.add_token(token(), 3, by(world, ken))
    assert await code_of(sessions.add_token(token(), 3, by(world, ken))) == "too_many_tokens"
    assert len(await sessions.list("token", ken.id, world.clock.now())) == 3
    world.clock.wind(days=2)
    await sessions.add_token(token(), 3, by(world, ken))
    assert len(await told(world, tmp_path)) == 4
    await world.store.accounts.put(replace(ken, is_active=False))
    assert await code_of(sessions.add_token(token(), 3, by(world, ken))) == "not_found"


# ------------------------------------------------------------ agents


async def staff(world: World) -> dict[str, Account | None]:
    """The operator, an admin, and a person of each binding with the agent `hana`."""
    people = {
        name: await world.account(name, ADMIN if name == "admin" else MEMBER)
        for name in ("admin", "owner", "operator", "viewer", "stranger", "gone")
    }
    await world.store.agents.put(Agent("hana", "花", "HR"))
    for name, role in (("owner", OWNER), ("operator", OPERATOR), ("viewer", VIEWER)):
        await world.store.agents.bind("hana", people[name].id, role)
    await world.store.agents.bind("hana", people["gone"].id, OWNER)
    await world.store.account_changes.change(people["gone"].id, OUT, by(world))
    return {**people, "nobody": None}


EDITS: list[Callable[[Store, str, str, Act], Awaitable[object]]] = [
    lambda store, agent, who, act: store.agent_changes.bind(agent, who, VIEWER, act),
    lambda store, agent, who, act: store.agent_changes.bind(agent, who, None, act),
    lambda store, agent, who, act: store.agent_changes.set_archived(
        agent, is_archived=True, by=act
    ),
    lambda store, agent, who, act: store.agent_changes.hand_over(agent, who, act, archive=False),
]


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize(
    ("name", "is_allowed"),
    [("nobody", True), ("admin", True), ("owner", True), ("operator", False), ("viewer", False),
     ("stranger", False), ("gone", False)],
)  # fmt: skip
async def test_an_agent_is_changed_by_its_owners_and_admins_alone(
    world: World,
    tmp_path: Path,
    edit: Callable[[Store, str, str, Act], Awaitable[object]],
    name: str,
    is_allowed: bool,
) -> None:
    people = await staff(world)
    target = people["viewer"]
    assert target is not None
    await told(world, tmp_path)
    before = await world.store.generation()
    bindings = await world.store.agents.bindings("hana")
    code = await code_of(edit(world.store, "hana", target.id, by(world, people[name])))
    assert code == ("" if is_allowed else "not_found")
    assert await code_of(edit(world.store, "none", target.id, by(world, people[name]))) == (
        "not_found"
    )
    events = await told(world, tmp_path)
    if is_allowed and (bindings, False) != (
        await world.store.agents.bindings("hana"),
        (await agent(world)).is_archived,
    ):
        assert await world.store.generation() > before
        assert events
    else:
        assert await world.store.generation() == before
        assert events == []


async def agent(world: World) -> Agent:
    found = await world.store.agents.find("hana")
    assert found is not None
    return found


async def test_owners_leave_an_owner_and_admins_may_leave_the_agent_to_admins(
    world: World,
) -> None:
    people, bind = await staff(world), world.store.agent_changes.bind
    owner, viewer, admin = people["owner"], people["viewer"], people["admin"]
    gone = people["gone"]
    assert owner
    assert viewer
    assert gone
    for role in (None, VIEWER, OPERATOR):  # the other owner cannot sign in, so that one is none
        assert await code_of(bind("hana", owner.id, role, by(world, owner))) == "last_owner"
    await bind("hana", gone.id, None, by(world, owner))
    with pytest.raises(InvalidRequestError):
        await bind("hana", gone.id, VIEWER, by(world, owner))
    await bind("hana", viewer.id, OWNER, by(world, owner))
    await bind("hana", owner.id, None, by(world, owner))
    assert await code_of(bind("hana", viewer.id, None, by(world, viewer))) == "last_owner"
    await bind("hana", viewer.id, None, by(world, admin))
    assert OWNER not in (await world.store.agents.bindings("hana")).values()


async def test_a_hand_over_makes_one_owner_and_puts_the_agent_away(
    world: World, tmp_path: Path
) -> None:
    people, changes = await staff(world), world.store.agent_changes
    owner, stranger, operator = people["owner"], people["stranger"], people["operator"]
    gone = people["gone"]
    assert owner
    assert stranger
    assert operator
    assert gone
    with pytest.raises(InvalidRequestError):
        await changes.hand_over("hana", gone.id, by(world, owner), archive=True)
    with pytest.raises(NotFoundError):
        await changes.hand_over("hana", "nobody", by(world, owner), archive=True)
    await told(world, tmp_path)
    after = await changes.hand_over("hana", stranger.id, by(world, owner), archive=True)
    assert after.is_archived
    roles = await world.store.agents.bindings("hana")
    assert {who for who, role in roles.items() if role is OWNER} == {stranger.id}
    assert roles[operator.id] is OPERATOR
    assert owner.id not in roles
    assert [each["event"] for each in await told(world, tmp_path)] == [
        "agent_handed_over",
        "agent_archived",
    ]
    refused = changes.set_archived("hana", is_archived=False, by=by(world, owner))
    assert await code_of(refused) == "not_found"
    await changes.set_archived("hana", is_archived=False, by=by(world, stranger))
    assert not (await agent(world)).is_archived
    again = await changes.hand_over("hana", operator.id, by(world, stranger), archive=False)
    assert not again.is_archived


async def test_whoever_adds_an_agent_owns_it_and_the_operators_is_the_admins(world: World) -> None:
    ken, changes = await world.account("ken"), world.store.agent_changes
    await changes.add(Agent("mine", "M"), by(world, ken))
    await changes.add(Agent("ours", "O"), by(world))
    assert await world.store.agents.bindings("mine") == {ken.id: OWNER}
    assert await world.store.agents.bindings("ours") == {}
    assert await world.store.agents.roles_of(ken.id) == {"mine": OWNER}
    with pytest.raises(ConflictError) as taken:
        await changes.add(Agent("mine", "other"), by(world))
    assert taken.value.code == "agent_exists"

"""Sharing over the real store: one batch, checked and told in one transaction; races."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from gateway.accounts.scopes import ScopeService
from gateway.core.access import (
    Account,
    AccountRole,
    Agent,
    BindingRole,
    Collection,
    Grant,
    Role,
    Sensitivity,
    SubjectKind,
)
from gateway.core.documents import SourceState
from gateway.core.limits import KnowledgeLimits
from gateway.core.shelving import CollectionDraft
from gateway.errors import ConflictError, GatewayError, NotFoundError
from gateway.knowledge.desk import Desk
from gateway.knowledge.sharing import Sharing
from gateway.store import Store
from tests.contract.world import World
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock

USER, DEPARTMENT = SubjectKind.USER, SubjectKind.DEPARTMENT
AGENT, CHANNEL = SubjectKind.AGENT, SubjectKind.CHANNEL


@dataclass
class Office(World):
    """A store with a desk and sharing over it."""

    channels: list[tuple[str, str]] = field(default_factory=lambda: [("line", "main")])
    limits: KnowledgeLimits = field(default_factory=KnowledgeLimits)
    pending: dict[str, int] = field(default_factory=dict)

    @property
    def desk(self) -> Desk:
        async def pending(_account_id: str) -> dict[str, int]:
            return self.pending

        store = self.store
        return Desk(
            collections=store.collections,
            grants=store.grants,
            scopes=ScopeService(store.accounts, store.links, store.grants),
            audit=store.audit,
            clock=self.clock,
            ids=RealIds(),
            limits=self.limits,
            pending=pending,
        )

    @property
    def sharing(self) -> Sharing:
        store = self.store
        return Sharing(self.desk, store.grants, store.principals, self.clock, lambda: self.channels)

    async def person(self, name: str, role: AccountRole = AccountRole.MEMBER) -> Account:
        account = Account(RealIds().new(), name, name, role, "HR")
        await self.store.accounts.put(account)
        return account

    async def leaves(self, account: Account) -> None:
        await self.store.accounts.put(replace(account, is_active=False))

    async def agent(self, agent_id: str, **bound: BindingRole) -> None:
        await self.store.agents.put(Agent(agent_id, agent_id, "Bots"))
        for account_id, role in bound.items():
            await self.store.agents.bind(agent_id, account_id, role)

    async def code(self, account: Account, collection: Collection, *grants: Grant) -> str:
        """ "" when the save was taken, else the error's code."""
        now = await self.store.collections.find(collection.id)
        assert now is not None
        try:
            await self.sharing.save(account, collection.id, grants, version=now.version)
        except GatewayError as error:
            return error.code
        return ""

    async def events(self, folder: Path) -> list[Any]:
        """All security events so far."""
        lines = folder / "events.jsonl"
        lines.touch()
        await self.store.audit.export(lines)
        return [json.loads(line) for line in lines.read_text("utf-8").splitlines()]


@pytest.fixture
def office(store: Store, clock: WoundClock) -> Office:
    return Office(store, clock)


def to(kind: SubjectKind, subject: str, role: Role = Role.VIEWER) -> Grant:
    return Grant("", kind, subject, role)


def owner(account: Account) -> Grant:
    return to(USER, account.id, Role.OWNER)


async def test_a_new_collection_is_its_creators_alone(office: Office, tmp_path: Path) -> None:
    ken = await office.person("ken", AccountRole.MANAGER)
    mei = await office.person("mei", AccountRole.MANAGER)
    made = await office.desk.create(ken, CollectionDraft("就業規則", department="HR"))
    assert made.collection.slug.startswith("kb-")
    assert made.collection.sensitivity is Sensitivity.INTERNAL
    shared = await office.sharing.shown(ken, made.collection.slug)
    assert shared.grants == (replace(owner(ken), collection_id=made.collection.id),)
    assert (await office.desk.shelves(mei)) == []
    assert [each.role for each in await office.desk.shelves(ken)] == [Role.OWNER]
    (event,) = await office.events(tmp_path)
    assert (event["event"], event["actor"]) == ("knowledge_collection_created", ken.id)


async def test_plain_members_create_nothing(office: Office) -> None:
    mei = await office.person("mei")
    with pytest.raises(NotFoundError):
        await office.desk.create(mei, CollectionDraft("就業規則"))


@pytest.mark.parametrize("name", ["HR Handbook", "人事", "Ärger & Co", "就業規則 2026", "🍵", "--"])
async def test_a_blank_code_is_made_from_any_name_as_often_as_it_comes(
    office: Office, name: str
) -> None:
    ken = await office.person("ken", AccountRole.MANAGER)
    slugs = {(await office.desk.create(ken, CollectionDraft(name))).collection.slug for _ in "123"}
    assert len(slugs) == 3
    with pytest.raises(ConflictError) as refused:
        await office.desk.create(ken, CollectionDraft(name, slug=slugs.pop()))
    assert refused.value.code == "slug_taken"


async def test_no_more_collections_than_allowed_even_at_once(office: Office) -> None:
    office.limits = KnowledgeLimits(max_collections=3)
    ken = await office.person("ken", AccountRole.MANAGER)
    drafts = [office.desk.create(ken, CollectionDraft(f"n{n}")) for n in range(6)]
    results = await asyncio.gather(*drafts, return_exceptions=True)
    codes = [each.code for each in results if isinstance(each, GatewayError)]
    assert codes == ["quota_collections"] * 3


async def test_the_list_counts_what_is_being_read_and_what_waits_for_approval(
    office: Office,
) -> None:
    ken, mei = await office.person("ken"), await office.person("mei")
    shelf = await office.collection(ken)
    await office.text(shelf, "一", "二")
    for state in (SourceState.QUEUED, SourceState.EMBEDDING, SourceState.FAILED, SourceState.READY):
        source = await office.source(shelf)
        await office.store.sources.set_state(source.id, state)
    office.pending[shelf.id] = 2
    assert await office.code(ken, shelf, owner(ken), to(USER, mei.id)) == ""
    (mine,) = await office.desk.shelves(ken)
    assert (mine.sources, mine.passages, mine.in_progress, mine.pending) == (5, 2, 3, 2)
    (hers,) = await office.desk.shelves(mei)
    assert (hers.role, hers.in_progress, hers.pending) == (Role.VIEWER, 3, 0)


async def test_only_new_or_raised_subjects_are_asked_about(office: Office) -> None:
    ken, mei, boss = [await office.person(each) for each in ("ken", "mei", "boss")]
    shelf = await office.collection(ken)
    await office.agent("hana", **{ken.id: BindingRole.OWNER})
    everyone = [
        owner(ken),
        to(USER, mei.id, Role.EDITOR),
        to(DEPARTMENT, "HR", Role.EDITOR),
        to(DEPARTMENT, "Bots"),
        to(AGENT, "hana"),
        to(CHANNEL, "line/main"),
    ]
    assert await office.code(ken, shelf, *everyone) == ""
    await office.leaves(mei)
    office.channels.clear()
    await office.agent("hana", **{ken.id: BindingRole.OPERATOR})
    await office.store.agents.put(Agent("hana", "hana", "Elsewhere", is_archived=True))
    for account in (ken, mei, boss):
        await office.store.accounts.put(
            replace(account, department="", is_active=account is not mei)
        )
    assert await office.code(ken, shelf, *everyone) == ""  # the same stays
    lowered = [
        replace(each, role=Role.VIEWER) if each.role is Role.EDITOR else each for each in everyone
    ]
    assert await office.code(ken, shelf, *lowered) == ""
    for grant in everyone[1:3]:  # raised again
        batch = [grant if each.subject_id == grant.subject_id else each for each in lowered]
        assert await office.code(ken, shelf, *batch) == "not_shareable"
    assert await office.code(ken, shelf, owner(ken)) == ""
    for grant in everyone[1:]:  # new again
        assert await office.code(ken, shelf, owner(ken), grant) == "not_shareable"


async def test_an_agent_is_shared_with_by_its_owner_or_an_admin(office: Office) -> None:
    ken, boss = await office.person("ken"), await office.person("boss", AccountRole.ADMIN)
    shelf = await office.collection(ken)
    to_agent = [owner(ken), to(AGENT, "hana")]
    assert await office.code(boss, shelf, *to_agent) == "not_shareable"  # there is none
    for role in (BindingRole.VIEWER, BindingRole.OPERATOR):
        await office.agent("hana", **{ken.id: role})
        assert await office.code(ken, shelf, *to_agent) == "not_shareable"
    await office.store.agents.put(Agent("hana", "hana", is_archived=True))
    assert await office.code(boss, shelf, *to_agent) == "not_shareable"
    await office.agent("hana", **{ken.id: BindingRole.OWNER})
    assert await office.code(ken, shelf, *to_agent) == ""
    await office.agent("rin")
    assert await office.code(boss, shelf, *to_agent, to(AGENT, "rin")) == ""


async def test_the_answer_tells_nothing_of_who_has_an_account(office: Office) -> None:
    ken, gone = await office.person("ken"), await office.person("gone")
    shelf = await office.collection(ken)
    await office.leaves(gone)
    said = set()
    for subject in (RealIds().new(), "gone", "ken", "no-such-login", gone.id):
        with pytest.raises(GatewayError) as refused:
            await office.sharing.save(
                ken, shelf.id, [owner(ken), to(USER, subject)], version=shelf.version
            )
        told = {key: str(text).replace(subject, "…") for key, text in refused.value.params.items()}
        said.add((refused.value.code, str(told)))
    assert len(said) == 1


async def test_an_active_person_stays_owner(office: Office) -> None:
    ken, mei = await office.person("ken"), await office.person("mei")
    boss = await office.person("boss", AccountRole.ADMIN)
    shelf = await office.collection(ken)
    for without in ([], [to(USER, ken.id, Role.EDITOR)], [to(DEPARTMENT, "HR", Role.EDITOR)]):
        assert await office.code(ken, shelf, *without) == "last_owner"
    await office.leaves(ken)
    assert await office.code(boss, shelf, owner(ken)) == "last_owner"
    assert await office.code(boss, shelf, owner(ken), owner(mei)) == ""
    assert await office.code(mei, shelf, owner(mei)) == ""


async def test_when_the_last_owner_leaves_the_admins_still_own_it(office: Office) -> None:
    ken, boss = await office.person("ken"), await office.person("boss", AccountRole.ADMIN)
    shelf = await office.collection(ken)
    await office.leaves(ken)
    assert await office.desk.role(boss, shelf.id) is Role.OWNER
    assert await office.code(boss, shelf, owner(boss)) == ""


async def test_editors_viewers_and_strangers_neither_see_nor_save_grants(office: Office) -> None:
    ken, mei = await office.person("ken"), await office.person("mei")
    shelf = await office.collection(ken)
    for grants in ([], [to(USER, mei.id)], [to(USER, mei.id, Role.EDITOR)]):
        assert await office.code(ken, shelf, owner(ken), *grants) == ""
        assert await office.code(mei, shelf, owner(mei)) == "not_found"
        with pytest.raises(NotFoundError):
            await office.sharing.shown(mei, shelf.id)


# ---------------------------------------------------------------- what is told


async def test_who_changed_what_is_written_with_the_change(office: Office, tmp_path: Path) -> None:
    ken, mei = await office.person("ken"), await office.person("mei")
    shelf = await office.collection(ken)
    assert await office.code(ken, shelf, owner(ken), to(USER, mei.id), to(CHANNEL, "line")) == ""
    assert await office.code(ken, shelf, owner(ken), to(USER, mei.id, Role.EDITOR)) == ""
    assert await office.code(ken, shelf, to(USER, mei.id, Role.EDITOR), owner(ken)) == ""
    assert await office.code(ken, shelf, to(USER, mei.id, Role.OWNER)) == ""
    events = await office.events(tmp_path)
    assert [each["event"] for each in events] == ["knowledge_acl_changed"] * 3
    assert {each["actor"] for each in events} == {ken.id}
    assert {each["details"]["collection_id"] for each in events} == {shelf.id}
    told = [
        [(c["subject_kind"], c["subject_id"], c["old"], c["new"]) for c in e["details"]["changes"]]
        for e in events
    ]
    assert told[:2] == [
        [("channel", "line", None, "viewer"), ("user", mei.id, None, "viewer")],
        [("channel", "line", "viewer", None), ("user", mei.id, "viewer", "editor")],
    ]
    assert set(told[2]) == {("user", ken.id, "owner", None), ("user", mei.id, "editor", "owner")}


async def test_a_refused_save_leaves_no_event(office: Office, tmp_path: Path) -> None:
    ken = await office.person("ken")
    shelf = await office.collection(ken)
    assert await office.code(ken, shelf, owner(ken), to(USER, "no-such")) == "not_shareable"
    with pytest.raises(ConflictError):
        await office.sharing.save(
            ken, shelf.id, [owner(ken), to(CHANNEL, "line")], version=shelf.version + 1
        )
    assert await office.events(tmp_path) == []


async def test_grants_for_a_whole_channel_come_with_a_warning(office: Office) -> None:
    ken = await office.person("ken")
    shelf = await office.collection(ken)
    office.channels = [("line", "main"), ("line", "second")]
    batch = [owner(ken), to(CHANNEL, "line"), to(CHANNEL, "widget"), to(CHANNEL, "line:C1")]
    saved = await office.sharing.save(ken, shelf.id, batch, version=1)
    codes = [(each.subject_id, each.code.value) for each in saved.warnings]
    assert codes == [
        ("line", "whole_channel"),
        ("line", "several_accounts"),
        ("widget", "whole_channel"),
        ("widget", "never_readable"),
    ]
    assert (await office.sharing.shown(ken, shelf.id)).warnings == saved.warnings


async def test_void_grants_are_neither_shown_nor_kept(office: Office) -> None:
    ken = await office.person("ken")
    shelf = await office.collection(ken)
    broken = [
        Grant(shelf.id, DEPARTMENT, "Gone", Role.OWNER),
        Grant(shelf.id, AGENT, "x", Role.EDITOR),
    ]
    mine = replace(owner(ken), collection_id=shelf.id)
    await office.store.grants.replace(shelf.id, [mine, *broken], version=1)
    shown = await office.sharing.shown(ken, shelf.id)
    assert shown.grants == (mine,)
    assert await office.code(ken, shelf, *shown.grants) == ""
    assert await office.store.grants.of_collection(shelf.id) == [mine]
    assert await office.code(ken, shelf, *shown.grants, to(DEPARTMENT, "Gone")) == "not_shareable"


# ---------------------------------------------------------------- settings and deletion


async def test_settings_are_changed_by_owners_and_told(office: Office, tmp_path: Path) -> None:
    ken, mei = await office.person("ken"), await office.person("mei")
    shelf = await office.collection(ken, "hr")
    assert await office.code(ken, shelf, owner(ken), to(USER, mei.id, Role.EDITOR)) == ""
    with pytest.raises(NotFoundError):
        await office.desk.update(mei, "hr", version=2, name="Mine")
    with pytest.raises(ConflictError) as refused:
        await office.desk.update(ken, "hr", version=1, name="Old")
    assert refused.value.params["version"] == 2
    saved = await office.desk.update(
        ken, "hr", version=2, name=" 人事 ", sensitivity=Sensitivity.PERSONAL
    )
    assert (saved.collection.name, saved.collection.version) == ("人事", 3)
    await office.desk.update(ken, "hr", version=3, name="人事")
    (event,) = (await office.events(tmp_path))[1:]
    assert event["event"] == "knowledge_collection_updated"
    assert [each["setting"] for each in event["details"]["changes"]] == ["name", "sensitivity"]


async def test_deleting_needs_the_name_and_an_owner(office: Office, tmp_path: Path) -> None:
    ken, mei = await office.person("ken"), await office.person("mei")
    shelf = await office.collection(ken, "薪資")
    for account, name in ((mei, "薪資"), (ken, ""), (ken, "薪"), (ken, shelf.id)):
        with pytest.raises(GatewayError):
            await office.desk.remove(account, shelf.id, name)
    assert await office.store.collections.find(shelf.id) is not None
    await office.desk.remove(ken, shelf.id, "薪資")
    with pytest.raises(NotFoundError):
        await office.desk.remove(ken, shelf.id, "薪資")
    (event,) = await office.events(tmp_path)
    assert event["event"] == "knowledge_collection_deleted"


# ---------------------------------------------------------------- races


def outcomes(results: Sequence[object]) -> list[str]:
    return sorted(each.code if isinstance(each, GatewayError) else "" for each in results)


async def test_of_owners_who_save_at_once_exactly_one_wins(office: Office, tmp_path: Path) -> None:
    people = [await office.person(f"p{n}") for n in range(4)]
    shelf = await office.collection(people[0])
    everybody = [owner(each) for each in people]
    assert await office.code(people[0], shelf, *everybody) == ""
    for version in range(2, 12):
        channels = [f"line:C{version}-{n}" for n in range(4)]
        saves = [
            office.sharing.save(each, shelf.id, [*everybody, to(CHANNEL, channel)], version=version)
            for each, channel in zip(people, channels, strict=True)
        ]
        results = await asyncio.gather(*saves, return_exceptions=True)
        assert outcomes(results) == ["", "conflict", "conflict", "conflict"]
        lost = {each.params["version"] for each in results if isinstance(each, GatewayError)}
        assert lost == {version + 1}
        (kept,) = [
            grant.subject_id
            for grant in await office.store.grants.of_collection(shelf.id)
            if grant.subject_kind is CHANNEL
        ]
        (won,) = [channels[n] for n, each in enumerate(results) if not isinstance(each, Exception)]
        assert kept == won
    assert len(await office.events(tmp_path)) == 11  # a save that lost leaves no trace


async def test_two_owners_cannot_both_take_the_others_ownership(office: Office) -> None:
    ken, mei = await office.person("ken"), await office.person("mei")
    shelf = await office.collection(ken)
    assert await office.code(ken, shelf, owner(ken), owner(mei)) == ""
    results = await asyncio.gather(
        office.sharing.save(ken, shelf.id, [owner(ken)], version=2),
        office.sharing.save(mei, shelf.id, [owner(mei)], version=2),
        return_exceptions=True,
    )
    assert outcomes(results)[0] == ""
    assert len(await office.store.grants.of_collection(shelf.id)) == 1


async def test_saving_a_collection_that_is_being_deleted(office: Office, tmp_path: Path) -> None:
    ken, done = await office.person("ken"), 0
    for n in range(10):
        shelf = await office.collection(ken, f"s{n}")
        batch = [owner(ken), to(CHANNEL, "line")]
        results = await asyncio.gather(
            office.sharing.save(ken, shelf.id, batch, version=1),
            office.desk.remove(ken, shelf.id, f"s{n}"),
            office.desk.update(ken, shelf.id, version=1, name="new"),
            return_exceptions=True,
        )
        lost = [each for each in outcomes(results) if each]
        assert set(lost) <= {"conflict", "not_found", "invalid_request"}  # by another name now
        is_gone = await office.store.collections.find(shelf.id) is None
        assert is_gone is not isinstance(results[1], Exception)
        done += len(results) - len(lost)
    assert len(await office.events(tmp_path)) == done >= 10


async def test_a_save_is_checked_against_the_grants_it_replaces(office: Office) -> None:
    """Whoever was taken off meanwhile is new again, whatever was read before."""
    ken, gone = await office.person("ken"), await office.person("gone")
    shelf = await office.collection(ken)
    assert await office.code(ken, shelf, owner(ken), to(USER, gone.id)) == ""
    await office.leaves(gone)
    both = [owner(ken), to(USER, gone.id)]
    results = await asyncio.gather(
        office.sharing.save(ken, shelf.id, [owner(ken)], version=2),
        office.sharing.save(ken, shelf.id, both, version=3),
        return_exceptions=True,
    )
    kept = {grant.subject_id for grant in await office.store.grants.of_collection(shelf.id)}
    assert outcomes(results[:1]) == [""]
    assert kept == {ken.id}
    assert outcomes(results[1:])[0] in ("conflict", "not_shareable")

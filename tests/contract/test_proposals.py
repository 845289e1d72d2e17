"""Cards over the real store: limits, one decision, nobody who may not, and every event told."""

import asyncio
import hashlib
import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.core.access import (
    Account,
    AccountRole,
    AudienceKind,
    Collection,
    Grant,
    Role,
    SubjectKind,
)
from gateway.core.documents import Source, SourceKind, SourceState
from gateway.core.proposals import Proposal, ProposalKind, ProposalState, Proposer
from gateway.errors import ConflictError, GatewayError, NotFoundError
from gateway.store import Store
from tests.contract.world import IDS, World
from tests.fakes.wound_clock import WoundClock

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def card_like(collection_id: str = "c1", proposer: str | None = "p1", **over: object) -> Proposal:
    new_id = IDS.new()
    data = str(over.pop("data", new_id)).encode()
    agent = str(over.pop("agent", "a1"))
    turn = str(over.pop("turn", new_id))
    card = Proposal(
        id=new_id,
        collection_id=collection_id,
        title="停車辦法.txt",
        kind=ProposalKind.FILE,
        name="停車辦法.txt",
        media_type="text/plain",
        size_bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        proposer=Proposer(turn, agent, AudienceKind.LINKED, "line", proposer),
        created_at=AT,
    )
    return replace(card, **over)  # type: ignore[arg-type]


def source_of(card: Proposal, approver: Account) -> Source:
    return Source(
        id=card.id,
        collection_id=card.collection_id,
        title=card.title,
        kind=SourceKind.FILE,
        sha256=card.sha256,
        size_bytes=card.size_bytes,
        state=SourceState.QUEUED,
        created_at=AT,
        added_by=card.proposer.account_id,
        approved_by=approver.id,
    )


async def events(store: Store, home: Path) -> list[dict[str, object]]:
    file = home / "audit.jsonl"
    await store.audit.export(file)
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [line for line in lines if "proposal" in line["event"]]


async def names(store: Store, home: Path) -> list[str]:
    told = [str(each["event"]) for each in await events(store, home)]
    return [each.removeprefix("knowledge_proposal_") for each in told]


@pytest.fixture
async def ken(world: World) -> Account:
    return await world.account("ken")


@pytest.fixture
async def shelf(world: World, ken: Account) -> Collection:
    return await world.collection(ken, "handbook")


async def grant(store: Store, shelf: Collection, *grants: Grant) -> None:
    now = await store.collections.find(shelf.id)
    assert now is not None
    await store.grants.replace(shelf.id, grants, version=now.version)


async def test_a_card_is_put_found_and_told_of(
    store: Store, home: Path, ken: Account, shelf: Collection
) -> None:
    card = card_like(shelf.id, ken.id)
    assert await store.proposals.put([card]) == [card]
    (seen,) = await store.proposals.decidable(ken.id, AT)
    assert (seen.proposal, seen.collection.id, seen.proposer_name) == (card, shelf.id, "ken")
    assert (await store.proposals.find(card.id, ken.id, AT)).proposal == card
    assert await store.proposals.pending() == {card.id}
    (event,) = await events(store, home)
    assert (event["event"], event["actor"]) == ("knowledge_proposal_created", ken.id)
    assert "停車" not in json.dumps(event, ensure_ascii=False)


async def test_ten_of_a_proposer_and_twenty_of_an_agent_wait_however_many_come_at_once(
    store: Store, home: Path, world: World, shelf: Collection
) -> None:
    people = [await world.account(f"p{n}") for n in range(5)]

    async def one(n: int) -> str:
        try:
            await store.proposals.put([card_like(shelf.id, people[n % 5].id)])
        except GatewayError as error:
            return f"{error.code} {error.params['limit']}"
        return "put"

    outcomes = Counter(await asyncio.gather(*(one(n) for n in range(100))))
    assert outcomes == {"put": 20, "proposal_limit 20": 80}
    other = [card_like(shelf.id, people[0].id, agent="a2") for _ in range(9)]
    for card in other[: 10 - 4]:
        await store.proposals.put([card])
    with pytest.raises(GatewayError) as refused:
        await store.proposals.put([other[-1]])
    assert (refused.value.code, refused.value.params) == ("proposal_limit", {"limit": 10})
    assert len(await store.proposals.pending()) == 26
    assert Counter(await names(store, home)) == {"created": 26}


async def test_system_turns_count_for_the_agent_alone(store: Store, shelf: Collection) -> None:
    for _ in range(20):
        await store.proposals.put([card_like(shelf.id, None)])
    with pytest.raises(GatewayError, match="pending"):
        await store.proposals.put([card_like(shelf.id, None)])


async def test_all_cards_of_a_turn_are_put_or_none(
    store: Store, home: Path, shelf: Collection
) -> None:
    for _ in range(8):
        await store.proposals.put([card_like(shelf.id)])
    before = await store.proposals.pending()
    with pytest.raises(GatewayError):
        await store.proposals.put([card_like(shelf.id) for _ in range(3)])
    assert await store.proposals.pending() == before
    assert Counter(await names(store, home)) == {"created": 8}
    await store.proposals.put([card_like(shelf.id) for _ in range(2)])


@pytest.mark.parametrize("how", ["approved", "rejected", "expired", "collection removed"])
async def test_what_is_decided_or_over_leaves_room(
    store: Store, world: World, ken: Account, shelf: Collection, how: str
) -> None:
    cards = [card_like(shelf.id, ken.id) for _ in range(10)]
    await store.proposals.put(cards)
    now, target = AT, shelf
    if how == "approved":
        await store.proposals.approve(cards[0].id, ken.id, source_of(cards[0], ken), AT)
    elif how == "rejected":
        await store.proposals.reject(cards[0].id, ken.id, AT)
    elif how == "expired":
        now = cards[0].expires_at
    else:
        target = await world.collection(ken, "other")
        await store.collections.remove(shelf.id)
    await store.proposals.put([card_like(target.id, ken.id, created_at=now)])


async def test_a_turn_run_again_puts_nothing_more(
    store: Store, home: Path, ken: Account, shelf: Collection
) -> None:
    first = card_like(shelf.id, ken.id, turn="t1", data="x")
    again = card_like(shelf.id, ken.id, turn="t1", data="x")
    await store.proposals.put([first])
    assert await store.proposals.put([again]) == [first]
    await store.proposals.reject(first.id, ken.id, AT)
    (kept,) = await store.proposals.put([again])
    assert (kept.id, kept.state) == (first.id, ProposalState.REJECTED)
    assert [card.id for card in await store.proposals.of_turn("t1")] == [first.id]
    assert await names(store, home) == ["created", "rejected"]


async def test_the_same_bytes_wait_once_for_a_proposer_but_another_persons_do_not_count(
    store: Store, ken: Account, shelf: Collection
) -> None:
    first = card_like(shelf.id, ken.id, data="x")
    await store.proposals.put([first])
    assert await store.proposals.put([card_like(shelf.id, ken.id, data="x")]) == [first]
    other = card_like(shelf.id, "p2", data="x")
    assert await store.proposals.put([other]) == [other]
    await store.proposals.reject(first.id, ken.id, AT)
    new = card_like(shelf.id, ken.id, data="x")
    assert await store.proposals.put([new]) == [new]


async def test_a_removed_collection_takes_no_card(
    store: Store, ken: Account, shelf: Collection
) -> None:
    await store.collections.remove(shelf.id)
    with pytest.raises(NotFoundError):
        await store.proposals.put([card_like(shelf.id, ken.id)])


ROLES = [
    (None, False), (Role.VIEWER, False), (Role.EDITOR, True), (Role.OWNER, True),
]  # fmt: skip


@pytest.mark.parametrize("account_role", [AccountRole.MEMBER, AccountRole.MANAGER])
@pytest.mark.parametrize(("role", "may"), ROLES)
async def test_editors_and_owners_decide_at_that_moment(
    store: Store,
    world: World,
    ken: Account,
    shelf: Collection,
    role: Role | None,
    *,
    may: bool,
    account_role: AccountRole,
) -> None:
    eve = await world.account("eve", account_role)
    owner = Grant(shelf.id, SubjectKind.USER, ken.id, Role.OWNER)
    if role is not None:
        await grant(store, shelf, owner, Grant(shelf.id, SubjectKind.USER, eve.id, role))
    card = card_like(shelf.id, ken.id)
    await store.proposals.put([card])
    assert [each.proposal.id for each in await store.proposals.decidable(eve.id, AT)] == (
        [card.id] if may else []
    )
    if may:
        await store.proposals.find(card.id, eve.id, AT)
        await grant(store, shelf, owner)  # taken away between looking and deciding
    for deed in (
        store.proposals.find(card.id, eve.id, AT),
        store.proposals.approve(card.id, eve.id, source_of(card, eve), AT),
        store.proposals.reject(card.id, eve.id, AT),
    ):
        with pytest.raises(NotFoundError):
            await deed
    assert await store.proposals.pending() == {card.id}
    assert await store.sources.list(shelf.id) == []


async def test_an_admin_decides_until_deactivated(
    store: Store, world: World, ken: Account, shelf: Collection
) -> None:
    admin = await world.account("admin", AccountRole.ADMIN)
    cards = [card_like(shelf.id, ken.id) for _ in range(2)]
    await store.proposals.put(cards)
    assert len(await store.proposals.decidable(admin.id, AT)) == 2
    await store.proposals.reject(cards[0].id, admin.id, AT)
    await store.accounts.put(replace(admin, is_active=False))
    assert await store.proposals.decidable(admin.id, AT) == []
    with pytest.raises(NotFoundError):
        await store.proposals.reject(cards[1].id, admin.id, AT)


async def test_approval_makes_the_source_with_its_job_and_keeps_who(
    store: Store, home: Path, ken: Account, shelf: Collection
) -> None:
    card = card_like(shelf.id, "p1")
    await store.proposals.put([card])
    source, is_new = await store.proposals.approve(card.id, ken.id, source_of(card, ken), AT)
    assert is_new
    kept = await store.sources.find(source.id)
    assert kept is not None
    assert (kept.added_by, kept.approved_by, kept.title) == ("p1", ken.id, "停車辦法.txt")
    assert (await store.jobs.waiting())["ingest"] == 1
    (told,) = await store.proposals.of_turn(card.proposer.turn_id)
    assert (told.state, told.decided_by, told.source_id) == ("approved", ken.id, source.id)
    assert (told.title, told.name) == ("", "")
    created, approved = await events(store, home)
    assert (created["actor"], approved["actor"]) == ("p1", ken.id)
    details = approved["details"]
    assert isinstance(details, dict)
    assert (details["proposed_by"], details["source_id"]) == ("p1", source.id)


async def test_bytes_that_are_there_already_make_no_second_source(
    store: Store, world: World, ken: Account, shelf: Collection
) -> None:
    there = await world.source(shelf, data="x")
    card = card_like(shelf.id, ken.id, data="x")
    await store.proposals.put([card])
    source, is_new = await store.proposals.approve(card.id, ken.id, source_of(card, ken), AT)
    assert (source.id, is_new) == (there.id, False)
    (told,) = await store.proposals.of_turn(card.proposer.turn_id)
    assert told.source_id == there.id


async def test_of_many_decisions_one_wins(
    store: Store, home: Path, ken: Account, shelf: Collection
) -> None:
    card = card_like(shelf.id, ken.id)
    await store.proposals.put([card])

    async def one(n: int) -> str:
        try:
            if n % 2:
                await store.proposals.reject(card.id, ken.id, AT)
            else:
                await store.proposals.approve(card.id, ken.id, source_of(card, ken), AT)
        except ConflictError as error:
            return error.code
        return "won"

    outcomes = Counter(await asyncio.gather(*(one(n) for n in range(40))))
    assert outcomes == {"won": 1, "proposal_decided": 39}
    assert len(await names(store, home)) == 2


async def test_after_three_days_it_is_over_and_told_once(
    store: Store, home: Path, ken: Account, shelf: Collection
) -> None:
    card = card_like(shelf.id, ken.id)
    await store.proposals.put([card])
    end = card.expires_at
    assert await store.proposals.expire(AT) == []
    assert await store.proposals.decidable(ken.id, end) == []
    for _ in range(2):  # before it was noted, and after
        with pytest.raises(ConflictError) as over:
            await store.proposals.approve(card.id, ken.id, source_of(card, ken), end)
        assert over.value.code == "proposal_expired"
        await store.proposals.expire(end)
    assert await names(store, home) == ["created", "expired"]
    assert await store.proposals.pending() == frozenset()
    assert await store.sources.list(shelf.id) == []


@pytest.mark.parametrize("is_drained", [False, True])
async def test_a_removed_collection_hides_its_cards_at_once_and_ends_them(
    store: Store, home: Path, ken: Account, shelf: Collection, *, is_drained: bool
) -> None:
    card = card_like(shelf.id, ken.id)
    await store.proposals.put([card])
    await store.collections.remove(shelf.id)
    if is_drained:
        assert (await store.maintenance.drain(shelf.id, AT)).is_done
    assert await store.proposals.decidable(ken.id, AT) == []
    with pytest.raises(NotFoundError):
        await store.proposals.approve(card.id, ken.id, source_of(card, ken), AT)
    assert await store.proposals.expire(AT) == [card.id]
    assert await names(store, home) == ["created", "expired"]
    kept = b"".join(file.read_bytes() for file in (home / "knowledge").glob("knowledge.db"))
    assert "停車辦法".encode() not in kept


@pytest.mark.parametrize("order", ["approve first", "remove first", "at once"])
async def test_approving_while_the_collection_is_removed_leaves_no_stray_source(
    store: Store, ken: Account, shelf: Collection, clock: WoundClock, order: str
) -> None:
    card = card_like(shelf.id, ken.id)
    await store.proposals.put([card])
    deeds = [
        store.proposals.approve(card.id, ken.id, source_of(card, ken), AT),
        store.collections.remove(shelf.id),
    ]
    if order == "remove first":
        deeds.reverse()
    outcomes = await asyncio.gather(*deeds, return_exceptions=True)
    refused = [each for each in outcomes if isinstance(each, BaseException)]
    assert all(isinstance(each, NotFoundError) for each in refused)
    assert len(refused) == (order == "remove first")
    await store.proposals.expire(AT)
    while not (await store.maintenance.drain(shelf.id, clock.now())).is_done:
        continue
    assert (await store.proposals.pending(), await store.sources.usage()) == (frozenset(), {})


async def test_a_refused_approval_is_told_as_failed(
    store: Store, home: Path, ken: Account, shelf: Collection
) -> None:
    card = card_like(shelf.id, ken.id)
    await store.proposals.put([card])
    await store.proposals.reject(card.id, ken.id, AT, reason="proposal_changed")
    assert await names(store, home) == ["created", "approved_failed"]

"""Proposals over the real store and library: ways in, tampering, decisions, kills and sweeps."""

import asyncio
import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from gateway.accounts.scopes import ScopeService
from gateway.core.access import (
    Account,
    AccountRole,
    AgentSide,
    Audience,
    AudienceKind,
    ChatAddress,
    Collection,
    Grant,
    Role,
    Sensitivity,
    SubjectKind,
)
from gateway.core.documents import SourceKind, SourceState
from gateway.core.limits import KnowledgeLimits
from gateway.core.messages import Sender
from gateway.core.proposals import Proposal, ProposalKind
from gateway.errors import ConflictError, GatewayError, NotFoundError, UpstreamError
from gateway.knowledge.approval import Approvals
from gateway.knowledge.proposal_files import ProposalFolder
from gateway.knowledge.proposals import FromAgent, Proposals, ProposingTurn, file_offered
from gateway.store import Store
from tests.fakes.pages import FakePage
from tests.fakes.times import RealIds
from tests.knowledge.shelf import OWNER, Shelf

IDS = RealIds()
TEXT = "員工停車位每月租金為八百元。"
ADMIN = Account("root", "root", "Root", AccountRole.ADMIN)


@dataclass
class World:
    """A home with one agent, its folder, a collection it reads, and somebody linked."""

    shelf: Shelf
    home: Path
    handbook: Collection
    person: Account
    limits: KnowledgeLimits = field(default_factory=KnowledgeLimits)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """As a new process would begin."""
        store = self.store
        self.folder = ProposalFolder(self.proposed)
        self.proposals = Proposals(
            cards=store.proposals,
            folder=self.folder,
            scopes=ScopeService(store.accounts, store.links, store.grants),
            collections=store.collections,
            audit=store.audit,
            clock=self.shelf.clock,
            ids=IDS,
            limits=self.limits,
            agents=self.home / "agents",
        )
        self.approvals = Approvals(
            cards=store.proposals,
            folder=self.folder,
            library=self.shelf.library,
            audit=store.audit,
            clock=self.shelf.clock,
        )

    @property
    def store(self) -> Store:
        return self.shelf.store

    @property
    def proposed(self) -> Path:
        return self.home / "knowledge" / "proposals"

    @property
    def attachments(self) -> Path:
        return self.home / "agents" / "a1" / "attachments"

    def turn(self, audience: Audience | None = None, **over: Any) -> ProposingTurn:
        who = audience or Audience(AudienceKind.ACCOUNT_DOOR, self.person)
        return replace(ProposingTurn(IDS.new(), who, AgentSide("a1", "", None), "mcp"), **over)

    async def text(self, text: str = TEXT, **over: Any) -> Proposal:
        content = FromAgent(text=text)
        return await self.proposals.from_agent(self.turn(**over), "handbook", content, "停車")

    def files(self) -> list[str]:
        return sorted(each.name for each in self.proposed.iterdir())

    async def told(self) -> list[str]:
        file = self.home / "audit.jsonl"
        await self.store.audit.export(file)
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        found = [json.loads(line)["event"] for line in lines]
        return [each[19:] for each in found if each.startswith("knowledge_proposal_")]


@pytest.fixture
async def world(shelf: Shelf, tmp_path: Path) -> World:
    home = tmp_path / "home"
    handbook = await shelf.collection("handbook")
    person = Account("mei", "mei", "Mei", AccountRole.MEMBER)
    for account in (person, ADMIN):
        await shelf.store.accounts.put(account)
    grants = [
        Grant(handbook.id, SubjectKind.USER, OWNER.id, Role.OWNER),
        Grant(handbook.id, SubjectKind.USER, person.id, Role.VIEWER),
        Grant(handbook.id, SubjectKind.AGENT, "a1", Role.VIEWER),
    ]
    now = await shelf.store.collections.find(handbook.id)
    assert now is not None
    await shelf.store.grants.replace(handbook.id, grants, version=now.version)
    world = World(shelf, home, now, person)
    world.attachments.mkdir(parents=True)
    await world.proposals.start()
    return world


def code_of(error: pytest.ExceptionInfo[GatewayError]) -> str:
    return error.value.code


async def test_a_text_waits_and_is_searchable_once_approved(world: World) -> None:
    card = await world.text()
    assert (card.title, card.kind) == ("停車.txt", ProposalKind.TEXT)
    assert await world.store.sources.list(world.handbook.id) == []
    assert world.files() == [card.id]
    file = world.proposed / card.id
    assert (file.stat().st_mode & 0o777, world.proposed.stat().st_mode & 0o777) == (0o600, 0o700)
    (seen,) = await world.approvals.decidable(OWNER)
    assert seen.preview == TEXT
    source, is_new = await world.approvals.approve(OWNER, card.id)
    assert (is_new, source.kind, source.added_by, source.approved_by) == (
        True, SourceKind.PASTE, "mei", OWNER.id,
    )  # fmt: skip
    assert world.files() == []
    await world.shelf.ingestion.drain()
    assert [each.text for each in await world.shelf.found("停車位 租金")] == [TEXT]
    assert await world.told() == ["created", "approved"]


async def test_a_rejected_or_expired_one_leaves_nothing(world: World) -> None:
    card = await world.text()
    await world.approvals.reject(OWNER, card.id)
    assert world.files() == []
    late = await world.text("另一份")
    world.shelf.clock.wind(days=3)
    await world.proposals.sweep()
    assert world.files() == []
    with pytest.raises(ConflictError) as refused:
        await world.approvals.approve(OWNER, late.id)
    assert code_of(refused) == "proposal_expired"
    assert await world.store.sources.usage() == {}
    assert await world.told() == ["created", "rejected", "created", "expired"]


@pytest.mark.parametrize("how", ["changed", "longer", "removed", "linked", "a pipe", "twice"])
async def test_a_file_that_is_not_what_was_proposed_is_refused_and_swept(
    world: World, tmp_path: Path, how: str
) -> None:
    card = await world.text()
    file = world.proposed / card.id
    other = tmp_path / "other"
    other.write_text(TEXT, "utf-8")
    if how == "changed":
        file.write_text(TEXT.replace("八", "九"), "utf-8")
    elif how == "longer":
        file.write_text(TEXT + " ", "utf-8")
    else:
        file.unlink()
    if how == "linked":
        file.symlink_to(other)
    elif how == "a pipe":
        os.mkfifo(file)
    elif how == "twice":
        file.hardlink_to(other)
    with pytest.raises(ConflictError) as refused:
        await world.approvals.approve(OWNER, card.id)
    assert code_of(refused) == "proposal_changed"
    assert world.files() == []
    assert other.read_text("utf-8") == TEXT
    assert await world.store.sources.usage() == {}
    assert await world.told() == ["created", "approved_failed"]
    with pytest.raises(ConflictError) as again:
        await world.approvals.approve(OWNER, card.id)
    assert code_of(again) == "proposal_decided"


async def test_bytes_that_change_between_the_check_and_the_copy_are_refused(world: World) -> None:
    card = await world.text()

    class Turning(ProposalFolder):
        async def open(self, name: str, sha256: str) -> BinaryIO | None:
            file = await super().open(name, sha256)
            (world.proposed / name).write_text("別的", "utf-8")
            return file

    world.approvals._folder = Turning(world.proposed)
    with pytest.raises(GatewayError) as refused:
        await world.approvals.approve(OWNER, card.id)
    assert code_of(refused) == "proposal_changed"
    assert await world.store.sources.usage() == {}


async def test_a_quota_leaves_the_card_for_later(world: World) -> None:
    card = await world.text()
    world.shelf.limits = replace(world.shelf.limits, max_sources_per_collection=0)
    world.shelf.restart()
    world.restart()
    with pytest.raises(GatewayError) as refused:
        await world.approvals.approve(OWNER, card.id)
    assert code_of(refused) == "quota_sources"
    assert world.files() == [card.id]
    assert await world.told() == ["created", "approved_failed"]
    world.shelf.limits = KnowledgeLimits()
    world.shelf.restart()
    world.restart()
    await world.approvals.approve(OWNER, card.id)
    assert world.files() == []


async def test_the_same_bytes_are_one_document(world: World) -> None:
    first = await world.shelf.add(world.handbook, "停車.txt", TEXT)
    card = await world.text()
    source, is_new = await world.approvals.approve(OWNER, card.id)
    assert (source.id, is_new) == (first.id, False)
    assert len(await world.store.sources.list(world.handbook.id)) == 1


async def test_who_may_not_decide_hears_the_same_as_for_what_is_not_there(world: World) -> None:
    card = await world.text()
    said = []
    for who in (world.person, replace(OWNER, id="nobody")):
        for target in (card.id, IDS.new(), "", "../x"):
            for deed in (world.approvals.approve, world.approvals.reject):
                with pytest.raises(NotFoundError) as refused:
                    await deed(who, target)
                said.append((refused.value.code, dict(refused.value.params)))
    assert {str(each) for each in said} == {"('not_found', {})"}
    assert await world.approvals.decidable(world.person) == []
    assert world.files() == [card.id]


# ------------------------------------------------------------ whose turn


def chat_at(kind: AudienceKind, account: Account | None, *, is_direct: bool = True) -> Audience:
    address = ChatAddress("line", "main", "U1" if is_direct else "C1")
    return Audience(kind, account, address, is_direct)


async def test_agents_propose_for_people_we_know_and_for_system_turns_alone(world: World) -> None:
    person = world.person
    sender = Sender("line", "main", "U1")
    await world.store.links.bind(sender, person.id, world.shelf.clock.now())
    linked = replace(chat_at(AudienceKind.LINKED, person), sender_id=sender.id)
    allowed = [
        Audience(AudienceKind.WEBCHAT, person, is_direct=True),
        Audience(AudienceKind.ACCOUNT_DOOR, person),
        linked,
        Audience(AudienceKind.SYSTEM),
        Audience(AudienceKind.DELEGATED, upstream=linked),
        Audience(AudienceKind.DELEGATED, upstream=Audience(AudienceKind.SYSTEM)),
    ]
    for n, audience in enumerate(allowed):
        card = await world.text(f"{TEXT}{n}", audience=audience)
        assert card.proposer.audience in {"webchat", "account_door", "linked", "system"}
    refused = [
        chat_at(AudienceKind.UNLINKED, None),
        chat_at(AudienceKind.VISITOR, None),
        Audience(AudienceKind.NONE),
        Audience(AudienceKind.DELEGATED),
        Audience(AudienceKind.DELEGATED, upstream=chat_at(AudienceKind.VISITOR, None)),
        Audience(AudienceKind.WEBCHAT),
        replace(linked, sender_id="U9"),  # whose link is another's
    ]
    for audience in refused:
        with pytest.raises(NotFoundError):
            await world.text("x", audience=audience)
    assert len(world.files()) == len(allowed)


@pytest.mark.parametrize(
    ("sensitivity", "kind", "is_direct", "may"),
    [
        (Sensitivity.PERSONAL, AudienceKind.WEBCHAT, True, True),
        (Sensitivity.PERSONAL, AudienceKind.WEBCHAT, False, False),
        (Sensitivity.RESTRICTED, AudienceKind.ACCOUNT_DOOR, True, False),  # never counts as 1:1
        (Sensitivity.INTERNAL, AudienceKind.ACCOUNT_DOOR, False, True),
        (Sensitivity.PERSONAL, AudienceKind.SYSTEM, True, False),
    ],
)
async def test_only_what_the_turn_may_read_can_be_added_to(
    world: World, sensitivity: Sensitivity, kind: AudienceKind, *, is_direct: bool, may: bool
) -> None:
    now = await world.store.collections.find(world.handbook.id)
    assert now is not None
    changed = replace(now, sensitivity=sensitivity)
    await world.store.collections.replace(changed, version=now.version)
    person = None if kind is AudienceKind.SYSTEM else world.person
    audience = Audience(kind, person, is_direct=is_direct)
    if may:
        await world.text(audience=audience)
    else:
        with pytest.raises(NotFoundError):
            await world.text(audience=audience)


async def test_missing_and_forbidden_collections_take_the_same_way(
    world: World, queries: Callable[[], list[str]]
) -> None:
    await world.shelf.collection("secret")  # neither the agent nor the person has it
    outcomes = []
    for slug in ("secret", "no-such", "Handbook", "", "handbook/../secret"):
        queries().clear()
        content = FromAgent(path="no-such-file.txt")
        with pytest.raises(NotFoundError) as refused:
            await world.proposals.from_agent(world.turn(), slug, content)
        outcomes.append((str(refused.value), dict(refused.value.params), [*queries()]))
    assert all(each == outcomes[0] for each in outcomes)
    assert outcomes[0][2]  # something was counted


@pytest.fixture
def queries(store: Store) -> Callable[[], list[str]]:
    """Which thread each unit of the store ran on, in order: `read` and `write`."""
    database = store.proposals._database
    seen: list[str] = []
    for name in ("read", "write"):
        plain = getattr(database, name)

        async def counted(unit: Any, plain: Any = plain, name: str = name) -> Any:
            seen.append(name)
            return await plain(unit)

        setattr(database, name, counted)
    return lambda: seen


async def test_a_grant_that_ends_while_the_file_is_copied_counts(world: World) -> None:
    turn = world.turn(Audience(AudienceKind.WEBCHAT, world.person, is_direct=True))
    loop = asyncio.get_running_loop()

    def revoke_then_read() -> BinaryIO:
        asyncio.run_coroutine_threadsafe(world.store.collections.remove(world.handbook.id), loop)
        asyncio.run_coroutine_threadsafe(world.store.generation(), loop).result(10)
        return io.BytesIO(b"x")

    offered = file_offered("a.txt", revoke_then_read, "")
    with pytest.raises(NotFoundError):
        await world.proposals.from_chat(turn, "handbook", [offered])
    assert world.files() == []


# ------------------------------------------------------------ what an agent may hand in


async def test_a_file_of_the_agents_own_attachments(world: World) -> None:
    (world.attachments / "sub").mkdir()
    (world.attachments / "sub" / "a b.csv").write_text("a,b\n1,2\n", "utf-8")
    for path in ("sub/a b.csv", "attachments/sub/a b.csv"):
        card = await world.proposals.from_agent(
            world.turn(), "handbook", FromAgent(path=path), "報表 2026/01"
        )
        assert (card.title, card.name) == ("報表 2026／01.csv", "a b.csv")
    (seen,) = await world.approvals.decidable(ADMIN)  # the second is the first
    assert (seen.preview, seen.card.proposal.sha256) == (
        "a,b\n1,2\n", hashlib.sha256(b"a,b\n1,2\n").hexdigest(),
    )  # fmt: skip


async def test_a_file_that_came_otherwise_is_held_to_the_same_rules(world: World) -> None:
    offered = file_offered("../../停車.md", lambda: io.BytesIO(TEXT.encode()), "text/markdown")
    card = await world.proposals.from_agent(world.turn(), "handbook", offered)
    assert (card.title, card.media_type, world.files()) == ("停車.md", "text/markdown", [card.id])
    visitor = world.turn(chat_at(AudienceKind.VISITOR, None))
    with pytest.raises(NotFoundError):
        await world.proposals.from_agent(visitor, "handbook", offered)


PATHS = [
    "", "/", ".", "..", "../agent.toml", "x/../../agent.toml", "attachments", "attachments/",
    "attachments/../agent.toml", "/etc/passwd", "a\0b", "link.txt", "dir/a.txt", "sub", "pipe",
    "twice.txt", "no-such.txt", "sub//a.txt", "./own.txt", "own.txt/x", "a" * 300,
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
async def test_no_path_leads_out_of_the_attachments(
    world: World, tmp_path: Path, path: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("secret", "utf-8")
    (world.home / "agents" / "a1" / "agent.toml").write_text("secret = 1", "utf-8")
    own = world.attachments
    (own / "own.txt").write_text("mine", "utf-8")
    (own / "link.txt").symlink_to(outside / "a.txt")
    (own / "dir").symlink_to(outside)
    (own / "sub").mkdir()
    os.mkfifo(own / "pipe")
    (own / "twice.txt").hardlink_to(outside / "a.txt")
    with pytest.raises(GatewayError) as refused:
        await world.proposals.from_agent(world.turn(), "handbook", FromAgent(path=path))
    assert code_of(refused) == "invalid_request"
    assert world.files() == []


@pytest.mark.parametrize("which", ["agent", "attachments"])
async def test_a_folder_that_became_a_link_holds_nothing(
    world: World, tmp_path: Path, which: str
) -> None:
    outside = tmp_path / "outside"
    (outside / "attachments").mkdir(parents=True)
    for place in (outside, outside / "attachments"):
        (place / "a.txt").write_text("secret", "utf-8")
    world.attachments.rmdir()
    if which == "agent":
        (world.home / "agents" / "a1").rmdir()
        (world.home / "agents" / "a1").symlink_to(outside)
    else:
        world.attachments.symlink_to(outside)
    with pytest.raises(GatewayError):
        await world.proposals.from_agent(world.turn(), "handbook", FromAgent(path="a.txt"))
    assert world.files() == []


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (FromAgent(), "invalid_request"),
        (FromAgent(path="a", text="b"), "invalid_request"),
        (FromAgent(url="file:///etc/passwd"), "url_wrong"),
        (FromAgent(text=" \n"), "empty_text"),
        (FromAgent(text="長" * 1_001), "too_many_chars"),
        (FromAgent(path="big.txt"), "too_large"),
    ],
)
async def test_content_that_cannot_be_taken(world: World, content: FromAgent, code: str) -> None:
    world.limits = KnowledgeLimits(max_source_bytes=100, max_source_chars=1_000)
    world.restart()
    (world.attachments / "big.txt").write_bytes(b"x" * 101)
    with pytest.raises(GatewayError) as refused:
        await world.proposals.from_agent(world.turn(), "handbook", content)
    assert code_of(refused) == code
    assert world.files() == []


async def test_an_address_is_asked_by_its_job_once_it_was_approved(world: World) -> None:
    web = world.shelf.web
    address, other = "https://kb.example.com/parking", "https://kb.example.com/other"
    web.pages[address] = FakePage(f"停車\n\n{TEXT}".encode())
    web.pages[other] = UpstreamError("inside", code="url_blocked")
    named = FromAgent(url=f"{address}#fees")
    card = await world.proposals.from_agent(world.turn(), "handbook", named, "停車")
    bad = await world.proposals.from_agent(world.turn(), "handbook", FromAgent(url=other))
    seen = await world.approvals.decidable(OWNER)
    assert [(each.preview, each.card.proposal.title) for each in seen] == [
        (address, "停車"),
        (other, other),
    ]
    source, is_new = await world.approvals.approve(OWNER, card.id)
    refused, _ = await world.approvals.approve(OWNER, bad.id)
    assert (source.kind, source.address, is_new, web.asked) == (SourceKind.URL, address, True, [])
    assert world.files() == []
    await world.shelf.ingestion.drain()
    assert web.asked == [address, other]
    read, failed = await world.shelf.now(source), await world.shelf.now(refused)
    assert (read.title, read.state, read.error_code) == ("停車", SourceState.READY, None)
    assert (failed.state, failed.error_code) == (SourceState.FAILED, "url_blocked")
    assert len(await world.shelf.found("停車位")) == 1
    assert await world.told() == ["created", "created", "approved", "approved"]
    again = await world.proposals.from_agent(world.turn(), "handbook", FromAgent(url=address + "/"))
    there, is_new = await world.approvals.approve(OWNER, again.id)
    assert (there.id, is_new) == (source.id, False)


async def test_the_twenty_first_is_refused_by_code_and_leaves_no_file(world: World) -> None:
    system = Audience(AudienceKind.SYSTEM)
    for n in range(20):
        await world.text(f"{n}", audience=system)
    with pytest.raises(GatewayError) as refused:
        await world.text("one more", audience=system)
    assert (code_of(refused), refused.value.params) == ("proposal_limit", {"limit": 20})
    assert len(world.files()) == 20
    assert (await world.told())[-1] == "created_failed"


async def test_a_hundred_at_once_keep_to_the_limits_and_to_their_files(world: World) -> None:
    async def one(n: int) -> str:
        try:
            return (await world.text(f"{TEXT}{n}")).id
        except GatewayError as error:
            return error.code

    outcomes = await asyncio.gather(*(one(n) for n in range(100)))
    kept = sorted(each for each in outcomes if each != "proposal_limit")
    assert (len(kept), world.files()) == (10, kept)


async def test_every_reader_of_previews_sees_text_as_it_is(world: World) -> None:
    for name, data in (("a.html", b"<script>1</script>"), ("b.pdf", b"%PDF-"), ("c.md", b"\xff")):
        (world.attachments / name).write_bytes(data)
        await world.proposals.from_agent(world.turn(), "handbook", FromAgent(path=name))
    (world.attachments / "d.txt").write_text("長" * 5_000, "utf-8")
    await world.proposals.from_agent(world.turn(), "handbook", FromAgent(path="d.txt"))
    shown = [each.preview for each in await world.approvals.decidable(ADMIN)]
    assert shown == ["<script>1</script>", None, None, "長" * 2_000]


# ------------------------------------------------------------ kills, sweeps, races


class Killed(BaseException):
    """The process ends here."""


def dying(plain: Any, *, after: bool) -> Any:
    async def called(*args: Any, **over: Any) -> Any:
        if after:
            await plain(*args, **over)
        raise Killed

    return called


@pytest.mark.parametrize("point", ["copied", "carded"])
async def test_killed_while_proposing(world: World, point: str) -> None:
    turn = world.turn()
    plain = world.store.proposals.put
    world.proposals._cards.put = dying(plain, after=point == "carded")  # type: ignore[method-assign]
    content = FromAgent(text=TEXT)
    with pytest.raises(Killed):
        await world.proposals.from_agent(turn, "handbook", content)
    world.store.proposals.put = plain  # type: ignore[method-assign]
    assert len(world.files()) == 1
    world.restart()
    await world.proposals.start()
    assert len(world.files()) == (point == "carded")
    card = await world.proposals.from_agent(turn, "handbook", content)  # the turn is run again
    assert world.files() == [card.id]
    await world.approvals.approve(OWNER, card.id)
    assert len(await world.store.sources.list(world.handbook.id)) == 1


@pytest.mark.parametrize("point", ["stored", "decided"])
@pytest.mark.parametrize("approve", [True, False])
async def test_killed_while_deciding(world: World, point: str, *, approve: bool) -> None:
    card = await world.text()
    name = "approve" if approve else "reject"
    plain = getattr(world.store.proposals, name)
    setattr(world.store.proposals, name, dying(plain, after=point == "decided"))
    deed = world.approvals.approve if approve else world.approvals.reject
    with pytest.raises(Killed):
        await deed(OWNER, card.id)
    setattr(world.store.proposals, name, plain)
    world.restart()
    await world.proposals.start()
    if point == "decided":
        assert world.files() == []
        with pytest.raises(ConflictError):
            await world.approvals.approve(OWNER, card.id)
    else:
        assert world.files() == [card.id]
        await (world.approvals.approve if approve else world.approvals.reject)(OWNER, card.id)
    await world.shelf.ingestion.drain()
    assert len(await world.shelf.found("停車位")) == approve
    assert Counter(await world.told()) == {"created": 1, f"{name}{'d' if approve else 'ed'}": 1}


async def test_files_without_a_card_go_and_one_being_copied_stays(world: World) -> None:
    (world.proposed / IDS.new()).write_text("orphan", "utf-8")
    (world.proposed / "folder").mkdir()
    begun, go_on = asyncio.Event(), asyncio.Event()
    plain = world.store.proposals.put

    async def slow(cards: Any) -> Any:
        begun.set()
        await go_on.wait()
        return await plain(cards)

    world.store.proposals.put = slow  # type: ignore[method-assign]
    async with asyncio.TaskGroup() as tasks:
        proposing = tasks.create_task(world.text())
        await begun.wait()
        await world.proposals.sweep()
        go_on.set()
    assert world.files() == sorted([proposing.result().id, "folder"])


async def test_of_approve_and_reject_at_once_exactly_one_holds(world: World) -> None:
    for n in range(5):
        card = await world.text(f"{TEXT}{n}")
        deeds = [
            *(world.approvals.approve(who, card.id) for who in (OWNER, ADMIN)),
            *(world.approvals.reject(who, card.id) for who in (OWNER, ADMIN)),
        ]
        outcomes = await asyncio.gather(*deeds, return_exceptions=True)
        lost = [each for each in outcomes if isinstance(each, BaseException)]
        assert len(lost) == 3
        assert all(isinstance(each, ConflictError) for each in lost)
    assert world.files() == []
    told = await world.told()
    assert told.count("approved") + told.count("rejected") == 5
    assert len(await world.store.sources.list(world.handbook.id)) == told.count("approved")


async def test_a_deleted_collection_ends_its_cards_with_their_files(world: World) -> None:
    card = await world.text()
    await world.store.collections.remove(world.handbook.id)
    with pytest.raises(NotFoundError):
        await world.approvals.approve(ADMIN, card.id)
    await world.proposals.sweep()
    assert (world.files(), await world.told()) == ([], ["created", "expired"])


async def test_a_card_of_an_archived_agent_can_still_be_decided_and_it_proposes_no_more(
    world: World,
) -> None:
    card = await world.text()
    with pytest.raises(NotFoundError):
        await world.text("x", agent=AgentSide("a1", "", None, is_archived=True))
    source, _ = await world.approvals.approve(OWNER, card.id)
    assert source.id == card.id


async def test_a_link_in_place_of_the_folder_goes(world: World, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("x", "utf-8")
    world.proposed.rmdir()
    world.proposed.symlink_to(elsewhere)
    world.restart()
    await world.proposals.start()
    assert not world.proposed.is_symlink()
    assert [each.name for each in elsewhere.iterdir()] == ["precious"]


async def test_while_the_library_is_off_nothing_is_proposed_or_decided(world: World) -> None:
    card = await world.text()
    world.proposals._is_open = world.approvals._is_open = False
    for deed in (
        world.text("x"),
        world.approvals.approve(OWNER, card.id),
        world.approvals.reject(OWNER, card.id),
        world.approvals.decidable(OWNER),
    ):
        with pytest.raises(GatewayError) as refused:
            await deed
        assert code_of(refused) == "knowledge_disabled"

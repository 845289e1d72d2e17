"""Proposals as rules: who may ask, who decides, how many may wait, and what a decider is shown."""

from dataclasses import replace
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.access import (
    Account,
    AccountRole,
    Audience,
    AudienceKind,
    Grant,
    Role,
    SubjectKind,
)
from gateway.core.proposals import (
    PENDING_OF_AGENT,
    PENDING_OF_PROPOSER,
    PREVIEW_BYTES,
    PREVIEW_CHARS,
    ProposalKind,
    address_of,
    has_preview,
    limit_broken,
    may_decide,
    may_propose_by_tool,
    may_propose_in_chat,
    preview,
)
from tests.contract.test_proposals import card_like

HERE, ELSEWHERE = "c1", "c2"
accounts = st.builds(
    Account,
    st.sampled_from(["u1", "u2"]),
    st.just("login"),
    st.just("Name"),
    st.sampled_from(AccountRole),
    department=st.sampled_from(["", "HR", "Sales"]),
    is_active=st.booleans(),
)
grants = st.builds(
    Grant,
    st.sampled_from([HERE, ELSEWHERE]),
    st.sampled_from(SubjectKind),
    st.sampled_from(["u1", "u2", "HR", "Sales", "", " ", "line", "a1"]),
    st.sampled_from(Role),
)


def naive(account: Account, given_: list[Grant]) -> bool:
    """The rule once more, as the document says it: admin, or editor or owner of this collection."""
    if not account.is_active:
        return False
    if account.role.value == "admin":
        return True
    for grant in given_:
        if grant.collection_id != HERE or grant.role.value == "viewer":
            continue
        if grant.subject_kind.value == "user" and grant.subject_id == account.id:
            return True
        is_own = grant.subject_id == account.department and account.department != ""
        if grant.subject_kind.value == "department" and grant.role.value == "editor" and is_own:
            return True
    return False


@given(accounts, st.lists(grants, max_size=8))
def test_admins_editors_and_owners_decide_and_nobody_else(
    account: Account, given_: list[Grant]
) -> None:
    assert may_decide(account, HERE, given_) == naive(account, given_)


@given(accounts, st.lists(grants, max_size=8), grants)
def test_a_grant_taken_away_never_lets_somebody_decide(
    account: Account, given_: list[Grant], gone: Grant
) -> None:
    assert may_decide(account, HERE, [*given_, gone]) or not may_decide(account, HERE, given_)


def test_a_manager_without_a_grant_decides_nothing_and_nobody_is_nobody() -> None:
    manager = Account("u1", "m", "M", AccountRole.MANAGER)
    assert not may_decide(manager, HERE, [])
    assert not may_decide(None, HERE, [Grant(HERE, SubjectKind.USER, "u1", Role.OWNER)])


MEI = Account("u1", "mei", "Mei", AccountRole.MEMBER)
IN_CHAT = {AudienceKind.WEBCHAT, AudienceKind.LINKED}
BY_TOOL = IN_CHAT | {AudienceKind.DASHBOARD, AudienceKind.ACCOUNT_DOOR, AudienceKind.SYSTEM}


@pytest.mark.parametrize("account", [MEI, None])
@pytest.mark.parametrize("kind", AudienceKind)
def test_who_may_propose(kind: AudienceKind, account: Account | None) -> None:
    audience = Audience(kind, account)
    assert may_propose_in_chat(audience) == (kind in IN_CHAT and account is not None)
    has_person = account is not None or kind is AudienceKind.SYSTEM
    expected = kind in BY_TOOL and has_person
    assert may_propose_by_tool(audience) == expected
    dispatch = Audience(AudienceKind.DELEGATED, upstream=audience)
    assert may_propose_by_tool(dispatch) == expected
    assert not may_propose_in_chat(dispatch)


def test_a_dispatch_from_nowhere_proposes_nothing() -> None:
    assert not may_propose_by_tool(Audience(AudienceKind.DELEGATED))


@given(st.integers(0, 25), st.none() | st.integers(0, 25), st.integers(1, 5))
def test_no_more_than_both_limits_ever_wait(
    of_agent: int, of_proposer: int | None, more: int
) -> None:
    fits = of_agent + more <= PENDING_OF_AGENT
    fits = fits and (of_proposer is None or of_proposer + more <= PENDING_OF_PROPOSER)
    assert (limit_broken(of_agent, of_proposer, more) is None) == fits


def test_the_limits_are_twenty_an_agent_and_ten_a_proposer() -> None:
    assert [limit_broken(19, 0, 1), limit_broken(20, 0, 1)] == [None, 20]
    assert [limit_broken(0, 9, 1), limit_broken(0, 10, 1)] == [None, 10]
    assert limit_broken(15, None, 5) is None


# ------------------------------------------------------------ previews


@given(st.text(max_size=3_000), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_a_preview_holds_the_first_characters_that_can_be_seen(text: str, codec: str) -> None:
    data = text.encode(codec, "surrogatepass") if text.isprintable() else text.encode("utf-8")
    shown = preview(data[:PREVIEW_BYTES], is_whole=len(data) <= PREVIEW_BYTES)
    if shown is None:
        return
    assert len(shown) <= PREVIEW_CHARS
    assert not set(shown) & set(chain("\r\0\x1b\u202e\u2066", map(chr, range(9))))
    if text.isprintable() and len(text) <= PREVIEW_CHARS and codec != "utf-16":
        assert shown == text.removeprefix("\ufeff") or "\u200e" in text or "\u200f" in text


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_give_a_text_or_nothing(data: bytes) -> None:
    shown = preview(data, is_whole=True)
    assert shown is None or preview(shown.encode(), is_whole=True) == shown


def test_a_character_cut_at_the_end_of_what_was_read_is_no_error() -> None:
    data = ("a" + "特" * 4_000).encode()[:PREVIEW_BYTES]
    assert preview(data, is_whole=False) == ("a" + "特" * 4_000)[:PREVIEW_CHARS]
    assert preview("特休".encode()[:-1], is_whole=True) is None


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\x00\xd8", "特休".encode("cp950"), b"%PDF-1.7\n\x93\x8c", b"a\0b"]
)
def test_what_is_no_unicode_text_has_no_preview(data: bytes) -> None:
    assert preview(data, is_whole=True) is None


@pytest.mark.parametrize(
    ("name", "has_one"),
    [
        ("a.txt", True), ("A.MD", True), ("a.csv", True), ("a.html", True), ("a.htm", True),
        ("a.pdf", False), ("a.docx", False), ("txt", False), ("a.txt.exe", False), ("", False),
    ],
)  # fmt: skip
def test_kinds_with_a_preview(name: str, *, has_one: bool) -> None:
    assert has_preview(ProposalKind.FILE, name) == has_one
    assert has_preview(ProposalKind.TEXT, name)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        (" https://kb.example.com/a?b=1#c ", "https://kb.example.com/a?b=1"),
        ("http://kb.example.com", "http://kb.example.com"),
        ("ftp://kb.example.com", None),
        ("file:///etc/passwd", None),
        ("https://user:pw@kb.example.com", None),
        ("https:///path", None),
        ("https://kb.example.com/a b", None),
        ("https://kb.example.com/a\nb", None),
        ("https://[::1", None),
        ("https://kb.example.com:99999/", None),
        ("javascript:alert(1)", None),
        ("", None),
        ("https://kb.example.com/" + "a" * 2_000, None),
    ],
)
def test_addresses(url: str, address: str | None) -> None:
    assert address_of(url) == address


def test_a_card_is_open_for_three_days() -> None:
    card = card_like()
    assert (card.expires_at - card.created_at).total_seconds() == 3 * 24 * 3600
    assert not card.is_open(card.expires_at)
    assert not replace(card, state=card.state.APPROVED).is_open(card.created_at)

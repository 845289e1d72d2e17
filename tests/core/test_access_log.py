"""Whom the access log shows what: counts of one collection, questions of one's own, pages."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.access import Account, AccountRole
from gateway.core.access_log import (
    Mark,
    mark_of,
    page_of,
    passages_of,
    question_hash,
    sees_question,
    sender_shown,
)
from gateway.core.audit import AccessAction, AccessEntry

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
ids = st.sampled_from(["ken", "ann", "bob"])
accounts = st.builds(Account, ids, ids, ids, st.sampled_from(AccountRole), is_active=st.booleans())
entries = st.builds(
    AccessEntry,
    st.sampled_from(AccessAction),
    st.just(AT),
    account_id=st.none() | ids,
    sender=st.none() | st.just("line/main/U1234567890abcdef"),
    query=st.text(max_size=9),
    results=st.lists(
        st.one_of(st.integers(-1, 2**63 - 1).map(str), st.sampled_from(["s1", "", "１", "²"])),
        max_size=6,
    ).map(tuple),
)


@given(accounts, entries)
def test_questions_are_shown_to_admins_and_to_who_asked_alone(
    viewer: Account, entry: AccessEntry
) -> None:
    is_own = entry.account_id == viewer.id
    allowed = viewer.is_active and (viewer.role is AccountRole.ADMIN or is_own)
    assert sees_question(viewer, entry) == allowed


@given(entries, st.integers(1, 2**30), st.lists(st.integers(1, 99), max_size=4))
def test_a_count_tells_of_one_collection_alone(
    entry: AccessEntry, number: int, own: list[int]
) -> None:
    others = tuple(e for e in entry.results if not e.isascii() or not e.isdecimal()
                   or int(e) >> 32 != number)  # fmt: skip
    mine = tuple(str(number << 32 | n) for n in own)
    counted = passages_of(replace(entry, results=(*others, *mine)), number)
    is_of_passages = entry.action in (
        AccessAction.SEARCH,
        AccessAction.AUTO_INJECT,
        AccessAction.PASSAGE,
    )
    assert counted == (len(mine) if is_of_passages else 0)
    assert passages_of(replace(entry, results=others), number) == 0


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32), st.text())
def test_a_hash_is_stable_short_and_of_one_home(one: bytes, two: bytes, question: str) -> None:
    found = question_hash(one, question)
    assert found == question_hash(one, question)
    assert (found is None) == (question == "")
    if found is not None:
        assert len(found) == 8
        assert set(found) <= set("0123456789abcdef")
        if one != two:  # four bytes may be the same by chance, eight questions' not
            many = [f"{question}{n}" for n in range(8)]
            assert [question_hash(one, q) for q in many] != [question_hash(two, q) for q in many]


def test_half_a_character_has_a_hash() -> None:
    assert question_hash(b"k", "\ud800") is not None


@given(accounts, entries)
def test_owners_see_the_end_of_a_senders_id(viewer: Account, entry: AccessEntry) -> None:
    shown = sender_shown(viewer, entry)
    if entry.sender is None or viewer.is_admin:
        assert shown == entry.sender
    else:
        assert shown == "…abcdef"
    assert sender_shown(None, entry) == entry.sender


@given(
    st.lists(st.integers(0, 4), max_size=30).map(lambda steps: sorted(steps, reverse=True)),
    st.integers(1, 7),
)
def test_pages_are_all_rows_once_however_many_fall_on_one_moment(
    steps: list[int], limit: int
) -> None:
    rows = [
        AccessEntry(AccessAction.SEARCH, AT + timedelta(seconds=step), query=str(n))
        for n, step in enumerate(steps)
    ]
    seen: list[AccessEntry] = []
    before: Mark | None = None
    for _ in range(len(rows) + 1):
        rest = [row for row in rows if before is None or row.at <= before.at]
        rest = rest[before.skip if before else 0 :]
        page = page_of(tuple(rest[: limit + 1]), limit, before)
        seen += page.entries
        if page.next is None:
            break
        before = mark_of(page.next.label())
        assert before == page.next
    assert seen == rows


@pytest.mark.parametrize(
    "label", ["", "yesterday", "2026-03-02T09:00:00", "2026-03-02T09:00:00Z/x", "1/2", "²/²"]
)
def test_what_is_no_mark_is_refused(label: str) -> None:
    with pytest.raises(ValueError, match="no mark"):
        mark_of(label)


def test_a_plain_time_is_a_mark() -> None:
    assert mark_of("2026-03-02T10:00:00+01:00") == Mark(AT)

"""An agent's own collection: what archiving takes comes back exactly, whatever is done by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.access import BindingRole, Collection, Grant, Role, Sensitivity, SubjectKind
from gateway.core.own_documents import (
    effective,
    first_grants,
    own_name,
    restored,
    stays_archived,
)
from gateway.core.roles import GRANTABLE

OPEN = Collection("c", 1, "c", "c", Sensitivity.INTERNAL)
ARCHIVED = replace(OPEN, is_archived=True)
SUBJECTS = [
    (kind, f"{kind.value}{n}", role) for kind in SubjectKind for n in range(4) for role in Role
]
Shares = dict[tuple[SubjectKind, str], Role]


def shares(least: int = 0) -> st.SearchStrategy[Shares]:
    """Any saved set of grants: each subject once, with a role it can hold."""
    possible = [each for each in SUBJECTS if each[2] in GRANTABLE[each[0]]]
    return st.lists(st.sampled_from(possible), min_size=least, max_size=12).map(
        lambda chosen: {(kind, subject): role for kind, subject, role in chosen}
    )


def grants(held: Shares) -> tuple[Grant, ...]:
    return tuple(Grant("c", kind, subject, role) for (kind, subject), role in held.items())


def held(found: tuple[Grant, ...]) -> Shares:
    assert len({(each.subject_kind, each.subject_id) for each in found}) == len(found)
    return {(each.subject_kind, each.subject_id): each.role for each in found}


def is_owner(subject: tuple[SubjectKind, str], role: Role) -> bool:
    return subject[0] is SubjectKind.USER and role is Role.OWNER


@given(shares(), st.lists(shares(), max_size=4))
def test_restoring_gives_back_what_archiving_took_and_the_owners_of_now(
    before: Shares, saves: list[Shares]
) -> None:
    now = tuple(each for each in grants(before) if stays_archived(each))
    removed = [each for each in grants(before) if not stays_archived(each)]
    for save in saves:
        now = effective(ARCHIVED, grants(save))
        assert all(is_owner(subject, role) for subject, role in held(now).items())
    after = held(restored(now, removed))
    owners = {s for s, role in (saves[-1] if saves else before).items() if is_owner(s, role)}
    for subject in before.keys() | after.keys():
        if subject in owners:
            assert after[subject] is Role.OWNER
        elif is_owner(subject, before.get(subject, Role.VIEWER)):
            assert subject not in after  # an owner who was removed meanwhile
        else:
            assert after.get(subject) is before.get(subject)  # nothing by hand had an effect


@given(shares())
def test_archiving_and_restoring_alone_changes_no_grant(before: Shares) -> None:
    everything = grants(before)
    kept = [each for each in everything if stays_archived(each)]
    removed = [each for each in everything if not stays_archived(each)]
    assert held(restored(kept, removed)) == before


@given(shares())
def test_an_open_collection_is_saved_as_it_was_given(given_shares: Shares) -> None:
    assert effective(OPEN, grants(given_shares)) == grants(given_shares)


@given(st.dictionaries(st.sampled_from(["creator", "a", "b", "c"]), st.sampled_from(BindingRole)))
def test_a_new_one_is_shared_with_creator_agent_and_the_bound_alone(
    bound: dict[str, BindingRole],
) -> None:
    made = held(first_grants("c", "hana", "creator", bound))
    expected = {
        (SubjectKind.USER, who): Role.OWNER if role is BindingRole.OWNER else Role.VIEWER
        for who, role in bound.items()
    }
    expected[SubjectKind.USER, "creator"] = Role.OWNER
    expected[SubjectKind.AGENT, "hana"] = Role.VIEWER
    assert made == expected


@pytest.mark.parametrize(
    ("display_name", "name"),
    [
        ("小禾", "小禾 的資料"),
        ("  Hana\n(HR)\u202e ", "Hana (HR) 的資料"),
        ("", "hana 的資料"),
        ("\n", "hana 的資料"),
        ("x" * 300, "x" * 196 + " 的資料"),
    ],
)
def test_its_name_is_one_line_of_allowed_length(display_name: str, name: str) -> None:
    assert own_name(display_name, "hana") == name
    assert len(name) <= 200

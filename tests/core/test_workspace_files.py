"""Paths of a workspace, and whose pictures may be seen: by property, against a naive version."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from gateway.core.access import AudienceKind
from gateway.core.proposals import Proposer, may_follow
from gateway.core.workspace_files import (
    KeptPicture,
    may_show,
    media_type_of,
    parts_of,
    picture_path,
)

AT = datetime(2026, 3, 2, tzinfo=UTC)
PATHS = ["input/knowledge/a/page_001.png", "input/knowledge/b/page_001.png", "input/x.png", "x.png"]
kept = st.lists(
    st.builds(
        KeptPicture,
        st.just("agent"),
        st.sampled_from(["s1", "s2", "s3"]),
        st.integers(1, 3),
        st.just("a"),
        st.sampled_from(PATHS[:2]),
        st.sampled_from(["h1", "h2"]),
        st.just(AT),
        st.booleans(),
        st.sampled_from([None, "c1", "c2"]),
    ),
    max_size=6,
)
readable = st.frozensets(st.sampled_from(["c1", "c2", "c3"]))


def naive(path: str, sha256: str, pictures: list[KeptPicture], collections: frozenset[str]) -> bool:
    """Said the long way round: every way in which it may not be seen."""
    same = [each for each in pictures if each.sha256 == sha256]
    if path.startswith("input/knowledge/"):
        same = [each for each in same if each.path == path and each.is_there]
        if not same:
            return False
    elif not same:
        return True
    return any(each.collection_id in collections for each in same)


@given(st.sampled_from(PATHS), st.sampled_from(["h1", "h2", "h3"]), kept, readable)
def test_a_picture_is_seen_by_readers_of_its_document_alone(
    path: str, sha256: str, pictures: list[KeptPicture], collections: frozenset[str]
) -> None:
    shown = may_show(path.split("/"), sha256, pictures, collections)
    assert shown is naive(path, sha256, pictures, collections)
    if any(each.sha256 == sha256 for each in pictures):
        assert not may_show(path.split("/"), sha256, pictures, frozenset())
    for collection in ("c1", "c2"):  # reading more never shows less
        assert may_show(path.split("/"), sha256, pictures, collections | {collection}) >= shown


@given(st.text(st.sampled_from("a./\\\0é\ud800") | st.characters(), max_size=40))
def test_no_path_leads_out(path: str) -> None:
    parts = parts_of(path)
    if parts is None:
        return
    assert "/".join(parts) == path
    assert not path.startswith("/")
    assert not {"", ".", ".."} & set(parts)
    assert not any("\0" in part or "/" in part for part in parts)


def test_what_is_no_path() -> None:
    for path in ("", "/", "/etc/passwd", "..", "a/../b", "a//b", "./a", "a/", "a\0b", "\ud800"):
        assert parts_of(path) is None, path
    assert parts_of("x" * 256) is None
    assert parts_of("/".join("a" * 33)) is None
    assert parts_of("input/社内/手冊.pdf") == ("input", "社内", "手冊.pdf")


def test_names_of_pictures() -> None:
    assert picture_path("product-a", None, 3) == "input/knowledge/product-a/page_003.png"
    assert picture_path("a", "s1", 1200) == "input/knowledge/a/s1/page_1200.png"
    assert media_type_of(b"\x89PNG\r\n\x1a\nrest") == "image/png"
    assert media_type_of(b"\xff\xd8\xff\xe0") == "image/jpeg"
    assert media_type_of(b"GIF89a") is None


ids = st.sampled_from([None, "a1", "a2"])
people = st.sampled_from([None, "p1", "p2"])


@given(st.sampled_from(["a1", "a2"]), people, ids, people)
def test_a_proposal_is_followed_by_whom_it_is_of(
    of_agent: str, of_person: str | None, agent: str | None, person: str | None
) -> None:
    proposer = Proposer("t", of_agent, AudienceKind.ACCOUNT_DOOR, "mcp", of_person)
    if may_follow(proposer, agent, person):
        assert person == of_person
        assert agent in (None, of_agent)
        assert agent is not None or person is not None
    else:
        assert (
            person != of_person or agent not in (None, of_agent) or (agent, person) == (None,) * 2
        )

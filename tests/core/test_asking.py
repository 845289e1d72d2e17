"""What a turn makes of the words it is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.access import (
    Account,
    AccountRole,
    AgentSide,
    Audience,
    AudienceKind,
    Collection,
    Grant,
    Role,
    ScopeFacts,
    Sensitivity,
    SubjectKind,
)
from gateway.core.asking import (
    MAX_CHARS,
    WORDLESS,
    agent_has_collections,
    is_blank,
    language_of,
    read_part,
    reply_language,
)
from gateway.core.scope import decide


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("特休有幾天？", "zh-TW"),
        ("有給休暇は何日もらえますか", "ja"),
        ("How many days?", "en"),
        ("？！ 🙂", None),
        ("", None),
    ],
)
def test_language_of(text: str, expected: str | None) -> None:
    assert language_of(text) == expected


def person(language: str | None) -> Account:
    return Account("u1", "u1", "u1", AccountRole.MEMBER, language=language)


@pytest.mark.parametrize(
    ("account", "channel", "text", "expected"),
    [
        (person("ja"), "en", "特休", "ja"),
        (person(None), "en", "特休", "en"),
        (None, "en", "特休", "en"),
        (None, None, "days off", "en"),
        (None, None, "…", "zh-TW"),
    ],
)
def test_reply_language(
    account: Account | None, channel: str | None, text: str, expected: str
) -> None:
    assert reply_language(account, channel, text, "zh-TW") == expected


@given(st.text(st.characters(), max_size=50), st.integers(0, 3))
def test_what_is_read_can_be_stored_is_never_empty_and_never_too_long(text: str, more: int) -> None:
    kept, is_whole = read_part(text + "字" * (MAX_CHARS // 2 * more))
    assert kept == kept.strip()
    assert 0 < len(kept) <= MAX_CHARS
    assert is_whole == (len(text) + MAX_CHARS // 2 * more <= MAX_CHARS)
    kept.encode()


def test_a_message_without_a_word_becomes_a_sign() -> None:
    assert read_part(" \n") == (WORDLESS, True)


@pytest.mark.parametrize(
    "text", ["", " \n\t", "\u200b\u2060 ", "\ufeff", "\u3164", "\u2800", "\u0301\ufe0f"]
)
def test_is_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_blank(text + "。")


AGENT = AgentSide("a1", "HR", None)


@pytest.mark.parametrize(
    ("side", "to_agent", "to_person", "expected"),
    [
        (AGENT, True, True, True),
        (AGENT, True, False, True),  # whoever asks
        (AGENT, False, True, False),
        (AgentSide("a1", "HR", frozenset()), True, True, False),
        (AgentSide("a1", "HR", frozenset({"handbook"})), True, False, True),
    ],
)
def test_agent_has_collections(
    side: AgentSide, to_agent: bool, to_person: bool, expected: bool
) -> None:
    collection = Collection("c1", 1, "handbook", "", Sensitivity.INTERNAL)
    grants = [Grant("c1", SubjectKind.USER, "u2", Role.OWNER)]
    if to_agent:
        grants.append(Grant("c1", SubjectKind.AGENT, "a1", Role.VIEWER))
    if to_person:
        grants.append(Grant("c1", SubjectKind.USER, "u1", Role.VIEWER))
    facts = ScopeFacts((collection,), tuple(grants), 1, person(None))
    audience = Audience(AudienceKind.WEBCHAT, person(None), is_direct=True)
    assert agent_has_collections(decide(audience, side, facts)) is expected
    assert not agent_has_collections(decide(audience, side, ScopeFacts((), (), 1, person(None))))

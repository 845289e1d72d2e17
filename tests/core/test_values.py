"""The small values: slugs, secrets, conversations, and what an agent brings to a scope."""

import pytest

from gateway.core.access import AgentSide
from gateway.core.agents import AgentKnowledge, AgentSettings
from gateway.core.limits import KnowledgeLimits
from gateway.core.messages import Conversation, web_chat
from gateway.core.secrets import Secret
from gateway.core.slugs import is_slug, slug_of


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("HR Handbook 2026", "hr-handbook-2026"),
        ("  --Café -- menu!  ", "cafe-menu"),
        ("員工手冊", "kb-1"),
        ("", "kb-1"),
        ("a" * 63 + " b", "a" * 63),  # no hyphen is left at the cut
    ],
)
def test_a_slug_is_made_of_a_name(name: str, slug: str) -> None:
    assert slug_of(name, "kb-1") == slug
    assert is_slug(slug)


@pytest.mark.parametrize("text", ["", "-a", "a-", "A", "a_b", "員工", "a/b", "a" * 65])
def test_what_is_no_slug(text: str) -> None:
    assert not is_slug(text)


def test_a_secret_does_not_print_and_compares_by_value() -> None:
    secret = Secret("key-123")
    assert "123" not in f"{secret!r} {secret}"
    assert secret.reveal() == "key-123"
    assert secret == Secret("key-123")
    assert secret != Secret("other")
    assert secret != "key-123"
    assert len({secret, Secret("key-123")}) == 1
    assert (bool(secret), bool(Secret(""))) == (True, False)
    assert repr(Secret("")) != repr(secret)


def test_lanes_are_apart_by_platform_account_and_chat() -> None:
    chats = [
        Conversation("line", "main", "U1"),
        Conversation("line", "shop", "U1"),
        Conversation("line", "main", "U2"),
        web_chat("anna", "c1"),
        web_chat("bob", "c1"),
    ]
    assert len({chat.lane for chat in chats}) == len(chats)
    assert [chat.is_direct for chat in chats] == [False, False, False, True, True]


def test_an_agent_brings_its_department_and_its_list_to_a_scope() -> None:
    knowledge = AgentKnowledge(frozenset({"hr"}))
    agent = AgentSettings("anna", "Anna", "業務部", knowledge=knowledge, is_archived=True)
    assert agent.side == AgentSide("anna", "業務部", frozenset({"hr"}), is_archived=True)


@pytest.mark.parametrize(("setting", "may"), [("refuse", False), ("run_unsandboxed", True)])
def test_only_the_operators_word_lets_files_be_read_without_a_sandbox(
    setting: str, *, may: bool
) -> None:
    assert KnowledgeLimits(extract_when_unavailable=setting).may_run_unsandboxed is may

"""Pages go to a model as each API wants pictures; what stays on this machine is told by address."""

import base64

import pytest

from gateway.core.page_reading import page_messages, summary_messages
from gateway.core.secrets import Secret
from gateway.llm.registry import ModelRegistry
from gateway.llm.settings import ProviderSettings
from tests.llm.asking import ANTHROPIC, APIS, OPENAI, Api, ask
from tests.simulators.scripted import Say

PNG = b"\x89PNG\r\n\x1a\n of a page"


@pytest.mark.parametrize("api", APIS.values(), ids=list(APIS))
async def test_a_page_is_sent_as_the_api_wants_it(api: Api) -> None:
    async with api.simulate(Say("一張折線圖。")) as server:
        draft, _ = await ask(api, server, messages=page_messages(PNG), tools=())
    assert draft.text == "一張折線圖。"
    (request,) = server.requests
    content = request["messages"][-1]["content"]
    assert [part["type"] for part in content][1:] == ["text"]
    data = base64.b64encode(PNG).decode()
    if api is OPENAI:
        assert content[0]["image_url"]["url"] == f"data:image/png;base64,{data}"
    if api is ANTHROPIC:
        assert content[0]["source"] == {
            "type": "base64",
            "media_type": "image/png",
            "data": data,
        }


def test_a_page_prints_nowhere() -> None:
    assert "PNG" not in repr(page_messages(PNG))


def test_a_section_is_text_and_its_instruction_stands_apart() -> None:
    system, user = summary_messages("特休", "滿一年七日。")
    assert "滿一年" not in system.text
    assert user.text == "特休\n\n滿一年七日。"


@pytest.mark.parametrize(
    ("url", "proxy", "is_local"),
    [
        ("http://127.0.0.1:8000/v1", "", True),
        ("http://localhost:11434/v1", "", True),
        ("http://[::1]:80/v1", "", True),
        ("http://127.8.9.1/v1", "", True),
        ("http://127.0.0.1:8000/v1", "http://10.0.0.9:3128", False),
        ("http://10.0.0.5/v1", "", False),
        ("http://127.0.0.1.example.com/v1", "", False),
        ("http://localhost.example.com/v1", "", False),
        ("http://user@127.0.0.1@example.com/v1", "", False),
        ("", "", False),
    ],
)
async def test_only_loopback_without_a_proxy_is_this_machine(
    url: str, proxy: str, *, is_local: bool
) -> None:
    settings = ProviderSettings(base_url=url, api_key=Secret("k"), proxy=Secret(proxy))
    registry = ModelRegistry({"house": settings})
    assert registry.is_local("house/a/b") is is_local
    assert not registry.is_local("none/a")
    assert registry.is_local("extractive")
    await registry.close()

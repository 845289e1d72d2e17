"""config.toml: strict where it must be, lenient where the contract says so, and documented."""

import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from channels.line.channel import LineSettings
from channels.odoolivechat.channel import OdooLiveChatSettings
from channels.slack.channel import SlackSettings
from channels.telegram.channel import TelegramSettings
from channels.widget.channel import WidgetSettings
from gateway import knowledge_config
from gateway.cloud_config import CloudKeys
from gateway.config import GatewaySettings, load, section
from gateway.core.limits import KnowledgeLimits
from gateway.core.secrets import Secret
from gateway.errors import ConfigError
from gateway.knowledge_config import EmbeddingSettings, KnowledgeSwitches
from gateway.llm.settings import ProviderSettings

EXAMPLE = Path(__file__).parents[1] / "config.toml.example"


def write(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, "utf-8")
    return path


def documented(path: str) -> dict[str, Any]:
    table: Any = tomllib.loads(EXAMPLE.read_text("utf-8"))
    for key in path.split("."):
        table = table[key]
    return dict(table)


@pytest.mark.parametrize(
    ("cls", "path", "elsewhere"),
    [
        (GatewaySettings, "gateway", set()),
        (KnowledgeSwitches, "knowledge", set()),
        (KnowledgeLimits, "knowledge", {"batch_size", "max_vector_rows"}),
        (EmbeddingSettings, "knowledge.embedding", {"cloud"}),
        (CloudKeys, "knowledge.embedding", set()),
        (LineSettings, "channels.line.main", {"name"}),
        (SlackSettings, "channels.slack.main", {"name"}),
        (TelegramSettings, "channels.telegram.main", {"name"}),
        (WidgetSettings, "channels.widget.site", {"name"}),
        (OdooLiveChatSettings, "channels.odoolivechat.shop", {"name"}),
        (ProviderSettings, "providers.openai", set()),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_every_setting_stands_in_the_example_with_its_default(
    cls: type[Any], path: str, elsewhere: set[str]
) -> None:
    table = documented(path)
    for field in fields(cls):
        if field.name in elsewhere:
            continue
        assert field.name in table, f"{path}.{field.name} is not documented"
        default = field.default
        if default is MISSING or default is None or isinstance(default, Secret):
            continue
        shown = table[field.name]
        assert (tuple(shown) if isinstance(shown, list) else shown) == default, field.name


def test_the_example_holds_no_key_that_nothing_reads(tmp_path: Path) -> None:
    config = load(write(tmp_path, EXAMPLE.read_text("utf-8")))
    assert knowledge_config.read(config).warnings == ()
    table = {"name": "main", **config.channels["line"]["main"]}
    table |= {"channel_secret": "s", "channel_access_token": "t"}
    assert section(LineSettings, table, "channels.line.main").agent == "assistant"
    assert (
        section(ProviderSettings, config.providers["openai"], "providers.openai").max_retries == 2
    )


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[gatway]\n", "gatway"),
        ("[gateway]\nprot = 1\n", "gateway.prot"),
        ('[gateway]\nport = "8787"\n', "gateway.port"),
        ("[gateway]\nport = true\n", "gateway.port"),
        ("gateway = 3\n", "gateway"),
        ("[channels]\nline = 3\n", "channels.line"),
        ("[gateway\n", "config.toml"),
    ],
)
def test_a_wrong_key_or_type_is_named_with_its_path(tmp_path: Path, text: str, path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, text))
    assert caught.value.params["path"] == path


def test_a_missing_file_means_defaults(tmp_path: Path) -> None:
    assert load(tmp_path / "none.toml").gateway == GatewaySettings()


def test_secrets_come_from_variable_or_file_and_never_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "from-the-variable")
    (tmp_path / "token").write_text("from-the-file\n", "utf-8")
    table = {
        "name": "main",
        "agent": "a",
        "channel_secret_env": "A_SECRET",
        "channel_access_token_file": str(tmp_path / "token"),
    }
    settings = section(LineSettings, table, "channels.line.main")
    assert settings.channel_secret.reveal() == "from-the-variable"
    assert settings.channel_access_token.reveal() == "from-the-file"
    assert "from-the" not in repr(settings)


@pytest.mark.parametrize("missing", ["channel_secret_env", "channel_secret_file"])
def test_a_secret_that_is_not_there_stops_the_start(missing: str) -> None:
    table = {"name": "main", "agent": "a", missing: "/nowhere", "channel_access_token": "t"}
    with pytest.raises(ConfigError, match=missing):
        section(LineSettings, table, "channels.line.main")


def test_knowledge_sections_clamp_and_ignore_with_a_warning(tmp_path: Path) -> None:
    text = """
    [knowledge]
    max_source_bytes = 5
    inject_budget_chars_max = 99999
    nonsense = 1
    enabled = "yes"
    [knowledge.embedding]
    provider = "abacus"
    max_vector_rows = -4
    idle_unload_minutes = 0
    """
    read = knowledge_config.read(load(write(tmp_path, text)))
    assert read.limits.max_source_bytes == 1024 * 1024
    assert read.limits.max_vector_rows == 0
    assert read.switches.inject_budget_chars_max == 12_000
    assert read.switches.enabled
    assert read.embedding.provider == "abacus"
    assert read.embedding.idle_unload_minutes == 1
    assert len(read.warnings) == 6

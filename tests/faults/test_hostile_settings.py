"""Operators' mistakes in the tables of channels: refused with the key's name, or harmless."""

from pathlib import Path

import pytest

from gateway.app_channels import read_channels
from gateway.config import load
from gateway.errors import ConfigError

LINE = 'agent = "a"\nchannel_secret = "s"\nchannel_access_token = "t"\n'
TELEGRAM = 'agent = "a"\nbot_token = "1:AA"\nmode = "polling"\n'
SLACK = 'agent = "a"\nbot_token = "xoxb-1"\napp_token = "xapp-1"\nmode = "socket"\n'
DISCORD = 'agent = "a"\nbot_token = "MTIz.x.y"\n'
ELSEWHERE = 'api_base_url = "http://127.0.0.1:9"\n'


def accounts(folder: Path, *tables: tuple[str, str]) -> set[tuple[str, str]]:
    """(platform.name, settings) of each table, as the program would take them."""
    path = folder / "config.toml"
    path.write_text("\n".join(f"[channels.{name}]\n{rest}" for name, rest in tables), "utf-8")
    return set({key: each.build() for key, each in read_channels(load(path)).items()})


def refused(folder: Path, *tables: tuple[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        accounts(folder, *tables)
    return str(caught.value.params["path"])


@pytest.mark.parametrize("blank", ["", "  ", "\\n", "\\u200b", "\\ufeff \\u2060"])
@pytest.mark.parametrize(
    ("platform", "settings", "key"),
    [
        ("line", LINE, "channel_secret"),
        ("line", LINE, "channel_access_token"),
        ("line", LINE, "agent"),
        ("telegram", TELEGRAM, "agent"),
        ("slack", SLACK, "bot_token"),
        ("slack", SLACK, "app_token"),
        ("discord", DISCORD, "bot_token"),
    ],
)
def test_what_cannot_be_seen_is_no_secret_and_no_agent(
    tmp_path: Path, platform: str, settings: str, key: str, blank: str
) -> None:
    lines = [line for line in settings.splitlines() if not line.startswith(f"{key} =")]
    table = "\n".join([*lines, f'{key} = "{blank}"', ""])
    assert refused(tmp_path, (f"{platform}.m", table)) == f"channels.{platform}.m.{key}"


@pytest.mark.parametrize(
    "name", ["", "a/b", "a:b", "..", "a b", "%2f", "a\\nb", "\\u202ea", "x" * 65]
)
def test_a_name_that_would_mix_up_addresses_or_conversations_is_refused(
    tmp_path: Path, name: str
) -> None:
    assert refused(tmp_path, (f'line."{name}"', LINE)).startswith("channels.line.")


@pytest.mark.parametrize("name", ["main", "台北", "shop.tw", "a_b-c", "2", "X" * 64])
def test_names_that_people_give_are_taken(tmp_path: Path, name: str) -> None:
    assert accounts(tmp_path, (f'line."{name}"', LINE)) == {("line", name)}


@pytest.mark.parametrize(
    ("platform", "settings", "key"),
    [
        ("telegram", TELEGRAM, "bot_token"),
        ("slack", SLACK, "app_token"),
        ("discord", DISCORD, "bot_token"),
    ],
)
def test_two_connections_of_one_bot_would_answer_everything_twice(
    tmp_path: Path, platform: str, settings: str, key: str
) -> None:
    tables = (f"{platform}.m", settings), (f"{platform}.n", settings)
    assert refused(tmp_path, *tables) == f"channels.{platform}.n.{key}"
    tables = (f"{platform}.m", settings), (f"{platform}.n", settings + ELSEWHERE)
    assert len(accounts(tmp_path, *tables)) == 2


def test_webhooks_of_one_bot_have_addresses_of_their_own(tmp_path: Path) -> None:
    webhook = TELEGRAM.replace("polling", "webhook") + 'secret_token = "s"\n'
    tables = ("line.m", LINE), ("line.n", LINE), ("telegram.m", webhook), ("telegram.n", webhook)
    assert len(accounts(tmp_path, *tables)) == 4

"""What the surroundings refuse is one sentence with a code; nothing is lost and no trace shown."""

import os
import socket
from pathlib import Path

import pytest

from tests.commands.conftest import CommandLine, Ran

LONG = "出典文件庫" * 12  # 180 bytes: more than a Unix address holds


@pytest.fixture
def shutten(tmp_path: Path) -> CommandLine:
    command_line = CommandLine(tmp_path / "home")
    command_line.ok("init")
    return command_line


def assert_one_sentence(ran: Ran, code: str) -> None:
    assert ran.code == 1
    lines = [line for line in ran.err.splitlines() if not line.startswith("{")]
    assert len(lines) == 1, ran.err
    assert lines[0].endswith(f"({code})")


@pytest.mark.parametrize("port", ["70000", "-4"])
def test_a_port_that_does_not_exist(shutten: CommandLine, port: str) -> None:
    assert_one_sentence(shutten("serve", "--port", port), "config_invalid")


@pytest.mark.parametrize("host", ["a..b", "x" * 70 + ".example"])
def test_a_host_that_is_no_name(shutten: CommandLine, host: str) -> None:
    assert_one_sentence(shutten("serve", "--port", "0", "--host", host), "config_invalid")


def test_a_port_in_use(shutten: CommandLine) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert_one_sentence(shutten("serve", "--port", port), "config_invalid")


def test_a_home_that_is_a_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("x")
    assert_one_sentence(CommandLine(home)("init"), "home_unusable")
    assert home.read_text() == "x"


@pytest.mark.parametrize(
    "command", [("user", "list"), ("serve", "--port", "0"), ("search", "x", "--as", "admin")]
)
def test_a_lock_that_cannot_be_opened(shutten: CommandLine, command: tuple[str, ...]) -> None:
    lock = shutten.home / "run" / "lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()
    assert_one_sentence(shutten(*command), "home_unusable")


def test_a_folder_of_the_home_that_is_a_file(shutten: CommandLine) -> None:
    blobs = shutten.home / "knowledge" / "blobs"
    blobs.rename(blobs.with_name("elsewhere"))
    blobs.write_text("x")
    assert_one_sentence(shutten("user", "list"), "home_unusable")


def test_a_models_folder_that_is_a_file_leaves_the_search_by_words(shutten: CommandLine) -> None:
    embedding = shutten.home / "models" / "embedding"
    embedding.rmdir()
    embedding.write_text("x")
    assert shutten.ok("search", "x", "--as", "admin", "--json").json["mode"] == "keyword_only"
    assert_one_sentence(shutten("model", "verify"), "model_verification_failed")
    assert_one_sentence(shutten("model", "install"), "home_unusable")


def test_doctor_names_a_broken_database_on_one_line(shutten: CommandLine) -> None:
    (shutten.home / "inbox.db").write_bytes(os.urandom(50_000))
    ran = shutten("doctor", "--json")
    detail = next(row["detail"] for row in ran.json if row["check"] == "store")
    assert "\n" not in detail
    assert "store_broken" in detail


async def test_a_home_deeper_than_a_unix_address(tmp_path: Path) -> None:
    shutten = CommandLine(tmp_path / LONG)
    shutten.ok("init")
    async with shutten.serving():
        assert [row["login"] for row in shutten.ok("user", "list", "--json").json] == ["admin"]
    assert not (shutten.home / "run" / "gateway.sock").exists()

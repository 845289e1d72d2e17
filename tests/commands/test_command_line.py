"""Commands from the outside: what they print, refuse, survive, and whom they tell what."""

import argparse
import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from gateway.commands.parser import parser
from tests.commands.conftest import PASSWORD, ROOT, CommandLine, eventually
from tests.simulators.line import LineSimulator

pytestmark = pytest.mark.timeout(300)  # dozens of processes, each a start of its own
ANNA, STRANGER = "U" + "a" * 32, "U" + "b" * 32
QUESTION = "到職滿一年的特休有幾天？"


def every_command() -> Iterator[tuple[str, ...]]:
    def below(tree: argparse.ArgumentParser, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield path
        for action in tree._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, child in action.choices.items():
                    yield from below(child, (*path, name))

    return below(parser(), ())


@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_every_command_has_help(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        parser().parse_args([*command, "--help"])
    assert left.value.code == 0
    assert "usage: shutten" in capsys.readouterr().out


def test_help_does_not_wait_for_the_whole_program() -> None:
    heavy = "aiohttp gateway.app gateway.interfaces numpy onnxruntime rich sqlalchemy".split()
    code = f"""
import sys
from gateway.commands.parser import parser
parser()
print(*(name for name in {heavy} if name in sys.modules))
"""
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT)
    assert loaded.split() == []


@pytest.mark.parametrize("arguments", [["nonsense"], [], ["ask"], ["model", "instal"]], ids=str)
def test_bad_usage_is_exit_2(arguments: list[str], tmp_path: Path) -> None:
    assert CommandLine(tmp_path).process(*arguments).code == 2


def test_a_folder_that_is_no_home_is_named(tmp_path: Path) -> None:
    ran = CommandLine(tmp_path / "nowhere").process("user", "list")
    assert ran.code == 1
    assert "home_missing" in ran.err
    assert "shutten init" in ran.err
    assert "Traceback" not in ran.err


def test_init_makes_one_admin_and_changes_nothing_the_second_time(shutten: CommandLine) -> None:
    before = (shutten.home / "config.toml").read_text("utf-8")
    again = shutten.ok("init", "--json")
    assert again.json == {"home": str(shutten.home), "new_admin": False}
    assert (shutten.home / "config.toml").read_text("utf-8") == before
    people = shutten.ok("user", "list", "--json").json
    assert [row["login"] for row in people] == ["admin"]
    assert oct((shutten.home / "config.toml").stat().st_mode)[-3:] == "600"
    assert oct((shutten.home / "run").stat().st_mode)[-3:] == "700"


@pytest.mark.parametrize("name", ["[/b]", "[red]Anna", "[link=https://evil.example]Anna[/link]"])
def test_tables_show_names_as_they_are(shutten: CommandLine, name: str) -> None:
    shutten.ok("user", "add", "anna", "--name", name)
    assert name in shutten.ok("user", "list").out


def test_a_name_cannot_steer_the_terminal(shutten: CommandLine) -> None:
    steering = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\r\x00"[:-1]
    refused = shutten("user", "add", "anna", "--name", f"Anna{steering}!")
    assert (refused.code, "invalid_request" in refused.err) == (1, True)
    login = shutten("user", "add", f"anna{steering}")
    told = shutten("ask", "hello", "--as", f"nobody{steering}")
    shown = shutten.ok("user", "list")
    for text in (refused.err, login.err, told.out, told.err, shown.out):
        assert not set(steering) & set(text) & set("\x1b\x07\x9b\u202e\r")
    assert "anna" not in shown.out.lower()


def test_the_same_login_twice_is_refused(shutten: CommandLine) -> None:
    shutten.ok("user", "add", "anna")
    ran = shutten("user", "add", "anna", "--json")
    assert ran.code == 1
    assert ran.json["error"]["code"] == "login_taken"


def test_a_short_password_is_refused_and_adds_nobody(shutten: CommandLine) -> None:
    ran = shutten("user", "add", "anna", SHUTTEN_PASSWORD="short")
    assert ran.code == 1
    assert len(shutten.ok("user", "list", "--json").json) == 1


@pytest.mark.parametrize("command", ["ask", "search"])
def test_reading_needs_an_account(shutten: CommandLine, command: str) -> None:
    ran = shutten(command, QUESTION)
    assert ran.code == 1
    assert "--as" in ran.err
    unknown = shutten(command, QUESTION, "--as", "nobody")
    assert (unknown.code, "not_found" in unknown.err) == (1, True)


def test_the_right_person_gets_a_cited_answer_and_the_wrong_one_no_hint(
    stocked: CommandLine,
) -> None:
    anna = stocked.ok("ask", QUESTION, "--as", "anna", "--agent", "helper", "--json").json
    assert "七日" in anna["text"]
    assert "[1]" in anna["text"]
    assert anna["footer"].startswith("[1] 員工手冊.md")
    bob = stocked.ok("ask", QUESTION, "--as", "bob", "--agent", "helper", "--json").json
    assert bob["citations"] == []
    assert bob["footer"] == ""
    assert "手冊" not in json.dumps(bob, ensure_ascii=False)
    assert stocked.ok("search", "特別休假", "--as", "bob", "--json").json["hits"] == []
    absent = stocked("knowledge", "sources", "no-such", "--as", "bob")
    forbidden = stocked("knowledge", "sources", "handbook", "--as", "bob")
    assert (absent.code, absent.err) == (forbidden.code, forbidden.err)


def test_a_grant_taken_back_holds_at_the_next_question(stocked: CommandLine) -> None:
    assert stocked.ok("search", "特別休假", "--as", "anna", "--json").json["hits"]
    stocked.ok("knowledge", "grant", "handbook", "user:anna", "none", "--as", "admin")
    assert stocked.ok("search", "特別休假", "--as", "anna", "--json").json["hits"] == []


def test_scope_explain_tells_why(stocked: CommandLine) -> None:
    told = stocked.ok("scope", "explain", "--as", "bob", "--agent", "helper", "--json").json
    (reason,) = told["reasons"]
    assert (reason["slug"], reason["is_readable"]) == ("handbook", False)
    assert reason["code"] == "scope.not_granted_to_person"


def test_a_deleted_document_is_gone(stocked: CommandLine) -> None:
    rows = stocked.ok("knowledge", "sources", "handbook", "--as", "admin", "--json").json
    stocked.ok("knowledge", "remove", rows[0]["id"], "--as", "admin")
    assert stocked.ok("search", "特別休假", "--as", "anna", "--json").json["hits"] == []
    assert "七日" not in stocked.ok("ask", QUESTION, "--as", "anna").out


def test_unreadable_files_are_refused_with_a_sentence(stocked: CommandLine, tmp_path: Path) -> None:
    odd = {"sheet.xlsx": b"PK\x03\x04 not a zip", "empty.txt": b"  \n", "sound.mp3": b"ID3\x04"}
    for name, data in odd.items():
        (tmp_path / name).write_bytes(data)
    files = [str(tmp_path / name) for name in odd]
    ran = stocked("add", *files, "--collection", "handbook", "--as", "admin", "--json")
    assert ran.code == 1
    codes = {row["source"]["title"]: row["source"]["error_code"] for row in ran.json}
    assert codes["empty.txt"] == "empty_text"
    assert codes["sound.mp3"] == "unsupported_format"
    assert codes["sheet.xlsx"] == "extract_crashed", "damaged: its own program may mend it"
    assert all(row["source"]["error_message"] for row in ran.json)
    gone = stocked(
        "add", str(tmp_path / "no-such.txt"), "--collection", "handbook", "--as", "admin"
    )
    assert (gone.code, "invalid_request" in gone.err) == (1, True)


@pytest.mark.parametrize(
    ("text", "path"),
    [("[gatway]\n", "gatway"), ("[gateway]\nport = 'x'\n", "gateway.port"), ("[", "config.toml")],
)
def test_a_wrong_setting_stops_the_start_and_is_named(
    shutten: CommandLine, text: str, path: str
) -> None:
    (shutten.home / "config.toml").write_text(text, "utf-8")
    ran = shutten.process("serve")
    assert ran.code == 1
    assert f"{path}: " in ran.err
    assert "config_invalid" in ran.err


def test_a_broken_database_is_named_and_not_touched(shutten: CommandLine) -> None:
    path = shutten.home / "knowledge" / "knowledge.db"
    path.write_bytes(b"this is no database, whatever it was" * 500)
    before = path.read_bytes()
    ran = shutten("user", "list")
    assert ran.code == 1
    assert "store_broken" in ran.err
    assert "Traceback" not in ran.err
    assert path.read_bytes() == before
    told = shutten("doctor", "--json")
    assert told.code == 1
    assert {row["check"]: row["ok"] for row in told.json}["store"] is False


async def test_a_second_gateway_refuses_and_commands_go_through_the_first(
    stocked: CommandLine,
) -> None:
    async with stocked.serving() as gateway:
        second = await asyncio.to_thread(stocked.process, "serve", "--port", "0")
        assert second.code == 1
        assert "home_in_use" in second.err
        ask = ("ask", QUESTION, "--as", "anna", "--json")
        asked = await asyncio.to_thread(stocked.process, *ask)
        assert "七日" in asked.json["text"]
        refused = await asyncio.to_thread(stocked.process, "ask", QUESTION, "--as", "nobody")
        assert (refused.code, "not_found" in refused.err) == (1, True)
        socket = stocked.home / "run" / "gateway.sock"
        assert oct(socket.stat().st_mode)[-3:] == "600"
        await gateway.kill()
    assert socket.exists(), "a killed gateway leaves its socket behind"
    after = await asyncio.to_thread(stocked.process, *ask)
    assert "七日" in after.json["text"]


async def test_the_local_route_takes_signed_calls_only(stocked: CommandLine) -> None:
    async with stocked.serving():
        connector = aiohttp.UnixConnector(path=str(stocked.home / "run" / "gateway.sock"))
        async with aiohttp.ClientSession(connector=connector) as session:
            body = json.dumps({"method": "accounts.list"}).encode()
            headers = {"X-Shutten-Time": "2026-01-01T00:00:00+00:00", "X-Shutten-Nonce": "n"}
            for signature in ("", "0" * 64, "é"):
                signed = {**headers, "X-Shutten-Signature": signature}
                async with session.post("http://x/rpc", data=body, headers=signed) as answer:
                    assert answer.status == 401


async def test_a_line_webhook_answers_as_the_command_line_does(stocked: CommandLine) -> None:
    asked = stocked.ok("ask", QUESTION, "--as", "anna", "--agent", "helper", "--json").json
    simulator = LineSimulator()
    async with simulator.running():
        with (stocked.home / "config.toml").open("a", encoding="utf-8") as config:
            config.write(
                "\n[channels.line.main]\n"
                'agent = "helper"\nchannel_secret_env = "SECRET"\n'
                f'channel_access_token = "{simulator.access_token}"\n'
                f'api_base_url = "{simulator.url}"\n'
            )
        stocked.ok("link", "add", "line", ANNA, "anna")
        async with (
            stocked.serving(SECRET=simulator.secret) as gateway,
            aiohttp.ClientSession() as session,
        ):
            for chat in (ANNA, STRANGER):
                body = simulator.body(simulator.text_event(QUESTION, chat))
                address = f"{gateway.url}/webhooks/line/main"
                for _redelivery in range(2):
                    headers = simulator.headers(body)
                    async with session.post(address, data=body, headers=headers) as answer:
                        assert answer.status == 200
            await simulator.wait_for(2)
    (anna,) = simulator.texts_to(ANNA)
    assert "\n".join(anna).startswith(asked["text"])
    assert "\n".join(anna).endswith(asked["footer"])
    (stranger,) = simulator.texts_to(STRANGER)
    assert "手冊" not in "".join(stranger)


def test_passwords_are_hashed_and_stand_nowhere_in_the_home(shutten: CommandLine) -> None:
    for folder, _folders, files in os.walk(shutten.home):
        for name in files:
            assert PASSWORD.encode() not in (Path(folder) / name).read_bytes(), name
    with sqlite3.connect(shutten.home / "knowledge" / "knowledge.db") as database:
        dump = "\n".join(database.iterdump())
    database.close()
    assert "argon2id" in dump


def test_a_switched_off_library_answers_nobody(stocked: CommandLine) -> None:
    config = stocked.home / "config.toml"
    text = config.read_text("utf-8")
    config.write_text(
        text.replace(
            "[knowledge.embedding]", "[knowledge]\nenabled = false\n[knowledge.embedding]"
        ),
        "utf-8",
    )
    for command in (["search", "特別休假"], ["knowledge", "list"], ["knowledge", "sources", "x"]):
        ran = stocked(*command, "--as", "anna")
        assert (ran.code, "knowledge_disabled" in ran.err) == (1, True), command
    assert "七日" not in stocked.ok("ask", QUESTION, "--as", "anna", "--agent", "helper").out


def test_a_platform_nobody_knows_stops_the_start(shutten: CommandLine) -> None:
    with (shutten.home / "config.toml").open("a", encoding="utf-8") as config:
        config.write('\n[channels.carrier-pigeon.main]\nagent = "helper"\n')
    ran = shutten.process("serve")
    assert (ran.code, "channels.carrier-pigeon" in ran.err) == (1, True)


async def test_a_chore_that_fails_does_not_end_the_gateway(stocked: CommandLine) -> None:
    (stocked.home / "security_audit.jsonl").mkdir()
    async with stocked.serving():
        stocked.ok("user", "add", "carol")
        stocked.ok("user", "list")
    (stocked.home / "security_audit.jsonl").rmdir()
    async with stocked.serving():
        audit = stocked.home / "security_audit.jsonl"
        await eventually(lambda: audit.exists() and "account_created" in audit.read_text("utf-8"))


def test_secrets_of_the_gateways_environment_are_not_needed_by_commands(
    stocked: CommandLine,
) -> None:
    with (stocked.home / "config.toml").open("a", encoding="utf-8") as config:
        config.write('\n[providers.cloud]\napi_key_env = "NOT_HERE"\n')
        config.write('[channels.line.main]\nagent = "helper"\nchannel_secret_env = "NOR_THIS"\n')
    assert "七日" in stocked.ok("ask", QUESTION, "--as", "anna", "--agent", "helper").out
    refused = stocked.process("serve", "--port", "0")
    assert (refused.code, "config_invalid" in refused.err) == (1, True)

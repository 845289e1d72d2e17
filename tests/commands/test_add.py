"""`shutten add` with files, folders and addresses together: one that is refused holds up none."""

from pathlib import Path

import pytest

from tests.commands.conftest import CommandLine

pytestmark = pytest.mark.timeout(300)  # a gateway's library in each command


def test_a_folder_a_file_and_an_address_at_once(stocked: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    for name, text in {
        "a.md": "# 停車\n\n停車場在地下二樓。",
        "sub/b.txt": "機車停車位每月二百元。",
        "sub/again.txt": "機車停車位每月二百元。",
        "sub/empty.csv": "",
        "sub/film.mp4": "moving",
        ".hidden.md": "secret",
        ".git/config": "secret",
        "~$a.docx": "who has it open",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    (folder / "link.md").symlink_to(tmp_path / "nowhere.md")
    named = [str(folder), str(tmp_path / "missing.md"), "http://169.254.169.254/meta"]
    adding = ("add", *named, "--collection", "handbook", "--as", "admin")
    ran = stocked(*adding, "--json")
    assert ran.code == 1
    rows = ran.json
    skipped = {row["path"]: row["skipped"] for row in rows if "skipped" in row}
    assert skipped == {
        str(folder / ".git"): "hidden",
        str(folder / ".hidden.md"): "hidden",
        str(folder / "~$a.docx"): "hidden",
        str(folder / "link.md"): "unsupported",
        str(folder / "sub/film.mp4"): "unsupported",
    }
    ends = [
        (row["source"]["title"], row["is_new"], row["source"]["error_code"])
        for row in rows
        if "source" in row
    ]
    assert ends == [
        ("a.md", True, None),
        ("again.txt", True, None),
        ("again.txt", False, None),
        ("empty.csv", True, "empty_text"),
        ("http://169.254.169.254/meta", True, "url_blocked"),
    ]
    [missing] = [row for row in rows if "error" in row]
    assert missing["error"]["code"] == "invalid_request"
    assert missing["path"].endswith("missing.md")
    said = stocked(*adding)
    assert said.code == 1
    assert f"skipped {folder}/sub/film.mp4: not a kind of document that is read" in said.out
    assert "a.md is already there" in said.out
    assert "missing.md" in said.err
    fine = stocked("add", str(folder / "a.md"), "--collection", "handbook", "--as", "admin")
    assert (fine.code, fine.err) == (0, "")


def test_what_would_refuse_every_document_ends_the_command(
    stocked: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("停車", "utf-8")
    ran = stocked("add", str(tmp_path), "--collection", "nobodys", "--as", "admin", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "not_found")
    assert stocked("add", "--collection", "handbook", "--as", "admin").code == 2


def test_metadata_is_given_and_searched_by(stocked: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "bike.md").write_text("單車棚在地下二樓。", "utf-8")
    (tmp_path / "car.md").write_text("汽車棚在地下三樓。", "utf-8")
    to = ("--collection", "handbook", "--as", "admin")
    noted = ("--metadata", "year=2026", "--metadata", 'version="2"', "--metadata", "kind=a=b")
    [row] = stocked("add", str(tmp_path / "bike.md"), *to, *noted, "--json").json
    assert row["source"]["metadata"] == {"year": 2026, "version": "2", "kind": "a=b"}
    assert stocked("add", str(tmp_path / "car.md"), *to).code == 0
    search = ("search", "地下樓", "--as", "admin", "--json")
    titles = {hit["title"] for hit in stocked(*search).json["hits"]}
    assert {"bike.md", "car.md"} <= titles
    filtered = stocked(*search, "--filter", "year=2026", "--filter", "kind=a=b").json
    assert {hit["title"] for hit in filtered["hits"]} == {"bike.md"}
    assert stocked(*search, "--filter", "version=2").json["hits"] == []
    wrong = stocked(*search, "--filter", "year")
    assert (wrong.code, wrong.json["error"]["code"]) == (1, "invalid_request")

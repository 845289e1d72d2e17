"""Files within a folder that others write to: nothing leads out, whatever lies in the way."""

import os
import stat
from pathlib import Path

import pytest

from gateway.knowledge.beneath import opened_beneath, removed_beneath, written_beneath


def read(start: Path, *parts: str) -> bytes:
    with opened_beneath(start, parts) as file:
        return file.read()


def test_written_read_and_removed_with_its_folders(tmp_path: Path) -> None:
    parts = ("a", "workspace", "input", "page.png")
    (tmp_path / "a" / "workspace").mkdir(parents=True)
    written_beneath(tmp_path, parts, b"one")
    written_beneath(tmp_path, parts, b"two")
    assert read(tmp_path, *parts) == b"two"
    file = tmp_path.joinpath(*parts)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [each.name for each in file.parent.iterdir()] == ["page.png"]
    removed_beneath(tmp_path, parts, keeping=2)
    assert not file.parent.exists()
    assert file.parent.parent.is_dir()
    removed_beneath(tmp_path, parts, keeping=2)  # nothing there is no error


def test_a_folder_with_something_else_in_it_stays(tmp_path: Path) -> None:
    written_beneath(tmp_path, ("a", "b", "one"), b"1")
    written_beneath(tmp_path, ("a", "b", "two"), b"2")
    removed_beneath(tmp_path, ("a", "b", "one"), keeping=0)
    assert read(tmp_path, "a", "b", "two") == b"2"


def test_links_pipes_folders_and_second_names_are_no_files(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "to_file").symlink_to(outside / "secret")
    (inside / "to_folder").symlink_to(outside)
    os.link(outside / "secret", inside / "second")
    os.mkfifo(inside / "pipe")
    (inside / "folder").mkdir()
    for parts in (
        ("to_file",),
        ("to_folder", "secret"),
        ("second",),
        ("pipe",),
        ("folder",),
        ("missing",),
        ("missing", "x"),
        ("second", "x"),
    ):
        with pytest.raises(OSError, match=r"\w"):
            opened_beneath(inside, parts)
    with pytest.raises(OSError, match=r"\w"):
        written_beneath(inside, ("to_folder", "new"), b"x")
    removed_beneath(inside, ("to_folder", "secret"), keeping=0)  # ours is not there any more
    assert [each.name for each in outside.iterdir()] == ["secret"]


def test_what_lies_in_the_way_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"outside")
    (tmp_path / "inside").mkdir()
    for name in ("page.png", ".page.png.new"):
        (tmp_path / "inside" / name).symlink_to(tmp_path / "outside")
    written_beneath(tmp_path / "inside", ("page.png",), b"page")
    assert (tmp_path / "outside").read_bytes() == b"outside"
    assert read(tmp_path / "inside", "page.png") == b"page"

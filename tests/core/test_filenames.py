"""Names of files from anywhere: shown as one harmless line, never a path."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.filenames import TITLE_CHARS, UNNAMED, title_of


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("員工手冊.docx", "員工手冊.docx"),
        ("年假😀.pdf", "年假😀.pdf"),
        ("年" * 90 + ".pdf", "年" * 90 + ".pdf"),
        ("a\u202efdp.exe", "afdp.exe"),
        ("\u200fabc\u2067.txt", "abc.txt"),
        ("..\\..\\windows\\x.md", "x.md"),
        ("/etc/passwd", "passwd"),
        ("a/b/c.csv", "c.csv"),
        ("folder/", "folder"),
        ("nul\0byte.txt", "nulbyte.txt"),
        ("two\nlines\r\n.txt", "twolines.txt"),
        ("  many   blanks .txt", "many blanks .txt"),
        ("&|@<>.txt", "&|@<>.txt"),
        ("e\u0301.txt", "é.txt"),
        ("", UNNAMED),
        ("///", UNNAMED),
        ("..", UNNAMED),
        ("\u202e\u0000", UNNAMED),
        ("字" * 500 + ".docx", "字" * (TITLE_CHARS - 5) + ".docx"),
        ("\ud800x.txt", "x.txt"),
    ],
)
def test_names(name: str, title: str) -> None:
    assert title_of(name) == title


@given(st.text())
def test_any_name_gives_a_short_visible_line(name: str) -> None:
    title = title_of(name)
    assert 0 < len(title) <= TITLE_CHARS
    assert not set(title) & set("/\\\0\n\r\u202e")
    assert all(unicodedata.category(character) != "Cc" for character in title)
    assert title_of(title) in {title, UNNAMED} or len(title) == TITLE_CHARS

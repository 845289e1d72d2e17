"""Reading a questions file, and when a passage is the gold place."""

from pathlib import Path

import pytest

from gateway.core.passages import Locator
from gateway.errors import InvalidRequestError
from gateway.evals.questions import Gold, comparable, read_questions

GOOD = (
    '{"id":"q1","question":"特休？","type":"factoid","gold":[{"source":"a.md","contains":"七日"}]}'
)


def written(folder: Path, *lines: str) -> Path:
    path = folder / "questions.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    return path


def test_answerable_and_not(tmp_path: Path) -> None:
    absent = '{"id": "q2", "question": "天氣？", "type": "unanswerable", "answerable": false}'
    questions = read_questions(written(tmp_path, "\ufeff" + GOOD, "", absent, "  "))
    assert [(q.id, q.type, q.is_answerable) for q in questions] == [
        ("q1", "factoid", True),
        ("q2", "unanswerable", False),
    ]
    assert questions[0].gold == (Gold("a.md", "七日"),)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "nonsense",
        '{"id": "q2"}',
        '{"id": 7, "question": "x", "answerable": false}',
        '{"id": "", "question": "x", "answerable": false}',
        '{"id": "q2", "question": "  ", "answerable": false}',
        '{"id": "q2", "question": "x"}',
        '{"id": "q2", "question": "x", "gold": []}',
        '{"id": "q2", "question": "x", "gold": [{"contains": "y"}]}',
        '{"id": "q2", "question": "x", "gold": [{"source": "a", "contians": "y"}]}',
        GOOD,  # the same id again
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        read_questions(written(tmp_path, GOOD, "", line))
    assert "3" in str(refused.value.params["reason"])


@pytest.mark.parametrize(
    "content", [b"", b"\n \n", b"\xff\xfe\x00", "\ud800".encode("utf-8", "surrogatepass")]
)
def test_a_file_without_questions(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_bytes(content)
    with pytest.raises(InvalidRequestError):
        read_questions(path)
    with pytest.raises(InvalidRequestError):
        read_questions(tmp_path / "absent.jsonl")


PAGES = Locator(page=3, page_end=5)
ROWS = Locator(sheet="價格", row=2, row_end=9)


@pytest.mark.parametrize(
    ("gold", "place", "expected"),
    [
        (Gold("a.md", "ＡＢ　七 日"), Locator(), True),
        (Gold("a.md", "八日"), Locator(), False),
        (Gold("b.md", "七日"), Locator(), False),
        (Gold("a.md"), Locator(), True),
        (Gold("a.md", "七日", page=4), PAGES, True),
        (Gold("a.md", "七日", page=5), PAGES, True),
        (Gold("a.md", "七日", page=6), PAGES, False),
        (Gold("a.md", "七日", page=3), Locator(page=3), True),
        (Gold("a.md", "七日", page=3), Locator(), False),
        (Gold("a.md", sheet="價格", row=9), ROWS, True),
        (Gold("a.md", sheet="價格", row=10), ROWS, False),
        (Gold("a.md", sheet="別的", row=9), ROWS, False),
        (Gold("a.md", slide=2), Locator(slide=2), True),
        (Gold("a.md", slide=2), Locator(slide=3), False),
    ],
)
def test_gold_places(gold: Gold, place: Locator, *, expected: bool) -> None:
    assert gold.is_at("a.md", comparable("特休ab\n七日"), place) is expected

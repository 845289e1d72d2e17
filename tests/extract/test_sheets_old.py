"""Old workbooks (.xls) as the reader of their sheets sees them."""

import contextlib

import pytest

from gateway.core.documents import SourceWarning
from gateway.errors import ExtractionError
from gateway.extract.formats import read_document
from gateway.extract.reading import Document, ReadOptions
from tests.extract.making_sheets import (
    container,
    hidden_column,
    hidden_row,
    label,
    merged,
    number,
    old_workbook,
    record,
)


def read(data: bytes, options: ReadOptions | None = None) -> Document:
    return read_document(data, "x.xls", options or ReadOptions())


def texts(data: bytes) -> list[str]:
    return [block.text for block in read(data).blocks]


def code_of(data: bytes) -> str:
    with pytest.raises(ExtractionError) as raised:
        read(data)
    return raised.value.code


def test_rows_carry_their_header_their_sheet_and_their_number() -> None:
    cells = label(0, 0, "品名") + label(0, 1, "價") + label(9, 0, "茶") + number(9, 1, 30)
    found = read(old_workbook(("價目表", 0, cells)))
    assert [(block.header, block.text) for block in found.blocks] == [("品名 | 價", "茶 | 30")]
    assert found.blocks[0].locator.label() == "價目表 row 10"
    assert found.media_type == "application/vnd.ms-excel"


def test_numbers_show_by_their_formats() -> None:
    codes = ["0%", "yyyy-mm-dd", '"NT$"#,##0.00', "[h]:mm", '@"先生"', '#,##0" M"']
    values = [0.1, 46_024, 1234.5, 1.5]
    cells = b"".join(number(0, at, value, at + 1) for at, value in enumerate(values))
    cells += label(0, 4, "王", 5) + number(0, 5, 12_500_000, 6) + number(0, 6, 0.1 + 0.2)
    cells += record(0x0205, bytes([0, 0, 7, 0, 0, 0, 1, 0]))  # TRUE
    cells += record(0x0205, bytes([0, 0, 8, 0, 0, 0, 42, 1]))  # an error
    assert texts(old_workbook(("a", 0, cells), codes=codes)) == [
        "10% | 2026-01-02 | NT$1,234.50 | 36:00 | 王先生 | 12,500,000 M | 0.3 | TRUE | #N/A"
    ]


def test_the_1904_calendar_is_the_workbooks() -> None:
    data = old_workbook(("a", 0, number(0, 0, 35_064, 1)), codes=["yyyy-mm-dd"], is_1904=True)
    assert texts(data) == ["2000-01-01"]


@pytest.mark.parametrize(
    ("cells", "state"),
    [
        (label(0, 0, "底價"), 1),
        (label(0, 0, "底價"), 2),
        (hidden_row(0) + label(0, 0, "底價"), 0),
        (hidden_column(0) + label(0, 0, "底價"), 0),
        (label(0, 0, "底價", 1), 0),
    ],
    ids=["sheet", "very hidden", "row", "column", "format"],
)
def test_what_is_hidden_is_skipped_and_said_so_unless_wanted(cells: bytes, state: int) -> None:
    data = old_workbook(("藏", state, cells), ("明", 0, label(0, 0, "公開")), codes=[";;;"])
    found = read(data)
    assert [block.text for block in found.blocks] == ["公開"]
    assert found.warnings == (SourceWarning("hidden_content_skipped", (), "藏"),)
    wanted = read(data, ReadOptions(include_hidden=True))
    assert [block.text for block in wanted.blocks] == ["底價", "公開"]
    assert wanted.warnings == ()


def test_merged_cells_come_once() -> None:
    cells = label(0, 0, "北") + label(0, 1, "一") + label(1, 0, "舊") + label(1, 1, "二")
    cells += number(2, 1, 5)
    found = read(old_workbook(("a", 0, cells + merged(0, 1, 0, 0)))).blocks
    assert [(block.header, block.text) for block in found] == [
        ("北 | 一", " | 二"),
        ("北 | 一", " | 5"),
    ]


def test_encrypted_damaged_and_other_files_are_named_so() -> None:
    whole = old_workbook(("a", 0, label(0, 0, "x")))
    locked = record(0x0809, bytes(16)) + record(0x002F, bytes(6))
    assert code_of(container(locked)) == "encrypted"
    assert code_of(whole[:-512]) == "extract_crashed"
    assert code_of(container(bytes(5000))) == "extract_crashed"
    assert code_of(container(b"x" * 5000, "Else")) == "unsupported_format"


def test_sectors_that_follow_themselves_end_the_reading() -> None:
    whole = old_workbook(("a", 0, label(0, 0, "x")))
    table = len(whole) - 512
    for sector in range(9):
        looped = whole[: table + 4 * sector] + sector.to_bytes(4, "little")
        assert code_of(looped + whole[len(looped) :]) == "extract_crashed"


def test_every_cut_and_every_flipped_byte_ends_in_a_name() -> None:
    whole = old_workbook(("a", 0, label(0, 0, "x") + number(1, 0, 5, 1)), codes=["0%"])
    for at in (at for at in range(0, len(whole), 7) if whole[at]):
        for spoiled in (whole[:at], whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]):
            with contextlib.suppress(ExtractionError):  # it has a code; another error is a bug
                read(spoiled, ReadOptions(10_000))

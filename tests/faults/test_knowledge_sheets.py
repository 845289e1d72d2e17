"""Ways by which other readers of workbooks lost cells, showed raw numbers, or fell over."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from gateway.core.documents import Extracted, SourceWarning
from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError
from gateway.extract.supervisor import ExtractionSupervisor
from tests.extract.making_sheets import (
    container,
    formats,
    label,
    number,
    old_workbook,
    record,
    rows,
    text,
    workbook,
    written,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")
Reading = Callable[[bytes], Any]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def read(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Reading]:
    """Reads bytes as an upload is read: in the sandbox, by one zygote for all tests here."""
    supervisor = ExtractionSupervisor(KnowledgeLimits(extract_timeout_secs=30))
    file: Path = tmp_path_factory.mktemp("sheets") / "file"

    async def reading(data: bytes, name: str = "x.xlsx") -> Extracted:
        await asyncio.to_thread(file.write_bytes, data)
        return await supervisor.extract(file, name)

    yield reading
    await supervisor.close()


async def code_of(read: Reading, data: bytes) -> str:
    with pytest.raises(ExtractionError) as raised:
        await read(data)
    return raised.value.code


def lines(extracted: Extracted) -> list[str]:
    return [block.text for block in extracted.blocks]


async def test_a_formula_without_a_result_is_shown_and_said_so(read: Reading) -> None:
    def write(book: Any) -> None:
        book.active.title = "表"
        book.active.append(["合計", "=SUM(B1:B1)"])

    found = await read(written(write))
    assert lines(found) == ["合計 | =SUM(B1:B1)"]
    assert found.warnings == (SourceWarning("uncached_formula", (), "表"),)


async def test_percent_money_and_dates_are_not_raw_numbers(read: Reading) -> None:
    codes = (
        "0%", "0.0%", "$#,##0.00", "yyyy-mm-dd", "#,##0&quot; M&quot;", "[$-404]e&quot;年&quot;m",
    )  # fmt: skip
    values = (0.1, 0.075, 1234.5, 46_024, 12_500_000, 46_024)
    cells = "".join(
        f'<c r="{letter}1" s="{style}"><v>{value}</v></c>'
        for style, (letter, value) in enumerate(zip("ABCDEF", values, strict=True))
    )
    found = await read(workbook(rows(cells), styles=formats(*codes)))
    assert lines(found) == ["10% | 7.5% | $1,234.50 | 2026-01-02 | 12,500,000 M | 115年1"]


async def test_old_workbooks_show_the_same(read: Reading) -> None:
    cells = label(0, 0, "折扣") + number(0, 1, 0.075, 1) + number(0, 2, 46_024, 2)
    data = old_workbook(("表", 0, cells), codes=["0.0%", "yyyy-mm-dd"])
    assert lines(await read(data)) == ["折扣 | 7.5% | 2026-01-02"]


async def test_a_huge_declared_range_and_a_gap_lose_nothing(read: Reading) -> None:
    def write(book: Any) -> None:
        sheet = book.active
        sheet["A1"], sheet["A602"] = "甲", "乙"
        sheet["XFD1048576"].number_format = "0%"

    found = await read(written(write))
    assert [(block.text, block.locator.row) for block in found.blocks] == [("甲", 1), ("乙", 602)]


async def test_a_hidden_sheet_and_row_are_no_answer_and_never_silent(read: Reading) -> None:
    def write(book: Any) -> None:
        secret = book.create_sheet("秘密")
        secret.append(["底價 88"])
        secret.sheet_state = "hidden"
        for line in ("公開價 99", "成本 77", "含稅"):
            book.active.append([line])
        book.active.row_dimensions[2].hidden = True

    found = await read(written(write))
    assert lines(found) == ["公開價 99", "含稅"]
    assert found.warnings == (SourceWarning("hidden_content_skipped", (), "秘密, Sheet"),)


async def test_bombs_and_lies_are_refused_before_they_grow(read: Reading) -> None:
    spaces = workbook("", parts={"xl/worksheets/s1.xml": b"<worksheet>" + b" " * (10 << 20)})
    assert len(spaces) < 50_000
    assert await code_of(read, spaces) == "document_limits"
    strings = f"<si><t>{'f' * 1_000_000}</t></si>"
    cells = rows(*(f'<c r="A{n}" t="s"><v>0</v></c>' for n in range(1, 4_000)))
    assert await code_of(read, workbook(cells, strings=strings)) == "too_many_chars"
    honest = workbook(rows(text("A1", "x" * 5_000)))
    at = honest.rindex(b"PK\x01\x02") + 24  # the size in the central directory
    lying = honest[:at] + (10).to_bytes(4, "little") + honest[at + 4 :]
    assert await code_of(read, lying) == "document_limits"


@pytest.mark.parametrize(
    "part", ["xl/worksheets/s1.xml", "xl/sharedStrings.xml", "xl/workbook.xml"]
)
async def test_entities_and_depth_are_refused(read: Reading, part: str) -> None:
    laughs = '<!DOCTYPE d [<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {each} "{f"&{before};" * 10}">'
        for before, each in zip("abcdefgh", "bcdefghi", strict=True)
    )
    for xml in (f"{laughs}]><d>&i;</d>", "<a>" * 10_000 + "</a>" * 10_000):
        data = workbook(rows(text("A1", "x")), parts={part: xml})
        assert await code_of(read, data) == "document_limits"


async def test_a_password_is_named_as_such(read: Reading) -> None:
    assert await code_of(read, container(bytes(5_000), "EncryptedPackage")) == "encrypted"
    locked = record(0x0809, bytes(16)) + record(0x002F, bytes(6))
    assert await code_of(read, container(locked)) == "encrypted"

"""Workbooks against openpyxl in its fast mode: 20,000 rows of 8 cells, alternating rounds.

`python -m bench.sheets [--rounds N] [--rows N]`
"""

import argparse
import datetime
import io
import json
import statistics
import time
from collections.abc import Callable

import openpyxl

from gateway.extract.formats import read_document
from gateway.extract.reading import ReadOptions

HEADER = ["編號", "品名", "備註", "數量", "單價", "倉庫", "日期", "狀態"]
OPTIONS = ReadOptions(max_chars=20_000_000)


def plain(rows: int) -> bytes:
    """Text and numbers without a format."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(HEADER)
    for row in range(1, rows):
        day = f"2026-01-{row % 28 + 1:02}"
        sheet.append([*first_cells(row), row % 97, round(row * 1.37, 2), f"倉{row % 9}", day, "ok"])
    return saved(book)


def formatted(rows: int) -> bytes:
    """Money, percent, dates, formulas without a result, and hidden rows."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(HEADER)
    for row in range(2, rows + 1):
        day = datetime.date(2026, 1, row % 28 + 1)
        formula = f"=D{row}*E{row}"
        sheet.append([*first_cells(row), row % 97 / 100, round(row * 1.37, 2), "倉", day, formula])
        sheet.cell(row, 4).number_format = "0.0%"
        sheet.cell(row, 5).number_format = '"$"#,##0.00_);("$"#,##0.00)'
        if row % 50 == 0:
            sheet.row_dimensions[row].hidden = True
    return saved(book)


def first_cells(row: int) -> list[int | str]:
    return [row, f"品名{row % 500}", f"note {row}"]


def saved(book: openpyxl.Workbook) -> bytes:
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def theirs(data: bytes) -> int:
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
    return sum(1 for sheet in book for _ in sheet.iter_rows(values_only=True))


def ours(data: bytes) -> int:
    return len(read_document(data, "x.xlsx", OPTIONS).blocks)


def cpu_s(read: Callable[[bytes], int], data: bytes) -> float:
    before = time.process_time()
    read(data)
    return time.process_time() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    options = parser.parse_args()
    figures: dict[str, float] = {"rows": options.rows}
    for name, make in (("plain", plain), ("formatted", formatted)):
        data = make(options.rows)
        ours(data)
        rounds = [(cpu_s(theirs, data), cpu_s(ours, data)) for _ in range(options.rounds)]
        figures[f"{name}_openpyxl_s"] = round(statistics.median(a for a, _ in rounds), 3)
        figures[f"{name}_ours_s"] = round(statistics.median(b for _, b in rounds), 3)
        figures[f"{name}_ratio"] = round(statistics.median(a / b for a, b in rounds), 2)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

"""Word files: the product's reader against python-docx, taking turns in one run.

    .venv/bin/python -m bench.office [--rounds 9] [--paragraphs 600]

Both read the same bytes: paragraphs of Chinese text and a table. Prints the processor time of
each (median) and their ratio; the texts are compared first.
"""

import argparse
import gc
import io
import json
import statistics
import time
from collections.abc import Callable

import docx

from gateway.extract.formats import read_document
from gateway.extract.reading import ReadOptions

ROWS, COLUMNS = 40, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--paragraphs", type=int, default=600)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    data = _document(options.paragraphs)
    missing = set(_theirs(data).split()) - set(_ours(data).split())
    spent = _measured(data, options.rounds)
    ratios = [theirs / ours for ours, theirs in zip(*spent, strict=True)]
    figures = {
        "words_missing": len(missing),
        "ours_ms": 1000 * statistics.median(spent[0]),
        "python_docx_ms": 1000 * statistics.median(spent[1]),
        "ratio": statistics.median(ratios),
        "ratio_lowest": min(ratios),
    }
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:16} {value:10.2f}")


def _measured(data: bytes, rounds: int) -> tuple[list[float], list[float]]:
    ours: list[float] = []
    theirs: list[float] = []
    for round_no in range(rounds + 1):  # the first one warms up
        for times, read in ((ours, _ours), (theirs, _theirs)):
            taken = _cpu_s(read, data)
            if round_no:
                times.append(taken)
    return ours, theirs


def _cpu_s(read: Callable[[bytes], str], data: bytes) -> float:
    gc.collect()
    started = time.process_time()
    read(data)
    return time.process_time() - started


def _ours(data: bytes) -> str:
    blocks = read_document(data, "a.docx", ReadOptions()).blocks
    headers = {block.header for block in blocks}
    return "\n".join([*headers, *(block.text for block in blocks)]).replace("|", "\n")


def _theirs(data: bytes) -> str:
    document = docx.Document(io.BytesIO(data))
    cells = (cell.text for table in document.tables for row in table.rows for cell in row.cells)
    return "\n".join([*(paragraph.text for paragraph in document.paragraphs), *cells])


def _document(paragraphs: int) -> bytes:
    document = docx.Document()
    for number in range(paragraphs):
        document.add_paragraph(
            f"第{number}條 員工依勞動基準法之規定得請特別休假，並應事先告知主管。"
        )
    table = document.add_table(rows=ROWS, cols=COLUMNS)
    for row_no, row in enumerate(table.rows):
        for column_no, cell in enumerate(row.cells):
            cell.text = f"儲存格{row_no}-{column_no}"
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


if __name__ == "__main__":
    main()

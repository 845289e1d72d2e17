"""Other people's files, some of them hostile, through the sandbox as uploads go."""

import csv
import re
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.core.chunking import MOST, chunk
from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError
from gateway.extract.supervisor import ExtractionSupervisor
from tests.simulators.shared import shared

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.shared]

LATER = (".zip",)
CODES = {
    ".doc": {"legacy_office", "encrypted"},
    ".ppt": {"legacy_office"},
    **{suffix: {"unsupported_format", "encrypted", "extract_crashed"} for suffix in LATER},
}
# read differently by every reader that was tried: a glyph drawn by another glyph's procedure
OTHERWISE = {"ContentStreamCycleType3insideType3.pdf"}


def plain(text: str) -> str:
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def supervisor() -> AsyncIterator[ExtractionSupervisor]:
    made = ExtractionSupervisor(
        KnowledgeLimits(
            extract_timeout_secs=40,
            extract_memory_mb=1024,
            index_hidden=True,  # the programs that made the table do not care what is hidden
        )
    )
    yield made
    await made.close()


async def outcome(supervisor: ExtractionSupervisor, file: Path) -> tuple[str, str]:
    """(text, code): one of them is empty."""
    try:
        extracted = await supervisor.extract(file, file.name)
    except ExtractionError as error:
        return "", error.code
    assert extracted.is_sandboxed
    passages, _ = chunk(extracted)
    assert all(0 < len(passage.text) <= MOST for passage in passages)
    return "\n".join(f"{block.header}\n{block.text}" for block in extracted.blocks), ""


def is_expected(row: dict[str, str], text: str, code: str) -> bool:
    suffix = Path(row["path"]).suffix
    if suffix in CODES:
        return code in CODES[suffix]
    match row["expect"]:
        case "text":
            return plain(row["expected"]) in plain(text) or Path(row["path"]).name in OTHERWISE
        case "error":
            return code == ("encrypted" if row["expected"] == "encrypted" else "extract_crashed")
        case "empty":
            return not re.search(r"[^\W\d]", text)
        case _:
            return True  # an end without a crash of ours is all that is asked


async def test_every_file_ends_as_its_row_says(supervisor: ExtractionSupervisor) -> None:
    manifest = shared("corpus", "manifest.tsv")
    with manifest.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    wrong = []
    for row in rows:
        text, code = await outcome(supervisor, manifest.parent / row["path"])
        if not is_expected(row, text, code):
            wrong.append((row["path"], row["expect"], row["expected"], code, text[:40]))
    assert wrong == [], wrong
    assert len(rows) > 90

"""Scanned pages and image files: refused with advice, or read by the confined OCR process."""

import asyncio
import io
import re
import sys
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pymupdf
import pytest
import pytest_asyncio
from PIL import Image

from gateway.catalogue import STRINGS
from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError
from gateway.extract.supervisor import ExtractionSupervisor
from gateway.extract.untrusted import accept
from gateway.extract.wire import Request
from gateway.extract.zygote import Task
from tests.extract import hostile_child
from tests.extract.test_sandbox import COMMAND, HOSTILE, REFUSED
from tests.simulators.shared import shared

pytestmark = pytest.mark.asyncio(loop_scope="module")

LINES = {
    "china-t": "員工服務滿六個月，特別休假三日；龜鬱體驗證明書。",
    "china-s": "申请年休假应于三个工作日前提出，经主管批准后生效。",
    "japan": "休暇を申請するときは、システムで申し込むこと。",
    "helv": "Annual leave: 7 days after one year, see page 12.",
}
ON = KnowledgeLimits(ocr=True)
HOSTILE_ON = KnowledgeLimits(ocr=True, extract_memory_mb=512)
HASTY_ON = KnowledgeLimits(ocr=True, ocr_page_timeout_secs=1)


def drawn(lines: dict[str, str], width: int = 420, height: int = 150) -> Image.Image:
    """The lines as a scan of 150 dpi, each in its font, grey and a little noisy."""
    pdf = pymupdf.open()
    page = pdf.new_page(width=width, height=height)
    for row, (font, text) in enumerate(lines.items(), 1):
        page.insert_text((20, 30 * row), text, fontname=font, fontsize=13)
    pixels = page.get_pixmap(dpi=150, colorspace=pymupdf.csGRAY)
    clean = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)
    noise = Image.effect_noise(clean.size, 40)
    return Image.blend(clean, noise, 0.15).rotate(0.5, fillcolor=230)


def encoded(image: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def plain(text: str) -> str:
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))


def distance(one: str, other: str) -> int:
    before = list(range(len(other) + 1))
    for n, a in enumerate(one, 1):
        row = [n]
        for m, b in enumerate(other, 1):
            row.append(min(before[m] + 1, row[-1] + 1, before[m - 1] + (a != b)))
        before = row
    return before[-1]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def on() -> AsyncIterator[ExtractionSupervisor]:
    supervisor = ExtractionSupervisor(ON)
    yield supervisor
    await supervisor.close()


@pytest.fixture(scope="module")
def off(on: ExtractionSupervisor) -> ExtractionSupervisor:
    """As it comes; the process that reads is shared."""
    supervisor = ExtractionSupervisor(KnowledgeLimits())
    supervisor._zygote = on._zygote
    return supervisor


@pytest.fixture(scope="module")
def missing(on: ExtractionSupervisor) -> ExtractionSupervisor:
    """On, but the package is not installed."""
    supervisor = ExtractionSupervisor(ON, ocr_command=None)
    supervisor._zygote = on._zygote
    return supervisor


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scans")
    scan = drawn(LINES)
    (folder / "scan.png").write_bytes(encoded(scan))
    (folder / "scan.pdf").write_bytes(_pdf(scan))
    english = drawn({"helv": LINES["helv"]}, height=60)
    (folder / "mixed.pdf").write_bytes(_pdf("The first page is text.", english, None))
    frames = [drawn({"helv": text}, 200, 60) for text in ("First frame", "Second frame")]
    tiff = encoded(frames[0], "TIFF", save_all=True, append_images=frames[1:])
    (folder / "two.tiff").write_bytes(tiff)
    return folder


def _pdf(*pages: Image.Image | str | None) -> bytes:
    pdf = pymupdf.open()
    for content in pages:
        page = pdf.new_page()
        if isinstance(content, str):
            page.insert_text((72, 72), content)
        elif content is not None:
            box = pymupdf.Rect(0, 0, 595, 595 * content.height / content.width)
            page.insert_image(box, stream=encoded(content))
    return bytes(pdf.tobytes())


async def code_of(supervisor: ExtractionSupervisor, file: Path, name: str = "") -> str:
    with pytest.raises(ExtractionError) as raised:
        await supervisor.extract(file, name or file.name)
    return raised.value.code


@pytest.mark.parametrize(
    ("name", "code"), [("scan.pdf", "no_text_layer"), ("scan.png", "unsupported_format")]
)
async def test_off_as_it_comes_with_advice(
    off: ExtractionSupervisor, missing: ExtractionSupervisor, files: Path, name: str, code: str
) -> None:
    assert await code_of(off, files / name) == code
    assert all("ocr" in sentence for sentence in STRINGS[f"errors.{code}"].values())
    assert await code_of(missing, files / name) == "ocr_unavailable"


async def test_without_ocr_a_document_keeps_its_text_and_names_the_pages_without(
    off: ExtractionSupervisor, missing: ExtractionSupervisor, files: Path
) -> None:
    for supervisor in (off, missing):
        read = await supervisor.extract(files / "mixed.pdf", "mixed.pdf")
        assert [(each.code, each.pages) for each in read.warnings] == [
            ("pages_without_text", (2, 3))
        ]


async def test_an_image_in_four_scripts_is_read(on: ExtractionSupervisor, files: Path) -> None:
    read = await on.extract(files / "scan.png", "scan.png")
    said, meant = (plain("".join(each)) for each in ((b.text for b in read.blocks), LINES.values()))
    assert distance(said, meant) <= 0.03 * len(meant), said
    assert read.is_sandboxed
    assert (read.media_type, read.pages) == ("image/png", 1)
    assert [(each.code, each.pages) for each in read.warnings] == [("ocr_text", (1,))]
    assert {block.locator.page for block in read.blocks} == {1}


async def test_pages_of_both_kinds_become_one_document(
    on: ExtractionSupervisor, files: Path
) -> None:
    told = []
    read = await on.extract(
        files / "mixed.pdf", "mixed.pdf", on_progress=lambda *far: told.append(far)
    )
    assert [(block.locator.page, block.text) for block in read.blocks] == [
        (1, "The first page is text."),
        (2, LINES["helv"]),
    ]
    assert {each.code: each.pages for each in read.warnings} == {
        "pages_without_text": (3,),
        "ocr_text": (2,),
    }
    assert told[-2:] == [(2, 3), (3, 3)]


async def test_each_frame_of_a_tiff_is_a_page(on: ExtractionSupervisor, files: Path) -> None:
    read = await on.extract(files / "two.tiff", "two.tiff")
    assert [(block.locator.page, block.text) for block in read.blocks] == [
        (1, "First frame"),
        (2, "Second frame"),
    ]


async def test_a_page_without_a_letter_is_empty_text(
    on: ExtractionSupervisor, tmp_path: Path
) -> None:
    blank = tmp_path / "blank.png"
    blank.write_bytes(encoded(Image.new("L", (300, 300), 255)))
    assert await code_of(on, blank) == "empty_text"


@pytest.mark.shared
async def test_other_peoples_scan_is_read(on: ExtractionSupervisor) -> None:
    scan = shared("corpus", "files", "ocr_test.pdf")
    read = await on.extract(scan, scan.name)
    text = " ".join(block.text for block in read.blocks)
    assert "Docling bundles PDF document conversion to JSON and Markdown" in text
    assert read.pages == 1


# ---------------------------------------------------------------- a hostile picture


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def hostile() -> AsyncIterator[ExtractionSupervisor]:
    ocr_command = (sys.executable, "-I", HOSTILE, "60", "ocr")
    supervisor = ExtractionSupervisor(HOSTILE_ON, COMMAND, ocr_command)
    yield supervisor
    await supervisor.close()


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "picture"
    path.write_bytes(hostile_child.PICTURE)
    return path


async def test_every_deed_is_refused_with_the_models_loaded_too(
    hostile: ExtractionSupervisor, picture: Path
) -> None:
    assert hostile._ocr_zygote is not None
    done = {}
    for deed in hostile_child.DEEDS:
        request = Request(deed, "", False, 2000, 20, 1536, True, page=1)
        result = await hostile._ocr_zygote.ask(Task(picture, request, 8000, lambda *_: None))
        read = accept(result.output, 2000)
        assert read.is_sandboxed
        done[deed] = read.blocks[0].text
    assert {deed: said for deed, said in done.items() if said not in REFUSED} == {}
    assert await asyncio.to_thread(picture.read_bytes) == hostile_child.PICTURE


@pytest.mark.parametrize(
    ("deed", "code"),
    [
        ("allocate", "extract_oom"),
        ("crash", "extract_crashed"),
        ("print for ever", "too_many_chars"),
        ("page outside", "extract_crashed"),
    ],
)
async def test_a_bad_end_has_a_code_and_the_next_picture_is_read(
    hostile: ExtractionSupervisor, picture: Path, deed: str, code: str
) -> None:
    assert await code_of(hostile, picture, deed) == code
    assert (await hostile.extract(picture, "harmless")).blocks[0].text == "done"


async def test_the_time_limit_of_a_page_ends_it(
    hostile: ExtractionSupervisor, picture: Path
) -> None:
    hasty = ExtractionSupervisor(HASTY_ON)
    hasty._zygote, hasty._ocr_zygote = hostile._zygote, hostile._ocr_zygote
    assert await code_of(hasty, picture, "spin") == "extract_timeout"
    assert (await hasty.extract(picture, "harmless")).blocks[0].text == "done"


async def test_a_page_that_crashes_costs_that_page(
    hostile: ExtractionSupervisor, picture: Path
) -> None:
    read = await hostile.extract(picture, "crash once")
    assert {each.code: each.pages for each in read.warnings} == {
        "pages_without_text": (1,),
        "ocr_text": (2,),
    }

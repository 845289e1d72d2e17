"""PDFs through the sandbox: speed against the bare library, start-up, and the loop meanwhile.

`python -m bench.documents [--rounds N] [--megabytes N]`

`pdf_ratio` is the time of a process of its own that has the library give all text of a 120-page
file as `dict`, over that of the same file through `ExtractionSupervisor`, warmed; the two take
turns. `pdf_reader_ratio` compares the CPU of the two inside one process, without start-up and
sandbox. `start_ms` is a whole extraction of one line. `loop_lag_*` is how late a 1 ms timer of the
event loop is while a large PDF of pictures and text is read and cut into passages.
"""

import argparse
import asyncio
import io
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import pymupdf
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from gateway.core.chunking import chunk
from gateway.core.limits import KnowledgeLimits
from gateway.extract.pdf import read_pdf
from gateway.extract.reading import ReadOptions
from gateway.extract.supervisor import ExtractionSupervisor

FONT, PAGES, LINES, LINE_CHARS = "MSung-Light", 120, 30, 34
LETTERS = "員工到職滿一年者每年給予特別休假七日並應遵守勞動基準法及相關辦法辦理請假手續須經主管核准"
STARTS = 40
BARE = """
import sys, pymupdf
with pymupdf.open(sys.argv[1]) as pdf:
    for page in pdf:
        page.get_text("dict", flags=pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP)
"""


@dataclass
class Figures:
    """Ratios are medians over the rounds: above 1 is faster than the bare library."""

    pdf_ratio: float
    pdf_bare_ms: float
    pdf_sandbox_ms: float
    pdf_reader_ratio: float
    start_ms_p50: float
    start_ms_p95: float
    large_mb: float
    large_s: float
    loop_lag_p50_ms: float
    loop_lag_p99_ms: float
    loop_lag_max_ms: float


def text_pdf(pages: int) -> bytes:
    """About 1,000 Chinese characters a page."""
    choose = random.Random(1)
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842))
    for page in range(pages):
        page_of_text(canvas, page, choose)
        canvas.showPage()
    canvas.save()
    return data.getvalue()


def page_of_text(canvas: Canvas, page: int, choose: random.Random) -> None:
    canvas.setFont(FONT, 12)
    canvas.drawString(72, 812, "青葉合作社 內部文件")
    for line in range(LINES):
        chars = LINE_CHARS if line % 6 != 5 else 20
        canvas.drawString(72, 780 - line * 22, "".join(choose.choices(LETTERS, k=chars)))
    canvas.drawString(290, 30, str(page + 1))


def large_pdf(megabytes: int) -> bytes:
    """A picture that does not pack, of about one megabyte, and text on every page."""
    choose = random.Random(2)
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842), pageCompression=0)
    for page in range(megabytes):
        noise = Image.frombytes("RGB", (520, 520), choose.randbytes(520 * 520 * 3))
        page_of_text(canvas, page, choose)
        canvas.drawImage(ImageReader(noise), 300, 60, 200, 100)
        canvas.showPage()
    canvas.save()
    return data.getvalue()


def bare_ms(path: Path) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", BARE, str(path)], check=True)
    return (time.perf_counter() - started) * 1000


async def sandbox_ms(supervisor: ExtractionSupervisor, path: Path) -> float:
    started = time.perf_counter()
    await supervisor.extract(path, path.name)
    return (time.perf_counter() - started) * 1000


def cpu_s(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def reader_ratio(data: bytes, rounds: int) -> float:
    flags = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP

    def bare() -> None:
        with pymupdf.open(stream=data) as pdf:
            for page in pdf:
                page.get_text("dict", flags=flags)

    return statistics.median(
        cpu_s(bare) / cpu_s(lambda: read_pdf(data, ReadOptions())) for _ in range(rounds)
    )


async def lags_ms(done: asyncio.Event) -> list[float]:
    found: list[float] = []
    while not done.is_set():
        started = time.perf_counter()
        await asyncio.sleep(0.001)
        found.append((time.perf_counter() - started - 0.001) * 1000)
    return found


async def ingest(supervisor: ExtractionSupervisor, path: Path) -> tuple[float, list[float]]:
    """Seconds, and how late the loop was meanwhile, in ms."""
    done = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        lags = group.create_task(lags_ms(done))
        started = time.perf_counter()
        extracted = await supervisor.extract(path, path.name)
        await asyncio.to_thread(chunk, extracted)
        spent = time.perf_counter() - started
        done.set()
    return spent, lags.result()


async def measured(folder: Path, rounds: int, megabytes: int) -> Figures:
    supervisor = ExtractionSupervisor(KnowledgeLimits())
    text, tiny, large = (folder / name for name in ("text.pdf", "tiny.pdf", "large.pdf"))
    text.write_bytes(text_pdf(PAGES))
    tiny.write_bytes(text_pdf(1))
    large.write_bytes(large_pdf(megabytes))
    try:
        await sandbox_ms(supervisor, tiny)  # the zygote starts
        pairs = [(bare_ms(text), await sandbox_ms(supervisor, text)) for _ in range(rounds)]
        starts = sorted([await sandbox_ms(supervisor, tiny) for _ in range(STARTS)])
        large_s, lags = await ingest(supervisor, large)
    finally:
        await supervisor.close()
    lags.sort()
    return Figures(
        pdf_ratio=statistics.median(bare / ours for bare, ours in pairs),
        pdf_bare_ms=statistics.median(bare for bare, _ in pairs),
        pdf_sandbox_ms=statistics.median(ours for _, ours in pairs),
        pdf_reader_ratio=reader_ratio(text.read_bytes(), rounds),
        start_ms_p50=statistics.median(starts),
        start_ms_p95=starts[int(len(starts) * 0.95)],
        large_mb=large.stat().st_size / 1e6,
        large_s=large_s,
        loop_lag_p50_ms=statistics.median(lags),
        loop_lag_p99_ms=lags[int(len(lags) * 0.99)],
        loop_lag_max_ms=lags[-1],
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--megabytes", type=int, default=100)
    given = arguments.parse_args()
    pdfmetrics.registerFont(UnicodeCIDFont(FONT))
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measured(Path(folder), given.rounds, given.megabytes))
    told = {name: round(value, 3) for name, value in asdict(figures).items()}
    print(json.dumps({"load": os.getloadavg()[0], **told}, indent=2))


if __name__ == "__main__":
    main()

"""Pictures of pages: cold through the sandbox, and kept, beside the bare library in this process.

`python -m bench.page_images [--rounds N] [--corpus FOLDER]`

For each file the first page at 144 dpi: `bare` is open, draw and encode by the library alone, in
this process; `cold` the same page by way of `KeptPageImages` with nothing kept and the drawing
process running; `kept` the second time. They take turns, times are medians of the rounds, ratios
medians of the rounds' ratios (above 1 is faster than the bare library). `start_ms` is a page whose
process has to be started first. `busy_ms` is a cold page while a large document is being read.
"""

import argparse
import asyncio
import contextlib
import io
import json
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import asdict, dataclass
from pathlib import Path

import pymupdf
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont

from bench.documents import FONT, large_pdf, text_pdf
from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError
from gateway.extract.page_renderer import PageRenderer
from gateway.extract.supervisor import ExtractionSupervisor
from gateway.knowledge.page_images import KeptPageImages
from gateway.store.blobs import BlobFolder
from gateway.store.picture_folder import PictureFolder

DPI = 144
STARTS = 5
LARGE_MB = 60


@dataclass
class Figures:
    """Milliseconds; over all files and rounds."""

    files: int
    cold_ratio: float
    bare_ms_p50: float
    bare_ms_p95: float
    cold_ms_p50: float
    cold_ms_p95: float
    cold_ms_max: float
    cold_slowest: str
    kept_ms_p50: float
    kept_ms_p95: float
    start_ms_p50: float
    busy_ms_p50: float
    kib_p50: float
    kib_bare_p50: float


def bare(data: bytes) -> bytes:
    with pymupdf.open(stream=data, filetype="pdf") as pdf:
        return bytes(pdf.load_page(0).get_pixmap(dpi=DPI, alpha=False).tobytes("png"))


def ms(started: float) -> float:
    return (time.perf_counter() - started) * 1000


async def timed(work: Awaitable[bytes]) -> tuple[float, bytes]:
    started = time.perf_counter()
    made = await work
    return ms(started), made


@dataclass(frozen=True)
class Bench:
    images: KeptPageImages
    blobs: BlobFolder

    async def put(self, data: bytes) -> str:
        return (await self.blobs.put(io.BytesIO(data), 10**9))[0]

    async def cold(self, sha256: str) -> tuple[float, bytes]:
        await self.images.forget(sha256)
        return await timed(self.images.png(sha256, 1, dpi=DPI))


def files_of(corpus: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(corpus.rglob("*.pdf"))}


async def drawable(bench: Bench, corpus: Path) -> dict[str, tuple[str, bytes]]:
    """By name: the hash and the bytes of every file that is drawn, and of a page of text."""
    found = {"text.pdf": text_pdf(3)}
    found |= await asyncio.to_thread(files_of, corpus)
    kept = {}
    for name, data in found.items():
        sha256 = await bench.put(data)
        with contextlib.suppress(ExtractionError):  # broken or locked ones
            await bench.images.png(sha256, 1, dpi=DPI)
            if name != "bomb_giant.pdf":  # which the bare library draws at its full size
                kept[name] = sha256, data
    return kept


async def busy(bench: Bench, sha256: str, folder: Path) -> float:
    supervisor = ExtractionSupervisor(KnowledgeLimits())
    path = folder / "large.pdf"
    path.write_bytes(large_pdf(LARGE_MB))
    await bench.cold(sha256)  # the process may have gone idle meanwhile
    found: list[float] = []
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(supervisor.extract(path, path.name))
        await asyncio.sleep(0.2)  # it has begun
        while not found or not reading.done():
            found.append((await bench.cold(sha256))[0])
    await supervisor.close()
    return statistics.median(found)


async def starts(bench: Bench, renderer: PageRenderer, sha256: str) -> float:
    found = []
    for _ in range(STARTS):
        await renderer.close()
        found.append((await bench.cold(sha256))[0])
    return statistics.median(found)


async def measured(folder: Path, corpus: Path, rounds: int) -> Figures:
    renderer = PageRenderer(KnowledgeLimits())
    blobs = BlobFolder(folder / "blobs")
    bench = Bench(KeptPageImages(blobs, renderer, PictureFolder(folder / "pages", 2**28)), blobs)
    try:
        files = await drawable(bench, corpus)
        rows: list[tuple[str, float, float, float, int, int]] = []
        for _ in range(rounds):
            for name, (sha256, data) in files.items():
                started = time.perf_counter()
                encoded = bare(data)
                alone = ms(started)
                cold, png = await bench.cold(sha256)
                kept, _ = await timed(bench.images.png(sha256, 1, dpi=DPI))
                rows.append((name, alone, cold, kept, len(png), len(encoded)))
        start = await starts(bench, renderer, files["text.pdf"][0])
        beside = await busy(bench, files["text.pdf"][0], folder)
    finally:
        await renderer.close()
    _, alone_ms, cold_ms, kept_ms, sizes, bare_sizes = zip(*rows, strict=True)
    slowest = max(rows, key=lambda row: row[2])
    return Figures(
        files=len(files),
        cold_ratio=statistics.median(row[1] / row[2] for row in rows),
        bare_ms_p50=statistics.median(alone_ms),
        bare_ms_p95=sorted(alone_ms)[int(len(rows) * 0.95)],
        cold_ms_p50=statistics.median(cold_ms),
        cold_ms_p95=sorted(cold_ms)[int(len(rows) * 0.95)],
        cold_ms_max=slowest[2],
        cold_slowest=slowest[0],
        kept_ms_p50=statistics.median(kept_ms),
        kept_ms_p95=sorted(kept_ms)[int(len(rows) * 0.95)],
        start_ms_p50=start,
        busy_ms_p50=beside,
        kib_p50=statistics.median(sizes) / 1024,
        kib_bare_p50=statistics.median(bare_sizes) / 1024,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument(
        "--corpus",
        type=Path,
        default=Path(os.environ.get("SHUTTEN_SHARED") or "../shared") / "corpus",
    )
    given = arguments.parse_args()
    pdfmetrics.registerFont(UnicodeCIDFont(FONT))
    pymupdf.TOOLS.mupdf_display_errors(False)  # noqa: FBT003 - the library's own signature
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measured(Path(folder), given.corpus, given.rounds))
    told = {k: round(v, 2) if isinstance(v, float) else v for k, v in asdict(figures).items()}
    print(json.dumps({"load": os.getloadavg()[0], **told}, indent=2))


if __name__ == "__main__":
    main()

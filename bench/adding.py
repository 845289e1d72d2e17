"""300 mixed files by `shutten add` against the bare embedder on the same passages.

`python -m bench.adding [--models DIR] [--files N]`

Both run in this order on the same machine with the same model, workers and batches. The command's
time counts from its start to its end: interpreter, reading in the sandbox, cutting, indexing and
vectors. Memory is that of the command and all its processes, sampled twice a second.
"""

import argparse
import asyncio
import contextlib
import csv
import io
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import docx
import openpyxl
import pymupdf

from bench.memory import tree_pss_mb
from gateway.core.access import Audience, AudienceKind
from gateway.core.chunking import pieces
from gateway.core.limits import KnowledgeLimits
from gateway.core.passages import Passage
from gateway.core.scope import decide
from gateway.store import open_store
from gateway.system import SystemClock, Uuid7Ids
from models.catalogue import E5_SMALL
from models.e5.calibration import TEXTS
from models.install import install
from models.worker_client import LocalEncoder

SAMPLE_S = 0.5
PARAGRAPHS = 8
SHUTTEN = (sys.executable, "-m", "gateway")
COLLECTION = "bench"


@dataclass
class Figures:
    """What is printed; the share is bare time / the command's time."""

    files: int
    passages: int
    command_s: float
    bare_s: float
    throughput_share: float
    failed: int
    pss_mb_by_quarter: list[int]  # medians over each quarter of the run
    pss_mb_peak: float


# ---------------------------------------------------------------- the files


def write_files(folder: Path, count: int) -> None:
    """Of seven kinds, in turn; no two alike."""
    sentences = [text.split(": ", 1)[1] for text in TEXTS]
    chance = random.Random(1)
    kinds = (_text, _markdown, _html, _csv, _docx, _xlsx, _pdf)
    for n in range(count):
        texts = [" ".join(chance.sample(sentences, 12))[:400] for _ in range(PARAGRAPHS)]
        kinds[n % len(kinds)](folder / f"{n:03}", [f"{n}-{k} {t}" for k, t in enumerate(texts)])


def _text(path: Path, texts: Sequence[str]) -> None:
    path.with_suffix(".txt").write_text("\n\n".join(texts), "utf-8")


def _markdown(path: Path, texts: Sequence[str]) -> None:
    parts = [f"## {n}\n\n{text}" for n, text in enumerate(texts)]
    path.with_suffix(".md").write_text("\n\n".join(parts), "utf-8")


def _html(path: Path, texts: Sequence[str]) -> None:
    body = "".join(f"<p>{text}</p>" for text in texts)
    page = f"<!doctype html><meta charset=utf-8><title>{path.name}</title>{body}"
    path.with_suffix(".html").write_text(page, "utf-8")


def _csv(path: Path, texts: Sequence[str]) -> None:
    out = io.StringIO()
    csv.writer(out).writerows([["no", "text"], *([str(n), text] for n, text in enumerate(texts))])
    path.with_suffix(".csv").write_text(out.getvalue(), "utf-8")


def _docx(path: Path, texts: Sequence[str]) -> None:
    document = docx.Document()
    for text in texts:
        document.add_paragraph(text)
    document.save(str(path.with_suffix(".docx")))


def _xlsx(path: Path, texts: Sequence[str]) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["no", "text"])
    for n, text in enumerate(texts):
        sheet.append([n, text])
    book.save(path.with_suffix(".xlsx"))


def _pdf(path: Path, texts: Sequence[str]) -> None:
    document = pymupdf.open()
    for text in texts:
        page = document.new_page()
        page.insert_htmlbox(pymupdf.Rect(50, 50, 545, 790), f"<p>{text}</p>")
    document.save(path.with_suffix(".pdf"))


# ---------------------------------------------------------------- the two sides


async def shutten(home: Path, *words: str) -> None:
    environment = {**os.environ, "SHUTTEN_PASSWORD": "a long password"}
    command = [*SHUTTEN, "--home", str(home), *words]
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.DEVNULL
    )
    assert await process.wait() == 0


async def added(home: Path, folder: Path) -> tuple[float, list[float], int]:
    """Seconds, memory in MB over time, and how many failed."""
    command = [
        *SHUTTEN, "--home", str(home), "add", str(folder), "--collection", COLLECTION,
        "--as", "admin", "--json",
    ]  # fmt: skip
    began, memory = time.perf_counter(), list[float]()
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)

    async def watch() -> None:
        while process.returncode is None:
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):  # one just ended
                memory.append(tree_pss_mb(process.pid))
            await asyncio.sleep(SAMPLE_S)

    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(watch())
        said, _ = await process.communicate()
        took = time.perf_counter() - began
        watching.cancel()
    rows = json.loads(said)
    failed = sum("error" in row or row["source"]["error_code"] is not None for row in rows)
    return took, memory, failed


async def passages(home: Path) -> list[Passage]:
    async with open_store(home, SystemClock(), Uuid7Ids()) as store:
        admin = await store.accounts.find_by_login("admin")
        audience = Audience(AudienceKind.DASHBOARD, admin, is_direct=True)
        scope = decide(audience, None, await store.grants.facts(audience, None, everything=True))
        collection = await store.collections.find_by_slug(COLLECTION)
        assert collection is not None
        found: list[Passage] = []
        for source in await store.sources.list(collection.id):
            revision = source.revision_id or ""
            found += await store.passages.of_revision(scope, source.id, revision)
        return found


async def bare(models_dir: Path, texts: Sequence[str]) -> float:
    """The same encoder, fed the same texts in the same batches by as many hands."""
    size, lanes = KnowledgeLimits().batch_size, 8
    batches = iter(
        [
            [part for text in texts[at : at + size] for part in (text, *pieces(text))]
            for at in range(0, len(texts), size)
        ]
    )
    workers = max(1, (os.cpu_count() or 2) // 2)
    clock = SystemClock()
    encoder = LocalEncoder(
        models_dir, E5_SMALL, idle_unload_s=600, clock=clock, most_workers=1 + workers
    )

    async def feed() -> None:
        for batch in batches:
            await encoder.embed_passages(batch)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(lanes):
            tasks.create_task(feed())
    took = time.perf_counter() - began
    await encoder.close()
    return took


async def measure(models_dir: Path, count: int) -> Figures:
    with tempfile.TemporaryDirectory() as place:
        home, folder = Path(place) / "home", Path(place) / "docs"
        folder.mkdir()
        write_files(folder, count)
        await shutten(home, "init")
        embedding = home / "models" / "embedding"
        await asyncio.to_thread(install, E5_SMALL, embedding, from_dir=models_dir)
        await shutten(
            home, "knowledge", "create", COLLECTION, "--slug", COLLECTION, "--as", "admin"
        )
        command_s, memory, failed = await added(home, folder)
        texts = [passage.text for passage in await passages(home)]
        bare_s = await bare(embedding, texts)
    quarter = max(1, len(memory) // 4)
    medians = [
        round(statistics.median(memory[n * quarter :][:quarter] or memory)) for n in range(4)
    ]
    return Figures(
        count, len(texts), command_s, bare_s, bare_s / command_s, failed, medians, max(memory)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=Path(".demo/models"))
    parser.add_argument("--files", type=int, default=300)
    options = parser.parse_args()
    install(E5_SMALL, options.models)
    figures = asyncio.run(measure(options.models, options.files))
    print(json.dumps(asdict(figures), indent=2))


if __name__ == "__main__":
    main()

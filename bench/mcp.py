"""What `knowledge_search` costs over stdio beyond the search: python -m bench.mcp [PASSAGES].

The demo's company with a large handbook. First the search in this process, then the same questions
by a client of `shutten mcp` beside `shutten serve`, each a process of its own: the medians of
both, and what lies between them.
"""

import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path

from mcp import Client, StdioServerParameters
from sqlalchemy import Connection

from bench.shelves import Sentence, material, question
from gateway.app import App, open_app
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.chunking import chunk
from gateway.core.documents import (
    Block,
    Extracted,
    NewRevision,
    Source,
    SourceKind,
    SourceState,
)
from gateway.core.passages import Locator
from gateway.core.sectioning import with_leads
from gateway.core.summaries import with_summaries
from gateway.core.whole_text import whole_of
from gateway.demo.company import AGENT
from gateway.store.statements import raw
from gateway.surfaces.local_signing import SOCKET
from gateway.system import SystemClock, Uuid7Ids
from tests.surfaces.serving import make_home

QUESTIONS = 200
PER_SOURCE = 100  # passages
CLOCK, IDS = SystemClock(), Uuid7Ids()


async def fill(app: App, passages: int, said: Sequence[Sentence]) -> None:
    """Sources of made paragraphs in the handbook."""
    draw = random.Random(7)
    store = app.store
    handbook = await store.collections.find_by_slug("handbook")
    assert handbook is not None
    for number in range(passages // PER_SOURCE):
        source = Source(
            IDS.new(),
            handbook.id,
            f"{number}.txt",
            SourceKind.FILE,
            f"{number:064d}",
            1,
            SourceState.READY,
            CLOCK.now(),
        )
        await store.sources.add(source)
        await store._knowledge.write(no_jobs)  # there is no file to read
        blocks = []
        for at in range(PER_SOURCE):
            text = " ".join(draw.choice(said).text for _ in range(40))[:480]
            blocks.append(Block(text, Locator(page=at + 1)))
        chunks, sections = with_leads(*chunk(Extracted(tuple(blocks), "text/plain")))
        whole = whole_of(blocks)
        sections = with_summaries(whole, chunks, sections)  # else a job makes them meanwhile
        await store.passages.replace(NewRevision(IDS.new(), source.id, chunks, sections))
        await store.sources.set_state(source.id, SourceState.READY)


def no_jobs(connection: Connection) -> None:
    """Nothing is to be done beside what is measured."""
    raw(connection).execute("DELETE FROM jobs")


async def median_ms(asked: Sequence[str], ask: Callable[[str], Awaitable[object]]) -> float:
    """Of all questions but the first ten."""
    took = []
    for each in asked:
        began = time.perf_counter()
        await ask(each)
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took[10:])


async def here(home: Path, passages: int) -> tuple[list[str], float, str]:
    """The questions, the median in this process, and a token for the other one."""
    said = material()
    draw = random.Random(11)
    asked = [question(said, draw) for _ in range(QUESTIONS)]
    async with open_app(home, serves=False) as app:
        await fill(app, passages, said)
        member = await app.store.accounts.find_by_login("member")
        assert member is not None
        scope = await app.operations.desk.scope(member)

        async def search(words: str) -> object:
            entry = AccessEntry(AccessAction.SEARCH, CLOCK.now(), account_id=member.id)
            return await app.shelves.search.search(words, scope, 5, entry=entry)

        took = await median_ms(asked, search)
        token = await app.sign_in.issue(
            member, kind="token", label="bench", valid_for=timedelta(hours=1)
        )
        return asked, took, token.secret


async def beside(home: Path, asked: Sequence[str], token: str) -> float:
    """The median of the tool, in a client of its own."""
    shutten = (sys.executable, "-m", "gateway", "--home", str(home))
    quiet = asyncio.subprocess.DEVNULL
    gateway = await asyncio.create_subprocess_exec(
        *shutten, "serve", "--port", "0", stdout=quiet, stderr=quiet
    )
    try:
        while not (home / SOCKET).exists():  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)
        program = StdioServerParameters(
            command=shutten[0],
            args=[*shutten[1:], "mcp", "--agent", AGENT],
            env={**os.environ, "SHUTTEN_TOKEN": token},
        )
        async with Client(program) as client:

            async def search(words: str) -> object:
                answer = await client.call_tool("knowledge_search", {"query": words})
                assert not answer.is_error
                return answer

            return await median_ms(asked, search)
    finally:
        gateway.terminate()
        await gateway.wait()


def main() -> None:
    """Print both medians."""
    passages = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        home = make_home(Path(folder) / "home")
        asked, inside, token = asyncio.run(here(home, passages))
        outside = asyncio.run(beside(home, asked, token))
    print(f"{passages:,} passages: search {inside:.1f} ms, knowledge_search over stdio ", end="")
    print(f"{outside:.1f} ms, {outside - inside:.1f} ms beyond it")


if __name__ == "__main__":
    main()

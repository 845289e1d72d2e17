"""Pages that are pictures, through the real providers' wire to a scripted server."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from gateway.core.access import EmbeddingPolicy, Sensitivity
from gateway.core.documents import Block, Extracted, SourceState, SourceWarning
from gateway.core.passages import Locator
from gateway.core.secrets import Secret
from gateway.interfaces import PlacedModels
from gateway.llm.registry import ModelRegistry
from gateway.llm.settings import ProviderSettings
from tests.fakes.extraction import FakeExtractor
from tests.knowledge.shelf import IDS, OWNER, Shelf
from tests.simulators.openai import OpenAISimulator, openai_simulator
from tests.simulators.scripted import Say, Step, Trouble

WRITTEN = "出差返回後三日內應填寫差旅費報支單。" * 20
CHART = "折線圖：一月營業額三百萬元，六月一百二十萬元。" * 8
TEXT = Extracted(
    (Block(WRITTEN, Locator(page=1)), Block("說明。" * 60, Locator(page=3))),
    "application/pdf",
    warnings=(SourceWarning("pages_without_text", (2,)),),
    pages=3,
)


@pytest.fixture
def extractor(shelf: Shelf) -> FakeExtractor:
    assert isinstance(shelf.extractor, FakeExtractor)
    shelf.extractor.documents["表.pdf"] = TEXT
    shelf.images.pages = 3
    return shelf.extractor


@asynccontextmanager
async def seeing(shelf: Shelf, *script: Step, **settings: Any) -> AsyncIterator[OpenAISimulator]:
    """A vision model behind the real client; its address counts as another machine if told so."""
    async with openai_simulator(*script) as server:
        provider = ProviderSettings(
            base_url=server.base_url, api_key=Secret("k"), max_retries=0, **settings
        )
        registry = ModelRegistry({"house": provider})
        shelf.vision = registry
        shelf.restart()
        yield server
        await registry.close()


class Elsewhere:
    """The same models, as if their provider stood outside."""

    def __init__(self, models: PlacedModels) -> None:
        self._models = models

    def find(self, model: str, *fallbacks: str) -> Any:
        return self._models.find(model, *fallbacks)

    def is_local(self, model: str) -> bool:
        return False


fits: type[PlacedModels] = Elsewhere


async def codes(shelf: Shelf, name: str = "表.pdf") -> Sequence[tuple[str, tuple[int, ...]]]:
    source = await shelf.done(await shelf.collection(), name, name)
    return [(each.code, each.pages) for each in source.warnings]


async def test_a_page_without_text_is_described_found_and_marked(
    shelf: Shelf, extractor: FakeExtractor
) -> None:
    async with seeing(shelf, Say(CHART)) as server:
        assert await codes(shelf) == [("described_pages", (2,))]
    assert shelf.images.drawn == [2]
    assert len(server.requests) == 1
    (found,) = [each for each in await shelf.found("折線圖") if "折線圖" in each.text]
    assert (found.locator.page, found.locator.label()) == (2, "p. 2 (described)")
    assert all("(" not in each.locator.label() for each in await shelf.found("差旅費"))


async def test_how_far_it_is_can_be_seen(shelf: Shelf, extractor: FakeExtractor) -> None:
    extractor.codes["掃描.pdf"] = "no_text_layer"
    seen: list[tuple[int, int] | None] = []

    async def watch(source_id: str, server: OpenAISimulator) -> None:
        await server.began.wait()
        server.began.clear()
        await server.began.wait()
        seen.append(shelf.ingestion.progress.of(source_id))
        server.released.set()

    async with seeing(shelf, Say(CHART), Trouble.HANG_MID_STREAM) as server:
        source = await shelf.add(await shelf.collection(), "掃描.pdf", "x")
        shelf.images.pages = 45
        await asyncio.gather(watch(source.id, server), shelf.ingestion.drain())
    assert seen == [(1, 45)]


async def test_a_scan_is_read_by_its_descriptions_alone(
    shelf: Shelf, extractor: FakeExtractor
) -> None:
    extractor.codes["掃描.pdf"] = "no_text_layer"
    async with seeing(shelf, Say("第一頁：" + CHART), Say("(blank)"), Say("第三頁：" + CHART)):
        source = await shelf.done(await shelf.collection(), "掃描.pdf", "%PDF-1.7")
    assert source.state is SourceState.READY
    assert source.media_type == "application/pdf"
    assert [(each.code, each.pages) for each in source.warnings] == [
        ("pages_without_text", (2,)),
        ("described_pages", (1, 3)),
    ]


async def test_a_page_that_fails_keeps_what_it_had_and_the_others_are_described(
    shelf: Shelf, extractor: FakeExtractor
) -> None:
    extractor.documents["表.pdf"] = replace(
        TEXT,
        warnings=(SourceWarning("ocr_text", (1, 3)), SourceWarning("pages_without_text", (2,))),
    )
    shelf.images.broken = {3}
    async with seeing(shelf, Trouble.SERVER_ERROR, Say(CHART)):
        assert await codes(shelf) == [
            ("ocr_text", (1, 3)),
            ("described_pages", (2,)),
            ("pages_not_described", (1, 3)),
        ]
    assert any("差旅費" in each.text for each in await shelf.found("差旅費"))


async def test_a_model_that_is_away_is_not_asked_about_every_page(
    shelf: Shelf, extractor: FakeExtractor
) -> None:
    extractor.codes["掃描.pdf"] = "no_text_layer"
    async with seeing(shelf, Trouble.SERVER_ERROR):
        shelf.images.pages = 45
        source = await shelf.done(await shelf.collection(), "掃描.pdf", "x")
    assert (source.state, source.error_code) == (SourceState.FAILED, "vision_failed")
    assert shelf.images.drawn == [1, 2, 3]


async def test_a_page_that_takes_too_long_is_left(shelf: Shelf, extractor: FakeExtractor) -> None:
    shelf.limits = replace(shelf.limits, vision_page_timeout_secs=0.05)  # type: ignore[arg-type]
    async with seeing(shelf, Trouble.HANG) as server:
        found = await codes(shelf)
        server.released.set()
    assert found == [("pages_without_text", (2,)), ("pages_not_described", (2,))]


async def test_no_more_pages_than_the_limit_are_shown(
    shelf: Shelf, extractor: FakeExtractor
) -> None:
    extractor.codes["掃描.pdf"] = "no_text_layer"
    shelf.limits = replace(shelf.limits, vision_pages=2)
    async with seeing(shelf, Say(CHART)):
        assert await codes(shelf, "掃描.pdf") == [
            ("pages_without_text", (3,)),
            ("described_pages", (1, 2)),
            ("pages_not_described", (3,)),
        ]


@pytest.mark.parametrize(
    ("sensitivity", "policy"),
    [
        (Sensitivity.RESTRICTED, EmbeddingPolicy.ANY),
        (Sensitivity.INTERNAL, EmbeddingPolicy.LOCAL_ONLY),
    ],
)
async def test_what_may_not_leave_goes_to_a_model_of_this_machine_alone(
    shelf: Shelf, extractor: FakeExtractor, sensitivity: Sensitivity, policy: EmbeddingPolicy
) -> None:
    await shelf.collection()
    extractor.codes["掃描.pdf"] = "no_text_layer"
    made = await shelf.store.collections.create(
        replace(await shelf.collection(), id=IDS.new(), slug=IDS.new(), sensitivity=sensitivity,
                embedding_policy=policy),
        OWNER.id,
    )  # fmt: skip
    async with seeing(shelf, Say(CHART)) as server:
        assert shelf.vision is not None
        here, shelf.vision = shelf.vision, Elsewhere(shelf.vision)
        shelf.restart()
        source = await shelf.done(made, "表.pdf", "a")
        scan = await shelf.done(made, "掃描.pdf", "b")
        assert [each.code for each in source.warnings] == ["pages_without_text"]
        assert (scan.state, scan.error_code) == (SourceState.FAILED, "no_text_layer")
        assert server.requests == []
        assert shelf.images.drawn == []
        shelf.vision = here
        shelf.restart()
        await shelf.library.read_again(source.id)
        await shelf.ingestion.drain()
        assert [each.code for each in (await shelf.now(source)).warnings] == ["described_pages"]


async def test_what_is_no_document_of_pages_is_refused_as_before(
    shelf: Shelf, extractor: FakeExtractor
) -> None:
    extractor.codes["歌.mp3"] = "unsupported_format"
    shelf.images.pages = 0
    async with seeing(shelf, Say(CHART)) as server:
        source = await shelf.done(await shelf.collection(), "歌.mp3", "x")
    assert (source.state, source.error_code) == (SourceState.FAILED, "unsupported_format")
    assert server.requests == []


async def test_a_deletion_ends_it_and_leaves_nothing(
    shelf: Shelf, extractor: FakeExtractor
) -> None:
    extractor.codes["掃描.pdf"] = "no_text_layer"
    async with seeing(shelf, Trouble.HANG_MID_STREAM, Say(CHART)) as server:
        shelf.images.pages = 45
        source = await shelf.add(await shelf.collection(), "掃描.pdf", "x")

        async def delete() -> None:
            await server.began.wait()
            await shelf.library.remove(source.id)
            server.released.set()

        await asyncio.gather(delete(), shelf.ingestion.drain())
    assert len(server.requests) == 1
    assert await shelf.store.sources.find(source.id) is None
    assert await shelf.found("折線圖") == []


async def test_a_stop_in_the_middle_begins_anew_without_a_second_copy(
    shelf: Shelf, extractor: FakeExtractor
) -> None:
    collection = await shelf.collection()
    async with seeing(shelf, Trouble.HANG, Say(CHART)) as server:
        source = await shelf.add(collection, "表.pdf", "x")
        stop = asyncio.Event()
        running = asyncio.ensure_future(shelf.ingestion.run(stop))
        await server.began.wait()
        stop.set()
        await running
        server.released.set()
        shelf.restart()
        await shelf.ingestion.drain()
    assert (await shelf.now(source)).state is SourceState.READY
    assert len([each for each in await shelf.found("折線圖") if "折線圖" in each.text]) == 1


async def test_a_page_waits_its_turn_to_be_drawn(shelf: Shelf, extractor: FakeExtractor) -> None:
    extractor.codes["掃描.pdf"] = "no_text_layer"
    shelf.images.busy = 2
    async with seeing(shelf, Say(CHART)):
        assert await codes(shelf) == [("described_pages", (2,))]
        shelf.images.busy = 2
        assert await codes(shelf, "掃描.pdf") == [("described_pages", (1, 2, 3))]

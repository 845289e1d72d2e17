"""Sections and described pages through the whole program: real files, real sandbox, real client."""

import io
import shutil
from pathlib import Path

import pymupdf
import pytest
from PIL import Image, ImageDraw

from gateway.core.audit import AccessAction
from tests.simulators.openai import openai_simulator
from tests.simulators.scripted import Say
from tests.surfaces.serving import Person, World, ready, serving
from tests.surfaces.test_upload import form, sent

CHART = "長條圖：春茶銷量八百公斤，冬茶銷量三百公斤。" * 8


def picture() -> bytes:
    image = Image.new("RGB", (600, 800), "white")
    ImageDraw.Draw(image).rectangle((100, 200, 300, 700), fill="green")
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def report(*, is_scan: bool) -> bytes:
    """A page of text and one with a chart; or both as pictures."""
    pdf = pymupdf.open()
    first = pdf.new_page()
    if is_scan:
        first.insert_image(first.rect, stream=picture())
    else:
        words = "Sales are counted in kilograms of finished tea, by season. " * 12
        first.insert_textbox(pymupdf.Rect(60, 60, 540, 700), words)
    second = pdf.new_page()
    second.insert_image(pymupdf.Rect(60, 60, 540, 700), stream=picture())
    data: bytes = pdf.tobytes(deflate=True)
    return data


def with_models(template: Path, folder: Path, url: str) -> Path:
    """The template's home, with a provider at `url`."""
    shutil.copytree(template, folder)
    file = folder / "config.toml"
    set_up = file.read_text("utf-8").replace(
        "[knowledge]\n", '[knowledge]\nvision_model = "house/vl"\nsummary_model = "house/vl"\n'
    )
    provider = f'\n[providers.house]\nbase_url = "{url}"\napi_key = "k"\n'
    file.write_text(set_up + provider, "utf-8")
    return folder


async def added(world: World, person: Person, name: str, data: bytes) -> str:
    _, answer = await sent(person, form("handbook", (name, data)))
    source_id: str = answer["files"][0]["source"]["id"]
    await ready(world.app, source_id)
    return source_id


async def test_readers_see_sections_and_nobody_else(template: Path, home: Path) -> None:
    async with (
        serving(template, home) as world,
        world.person("member") as reader,
        world.person("admin") as boss,
        world.nobody() as nobody,
    ):
        listed = await reader.rpc("knowledge.sources.list", {"collection": "handbook"})
        source = next(each for each in listed if each["title"].endswith(".pdf"))
        ask = {"source_id": source["id"]}
        tree = await reader.rpc("knowledge.sources.outline", ask)
        leave = next(each for each in tree if "年次有給休暇" in each["title"])
        assert leave["path"] == ["日本支店のしおり", leave["title"]]
        assert (leave["first_page"], leave["last_page"], leave["summary_by"]) == (1, 1, "")
        assert leave["summary"].endswith("十日の年次有給休暇を付与します。")
        (row,) = await world.app.store.audit.entries(None, 1)
        assert (row.action, row.results) == (AccessAction.PASSAGE, (source["id"],))
        assert await nobody.rpc("knowledge.sources.outline", ask) == "!not_signed_in"
        (pay,) = await boss.rpc("knowledge.sources.list", {"collection": "salary"})
        for hidden in (pay["id"], "none"):
            assert await reader.rpc("knowledge.sources.outline", {"source_id": hidden}) in (
                "!not_found",
            )


@pytest.mark.timeout(90)  # loads a provider's SDK and two sandboxes
async def test_a_page_with_a_chart_and_a_whole_scan_are_described(
    template: Path, home: Path, tmp_path: Path
) -> None:
    async with openai_simulator(Say(CHART)) as server:
        made = with_models(template, tmp_path / "with", server.base_url)
        async with serving(made, home) as world, world.person("hr") as person:
            mixed = await added(world, person, "年報.pdf", report(is_scan=False))
            scan = await added(world, person, "掃描.pdf", report(is_scan=True))
            image = await added(world, person, "圖.png", picture())
            told = {
                each["id"]: each
                for each in await person.rpc("knowledge.sources.list", {"collection": "handbook"})
            }
            found = await person.rpc("knowledge.search", {"query": "冬茶銷量", "limit": 9})
    pages = {
        source_id: [
            tuple(warning["pages"])
            for warning in told[source_id]["warnings"]
            if warning["code"] == "described_pages"
        ]
        for source_id in (mixed, scan, image)
    }
    assert pages == {mixed: [(2,)], scan: [(1, 2)], image: [(1,)]}
    assert [told[each]["state"] for each in pages] == ["ready"] * 3
    assert told[scan]["media_type"] == "application/pdf"
    assert told[image]["media_type"] == "image/png"
    assert {each["source_id"] for each in found["hits"]} == set(pages)
    assert {each["locator"] for each in found["hits"]} == {"p. 1 (described)", "p. 2 (described)"}
    shown = [
        request
        for request in server.requests
        if isinstance(request["messages"][-1]["content"], list)
    ]
    assert len(shown) == 4

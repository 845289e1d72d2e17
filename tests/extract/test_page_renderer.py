"""Pages drawn in the sandbox: real files, hostile ones, and a child that does as it likes."""

import asyncio
import io
import os
import signal
import struct
import sys
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pymupdf
import pytest
import pytest_asyncio
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError, GatewayError, NotFoundError
from gateway.extract.page_renderer import Lane, PageRenderer
from gateway.extract.png_checks import MOST_PIXELS, checked_png
from tests.extract import hostile_drawer
from tests.extract.test_sandbox import child_of, is_gone
from tests.simulators.shared import shared

in_loop = pytest.mark.asyncio(loop_scope="module")
LIMITS = KnowledgeLimits(extract_memory_mb=512)
DRAWER = (sys.executable, "-I", hostile_drawer.__file__)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def renderer() -> AsyncIterator[PageRenderer]:
    made = PageRenderer(KnowledgeLimits())
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def hostile() -> AsyncIterator[PageRenderer]:
    made = PageRenderer(LIMITS, DRAWER, Lane(page_s=1.0))
    yield made
    await made.close()


def pdf(*texts: str, width: float = 300, height: float = 200) -> bytes:
    made = pymupdf.open()
    for text in texts:
        page = made.new_page(width=width, height=height)
        page.insert_text((20, 50), text, fontname="china-t", fontsize=20)
    return bytes(made.tobytes())


def put(folder: Path, data: bytes) -> Path:
    path = folder / "original"
    path.write_bytes(data)
    return path


def picture(png: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(png))
    image.load()
    return image


async def code_of(renderer: PageRenderer, path: Path, page: int = 1) -> str:
    with pytest.raises(GatewayError) as refused:
        await renderer.draw(path, page, 144)
    return refused.value.code


@in_loop
async def test_each_page_is_drawn_as_it_is(renderer: PageRenderer, tmp_path: Path) -> None:
    path = put(tmp_path, pdf("特休七日", "加班費"))
    assert await renderer.count(path) == 2
    one, two = [picture(await renderer.draw(path, page, 144)) for page in (1, 2)]
    assert one.size == two.size == (600, 400)
    assert one.mode == "L"  # black on white alone
    assert one.tobytes() != two.tobytes()
    with pymupdf.open(path) as opened:
        bare = opened.load_page(1).get_pixmap(dpi=144, colorspace=pymupdf.csGRAY)
    assert two.tobytes() == bytes(bare.samples)
    for page in (0, 3, -1, 10**9):
        with pytest.raises(NotFoundError):
            await renderer.draw(path, page, 144)


@in_loop
async def test_colours_stay(renderer: PageRenderer, tmp_path: Path) -> None:
    made = pymupdf.open()
    page = made.new_page(width=90, height=60)
    page.draw_rect(pymupdf.Rect(0, 0, 45, 60), color=(1, 0, 0), fill=(1, 0, 0))
    photo = Image.effect_noise((90, 60), 80).convert("RGB")
    file = io.BytesIO()
    photo.save(file, "JPEG")
    page.insert_image(pymupdf.Rect(50, 0, 90, 60), stream=file.getvalue())
    drawn = picture(await renderer.draw(put(tmp_path, made.tobytes()), 1, 72))
    bare = page.get_pixmap(dpi=72)
    assert drawn.mode == "RGB"
    assert drawn.getpixel((10, 30)) == (255, 0, 0)
    assert drawn.tobytes() == bytes(bare.samples)


@in_loop
@pytest.mark.parametrize("size", [(14_400, 14_400), (14_400, 3), (3, 14_400), (2_000, 14_400)])
async def test_a_huge_page_comes_coarser(
    renderer: PageRenderer, tmp_path: Path, size: tuple[int, int]
) -> None:
    path = put(tmp_path, pdf("字", width=size[0], height=size[1]))
    drawn = picture(await renderer.draw(path, 1, 200))
    assert drawn.width * drawn.height <= MOST_PIXELS
    assert max(drawn.size) <= 10_000


@in_loop
async def test_noise_comes_coarser_until_its_bytes_fit(
    renderer: PageRenderer, tmp_path: Path
) -> None:
    noise = Image.frombytes("RGB", (2_400, 2_400), os.urandom(2_400 * 2_400 * 3))
    file = io.BytesIO()
    noise.save(file, "PNG", dpi=(72, 72), compress_level=0)
    made = await renderer.draw(put(tmp_path, file.getvalue()), 1, 72)
    assert len(made) <= 8 * 1024 * 1024
    assert 1_000 < picture(made).width < 2_400


@in_loop
@pytest.mark.parametrize("form", ["PNG", "JPEG", "TIFF", "GIF", "BMP"])
async def test_an_image_is_its_own_page(renderer: PageRenderer, tmp_path: Path, form: str) -> None:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), (0, 0, 255)).save(file, form)
    path = put(tmp_path, file.getvalue())
    assert await renderer.count(path) == 1
    drawn = picture(await renderer.draw(path, 1, 200)).convert("RGB")
    assert drawn.size == (64, 48)  # never blown up
    red, green, blue = drawn.getpixel((30, 20))  # type: ignore[misc]
    assert red < 8
    assert green < 8
    assert blue > 247


@in_loop
async def test_what_cannot_be_drawn_has_a_code(renderer: PageRenderer, tmp_path: Path) -> None:
    made = pymupdf.open()
    made.new_page()
    locked = made.tobytes(
        encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="secret"
    )
    webp = io.BytesIO()
    Image.new("RGB", (9, 9)).save(webp, "WEBP")
    for data, code in (
        (locked, "encrypted"),
        (pdf("a")[:60], "extract_crashed"),
        (b"%PDF-1.7\n" + os.urandom(2_000), "extract_crashed"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "extract_crashed"),
        (webp.getvalue(), "unsupported_format"),
        ("純文字".encode(), "unsupported_format"),
        ("純文字".encode("utf-16"), "unsupported_format"),
        (b"", "unsupported_format"),
    ):
        assert await code_of(renderer, put(tmp_path, data)) == code, data[:20]
    with pytest.raises(NotFoundError):
        await renderer.count(tmp_path / "gone")


@in_loop
@pytest.mark.shared
async def test_the_files_of_the_corpus_are_drawn_or_refused(renderer: PageRenderer) -> None:
    files = await asyncio.to_thread(lambda: sorted(shared("corpus", "files").glob("*.pdf")))
    ends = {path.name: await end_of(renderer, path) for path in files}
    assert set(ends.values()) == {"drawn", "encrypted", "extract_crashed"}
    assert list(ends.values()).count("drawn") > len(files) * 0.7, ends


async def end_of(renderer: PageRenderer, path: Path) -> str:
    try:
        drawn = picture(await renderer.draw(path, 1, 72))
    except ExtractionError as error:
        return error.code
    return "drawn" if drawn.width * drawn.height <= MOST_PIXELS else "too large"


# ---------------------------------------------------------------- a child that means harm


@in_loop
@pytest.mark.parametrize(
    ("deed", "code"),
    [
        ("abort", "extract_crashed"),
        ("exit", "extract_crashed"),
        ("look", "extract_crashed"),  # refused by the sandbox
        ("sleep", "extract_timeout"),
        ("spin", "extract_timeout"),
        ("allocate", "extract_oom"),
        ("huge", "document_limits"),
        ("html", "extract_crashed"),
        ("text", "extract_crashed"),
        ("large", "extract_crashed"),
        ("after", "extract_crashed"),
        ("pages", "extract_crashed"),
        ("lie", "extract_crashed"),
        ("nothing", "not_found"),
    ],
)
async def test_no_deed_gets_through_and_the_next_page_is_drawn(
    hostile: PageRenderer, tmp_path: Path, deed: str, code: str
) -> None:
    assert await code_of(hostile, put(tmp_path, deed.encode())) == code
    whole = await hostile.draw(put(tmp_path, b"whole"), 1, 144)
    assert picture(whole).size == (1, 1)


@in_loop
@pytest.mark.parametrize(
    ("victim", "code"),
    [("child", "extract_oom"), ("zygote", "extract_timeout")],  # the second is asked once more
)
async def test_what_is_killed_costs_one_page(
    hostile: PageRenderer, tmp_path: Path, victim: str, code: str
) -> None:
    whole, path = tmp_path / "whole", put(tmp_path, b"sleep")
    whole.write_bytes(b"whole")
    await hostile.draw(whole, 1, 144)
    process = hostile._zygote.process
    assert process is not None
    async with asyncio.TaskGroup() as group:
        refused = group.create_task(code_of(hostile, path))
        child = await asyncio.to_thread(child_of, process.pid)
        os.kill(child if victim == "child" else process.pid, signal.SIGKILL)
        assert await asyncio.to_thread(is_gone, child)
    assert refused.result() == code
    assert picture(await hostile.draw(whole, 1, 144)).size == (1, 1)


@in_loop
async def test_the_queue_has_an_end(tmp_path: Path) -> None:
    renderer = PageRenderer(LIMITS, DRAWER, Lane(page_s=0.5, most_wait_s=0.2))
    path = put(tmp_path, b"sleep")
    try:
        await renderer.count(put(tmp_path, b"whole"))
        path.write_bytes(b"sleep")
        async with asyncio.TaskGroup() as group:
            first = group.create_task(code_of(renderer, path))
            rest = [group.create_task(code_of(renderer, path)) for _ in range(66)]
            ended, _ = await asyncio.wait(rest, return_when=asyncio.FIRST_COMPLETED)
        assert 0 < len(ended) < len(rest), "those over 64 at once, the others when they waited"
        assert first.result() == "extract_timeout"
        assert {each.result() for each in rest} == {"pages_busy"}  # waited too long
    finally:
        await renderer.close()


@in_loop
async def test_a_file_whose_pages_take_too_long_holds_others_up_twice_at_most(
    tmp_path: Path,
) -> None:
    renderer = PageRenderer(LIMITS, DRAWER, Lane(page_s=0.3, late_for_s=20.0))
    slow, other = put(tmp_path, b"sleep"), tmp_path / "other"
    other.write_bytes(b"whole")
    try:
        assert [await code_of(renderer, slow) for _ in range(2)] == ["extract_timeout"] * 2
        slow.write_bytes(b"whole")  # would be drawn, were it tried
        assert await code_of(renderer, slow) == "extract_timeout"
        assert picture(await renderer.draw(other, 1, 144)).size == (1, 1)
    finally:
        await renderer.close()


@in_loop
async def test_a_file_whose_pages_took_too_long_is_tried_again_later(tmp_path: Path) -> None:
    renderer = PageRenderer(LIMITS, DRAWER, Lane(page_s=0.3, late_for_s=0.0))
    slow = put(tmp_path, b"sleep")
    try:
        assert [await code_of(renderer, slow) for _ in range(2)] == ["extract_timeout"] * 2
        slow.write_bytes(b"whole")
        assert picture(await renderer.draw(slow, 1, 144)).size == (1, 1)
    finally:
        await renderer.close()


# ---------------------------------------------------------------- what a picture may be


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 2, 3, 4, 6]),
    st.integers(1, 16),
    st.binary(max_size=3),
)
@example(1, 1, 0, 8, b"")
@example(4_000, 2_000, 2, 8, b"")
@example(4_001, 2_000, 2, 8, b"")
@example(10_001, 1, 0, 8, b"")
def test_only_plain_pictures_within_the_limits_go_on(
    width: int, height: int, colour: int, depth: int, rest: bytes
) -> None:
    header = struct.pack(">IIBB", width, height, depth, colour) + rest.ljust(3, b"\0")
    data = hostile_drawer.SIGNATURE + b"".join(
        hostile_drawer.chunk(*each)
        for each in ((b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b""))
    )
    is_fine = (
        0 < width <= 10_000
        and 0 < height <= 10_000
        and width * height <= MOST_PIXELS
        and depth == 8
        and colour in {0, 2}
        and not any(rest)
    )
    if is_fine:
        assert checked_png(data) == data
    else:
        with pytest.raises(ExtractionError):
            checked_png(data)


@given(st.data())
def test_a_changed_picture_is_refused(data: st.DataObject) -> None:
    whole = hostile_drawer.png()
    at = data.draw(st.integers(0, len(whole) - 1))
    cut = whole[:at]
    changed = cut + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    doubled = cut + whole
    for each in (cut, changed, doubled if at else whole[:-1]):
        with pytest.raises(ExtractionError):
            checked_png(each)

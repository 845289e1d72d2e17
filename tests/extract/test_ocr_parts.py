"""The parts of OCR that need no model: pictures, reading order, one document of both kinds."""

import io
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from gateway.core.documents import Block, Extracted, SourceWarning
from gateway.core.passages import Locator
from gateway.errors import ExtractionError
from gateway.extract.kinds import is_picture
from gateway.extract.ocr import Bounds, PageError, complete
from gateway.extract.ocr_layout import Seen, texts
from gateway.extract.ocr_pictures import FORMATS, MAX_FRAMES, kind_and_frames, picture
from gateway.extract.pdf_images import MAX_SIDE


def encoded(image: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def pixels(data: bytes, number: int = 1) -> Any:
    raster = picture(data, number)
    return np.frombuffer(raster.data, np.uint8).reshape(raster.height, raster.width, 3)


def outcome(data: bytes) -> str:
    """The code, or "read"."""
    try:
        picture(data, kind_and_frames(data)[1])
    except ExtractionError as error:
        return error.code
    return "read"


# ---------------------------------------------------------------- pictures


def striped(mode: str = "RGB") -> Image.Image:
    """Black on the left, white on the right."""
    image = Image.new("L", (40, 20), 255)
    image.paste(0, (0, 0, 20, 20))
    return image.convert(mode)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_a_picture_and_decodes(form: str) -> None:
    data = encoded(striped(), form)
    assert is_picture(data)
    found = pixels(data)
    assert found.shape == (20, 40, 3)
    assert found[10, 5].max() < 40
    assert found[10, 35].min() > 215


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9])
def test_a_picture_cut_short_is_refused_or_read_never_worse(form: str, keep: float) -> None:
    noise = Image.effect_noise((60, 60), 90)
    data = encoded(noise, form)
    assert outcome(data[: int(len(data) * keep)]) in {"read", "extract_crashed"}


@pytest.mark.filterwarnings("ignore::UserWarning")  # of Pillow, about what is damaged
@given(st.data())
def test_damaged_pictures_have_a_code(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(FORMATS))
    bytes_ = bytearray(encoded(striped(), form))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(4, len(bytes_) - 1))
        bytes_[at] = data.draw(st.integers(0, 255))
    assert outcome(bytes(bytes_)) in {"read", "extract_crashed", "document_limits"}


def test_a_text_that_begins_like_a_bitmap_is_none() -> None:
    assert not is_picture(b"BMW service manual, third edition")


def test_a_header_that_promises_too_many_pixels_is_refused_before_they_are_unpacked() -> None:
    bomb = b"\x89PNG\r\n\x1a\n"
    bomb += part(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    assert outcome(bomb + part(b"IDAT", zlib.compress(bytes(1000)))) == "document_limits"


def part(name: bytes, content: bytes) -> bytes:
    crc = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + crc


def test_too_many_frames_are_refused() -> None:
    data = bytearray(encoded(Image.new("L", (1, 1)), "TIFF"))
    (first,) = struct.unpack_from("<I", data, 4)
    (tags,) = struct.unpack_from("<H", data, first)
    link = first + 2 + 12 * tags  # to the next frame's tags, which are the same again
    again = data[first : link + 4]
    for _ in range(MAX_FRAMES):
        struct.pack_into("<I", data, link, len(data))
        link = len(data) + len(again) - 4
        data += again
    with pytest.raises(ExtractionError, match="too many frames"):
        kind_and_frames(bytes(data))


def test_transparent_paper_is_white() -> None:
    image = Image.new("RGBA", (10, 10), (0, 0, 0, 0))
    image.putpixel((5, 5), (0, 0, 0, 255))
    found = pixels(encoded(image))
    assert found[0, 0].min() == 255
    assert found[5, 5].max() == 0


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "I", "F", "I;16", "CMYK"])
def test_any_depth_of_colour_is_dark_on_white(mode: str) -> None:
    image = striped("L")
    if mode == "I;16":
        image = Image.fromarray(np.asarray(image).astype(np.uint16) * 257)
    found = pixels(encoded(image.convert(mode) if mode != "I;16" else image, "TIFF"))
    assert found[10, 5].max() < 40
    assert found[10, 35].min() > 215


@pytest.mark.parametrize(
    ("orientation", "dark"), [(1, (10, 5)), (3, (10, 35)), (6, (5, 10)), (8, (35, 10))]
)
def test_a_photograph_is_turned_as_the_camera_says(orientation: int, dark: tuple[int, int]) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    found = pixels(encoded(striped(), "JPEG", exif=exif))
    assert found.shape[:2] == ((20, 40) if orientation in {1, 3} else (40, 20))
    assert found[dark].max() < 60


def test_large_pictures_are_made_smaller_long_ones_stay_readable() -> None:
    assert max(pixels(encoded(Image.new("L", (3000, 4000), 255))).shape) == MAX_SIDE
    assert pixels(encoded(Image.new("L", (800, 9000), 255))).shape[:2] == (9000, 800)


def test_frames_are_counted_and_read_one_by_one() -> None:
    frames = [Image.new("L", (10 + n, 10), 255) for n in range(3)]
    data = encoded(frames[0], "TIFF", save_all=True, append_images=frames[1:])
    assert kind_and_frames(data) == ("image/tiff", 3)
    assert [picture(data, n).width for n in (1, 2, 3)] == [10, 11, 12]


# ---------------------------------------------------------------- reading order


def seen(text: str, x: float, y: float, width: float, height: float) -> Seen:
    corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
    return Seen(text, 0.9, corners)


def test_columns_are_read_one_after_the_other() -> None:
    left, right = "左欄的文字一行又一行", "右欄的文字一行又一行"
    lines = [seen(f"{left}{n}", 0, 40 * n, 400, 30) for n in range(6)]
    lines += [seen(f"{right}{n}", 480, 40 * n, 400, 30) for n in range(6)]
    said = "".join(texts(sorted(lines, key=lambda each: each.corners[0][1])))
    assert said == "".join(each.text for each in lines)


def test_vertical_lines_are_read_from_right_to_left() -> None:
    lines = [
        seen("いつもおせわに", 400, 0, 30, 300),
        seen("なっております", 350, 0, 30, 300),
        seen("よろしくお願い", 300, 0, 30, 300),
    ]
    assert "".join(texts(lines[::-1])) == "いつもおせわになっておりますよろしくお願い"


def test_a_slanted_page_keeps_its_order() -> None:
    """So slanted that the right end of a line stands lower than the next line's left end."""
    lines = []
    for n in range(4):
        y = 40 * n
        corners = ((0, y), (900, y + 72), (898, y + 102), (-2, y + 30))
        half = ((1000, y + 80), (1800, y + 144), (1798, y + 174), (998, y + 110))
        lines += [Seen(f"left {n}", 0.9, corners), Seen(f"right {n}", 0.9, half)]
    said = " ".join(texts(lines[::-1])).split()
    assert said.index("0") < said.index("1") < said.index("2") < said.index("3")
    assert said.count("left") == said.count("right") == 4


@pytest.mark.parametrize(
    ("read", "meant"),
    [
        ("パ一トタイマ一", "パートタイマー"),
        ("第一条", "第一条"),
        ("ア-ト", "アート"),
        ("カ一月", "カ一月"),
    ],
)
def test_the_long_sound_of_katakana_is_mended(read: str, meant: str) -> None:
    assert list(texts([seen(read, 0, 0, 200, 30)])) == [meant]


# ---------------------------------------------------------------- one document of both kinds


def text_with(blocks: Mapping[int, str], pages: int, without: tuple[int, ...]) -> Extracted:
    return Extracted(
        tuple(Block(text, Locator(page=page)) for page, text in blocks.items()),
        "application/pdf",
        warnings=(
            SourceWarning("pages_without_text", without),
            SourceWarning("garbled_text", (1,)),
        ),
        pages=pages,
    )


def page_of(text: str, pages: int | None) -> Extracted:
    # whatever place the reader names, the page is the one that was asked for
    blocks = (Block(text, Locator(page=99)),) if text else ()
    return Extracted(blocks, "image/tiff", pages=pages)


class Pages:
    """Reads pages from a table: a text, or the code it fails with."""

    def __init__(self, pages: Mapping[int, str], of: int | None) -> None:
        self._pages = pages
        self._of = of
        self.asked: list[int] = []

    async def __call__(self, page: int, seconds: float, max_chars: int) -> Extracted:
        assert seconds > 0
        self.asked.append(page)
        said = self._pages.get(page, "")
        if said.startswith("!"):
            raise PageError(said[1:], self._of or 0)
        if len(said) > max_chars:
            raise PageError("too_many_chars", self._of or 0)
        return page_of(said, self._of)


def bounds(document_s: float = 60, max_chars: int = 1000) -> Bounds:
    return Bounds(10, document_s, max_chars, lambda *_: None)


async def test_pages_take_their_places_and_lose_their_warning() -> None:
    text = text_with({1: "one", 3: "three", 6: "six"}, 7, (2, 4, 5, 7))
    read = await complete(
        Pages({2: "two", 4: "!extract_timeout", 5: "five", 7: ""}, 7), text, bounds()
    )
    assert [(block.locator.page, block.text) for block in read.blocks] == [
        (1, "one"), (2, "two"), (3, "three"), (5, "five"), (6, "six"),
    ]  # fmt: skip
    assert [(each.code, each.pages) for each in read.warnings] == [
        ("pages_without_text", (4, 7)), ("ocr_text", (2, 5)), ("garbled_text", (1,)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pages", "of", "code", "asked"),
    [
        ({1: "!extract_timeout"}, 1, "extract_timeout", 1),
        ({1: "!extract_oom", 2: "!extract_crashed"}, 2, "extract_oom", 2),
        (dict.fromkeys(range(1, 99), "!extract_crashed"), None, "extract_crashed", 3),
        ({1: "!encrypted"}, None, "encrypted", 1),
        ({}, 3, "empty_text", 3),
        ({}, None, "empty_text", 1),
        ({1: "字" * 600, 2: "字" * 600}, 2, "too_many_chars", 2),
    ],
)
async def test_without_any_text_the_document_fails_by_its_first_code(
    pages: Mapping[int, str], of: int | None, code: str, asked: int
) -> None:
    reads = Pages(pages, of)
    with pytest.raises(ExtractionError) as raised:
        await complete(reads, None, bounds())
    assert raised.value.code == code
    assert len(reads.asked) == asked


async def test_the_time_of_the_document_leaves_the_rest_without_text() -> None:
    text = text_with({1: "one"}, 3, (2, 3))
    reads = Pages({2: "two", 3: "three"}, 3)
    read = await complete(reads, text, bounds(document_s=0))
    assert reads.asked == []
    assert read.warnings[0] == SourceWarning("pages_without_text", (2, 3))
    with pytest.raises(ExtractionError) as raised:
        await complete(reads, None, bounds(document_s=0))
    assert raised.value.code == "extract_timeout"

"""A page of a PDF or of an image file, drawn as PNG of bounded size; runs in the sandbox."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymupdf

from gateway.extract.kinds import PDF_WITHIN, is_picture
from gateway.extract.page_png import png_of
from gateway.extract.pdf_errors import BROKEN, named
from gateway.extract.pdf_images import POINTS_AN_INCH, open_pages
from gateway.extract.png_checks import MOST_BYTES, MOST_PIXELS, MOST_SIDE
from gateway.extract.reading import refuse
from gateway.extract.wire import Drawn, Request

COARSER = 0.9  # than the bytes of the try before let expect
TRIES = 3
_WEBP = b"RIFF"

pymupdf.TOOLS.mupdf_display_errors(False)  # noqa: FBT003 - the library's own signature
pymupdf.TOOLS.mupdf_display_warnings(False)  # noqa: FBT003


@dataclass(frozen=True, slots=True)
class _Pages:
    """An open file; `pixels_a_point` of an image file: more would only blow it up."""

    pages: Any
    pixels_a_point: float


def draw(data: bytes, request: Request) -> Drawn:
    """The page asked for, or with page 0 only how many there are. ExtractionError."""
    opened = _opened(data)
    count = opened.pages.page_count
    if not 1 <= request.page <= count:
        return Drawn(count)
    try:
        page = opened.pages.load_page(request.page - 1)
        scale = _scale(page, min(request.dpi / POINTS_AN_INCH, opened.pixels_a_point))
        for _ in range(TRIES):
            png = _png(page, scale)
            if len(png) <= MOST_BYTES:
                return Drawn(count, png)
            scale *= COARSER * (MOST_BYTES / len(png)) ** 0.5
    except BROKEN as error:
        raise named(error) from error
    raise refuse("document_limits", "a picture of too many bytes")


def _opened(data: bytes) -> _Pages:
    if b"%PDF-" in data[:PDF_WITHIN]:
        return _Pages(open_pages(data), float("inf"))
    if is_picture(data):
        return _image(data)
    raise refuse("unsupported_format", "no pages")


def _image(data: bytes) -> _Pages:
    if data.startswith(_WEBP):
        raise refuse("unsupported_format", "webp")
    try:
        pages = pymupdf.open(stream=data, filetype="png")  # any of the library's image formats
        page = pages.load_page(0)
        (image,) = page.get_image_info()
        side = max(image["width"], image["height"])
        return _Pages(pages, side / max(page.rect.width, page.rect.height, 1.0))
    except BROKEN as error:
        raise named(error) from error


def _scale(page: Any, wanted: float) -> float:
    """Pixels a point, so that neither side nor area is over its limit."""
    width, height = max(page.rect.width, 1.0), max(page.rect.height, 1.0)
    by_side = (MOST_SIDE - 1) / max(width, height)
    by_area = (MOST_PIXELS * 0.99 / (width * height)) ** 0.5  # sides are rounded up
    return float(min(wanted, by_side, by_area))


def _png(page: Any, scale: float) -> bytes:
    drawn = page.get_pixmap(
        matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=False
    )
    width, height = drawn.width, drawn.height
    if not width or not height:
        raise refuse("extract_crashed", "a page without area")
    rows = np.frombuffer(drawn.samples_mv, np.uint8).reshape(height, drawn.stride)
    return png_of(rows[:, : width * 3].reshape(height, width, 3))  # while `drawn` is alive

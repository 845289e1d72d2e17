"""A page of a PDF as a picture, of bounded size."""

from dataclasses import dataclass
from typing import Any

import pymupdf

from gateway.extract.pdf_errors import BROKEN, named
from gateway.extract.reading import refuse

DPI = 200
MAX_SIDE = 2_400  # pixels; a larger page comes coarser
POINTS_AN_INCH = 72


@dataclass(frozen=True, slots=True)
class Raster:
    """Rows of RGB bytes, `width` * 3 each, none between them."""

    width: int
    height: int
    data: bytes


def open_pages(data: bytes) -> Any:
    """The document. Refused: `encrypted`, damaged files."""
    try:
        pdf = pymupdf.open(stream=data, filetype="pdf")
        if pdf.needs_pass:
            raise refuse("encrypted")
        if not pdf.page_count:
            raise refuse("extract_crashed", "no page")
    except BROKEN as error:
        raise named(error) from error
    return pdf


def render_page(pdf: Any, number: int) -> Raster:
    """Page `number`, from 1, as a reader sees it; upright by the page's own word."""
    try:
        page = pdf.load_page(number - 1)
        scale = DPI / POINTS_AN_INCH
        scale = min(scale, MAX_SIDE / max(page.rect.width, page.rect.height, 1.0))
        drawn = page.get_pixmap(
            matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=False
        )
    except BROKEN as error:
        raise named(error) from error
    return Raster(drawn.width, drawn.height, drawn.samples)

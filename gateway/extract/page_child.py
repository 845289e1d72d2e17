"""The zygote that draws pages: a process of its own, so that no reading holds a picture up."""

import gc
import sys

import pymupdf

from gateway.errors import ExtractionError
from gateway.extract.page_drawing import draw
from gateway.extract.serving import IDLE_S, serve_pictures
from gateway.extract.wire import Request

FONTS = ("china-t", "helv")  # those that stand in for missing ones lie within the library


def warm_up() -> None:
    """Draw and refuse once."""
    pdf = pymupdf.open()
    page = pdf.new_page(width=200, height=200)
    for line, font in enumerate(FONTS, 1):
        page.insert_text((10, 20 * line), "text 文字", fontname=font)
    drawn = draw(pdf.tobytes(), _request(1))
    broken = drawn.png[:60]
    for data in (drawn.png, broken, pdf.tobytes()[:100], b"text"):
        try:
            draw(data, _request(1))
        except ExtractionError:
            continue  # what matters is that the way was gone once
    gc.collect()
    gc.freeze()  # a child that looks for garbage would copy every page of memory


def _request(page: int) -> Request:
    return Request("", "", False, 0, 1.0, 0, True, page, 72)  # noqa: FBT003 - as it is sent


if __name__ == "__main__":
    serve_pictures(draw, warm_up, float(sys.argv[1]) if len(sys.argv) > 1 else IDLE_S)

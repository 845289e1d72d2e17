"""The zygote of OCR: loads the models once, then forks one confined child for each page.

The engine has a single thread, so a child is confined like any other reader's.
"""

import io
import sys
from collections.abc import Iterator

import cv2
import numpy as np
import pymupdf
from PIL import Image

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.errors import ExtractionError
from gateway.extract import ocr_pictures, pdf_images
from gateway.extract.kinds import is_picture
from gateway.extract.ocr_engine import Engine
from gateway.extract.ocr_layout import texts
from gateway.extract.reading import Document, ReadOptions, bounded
from gateway.extract.serving import IDLE_S, serve

PDF = "application/pdf"
SAMPLE_SIZE = (400, 80)


class PageReader:
    """Reads one page of a PDF or of an image file as a picture."""

    def __init__(self) -> None:
        self._engine: Engine | None = None

    def warm_up(self) -> None:
        """Load the models and, by using them, all that would be opened later."""
        Image.init()
        self._engine = Engine()
        *pictures, pdf = _samples()
        for data in pictures:
            try:
                ocr_pictures.picture(data, *ocr_pictures.kind_and_frames(data)[1:])
            except ExtractionError:
                continue  # the broken ones
        for data in (pictures[0], pdf):
            self(data, "", ReadOptions(page=1))

    def __call__(self, data: bytes, _name: str, options: ReadOptions) -> Document:
        """A page that is not there is one without text. ExtractionError with a code of A9."""
        page = options.page
        if is_picture(data):
            media_type, pages = ocr_pictures.kind_and_frames(data)
            options.on_progress(page - 1, pages)  # known even if this page ends badly
            raster = ocr_pictures.picture(data, page) if page <= pages else None
        else:
            pdf = pdf_images.open_pages(data)
            media_type, pages = PDF, pdf.page_count
            options.on_progress(page - 1, pages)
            raster = pdf_images.render_page(pdf, page) if page <= pages else None
        seen = self._engine.lines(raster) if raster and self._engine else ()
        blocks = (Block(text, Locator(page=page)) for text in texts(seen))
        return Document(bounded(blocks, options.max_chars), media_type, (), pages)


def _samples() -> Iterator[bytes]:
    width, height = SAMPLE_SIZE
    pixels = np.full((height, width, 3), 255, np.uint8)
    cv2.putText(pixels, "Shutten 123", (20, 50), cv2.FONT_HERSHEY_SIMPLEX, 1.0, (0, 0, 0), 2)
    drawn = Image.fromarray(pixels)
    file = io.BytesIO()
    for form in ocr_pictures.FORMATS:
        file = io.BytesIO()
        drawn.save(file, form)
        yield file.getvalue()
        yield file.getvalue()[:-40]
    pdf = pymupdf.open()
    page = pdf.new_page(width=width, height=height)
    page.insert_image(page.rect, stream=file.getvalue())
    page.insert_text((10, 20), "text 文字", fontname="china-t")
    yield pdf.tobytes()


if __name__ == "__main__":
    read = PageReader()
    serve(read, read.warm_up, float(sys.argv[1]) if len(sys.argv) > 1 else IDLE_S)

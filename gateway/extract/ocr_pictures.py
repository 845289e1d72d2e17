"""Image files as pictures of bounded size: every frame of a TIFF, the first one of the others."""

import io
import struct
import zlib

import numpy as np
from PIL import Image

from gateway.extract.pdf_images import MAX_SIDE, Raster
from gateway.extract.reading import refuse

FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF")
MAX_PIXELS = 80_000_000  # A3 at 600 dpi
MAX_FRAMES = 1_000
TALL = 2.5  # times as long as wide: a screenshot of a long page, which stays as long as it is
TALL_PIXELS = 16_000_000
_DEEP = ("I", "F")  # the first letter of modes with more than 8 bits
_ORIENTATION = 0x0112  # in EXIF
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

# what Pillow raises for files that are damaged or lie
BROKEN = (
    OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, AttributeError,
    EOFError, OverflowError, ZeroDivisionError, NotImplementedError, struct.error, zlib.error,
)  # fmt: skip

Image.MAX_IMAGE_PIXELS = None  # counted here, with a code of our own


def kind_and_frames(data: bytes) -> tuple[str, int]:
    """The media type, and how many pages the file has."""
    with _opened(data) as image:
        if image.format != "TIFF":
            return _media_type(image), 1
        try:
            count = int(getattr(image, "n_frames", 1))
        except BROKEN as error:
            raise refuse("extract_crashed", repr(error)) from error
        media_type = _media_type(image)
    if count > MAX_FRAMES:
        raise refuse("document_limits", "too many frames")
    return media_type, count


def _media_type(image: Image.Image) -> str:
    return Image.MIME.get(image.format or "", "application/octet-stream")


def picture(data: bytes, number: int) -> Raster:
    """Frame `number`, from 1, turned as its EXIF says, on white."""
    with _opened(data) as image:
        try:
            if number > 1:
                image.seek(number - 1)
            _check(image)
            image.draft("RGB", (MAX_SIDE, MAX_SIDE))
            turn = _TURNS.get(image.getexif().get(_ORIENTATION) or 1)
            small = _smaller(_on_white(image))
            upright = small if turn is None else small.transpose(turn)
            return Raster(upright.width, upright.height, upright.tobytes())
        except BROKEN as error:
            raise refuse("extract_crashed", repr(error)) from error


def _opened(data: bytes) -> Image.Image:
    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
    except BROKEN as error:
        raise refuse("extract_crashed", repr(error)) from error
    _check(image)
    return image


def _check(image: Image.Image) -> None:
    """Before a pixel is unpacked."""
    if image.width * image.height > MAX_PIXELS:
        raise refuse("document_limits", "too many pixels")


def _on_white(image: Image.Image) -> Image.Image:
    """As 8 bits a colour; what shows through is paper."""
    if image.mode.startswith(_DEEP):
        values = np.asarray(image, dtype=np.float32)
        low, span = values.min(), np.ptp(values) or 1.0
        return Image.fromarray(((values - low) * (255 / span)).astype(np.uint8)).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    seen = image.convert("RGBA")
    paper = Image.new("RGB", seen.size, "white")
    paper.paste(seen, mask=seen.getchannel("A"))
    return paper


def _smaller(image: Image.Image) -> Image.Image:
    long, short = max(image.size), min(image.size)
    is_tall = long > TALL * short
    share = (TALL_PIXELS / (long * short)) ** 0.5 if is_tall else MAX_SIDE / long
    if share >= 1:
        return image
    size = (max(1, round(image.width * share)), max(1, round(image.height * share)))
    return image.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)

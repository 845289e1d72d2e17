"""What of a page's text a reader sees: hidden text is never indexed, a scan's text layer is."""

from collections.abc import Iterator, Sequence
from typing import Any

import pymupdf

TINY = 1.5  # points: no letter is read at this size
TINY_SHARE = 0.002  # of the page's height, for pages that are tiny themselves
DRAWN = 16 | 32 | 64  # filled, stroked or a mask: bits of a span's `char_flags`
NEAR = 16  # a channel of two colours that look alike differs by less, of 255
WHITE = 0xFFFFFF
PALE = 0xF0F0F0  # the bits of a colour that is close to white
DARK = 0x40  # each channel of a colour that hides what is below it, whatever the blending
BIG = 30.0  # square points: smaller areas are no ground for a letter
MANY_AREAS = 300
MANY_LOOKS = 40  # renderings of one page, to see what the drawing order doesn't tell
CONTRAST = 12  # levels of grey

Box = tuple[float, float, float, float]
Area = tuple[int, Box, int]  # place in the drawing order, box, colour


class Sight:
    """Tells seen from hidden spans of one page by what is drawn below and above them."""

    def __init__(self, page: Any, blocks: Sequence[Any], bounds: Box) -> None:
        self._page = page
        self._bounds = bounds
        self._tiny = min(TINY, TINY_SHARE * (bounds[3] - bounds[1]))
        areas = [
            (block["number"], block["bbox"], block["color"])
            for block in blocks
            if block["type"] == 3 and not block["stroked"] and block["alpha"] == 255
            if _size(block["bbox"]) >= BIG
        ]
        self._areas: Sequence[Area] = areas if len(areas) <= MANY_AREAS else ()
        self._covers = [area for area in self._areas if _is_dark(area[2])]
        self._pictures: Sequence[Box] | None = None
        self._drawn_fonts: frozenset[str] | None = None
        self._looks = 0
        self.has_hidden = False

    def seen(self, spans: Sequence[Any], order: int) -> Sequence[Any]:
        """Those that are visible, or lie as a text layer over a scan."""
        if not self._areas and all(map(self._is_plain, spans)):
            return spans  # nearly always
        kept = [span for span in spans if self._is_seen(span, order)]
        if len(kept) < len(spans) and any(_is_text(s) for s in spans if s not in kept):
            self.has_hidden = True
        return kept

    def _is_plain(self, span: Any) -> bool:
        """Drawn in ink, large enough, with nothing coloured on the page; a place within it."""
        x0, y0, x1, y1 = span["bbox"]
        left, top, right, bottom = self._bounds
        return bool(
            span["alpha"]
            and span["color"] & PALE != PALE
            and span["size"] >= self._tiny
            and x0 >= left
            and y0 >= top
            and x1 <= right
            and y1 <= bottom
        )

    def _is_seen(self, span: Any, order: int) -> bool:
        if span["size"] < self._tiny or not _is_within(_centre(span["bbox"]), self._bounds):
            return False
        if span["alpha"] == 0 and not span["char_flags"] & DRAWN:
            return self._is_layer(span)
        colour = span["color"]
        if not self._areas and not _is_alike(colour, WHITE):
            return True
        return self._stands_out(span, colour, order)

    def _is_layer(self, span: Any) -> bool:
        """Invisible text over a picture is its recognised text; drawn letters seem invisible."""
        if self._is_over_picture(span["bbox"]):
            return True
        if self._drawn_fonts is None:
            fonts = self._page.get_fonts(full=True)
            self._drawn_fonts = frozenset(
                name for _, _, kind, *names in fonts if kind == "Type3" for name in names[:2]
            )
        return span["font"] in self._drawn_fonts or "Type3" in span["font"]

    def _stands_out(self, span: Any, colour: int, order: int) -> bool:
        at = _centre(span["bbox"])
        if any(place > order and _is_within(at, box) for place, box, _ in self._covers):
            return self._is_visible_there(span["bbox"])
        ground = WHITE
        for place, box, other in self._areas:
            if place < order and _is_within(at, box):
                ground = other
        if not _is_alike(colour, ground):
            return True
        return self._is_visible_there(span["bbox"])

    def _is_visible_there(self, box: Box) -> bool:
        """Look at the page itself: pictures and shades may be below."""
        self._looks += 1
        if self._looks > MANY_LOOKS:
            return False
        clip = pymupdf.Rect(box) & self._page.rect
        if clip.is_empty:
            return False
        shade = self._page.get_pixmap(clip=clip, colorspace=pymupdf.csGRAY, annots=False)
        levels = shade.samples
        return max(levels, default=0) - min(levels, default=0) >= CONTRAST

    def _is_over_picture(self, box: Box) -> bool:
        if self._pictures is None:
            self._pictures = [tuple(info["bbox"]) for info in self._page.get_image_info()]
        return any(_is_within(_centre(box), picture) for picture in self._pictures)


def _is_text(span: Any) -> bool:
    return not span.get("text", " ").isspace()


def _size(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _centre(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _is_within(at: tuple[float, float], box: Box) -> bool:
    return box[0] <= at[0] <= box[2] and box[1] <= at[1] <= box[3]


def _channels(colour: int) -> Iterator[int]:
    return ((colour >> shift) & 0xFF for shift in (16, 8, 0))


def _is_alike(one: int, other: int) -> bool:
    if one == other:
        return True
    return all(abs(a - b) < NEAR for a, b in zip(_channels(one), _channels(other), strict=True))


def _is_dark(colour: int) -> bool:
    return all(channel < DARK for channel in _channels(colour))

"""PDFs made to hang, to fill the memory or to end the reader: each ends with its code."""

import zlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError
from gateway.extract.formats import read_document
from gateway.extract.reading import ReadOptions
from gateway.extract.supervisor import ExtractionSupervisor

HASTY = KnowledgeLimits(extract_timeout_secs=1, extract_memory_mb=512)
CATALOG = "<</Type/Catalog/Pages 2 0 R>>"
ONE = "<</Type/Pages/Kids[3 0 R]/Count 1>>"
FONT = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
WORDS = b"BT /F 12 Tf 72 700 Td (words to be read) Tj ET "


def built(objects: Sequence[str | bytes]) -> bytes:
    data = bytearray(b"%PDF-1.7\n")
    places = []
    for number, each in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(data))
        body = each if isinstance(each, bytes) else each.encode()
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    size, start = len(objects) + 1, len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n%b" % (size, b"".join(places))
    data += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (size, start)
    return bytes(data)


def stream(data: bytes, more: bytes = b"") -> bytes:
    return b"<</Length %d%b>>stream\n%b\nendstream" % (len(data), more, data)


def form(data: bytes, inner: int) -> bytes:
    more = b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X %d 0 R>>>>" % inner
    return stream(data, more)


def page(box: str = "0 0 595 842", more: str = "") -> str:
    return (
        f"<</Type/Page/Parent 2 0 R/MediaBox[{box}]/Contents 4 0 R"
        f"/Resources<</Font<</F 5 0 R>>{more}>>>>"
    )


def with_outline(titles: Sequence[str]) -> bytes:
    catalog = "<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>"
    return built(
        [catalog, ONE, page(), stream(WORDS), FONT, "<</First 7 0 R/Last 7 0 R>>", *titles]
    )


def deep(depth: int) -> list[str]:
    first = [f"/First {number} 0 R/Last {number} 0 R" for number in range(8, 7 + depth)]
    return [
        f"<</Title(t)/Parent {number} 0 R/Dest[3 0 R/Fit]{below}>>"
        for number, below in enumerate([*first, ""], 6)
    ]


REST = (page(), stream(WORDS), FONT)
READABLE = {
    "a tree of pages that holds itself": built(
        [CATALOG, "<</Type/Pages/Kids[3 0 R 2 0 R]/Count 2>>", *REST]
    ),
    "one page several times": built(
        [CATALOG, "<</Type/Pages/Kids[3 0 R 3 0 R 3 0 R]/Count 3>>", *REST]
    ),
    "fewer pages than told": built([CATALOG, "<</Type/Pages/Kids[3 0 R]/Count 900>>", *REST]),
    "a page of kilometres": built([CATALOG, ONE, page("0 0 1e9 1e9"), stream(WORDS), FONT]),
    "an outline in a ring": with_outline(
        ["<</Title(t)/Parent 6 0 R/Dest[3 0 R/Fit]/Next 7 0 R/First 7 0 R>>"]
    ),
    "an outline of 3,000 levels": with_outline(deep(3000)),
    "a form that draws itself": built(
        [
            CATALOG,
            ONE,
            page(more="/XObject<</X 6 0 R>>"),
            stream(WORDS + b"/X Do"),
            FONT,
            form(b"/X Do /X Do", 6),
        ]
    ),
}
MANY = 20_001
REFUSED = {
    "document_limits": built(
        [
            CATALOG,
            f"<</Type/Pages/Kids[{'3 0 R ' * MANY}]/Count {MANY}>>",
            *REST,
        ]
    ),
    "extract_crashed": built([CATALOG, "<</Type/Pages/Kids[3 0 R]/Count -5>>", *REST]),
    "too_many_chars": built([CATALOG, ONE, page(), stream(WORDS * 100), FONT]),
}
FAN = [form(b"/X Do " * 10, number) for number in range(7, 19)]
PACKED = zlib.compress(zlib.compress(WORDS * 1_000_000, 9), 9)
STOPPED = {
    "forms in forms": (
        built(
            [
                CATALOG,
                ONE,
                page(more="/XObject<</X 6 0 R>>"),
                stream(WORDS + b"/X Do"),
                FONT,
                *FAN,
                stream(b"0 0 m 9 9 l S", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]"),
            ]
        ),
        {"extract_timeout"},
    ),
    "a packed text": (
        built([CATALOG, ONE, page(), stream(PACKED, b"/Filter[/FlateDecode/FlateDecode]"), FONT]),
        {"extract_timeout", "extract_oom", "too_many_chars"},
    ),
    "an outline of 100,000 levels": (with_outline(deep(100_000)), {"extract_crashed", ""}),
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def supervisor() -> AsyncIterator[ExtractionSupervisor]:
    made = ExtractionSupervisor(HASTY)
    yield made
    await made.close()


@pytest.mark.parametrize("kind", READABLE)
def test_what_can_be_read_is_read(kind: str) -> None:
    document = read_document(READABLE[kind], "x.pdf", ReadOptions())
    assert "words to be read" in [block.text for block in document.blocks]


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_too_much_is_refused_by_name(code: str) -> None:
    with pytest.raises(ExtractionError) as raised:
        read_document(REFUSED[code], "x.pdf", ReadOptions(1_000))
    assert raised.value.code == code


@pytest.mark.parametrize("kind", STOPPED)
@pytest.mark.asyncio(loop_scope="module")
async def test_what_does_not_end_is_ended(
    supervisor: ExtractionSupervisor, tmp_path: Path, kind: str
) -> None:
    data, codes = STOPPED[kind]
    path = tmp_path / "x.pdf"
    path.write_bytes(data)
    try:
        await supervisor.extract(path, "x.pdf")
        code = ""
    except ExtractionError as error:
        code = error.code
    assert code in codes

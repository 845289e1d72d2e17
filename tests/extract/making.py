"""Makes small documents for tests, some of them with things only hand-made files have."""

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping

import docx
from docx.document import Document as Word
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
FONT, SIZE, HEIGHT = "MSung-Light", 12, 842
pdfmetrics.registerFont(UnicodeCIDFont(FONT))


def word(write: Callable[[Word], object]) -> bytes:
    document = docx.Document()
    write(document)
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


def body(xml: str, parts: Mapping[str, str] | None = None) -> bytes:
    """A .docx of nothing but a body, with namespaces at hand, and other parts by name."""
    spaces = (
        f'xmlns:w="{W}" '
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
        'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
        'xmlns:v="urn:schemas-microsoft-com:vml"'
    )
    files = {"word/document.xml": f"<w:document {spaces}><w:body>{xml}</w:body></w:document>"}
    for name, part in (parts or {}).items():
        root = name.removeprefix("word/").removesuffix(".xml")
        root = {"header1": "hdr", "header2": "hdr", "footer1": "ftr"}.get(root, root)
        files[name] = f"<w:{root} {spaces}>{part}</w:{root}>"
    return package(files)


def package(files: Mapping[str, str | bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as container:
        for name, content in files.items():
            container.writestr(name, content)
    return data.getvalue()


SLIDE_SPACES = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
    'xmlns:dsp="http://schemas.microsoft.com/office/drawing/2008/diagram" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
)
_KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def relations(targets: Mapping[str, tuple[str, str]]) -> str:
    """A part of relationships: id -> (kind, target)."""
    each = "".join(
        f'<Relationship Id="{name}" Type="{_KINDS}/{kind}" Target="{target}"/>'
        for name, (kind, target) in targets.items()
    )
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{space}">{each}</Relationships>'


def slides(*shapes: str, parts: Mapping[str, str] | None = None, hidden: int = 0) -> bytes:
    """A .pptx of slides with those shapes; the first slide's file has the last name.

    `parts` come with it as they are; `hidden` is the number of a slide that isn't shown.
    """
    files: dict[str, str] = {}
    links: dict[str, tuple[str, str]] = {}
    entries = ""
    for number, tree in enumerate(shapes, 1):
        name = f"slide{len(shapes) + 1 - number}.xml"
        show = ' show="0"' if number == hidden else ""
        files[f"ppt/slides/{name}"] = (
            f"<p:sld {SLIDE_SPACES}{show}><p:cSld><p:spTree>{tree}</p:spTree></p:cSld></p:sld>"
        )
        links[f"rId{number}"] = ("slide", f"slides/{name}")
        entries += f'<p:sldId id="{255 + number}" r:id="rId{number}"/>'
    files["_rels/.rels"] = relations({"a": ("officeDocument", "ppt/presentation.xml")})
    files["ppt/presentation.xml"] = (
        f"<p:presentation {SLIDE_SPACES}><p:sldIdLst>{entries}</p:sldIdLst></p:presentation>"
    )
    files["ppt/_rels/presentation.xml.rels"] = relations(links)
    return package({**files, **(parts or {})})


def shape(*lines: str, kind: str = "") -> str:
    """A shape with those paragraphs; `kind` of the placeholder it fills, if any."""
    place = f'<p:ph type="{kind}"/>' if kind else ""
    text = "".join(
        line if line.startswith("<") else f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>"
        for line in lines
    )
    named = f'<p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr>{place}</p:nvPr></p:nvSpPr>'
    return f"<p:sp>{named}<p:txBody><a:bodyPr/>{text}</p:txBody></p:sp>"


def frame(graphic: str) -> str:
    """A table, a chart or a diagram on a slide."""
    return (
        "<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id='4' name='x'/></p:nvGraphicFramePr>"
        f"<a:graphic><a:graphicData>{graphic}</a:graphicData></a:graphic></p:graphicFrame>"
    )


def p(text: str, properties: str = "") -> str:
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def pdf(draw: Callable[[Canvas], object], *, password: str = "", owner: str = "") -> bytes:
    data = io.BytesIO()
    encrypt = None
    if password or owner:
        from reportlab.lib.pdfencrypt import StandardEncryption  # noqa: PLC0415

        encrypt = StandardEncryption(password, ownerPassword=owner or password, strength=128)
    canvas = Canvas(data, pagesize=(595, HEIGHT), encrypt=encrypt)
    canvas.setFont(FONT, SIZE)
    draw(canvas)
    canvas.save()
    return data.getvalue()


def lines(
    canvas: Canvas, texts: list[str], x: float = 72, y: float = 100, step: float = 18
) -> None:
    """Text from `y` below the upper edge downwards."""
    for number, text in enumerate(texts):
        canvas.drawString(x, HEIGHT - y - number * step, text)


def new_page(canvas: Canvas) -> None:
    canvas.showPage()
    canvas.setFont(FONT, SIZE)


def raw_pdf(content: str, to_unicode: str) -> bytes:
    """One page of Helvetica whose letters mean what `to_unicode` says (`<41> <E001>` lines)."""
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def\n"
        "1 begincodespacerange <00> <FF> endcodespacerange\n"
        f"{len(to_unicode.splitlines())} beginbfchar\n{to_unicode}\nendbfchar\nendcmap end end"
    )
    stream = f"BT /F 12 Tf 72 700 Td ({content}) Tj ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R"
        "/Resources<</Font<</F 5 0 R>>>>>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>",
        f"<</Length {len(cmap)}>>stream\n{cmap}\nendstream",
    ]
    data = b"%PDF-1.4\n"
    offsets = []
    for number, each in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{each}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    end += f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(data)}\n%%EOF"
    return data + end.encode()


def bomb(megabytes: int, says: int) -> bytes:
    """A .docx whose body inflates to that much while its directory says `says` bytes."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    start = deflate.compress(b"<w:document>") + deflate.flush(zlib.Z_FULL_FLUSH)
    blanks = deflate.compress(b" " * (1 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)
    packed = start + blanks * megabytes + deflate.flush()
    name = b"word/document.xml"
    sizes = bytes(4) + len(packed).to_bytes(4, "little") + says.to_bytes(4, "little")
    about = b"\x14\0\0\0\x08\0" + bytes(4) + sizes + len(name).to_bytes(2, "little") + b"\0\0"
    local = b"PK\x03\x04" + about + name + packed
    entry = b"PK\x01\x02\x14\0" + about + bytes(10) + bytes(4) + name
    places = len(entry).to_bytes(4, "little") + len(local).to_bytes(4, "little")
    return local + entry + b"PK\x05\x06" + bytes(4) + b"\1\0\1\0" + places + b"\0\0"

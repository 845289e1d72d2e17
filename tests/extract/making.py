"""Makes small documents for tests, some of them with things only hand-made files have."""

import io
import zipfile
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

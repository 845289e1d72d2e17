"""Charts and diagrams of slides and Word documents, by the text that Office stored for them."""

from collections.abc import Iterator, Mapping
from typing import Any

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.extract.drawings import A, text_of
from gateway.extract.packages import Package, R
from gateway.extract.pptx_charts import C, chart_blocks
from gateway.extract.xml import number_in

_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_DSP = "{http://schemas.microsoft.com/office/drawing/2008/diagram}"
MAX_DEPTH = 100  # of a diagram's tree


def graphic_blocks(package: Package, part: str, graphic: Any, place: Locator) -> Iterator[Block]:
    """The blocks of a `graphicData` that shows a chart or a diagram; others have none here."""
    chart = graphic.find(f"{C}chart")
    if chart is not None:
        root = _part(package, part, chart.get(f"{R}id", ""))
        if root is not None:
            yield from chart_blocks(root, place)
    diagram = graphic.find(f"{_DGM}relIds")
    if diagram is not None:
        text = _diagram(package, part, diagram.get(f"{R}dm", ""))
        if text:
            yield Block(text, place)


def _part(package: Package, part: str, relation_id: str) -> Any | None:
    relation = package.relations(part).get(relation_id)
    return None if relation is None else package.root(relation.target)


def _diagram(package: Package, part: str, data_id: str) -> str:
    """As it is drawn; from its data where no drawing was stored. Never both."""
    data = _part(package, part, data_id)
    if data is None:
        return ""
    extension = next(data.iter(f"{_DSP}dataModelExt"), None)
    drawn_id = "" if extension is None else extension.get("relId", "")
    drawn = _part(package, part, drawn_id)
    shapes = [] if drawn is None else [text_of(body) for body in drawn.iter(f"{_DSP}txBody")]
    return "\n".join(text for text in shapes if text) or "\n".join(_data_lines(data))


def _data_lines(data: Any) -> Iterator[str]:
    """The nodes of the model as a tree, indented by level."""
    texts = {point.get("modelId", ""): _point_text(point) for point in data.iter(f"{_DGM}pt")}
    children: dict[str, list[tuple[int, str]]] = {}
    below: set[str] = set()
    for link in data.iter(f"{_DGM}cxn"):
        if link.get("type", "parOf") == "parOf":
            place = number_in(link.attrib, "srcOrd", 0)
            children.setdefault(link.get("srcId", ""), []).append((place, link.get("destId", "")))
            below.add(link.get("destId", ""))
    seen: set[str] = set()
    for name in texts:
        if name not in below:
            yield from _tree(name, texts, children, seen, 0)


def _tree(
    name: str,
    texts: Mapping[str, str],
    children: Mapping[str, list[tuple[int, str]]],
    seen: set[str],
    depth: int,
) -> Iterator[str]:
    if name in seen or depth > MAX_DEPTH:
        return
    seen.add(name)
    text = texts.get(name, "")
    if text:
        yield text
    for _, child in sorted(children.get(name, [])):
        yield from _tree(child, texts, children, seen, depth + 1)


def _point_text(point: Any) -> str:
    """Points for lines and layout carry no text of their own."""
    body = point.find(f"{_DGM}t")
    is_node = point.get("type", "node") in {"node", "asst"}
    return text_of(body) if body is not None and is_node and body.find(f"{A}p") is not None else ""

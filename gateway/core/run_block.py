"""What a tool shows of the library: blocks whose lines no document can forge (FEATURES A21)."""

from collections.abc import Mapping, Sequence

from gateway.core.access import Collection
from gateway.core.passage_block import BAR, ShownPassage, shown
from gateway.core.passages import Locator, Passage
from gateway.core.turns import PresentedPassage

# in a header, what would pass for another part of it: a place in brackets, an id
_IN_HEADER = str.maketrans({"=": "＝", "（": "(", "）": ")"})
_NOWHERE = Locator()


def passages_block(presented: Sequence[PresentedPassage], names: Mapping[str, str]) -> str:
    """`[n] title · place（collection） chunk_id=…`, then the text, each line after a bar.

    `names` are those of the collections, by id. Header lines begin with `[`, a document's never.
    """
    lines = []
    for each in presented:
        passage = shown(each)
        lines.append(_header(passage, _name(names.get(each.passage.collection_id, "")), each))
        lines.extend(barred(passage.text))
    return "\n".join(lines)


def collections_block(rows: Sequence[tuple[Collection, int, int]]) -> str:
    """`slug=… sources=… passages=…`, then name and description, each line after a bar."""
    lines = []
    for collection, sources, passages in rows:
        lines.append(f"slug={collection.slug} sources={sources} passages={passages}")
        for words in (collection.name, collection.description):
            lines.extend(barred(_clean(words)) if words.strip() else ())
    return "\n".join(lines)


def barred(text: str) -> list[str]:
    """Each line after a bar."""
    return [f"{BAR}{line}" for line in text.split("\n")]


def _header(passage: ShownPassage, collection: str, each: PresentedPassage) -> str:
    title, place = passage.title.translate(_IN_HEADER), passage.locator.translate(_IN_HEADER)
    where = f" · {place}" if place else ""
    return f"[{passage.n}] {title}{where}（{collection}） chunk_id={each.passage.id}"


def _name(name: str) -> str:
    """On one line, without what builds a header."""
    return _as_passage(name, "").title.translate(_IN_HEADER)


def _clean(text: str) -> str:
    return _as_passage("", text).text


def _as_passage(title: str, text: str) -> ShownPassage:
    """Names and descriptions are other people's words like any document's."""
    return shown(PresentedPassage(0, Passage(0, "", "", "", 0, title, text, _NOWHERE)))

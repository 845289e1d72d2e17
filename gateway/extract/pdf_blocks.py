"""From the lines of the pages to blocks: paragraphs, headings, rows of tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.extract.pdf_headings import levels
from gateway.extract.pdf_layout import Row, Table, columns
from gateway.extract.pdf_outline import Entry, Outline, titled
from gateway.extract.pdf_page import Page
from gateway.extract.pdf_paragraphs import Paragraph, flowing, paragraphs, plain
from gateway.extract.pdf_ruby import without_ruby
from gateway.extract.pdf_tables import header_of
from gateway.extract.tables import row_blocks

SAME_EDGE = 6.0  # points between the columns of a table and of its rest on the next page


@dataclass(frozen=True, slots=True)
class _Item:
    """A paragraph or a title on its page."""

    page: int
    paragraph: Paragraph
    level: int | None = None
    is_told: bool = False  # by the outline, and on the page itself


def blocks(pages: Sequence[Page], outline: Outline, missing: Iterable[int]) -> Iterator[Block]:
    """In reading order; `missing` are pages without text, of which only the titles are known."""
    titles = {page: entries for page, entries in outline.items() if entries}
    items = list(_items(pages, titles, frozenset(missing)))
    if sum(map(len, titles.values())) <= 1 and not any(item.is_told for item in items):
        text = [item for item in items if item.level is None]  # it names the file, no section
        found = levels([item.paragraph for item in text])
        items = [replace(item, level=level) for item, level in zip(text, found, strict=True)]
    yield from _blocks(items)


def _items(pages: Sequence[Page], titles: Outline, missing: frozenset[int]) -> Iterator[_Item]:
    waiting = sorted(number for number in titles if number in missing)
    for page in pages:
        while waiting and waiting[0] < page.number:
            number = waiting.pop(0)
            yield from (_title(number, entry) for entry in titles[number])
        entries = titles.get(page.number, ())
        for each in titled(list(_paragraphs(page, entries)), entries):
            if isinstance(each, Entry):
                yield _title(page.number, each)
            else:
                yield _Item(page.number, each)
    for number in waiting:
        yield from (_title(number, entry) for entry in titles[number])


def _title(page: int, entry: Entry) -> _Item:
    return _Item(page, Paragraph(entry.title, 0.0), entry.level, entry.is_told)


def _paragraphs(page: Page, entries: Sequence[Entry]) -> Iterator[Paragraph]:
    keys = frozenset(entry.key for entry in entries)
    for at, group in enumerate(page.groups):
        is_vertical = page.is_vertical and at == page.main
        found = (
            paragraph
            for column in columns(without_ruby(group), is_vertical=is_vertical)
            for paragraph in paragraphs(column, keys)
        )
        yield from flowing(found)
    yield from (Paragraph(text, 0.0) for text in page.slanted)


# ---------------------------------------------------------------- tables


def _blocks(items: Sequence[_Item]) -> Iterator[Block]:
    last: tuple[Table, int, tuple[str, ...]] | None = None  # table, page and header before
    for _, run in groupby(items, lambda item: item.paragraph.row and item.paragraph.row.table):
        found = list(run)
        rows = [item.paragraph.row for item in found if item.paragraph.row is not None]
        page = found[0].page
        if not rows:
            yield from (_text(item) for item in found)
            last = None
            continue
        header, body = _parts(rows)
        if last is not None and _goes_on(last, rows[0].table, page):
            header, body = last[2], _without_header(rows, last[2])
        for row in rows[: len(rows) - len(body)]:
            if row.number < row.table.titles:
                yield Block(" ".join(filter(None, row.cells)), Locator(page=page))
        cells = [header, *(row.cells for row in body)] if header else [r.cells for r in body]
        places = [Locator(page=page)] * len(cells)
        yield from row_blocks(cells, places, has_header=bool(header))
        last = (rows[-1].table, page, header)


def _text(item: _Item) -> Block:
    return Block(item.paragraph.text, Locator(page=item.page), heading_level=item.level)


def _parts(rows: Sequence[Row]) -> tuple[tuple[str, ...], Sequence[Row]]:
    """The header and the rows below it; rows above it are titles."""
    table = rows[0].table
    end = table.titles + table.headers
    names = [row for row in rows if table.titles <= row.number < end]
    body = [row for row in rows if row.number >= end]
    return (header_of(names) if names else ()), body


def _goes_on(last: tuple[Table, int, tuple[str, ...]], table: Table, page: int) -> bool:
    """The next page begins with a table of the same columns."""
    before, page_before, _ = last
    return (
        page == page_before + 1
        and len(before.xs) == len(table.xs)
        and all(abs(a - b) <= SAME_EDGE for a, b in zip(before.xs, table.xs, strict=True))
    )


def _without_header(rows: Sequence[Row], header: tuple[str, ...]) -> Sequence[Row]:
    """Rows of a table's rest: what the header repeated is no row."""
    names, body = _parts(rows)
    if names and header and tuple(map(plain, names)) == tuple(map(plain, header)):
        return body
    return rows

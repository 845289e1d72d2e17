"""Footers: the cited sources in plain text, always whole within the channel's limit."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gateway.core.citations import escape_marks
from gateway.core.excerpts import EXCERPT_CHARS, clip, nearest_sentence, one_line
from gateway.core.matching import script
from gateway.core.messages import CitationView, Limits
from gateway.core.passages import Locator, Passage
from gateway.core.splitting import cut_to, units
from gateway.core.urls import defang

MAX_SOURCES = 5
TITLE_CHARS = 80  # graphemes of a title in a footer
LOCATOR_CHARS = 40  # graphemes of one locator as shown: a heading path may be long
LEAST_CHARS = 8  # a title or a locator is not made shorter than this
_ROW_CHARS = 20  # of LOCATOR_CHARS, for the rows that follow a sheet's name
_VIEW_CHARS = 200  # title and locator in web chat
_LIVE = str.maketrans("@<>", "＠＜＞")
_LIVE_IN_MARKDOWN = str.maketrans("*_~`|#[]\\", "＊＿～｀｜＃［］＼")


@dataclass(frozen=True, slots=True)
class _Lengths:
    """How many graphemes an excerpt, a title, a locator may take."""

    excerpt: int
    title: int = TITLE_CHARS
    locator: int = LOCATOR_CHARS


_LENGTHS = (  # from generous to scarce: excerpts give way first, then titles, then locators
    *(_Lengths(excerpt) for excerpt in range(EXCERPT_CHARS, LEAST_CHARS - 1, -1)),
    *(_Lengths(0, title) for title in range(TITLE_CHARS, LEAST_CHARS - 1, -4)),
    *(_Lengths(0, LEAST_CHARS, most) for most in range(LOCATOR_CHARS, LEAST_CHARS - 1, -4)),
)


@dataclass(frozen=True, slots=True)
class _Source:
    """What a footer says of one source, harmless but not cut yet."""

    marks: str
    title: str
    locators: tuple[Locator, ...]
    excerpt: str
    text: str  # of the first passage: what its excerpt may link to
    has_markdown: bool

    def lines(self, lengths: _Lengths) -> str:
        places = (self._place(locator, lengths.locator) for locator in self.locators)
        where = ", ".join(dict.fromkeys(filter(None, places)))
        line = f"{self.marks} {_cut(self.title, lengths.title)}" + (f" · {where}" if where else "")
        if not (lengths.excerpt and self.excerpt):
            return line
        excerpt = _cut(self.excerpt, lengths.excerpt, self.text)
        quoted = f"“{excerpt}”" if script(excerpt) == "en" else f"「{excerpt}」"
        return f"{line}\n  {quoted}"

    def _place(self, locator: Locator, chars: int) -> str:
        """Pages, slides and rows are never cut; names and headings are."""
        is_numbered = (locator.page, locator.slide, locator.row) != (None, None, None)
        if is_numbered and locator.sheet:
            locator = replace(locator, sheet=clip(locator.sheet, max(1, chars - _ROW_CHARS)))
        place = neutralise(locator.label(), has_markdown=self.has_markdown)
        return place if is_numbered else _cut(place, chars)


def build(
    cited: Mapping[int, Passage], question: str, limits: Limits, more: str, *, heading: str = ""
) -> str:
    """The footer of a reply: the first five cited sources, in order of n (FEATURES A18).

    A line a source, `[1][4] title · p. 3, p. 9`, and a line with the sentence of its lowest n
    that is nearest to the question. What does not fit into `limits.footer_units` is made shorter:
    excerpts, titles, locators over LEAST_CHARS, then fewer sources. `more` tells the rest, with
    `{count}`; `heading` is a first line. "" if nothing was cited.
    """
    by_source: dict[str, dict[int, Passage]] = {}
    for n in sorted(cited):
        by_source.setdefault(cited[n].source_id, {})[n] = cited[n]
    if not by_source:
        return ""
    sources = [
        _source(passages, question, has_markdown=limits.has_markdown)
        for passages in list(by_source.values())[:MAX_SOURCES]
    ]

    def text(lengths: _Lengths, shown: int = len(sources)) -> str:
        left = len(by_source) - shown
        counted = more.replace("{count}", str(left)) if left else ""
        lines = [source.lines(lengths) for source in sources[:shown]]
        return "\n".join(filter(None, (heading, *lines, counted)))

    def fits(lengths: _Lengths, shown: int = len(sources)) -> bool:
        return units(text(lengths, shown), limits.unit) <= limits.footer_units

    first = bisect_left(_LENGTHS, True, key=fits)  # noqa: FBT003
    if first < len(_LENGTHS):
        return text(_LENGTHS[first])
    scarce = _LENGTHS[-1]
    shown = next((few for few in range(len(sources) - 1, 0, -1) if fits(scarce, few)), 1)
    return cut_to(text(scarce, shown), limits.footer_units, limits.unit)


def _source(passages: Mapping[int, Passage], question: str, *, has_markdown: bool) -> _Source:
    first, *_ = passages.values()
    return _Source(
        marks="".join(f"[{n}]" for n in passages),
        title=neutralise(first.title, has_markdown=has_markdown),
        locators=tuple(passage.locator for passage in passages.values()),
        excerpt=neutralise(nearest_sentence(question, first.text), has_markdown=has_markdown),
        text=first.text,
        has_markdown=has_markdown,
    )


def _cut(text: str, chars: int, *standing: str) -> str:
    """Cut, then look at the URLs: half a URL leads somewhere else."""
    return clip(defang(clip(text, chars), standing), chars)


def neutralise(text: str, *, has_markdown: bool = False) -> str:
    """The text in one line that mentions nobody, cites nothing and formats nothing.

    `@ < >` become full-width (FEATURES A18), citation-looking marks look-alikes, controls and
    unseen characters go; where the channel renders Markdown its signs become full-width too.
    """
    line = escape_marks(one_line(text)).translate(_LIVE)
    return line.translate(_LIVE_IN_MARKDOWN) if has_markdown else line


def views(cited: Mapping[int, Passage], question: str) -> tuple[CitationView, ...]:
    """The citations as web chat shows them, by n; plain text, for `textContent` only."""
    return tuple(
        CitationView(
            n=n,
            chunk_id=str(passage.id),
            source_id=passage.source_id,
            title=clip(one_line(passage.title), _VIEW_CHARS),
            locator=clip(one_line(passage.locator.label()), _VIEW_CHARS),
            excerpt=nearest_sentence(question, passage.text),
        )
        for n, passage in sorted(cited.items())
    )

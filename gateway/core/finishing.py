"""From a model's draft to what is sent and kept: marks, harmless links, footer, citations."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import category

from gateway.core import footer
from gateway.core.citation_check import Checked, check
from gateway.core.citations import rewrite
from gateway.core.messages import CitationView, Limits
from gateway.core.turns import PresentedPassage, TurnCitation, citation
from gateway.core.urls import defang

_MARKS = re.compile(r"\[[0-9]+\]")


@dataclass(frozen=True, slots=True)
class Finished:
    """A draft made fit: `text` with [n] marks, the footer apart, and what is kept of it."""

    text: str
    footer: str
    views: tuple[CitationView, ...]
    citations: tuple[TurnCitation, ...]
    dropped: int  # marks that pointed at nothing
    withdrawn: int = 0  # marks whose passage did not support the sentence
    moved: int = 0  # of marks, to a passage that does


def finish(
    draft: str,
    presented: Sequence[PresentedPassage],
    question: str,
    limits: Limits,
    more: str,
    *,
    checks: bool = False,
) -> Finished:
    """Takes some milliseconds for each passage, so not for the event loop; `more` as in footer.

    `checks`: each cited sentence is compared with its passage (F3).
    """
    passages = {each.n: each.passage for each in presented}
    rewritten = rewrite(draft, passages)
    if _has_marks_alone(rewritten.text):
        return Finished("", "", (), (), rewritten.dropped)  # sources of nothing that was said
    cited = check(rewritten, passages) if checks else Checked(rewritten.text, rewritten.cited)
    sources = footer.build(cited.cited, question, limits, more) if limits.footer_units else ""
    return Finished(
        text=defang(cited.text, [each.passage.text for each in presented]),
        footer=sources,
        views=footer.views(cited.cited, question),
        citations=tuple(citation(each, question, set(cited.cited)) for each in presented),
        dropped=rewritten.dropped,
        withdrawn=cited.withdrawn,
        moved=cited.moved,
    )


def _has_marks_alone(text: str) -> bool:
    """`[1]` or `[1][2].`: no letter, digit or sign beside the marks."""
    said = _MARKS.sub("", text)
    return said != text and not any(category(letter)[0] in "LNS" for letter in said)

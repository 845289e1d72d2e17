"""Citations: keep the marks that point at a presented passage, in one form; delete the others."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gateway.core import markdown, marks
from gateway.core.passages import Passage

_LOOKALIKE = str.maketrans("[]［］【】〔〕", "〚〛〚〛〖〗〘〙")
_ESCAPED = re.compile(marks.MARK)
_ESCAPED_IN_CODE = re.compile(rf"(?<![A-Za-z\])])(?:{marks.MARK})++")
_PARTIAL = re.compile(r"(?:\\?\[{1,2}|[【［〔])[^\[\]【】［］〔〕\n]*\Z")
_OPENER = re.compile(r"[\[【［〔]")
HELD_BACK = 12  # characters a stream may lag behind (faults 47)


@dataclass(frozen=True, slots=True)
class CitedText:
    """A reply with its marks checked; `cited` by the turn's own n, `dropped` numbers made up."""

    text: str
    cited: Mapping[int, Passage]
    dropped: int


def rewrite(draft: str, presented: Mapping[int, Passage]) -> CitedText:
    """The draft with every mark as `[n]`, or gone with its leading blanks if it was made up.

    Numbers are never changed (FEATURES A17). What is no citation (code, links, `第[2]條`; see
    `marks.find`) stays as it is. Time is linear in the draft.
    """
    first = _rewrite(draft, presented, _gone)
    if not first.dropped:
        return first
    # Deleting may join what stood around a mark into a new one: [9[8]] leaves [9].
    second = _rewrite(first.text, presented, lambda mark: mark.translate(_LOOKALIKE))
    return CitedText(second.text, {**first.cited, **second.cited}, first.dropped)


def settled(
    text: str, presented: Mapping[int, Passage], kept: Mapping[int, Sequence[int]]
) -> tuple[str, Mapping[int, Passage]]:
    """A rewritten text with the marks that are kept, by where each begins; and what it cites."""
    done = _rewrite(text, presented, _gone, lambda mark: kept[mark.start])
    return done.text, done.cited


def _gone(mark: str) -> str:
    return ""


def _own(mark: marks.Mark) -> Sequence[int]:
    return mark.numbers


def _rewrite(
    draft: str,
    presented: Mapping[int, Passage],
    instead: Callable[[str], str],
    numbers: Callable[[marks.Mark], Sequence[int]] = _own,
) -> CitedText:
    cited: dict[int, Passage] = {}
    out: list[str] = []
    at = dropped = 0
    for group in groups(draft):
        words = draft[at : group[0].start].rstrip(marks.BLANKS)
        # `days【1】` as `days[1]` would read as an index
        lead = draft[at + len(words) : group[0].start] or " " * group[0].is_glued
        shown: list[str] = []
        for mark in group:
            kept = [n for n in numbers(mark) if n in presented]
            cited |= {n: presented[n] for n in kept}
            dropped += max(0, len(mark.numbers) - len(kept))
            text = "".join(f"[{n}]" for n in kept) or instead(draft[mark.start : mark.end])
            if text:
                shown += [draft[at : mark.start] if shown else lead, text]
            at = mark.end
        out += [words, *shown]
    return CitedText("".join(out) + draft[at:], cited, dropped)


def groups(draft: str) -> Iterator[list[marks.Mark]]:
    """The marks of a draft, together where only blanks stand between them."""
    group: list[marks.Mark] = []
    for mark in marks.find(draft):
        if group and draft[group[-1].end : mark.start].strip(marks.BLANKS):
            yield group
            group = []
        group.append(mark)
    if group:
        yield group


def escape_marks(text: str) -> str:
    """A passage's text with its own citation-looking marks made harmless, before a model reads it.

    `[3]` becomes `〚3〛`, `【3】` `〖3〗` and `〔3〕` `〘3〙` (faults 46): visibly close, and never
    a citation should the model quote it. Only an index in code, `arr[1]`, stays.
    """
    out: list[str] = []
    at = 0
    for start, end in markdown.prose(text):
        out += [_escape(_ESCAPED_IN_CODE, text[at:start]), _escape(_ESCAPED, text[start:end])]
        at = end
    return "".join(out) + _escape(_ESCAPED_IN_CODE, text[at:])


def _escape(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: match[0].translate(_LOOKALIKE), text)


class StreamFilter:
    """Passes a model's deltas on without ever showing half a mark.

    The deltas are a preview: the finished, rewritten text replaces them (DESIGN section 8.17).
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """What may be shown now; at most HELD_BACK characters stay behind."""
        if not self._held and _OPENER.search(text) is None:
            return text
        text = self._held + text
        partial = _PARTIAL.search(text[-HELD_BACK:])
        self._held = partial[0] if partial else ""
        return text[: len(text) - len(self._held)]

    def close(self) -> str:
        """The rest, when the model has finished."""
        held, self._held = self._held, ""
        return held

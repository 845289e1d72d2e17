"""Citation check: a mark stays only by a sentence that its passage supports (F3)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gateway.core.citations import CitedText, groups, settled
from gateway.core.marks import Mark
from gateway.core.matching import sentences
from gateway.core.passages import Passage
from gateway.core.support import Fault, fault, is_about_anything, share
from gateway.core.support_evidence import Evidence

MOVE_SHARE = 0.7  # of a sentence's words that a passage must hold to get the mark instead
MAX_CLAIM_CHARS = 2_000  # before a mark; nobody cites more in one breath
_SOFT = frozenset({Fault.OTHER_WORDS, Fault.INVENTED})  # may be made up for by what stands before
_MARKUP = re.compile(
    r"`[^`\n]*`|^[ \t>]*(?:(?:[-*+•・]|[(（]?[0-9]{1,2}[.)）、．])[ \t]+|#+[ \t]+)|[*_~`|①-⑳]+",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Checked:
    """A cited text after the check; `withdrawn` and `moved` count marks."""

    text: str
    cited: Mapping[int, Passage]
    withdrawn: int = 0
    moved: int = 0


def check(cited: CitedText, presented: Mapping[int, Passage]) -> Checked:
    """The text without the marks that their passages do not support.

    A mark goes over to another presented passage where that one supports the sentence, under
    that one's own number (FEATURES A17). Where nobody can tell, across languages or for a
    sentence of few words, it stays.
    """
    return _Check(cited.text, presented).done()


class _Check:
    """One text being checked; passages are made ready once, and only those that are needed."""

    def __init__(self, text: str, presented: Mapping[int, Passage]) -> None:
        self._text = text
        self._presented = presented
        self._evidence: dict[int, Evidence] = {}
        self._withdrawn = self._moved = 0

    def done(self) -> Checked:
        kept: dict[int, tuple[int, ...]] = {}
        end, claim = 0, ("", "")
        for group in groups(self._text):
            claim = self._claim(end, group) or claim
            end = group[-1].end
            numbers = tuple(dict.fromkeys(n for mark in group for n in mark.numbers))
            left = list(self._judge(claim, numbers))
            for mark in group:
                kept[mark.start] = tuple(n for n in mark.numbers if n in left)
                left = [n for n in left if n not in mark.numbers]
            kept[group[0].start] += tuple(left)
        text, cited = settled(self._text, self._presented, kept)
        return Checked(text, cited, self._withdrawn, self._moved)

    def _claim(self, end: int, group: Sequence[Mark]) -> tuple[str, str] | None:
        """The sentence before the marks and all that they may cover; None: as the marks before.

        A mark at the start of a line is read with what follows, one alone with what precedes.
        """
        text, start = self._text, group[0].start
        line = text.rfind("\n", 0, start) + 1
        before = text[max(line, end, start - MAX_CLAIM_CHARS) : start]
        if _bare(before):
            return _last(before), _bare(before)
        if end > line:
            return None
        after = text[group[-1].end :].partition("\n")[0][:MAX_CLAIM_CHARS]
        if _bare(after):
            first = after[slice(*sentences(after)[0])]
            return _bare(first), _bare(after)
        paragraph = text[max(end, start - MAX_CLAIM_CHARS) : start]
        return (_last(paragraph), _bare(paragraph)) if _bare(paragraph) else None

    def _judge(self, claim: tuple[str, str], numbers: tuple[int, ...]) -> tuple[int, ...]:
        if not is_about_anything(claim[0]):
            return numbers
        kept = tuple(n for n in numbers if _supports(claim, self._of(n)))
        if kept or not numbers:
            self._withdrawn += len(numbers) - len(kept)
            return kept
        if len(numbers) > 1 and _supports(claim, self._together(numbers)):
            return numbers
        better = self._better(claim[0], numbers)
        self._moved += better is not None
        self._withdrawn += len(numbers) - (better is not None)
        return () if better is None else (better,)

    def _better(self, claim: str, numbers: tuple[int, ...]) -> int | None:
        """Another presented passage that supports the sentence, the one that holds most of it."""
        shares = {
            n: share(claim, self._of(n))
            for n in self._presented
            if n not in numbers and fault(claim, self._of(n)) is None
        }
        best = max(shares, key=lambda n: (shares[n], -n), default=None)
        return best if best is not None and shares[best] >= MOVE_SHARE else None

    def _of(self, n: int) -> Evidence:
        if n not in self._evidence:
            self._evidence[n] = Evidence(self._presented[n])
        return self._evidence[n]

    def _together(self, numbers: Sequence[int]) -> Evidence:
        """What several passages say together, as for a sentence that joins them."""
        passages = [self._presented[n] for n in numbers]
        title = " ".join(each.title for each in passages)
        text = "\n".join(each.text for each in passages)
        return Evidence(replace(passages[0], title=title, text=text))


def _supports(claim: tuple[str, str], evidence: Evidence) -> bool:
    """The passage supports the sentence, or all that its mark stands at the end of."""
    sentence, whole = claim
    found = fault(sentence, evidence)
    if found is None or whole == sentence or found not in _SOFT:
        return found is None
    return fault(whole, evidence) is None


def _last(text: str) -> str:
    parts = [_bare(text[start:end]) for start, end in sentences(text)]
    return next((part for part in reversed(parts) if part), "")


def _bare(text: str) -> str:
    """The words without code, Markdown and list numbers; empty where only signs are left."""
    bare = _MARKUP.sub(" ", text).strip()
    return bare if any(letter.isalnum() for letter in bare) else ""

"""Whose consent it takes and who bears the cost: named otherwise in sentence and passage."""

import re
from collections.abc import Iterable, Iterator

from gateway.core.matching import match_text
from gateway.core.support_parties import party
from gateway.core.support_polarity import HAN_LETTERS

_NAME = rf"{HAN_LETTERS}\u30a1-\u30fa\u30fc"
_STEM = 5  # letters by which an English name is known in its other forms
_KINDS = {
    "consent": match_text("同意|承諾|許可|承認|核准|批准|許諾"),
    "cost": match_text("負擔|負担|自付|吸收"),
}
_OWN = re.compile(match_text("^(?:我們|本|我|貴|該)(?=..)"))
_ENGLISH = (
    (
        "consent",
        r"(?:approval|consent|permission|agreement|authori[sz]ation) (?:of|from|by) "
        r"(?:the |an? )?([a-z]+(?: [a-z]+)?)",
    ),
    ("consent", r"([a-z]+)['’]s? (?:written |prior |express )*(?:approval|consent|permission)"),
    ("cost", r"(?:borne|paid|covered) by (?:the |an? )?([a-z]+)"),
)
_PATTERNS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        *(
            (
                kind,
                rf"(?:{match_text('經|由|取得|得')})([{HAN_LETTERS}]{{2,6}}?)[之的]?"
                rf"(?:{match_text('書面|事前|事先')})*(?:{nouns})",
            )
            for kind, nouns in _KINDS.items()
        ),
        *(
            (
                kind,
                rf"([{_NAME}]{{2,8}})[のが](?:[{HAN_LETTERS}]{{2}}(?:による|で))?の?"
                rf"(?:事前の|{match_text('書面')}の)?(?:{nouns})",
            )
            for kind, nouns in _KINDS.items()
        ),
        *_ENGLISH,
    )
)


def is_held_by_other(claim: str, sentences: Iterable[str]) -> bool:
    """受託者の負担 where the passage says 委託者の負担: another one for the same kind of power."""
    said = {held for each in sentences for held in _holders(each)}
    for kind, name in _holders(claim):
        known = [other for of, other in said if of == kind]
        if known and not any(_is_same(name, other) for other in known):
            return True
    return False


def _holders(folded: str) -> Iterator[tuple[str, str]]:
    for kind, pattern in _PATTERNS:
        for name in pattern.findall(folded):
            yield kind, _OWN.sub("", name)


def _is_same(name: str, other: str) -> bool:
    if party(name) == party(other):
        return True
    if name.isascii():
        return any(a[:_STEM] == b[:_STEM] for a in name.split() for b in other.split())
    return name in other or other in name

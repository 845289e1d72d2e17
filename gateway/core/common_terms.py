"""Index terms that say little of what a question is about: they hold sentences together."""

import re

from gateway.core.matching import match_text

_ENGLISH = """
a about after again all also am an and any are aren as at be because been before being between but
by called can could d did didn do does doesn doing don during each few first for from get got had
has have having he her here hers him his how i if in into is isn it its just know last ll long make
many may me might mine more most much must my name no nor not now of off often old on once only or
other our ours over own please re s same shall she should so some such t take tell than that the
their theirs them then there these they this those to too under until us use used usually ve very
was wasn we were weren what when where which while who whom whose why will with won would you your
yours
"""
_CHINESE = """
可以 多少 請問 一個 一種 時候 有沒 沒有 我們 你們 需要 應該
如何 能不 不能 為什 我想 想知 知道 告訴 幫我
"""
_WHOLE = frozenset(match_text(_ENGLISH + _CHINESE).split())
# Letters that make a pair of neighbours a particle's or a question's; folded like the index.
_LETTERS = frozenset(match_text("的了是嗎呢哪誰什麼怎吧啊何幾"))
_HIRAGANA = re.compile("[\u3041-\u309f]+")


def is_common(term: str) -> bool:
    """A function word of English, a pair of hiragana, or a pair around a Chinese particle."""
    return term in _WHOLE or _HIRAGANA.fullmatch(term) is not None or not _LETTERS.isdisjoint(term)

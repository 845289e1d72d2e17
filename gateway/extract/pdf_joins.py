"""Joining what a line end has cut: CJK without a blank, Latin words with one."""

import re
from collections.abc import Iterable
from typing import Any

_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


_SPACED = re.compile(rf"(?<={_WIDE.pattern})[ \u3000](?={_WIDE.pattern})")
_PAIR = re.compile(rf"{_WIDE.pattern}(?={_WIDE.pattern})")


def unspaced(text: str) -> str:
    """Letters set wide apart (員 工 手 冊) come with a blank after each one; without them."""
    if " " not in text and "\u3000" not in text:
        return text
    blanks = len(_SPACED.findall(text))
    return _SPACED.sub("", text) if blanks >= 2 and blanks > len(_PAIR.findall(text)) else text


_SYMBOLS = str.maketrans({0xF0A7: "▪", 0xF0D8: "➢", 0xF0FC: "✓", 0xF0E0: "→", 0xF0A8: "◆"})
_SYMBOL = re.compile("[\uf020-\uf0ff]")  # letters of symbol fonts; most of them are bullets
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def marked(span: Any) -> str:
    """Its text: bullets of symbol fonts as such, raised digits as raised (14日¹, km²)."""
    text: str = span["text"]
    if span["flags"] & 1 and text.strip().isascii() and text.strip().isdigit():
        return text.translate(_RAISED)
    if _SYMBOL.search(text):
        return _SYMBOL.sub("•", text.translate(_SYMBOLS))
    return text


def weight(text: str) -> float:
    """How much a line says: a CJK character 1, any other one half."""
    wide = len(_WIDE.findall(text))
    return wide + (len(text) - wide) / 2


def join(before: str, after: str) -> str:
    """Two parts of a sentence that a line end has cut."""
    return joined((before, after))


def joined(parts: Iterable[str]) -> str:
    """Lines of one sentence."""
    pieces: list[str] = []
    for part in parts:
        text = part.strip() if pieces else part.rstrip()
        if not text:
            continue
        if pieces:
            before = pieces[-1]
            if _is_cut(before, text):
                pieces[-1] = before[:-1]  # a word cut in two
            elif not (_WIDE.match(before[-1]) or _WIDE.match(text[0])):
                pieces.append(" ")
        pieces.append(text)
    return "".join(pieces)


def _is_cut(before: str, after: str) -> bool:
    return before[-1] in "-\u00ad" and before[-2:-1].islower() and after[0].islower()

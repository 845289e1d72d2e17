"""Joining what a line end has cut: CJK without a blank, Latin words with one."""

import re

_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


_SPACED = re.compile(rf"(?<={_WIDE.pattern})[ \u3000](?={_WIDE.pattern})")
_PAIR = re.compile(rf"{_WIDE.pattern}(?={_WIDE.pattern})")


def unspaced(text: str) -> str:
    """Letters set wide apart (員 工 手 冊) come with a blank after each one; without them."""
    blanks = len(_SPACED.findall(text))
    return _SPACED.sub("", text) if blanks >= 2 and blanks > len(_PAIR.findall(text)) else text


def weight(text: str) -> float:
    """How much a line says: a CJK character 1, any other one half."""
    wide = len(_WIDE.findall(text))
    return wide + (len(text) - wide) / 2


def join(before: str, after: str) -> str:
    """Two parts of a sentence that a line end has cut."""
    before, after = before.rstrip(), after.lstrip()
    if not before or not after:
        return before or after
    if _WIDE.match(before[-1]) or _WIDE.match(after[0]):
        return before + after
    if before.endswith(("-", "\u00ad")) and before[-2:-1].islower() and after[0].islower():
        return before[:-1] + after  # a word cut in two
    return f"{before} {after}"

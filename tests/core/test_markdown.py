"""Where code stands in a text, to the character."""

import pytest

from gateway.core.markdown import Fence, fences, prose

FENCES = {
    "none": ("七日\n`` ` ``", ()),
    "closed": ("a\n```py\nx\n```\nb", (Fence(2, 8, 10, 13, "```py", "```"),)),
    "unclosed": ("```\nx", (Fence(0, 4, 5, 5, "```", "```"),)),
    "opening line alone": ("```", (Fence(0, 3, 3, 3, "```", "```"),)),
    "empty": ("~~~\n~~~", (Fence(0, 4, 4, 7, "~~~", "~~~"),)),
    "quoted": ("> ```\n> x\n> ````  ", (Fence(0, 6, 10, 18, "> ```", "> ```"),)),
    "in a list": ("- ~~~`x`\n  ~~~", (Fence(0, 9, 9, 14, "- ~~~`x`", "~~~"),)),
    "backtick in the opening line": ("```a`b\n```", (Fence(7, 10, 10, 10, "```", "```"),)),
    "two": ("```\n```\n~~~", (Fence(0, 4, 4, 7, "```", "```"), Fence(8, 11, 11, 11, "~~~", "~~~"))),
}


@pytest.mark.parametrize(("text", "found"), FENCES.values(), ids=FENCES.keys())
def test_fences(text: str, found: tuple[Fence, ...]) -> None:
    assert fences(text) == found


PROSE = {
    "nothing": ("", []),
    "no code": ("七日", ["七日"]),
    "inline": ("a `b` c", ["a ", " c"]),
    "only code": ("`a`", []),
    "side by side": ("`a`` b ``", ["`a"]),
    "adjacent": ("`a`~`b`", ["~"]),
    "adjacent fences": ("```\n```\n```\n```", ["\n"]),
    "fence": ("a\n```\nb\n```\nc", ["a\n", "\nc"]),
    "fence at the end": ("a\n```\nb", ["a\n"]),
    "escaped": (r"a \``b`", ["a \\`"]),
    "escaped only": (r"\`a`", [r"\`a`"]),
    "longer run": ("`a``b`", []),
    "next paragraph": ("`a\n \nb`", ["`a\n \nb`"]),
    "inline in the second paragraph": ("`a\n\n`b` c", ["`a\n\n", " c"]),
}


@pytest.mark.parametrize(("text", "stretches"), PROSE.values(), ids=PROSE.keys())
def test_prose(text: str, stretches: list[str]) -> None:
    assert [text[start:end] for start, end in prose(text)] == stretches

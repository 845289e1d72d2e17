"""Characters of symbol fonts that people put into documents: boxes, arrows, Greek letters."""

from collections.abc import Mapping

_PRIVATE = 0xF000  # where a symbol font's 256 characters are put
_DINGBATS: Mapping[int, str] = {  # Wingdings and Wingdings 2, where they mean something
    0x6C: "●", 0x6E: "■", 0x6F: "☐", 0x71: "☐", 0x72: "☐", 0x75: "◆", 0x76: "❖", 0x77: "◆",
    0x9F: "•", 0xA7: "▪", 0xA8: "☐", 0xAB: "★", 0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑",
    0xE2: "↓", 0xE8: "→", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
}  # fmt: skip
_DINGBATS_2: Mapping[int, str] = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0xA3: "☐"}
_GREEK = (
    "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ",  # from 0x41 on
    "αβχδεφγηιϕκλμνοπθρστυϖωξψζ",  # from 0x61 on
)
_SIGNS: Mapping[int, str] = {  # Symbol
    0x22: "∀", 0x24: "∃", 0x27: "∋", 0x2A: "∗", 0x2D: "−", 0x40: "≅", 0x5C: "∴", 0x5E: "⊥",
    0xA2: "′", 0xA3: "≤", 0xA4: "⁄", 0xA5: "∞", 0xAB: "↔", 0xAC: "←", 0xAD: "↑", 0xAE: "→",
    0xAF: "↓", 0xB0: "°", 0xB1: "±", 0xB2: "″", 0xB3: "≥", 0xB4: "×", 0xB5: "∝", 0xB6: "∂",
    0xB7: "•", 0xB8: "÷", 0xB9: "≠", 0xBA: "≡", 0xBB: "≈", 0xBC: "…", 0xC5: "⊕", 0xC6: "∅",
    0xC7: "∩", 0xC8: "∪", 0xC9: "⊃", 0xCC: "⊂", 0xCE: "∈", 0xCF: "∉", 0xD0: "∠", 0xD1: "∇",
    0xD5: "∏", 0xD6: "√", 0xD9: "∧", 0xDA: "∨", 0xDE: "⇒", 0xE5: "∑", 0xF2: "∫",
}  # fmt: skip


def symbol(code: str, font: str) -> str:
    """The character, or nothing where only the font knows what it looks like."""
    try:
        point = int(code[:6], 16)
    except ValueError:
        return ""
    if not _PRIVATE <= point < _PRIVATE + 256:
        return chr(point) if 0x20 <= point < 0xD800 else ""
    point -= _PRIVATE
    name = font.lower()
    if name.startswith("wingdings"):
        table = _DINGBATS_2 if name.endswith("2") else _DINGBATS
        return table.get(point, "")
    return _SIGNS.get(point) or _letter(point)


def _letter(point: int) -> str:
    for start, letters in zip((0x41, 0x61), _GREEK, strict=True):
        if start <= point < start + len(letters):
            return letters[point - start]
    return chr(point) if 0x20 <= point < 0x7F else ""

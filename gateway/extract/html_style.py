"""What inline styles and a page's simple rules hide from the people who look at it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

Declarations = Mapping[str, tuple[str, bool]]  # property → (value, is it `!important`)

MAX_SHEET = 2_000_000  # characters of rules that are looked at
MAX_RULES_A_KEY = 20
MAX_CLASSES = 40
_RELEVANT = re.compile(
    r"display|visibility|opacity|font|color|background|position|left|right|top|bottom|text-indent"
    r"|margin|clip|overflow|height|width|transform"
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})[ \t\n]?")
_SELECTOR = re.compile(r"([a-z][a-z0-9]*)?((?:[.#][\w-]+)*)", re.ASCII | re.IGNORECASE)
_BRACE = re.compile(r"[{}]")
_LENGTH = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([a-z%]*)")
_PIXELS = {"em": 16, "rem": 16, "pt": 1.33, "in": 96, "cm": 38, "mm": 3.8, "vw": 13, "vh": 8}
_FAR = 900  # pixels: beyond every screen's edge
_ZERO_FONT = re.compile(r"(?:^|\s)0(?:px|pt|em|rem|%)?(?:/|\s)")
_NOTHING_CLIPPED_IN = re.compile(r"inset\(\s*(?:50|100)%|circle\(\s*0|rect\([\s,01px]*\)")
_MOVED_AWAY = re.compile(r"translate[xy]?\([^)]*-\d{4,}|scale[xy]?\(\s*0(?:\.0+)?\s*[,)]")


def declarations(text: str) -> dict[str, tuple[str, bool]]:
    """The properties of one rule or `style` attribute, names and values in small letters."""
    text = _COMMENT.sub("", text)
    if "\\" in text:
        text = _ESCAPE.sub(lambda match: chr(min(int(match[1], 16), 0x7F)), text)
    found: dict[str, tuple[str, bool]] = {}
    for part in text.lower().split(";"):
        name, colon, value = part.partition(":")
        name = name.strip()
        if colon and _RELEVANT.search(name):
            value, mark, _ = value.partition("!")
            found[name] = (value.strip(), bool(mark))
    return found


def merged(parts: Iterable[Declarations]) -> dict[str, str]:
    """The value that holds for each property, the weakest part coming first."""
    held: dict[str, tuple[str, bool]] = {}
    for part in parts:
        for name, (value, is_important) in part.items():
            if is_important or not held.get(name, ("", False))[1]:
                held[name] = (value, is_important)
    return {name: value for name, (value, _) in held.items()}


# ---------------------------------------------------------------- style sheets


@dataclass(frozen=True, slots=True)
class _Rule:
    """A selector of a tag, classes and ids of one element, and what it declares."""

    weight: tuple[int, int, int]  # ids, classes and whether there is a tag
    order: int
    tag: str
    names: frozenset[str]  # with their dot or hash
    declared: Declarations


@dataclass(slots=True)
class Sheet:
    """The rules of a page's own style elements that can hide something."""

    _rules: dict[str, list[_Rule]] = field(default_factory=dict)
    _count: int = 0

    def add(self, css: str) -> None:
        """Take the rules in; those for some media or some state of an element are left out."""
        for selectors, body in _rules_in(css[:MAX_SHEET]):
            declared = declarations(body)
            if declared:
                for selector in selectors.split(","):
                    self._add(selector.strip(), declared)

    def _add(self, selector: str, declared: Declarations) -> None:
        match = _SELECTOR.fullmatch(selector)
        if not selector or match is None:
            return
        names = re.findall(r"[.#][\w-]+", match[2])
        tag = (match[1] or "").lower()
        ids = sum(name.startswith("#") for name in names)
        weight = (ids, len(names) - ids, int(bool(tag)))
        self._count += 1
        rules = self._rules.setdefault(names[-1] if names else tag, [])
        rules.append(_Rule(weight, self._count, tag, frozenset(names), declared))
        del rules[:-MAX_RULES_A_KEY]

    def declared_for(self, tag: str, attributes: Mapping[str, str]) -> Iterator[Declarations]:
        """What the rules say of an element, the weakest first."""
        if not self._rules:
            return
        classes = attributes.get("class", "").split()[:MAX_CLASSES]
        names = {*(f".{name}" for name in classes), f"#{attributes.get('id', '')}"}
        found = (rule for key in (tag, *names) for rule in self._rules.get(key, ()))
        fitting = (rule for rule in found if rule.names <= names and rule.tag in {"", tag})
        for rule in sorted(fitting, key=lambda rule: (rule.weight, rule.order)):
            yield rule.declared


def _rules_in(css: str) -> Iterator[tuple[str, str]]:
    css = _COMMENT.sub("", css)
    at = 0
    while (start := css.find("{", at)) >= 0:
        selectors = css[at:start].rpartition(";")[2].strip()
        if selectors.startswith("@"):
            at = _block_end(css, start)
            continue
        end = css.find("}", start)
        end = len(css) if end < 0 else end
        yield selectors, css[start + 1 : end]
        at = end + 1


def _block_end(css: str, start: int) -> int:
    depth = 0
    for brace in _BRACE.finditer(css, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.end()
    return len(css)


# ---------------------------------------------------------------- what is not seen


def hides(style: Mapping[str, str]) -> bool:
    """Whether an element is taken off the page with all that is in it."""
    if style.get("display") == "none" or style.get("content-visibility") == "hidden":
        return True
    opacity = pixels(style.get("opacity", ""))
    if opacity is not None and opacity < 0.02:
        return True
    return _is_away(style) or _is_cut_to_nothing(style)


def _is_away(style: Mapping[str, str]) -> bool:
    names = ["text-indent", "margin-left", "margin-top"]
    if style.get("position") in {"absolute", "fixed", "relative"}:
        names += ["left", "top", "right", "bottom"]
    moved = (pixels(style.get(name, "")) for name in names)
    if any(length is not None and length <= -_FAR for length in moved):
        return True
    return _MOVED_AWAY.search(style.get("transform", "")) is not None


def _is_cut_to_nothing(style: Mapping[str, str]) -> bool:
    if _NOTHING_CLIPPED_IN.search(f"{style.get('clip', '')} {style.get('clip-path', '')}"):
        return True
    if not any(style.get(name) in {"hidden", "clip"} for name in ("overflow", "overflow-y")):
        return False
    sides = (pixels(style.get(name, "")) for name in ("height", "max-height", "width", "max-width"))
    return any(length is not None and length <= 1 for length in sides)


def pixels(value: str) -> float | None:
    """A length, roughly; None for what is none."""
    match = _LENGTH.fullmatch(value)
    return float(match[1]) * _PIXELS.get(match[2], 1) if match else None


def is_tiny(style: Mapping[str, str], *, inherited: bool) -> bool:
    """Whether letters have no size."""
    size = pixels(style.get("font-size", ""))
    if size is not None:
        is_relative = style["font-size"].endswith(("em", "%")) and "rem" not in style["font-size"]
        return size < 1 or (inherited and is_relative)
    return _ZERO_FONT.search(style.get("font", "")) is not None or inherited

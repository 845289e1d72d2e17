"""Which elements of a page its readers see, and which of them are no text of the page."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gateway.extract.html_colors import BLACK, CLEAR, WHITE, Paint, first_paint, is_like, paint
from gateway.extract.html_style import is_tiny

LINK_COLOR = (0, 0, 238)
# around the text on every page, or no text at all; rt is furigana, as in Word left out;
# del and s stand for what holds no more
_DROPPED = frozenset(
    {
        "script", "noscript", "template", "svg", "nav", "footer", "aside", "iframe", "object",
        "embed", "applet", "canvas", "audio", "video", "noframes", "noembed", "select", "option",
        "optgroup", "datalist", "textarea", "input", "progress", "meter", "rt", "rp", "rtc",
        "del", "s", "strike", "annotation", "annotation-xml", "menu", "map", "frame",
    }
)  # fmt: skip
_DROPPED_ROLES = frozenset(
    {"navigation", "menu", "menubar", "search", "contentinfo", "complementary", "toolbar"}
)
_MAY_BE_MENU = frozenset({"div", "ul", "ol", "section", "center"})
_MENU_NAME = re.compile(
    r"(?:^|\s)(?:(?:main|top|site|global|page|sub|side)?[-_]?(?:nav|navbar|navigation|menu)"
    r"|side-?bar|breadcrumbs?|pagination|skip-?links?|(?:site|page)?[-_]?footer)(?:$|\s)",
    re.IGNORECASE,
)
_CONSENT = re.compile(
    r"cookie[-_]?(?:banner|consent|notice|bar|popup|dialog|law|message|alert)"
    r"|onetrust|cookiebot|(?:^|\s)cc-window",
    re.IGNORECASE,
)
_NAME_CHARS = 500  # of a class attribute


@dataclass(frozen=True, slots=True)
class Look:
    """What text inherits from the elements around it."""

    color: Paint = BLACK
    background: Paint = WHITE
    is_invisible: bool = False
    is_tiny: bool = False
    is_seen: bool = True  # whether text of this look can be read


def look_of(outer: Look, tag: str, attributes: Mapping[str, str], style: Mapping[str, str]) -> Look:
    """The look of an element within one that looks like `outer`."""
    if not style and tag != "a" and _ATTRIBUTES.isdisjoint(attributes):
        return outer
    visibility = style.get("visibility", "")
    color = _color(outer, tag, attributes, style)
    background = _background(outer, attributes, style)
    is_hidden = visibility in {"hidden", "collapse"}
    is_invisible = is_hidden or (outer.is_invisible and visibility != "visible")
    is_small = is_tiny(style, inherited=outer.is_tiny)
    is_seen = not (is_invisible or is_small or is_like(color, background))
    return Look(color, background, is_invisible, is_small, is_seen)


def _color(outer: Look, tag: str, attributes: Mapping[str, str], style: Mapping[str, str]) -> Paint:
    if any("text" in style.get(name, "") for name in _CLIPS):
        return BLACK  # letters are cut out of a painted background
    value = style.get("color") or {
        "font": attributes.get("color"),
        "body": attributes.get("text"),
    }.get(tag)
    if not value:
        return LINK_COLOR if tag == "a" and "href" in attributes else outer.color
    if value in {"inherit", "currentcolor", "unset"}:
        return outer.color
    return paint(value.strip().lower())


_ATTRIBUTES = frozenset({"color", "text", "bgcolor", "background"})
_COLOR_ATTRIBUTES = {"font": "color", "body": "text"}
_CLIPS = ("background-clip", "-webkit-background-clip")


def _background(outer: Look, attributes: Mapping[str, str], style: Mapping[str, str]) -> Paint:
    value = style.get("background-color") or style.get("background")
    if "background" in attributes or "image" in style.get("background-image", ""):
        return "other"
    if value is None and "bgcolor" in attributes:
        value = attributes["bgcolor"].strip().lower()
    found = first_paint(value) if value else CLEAR
    return outer.background if found == CLEAR else found


def is_dropped(tag: str, attributes: Mapping[str, str], *, is_worded: bool) -> bool:
    """Not a part of the text; `is_worded`: within a heading or the like."""
    if tag in _DROPPED or (tag == "dialog" and "open" not in attributes):
        return True
    if tag == "button" and not is_worded:  # in a heading it folds what follows
        return True
    return bool(attributes) and _says_so(attributes)


def _says_so(attributes: Mapping[str, str]) -> bool:
    return (
        "hidden" in attributes
        or "popover" in attributes
        or attributes.get("aria-hidden", "").lower() == "true"
        or attributes.get("role", "").lower() in _DROPPED_ROLES
        or _CONSENT.search(_names(attributes)) is not None
    )


def may_be_menu(tag: str, attributes: Mapping[str, str]) -> bool:
    """Named like a menu; whether it is one, the share of links in its text tells."""
    return tag in _MAY_BE_MENU and _MENU_NAME.search(_names(attributes)) is not None


def _names(attributes: Mapping[str, str]) -> str:
    names = f"{attributes.get('id', '')} {attributes.get('class', '')}"
    return names[:_NAME_CHARS]

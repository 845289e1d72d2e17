"""Takes a page's tags as the parser meets them and keeps what the page's readers see."""

from gateway.core.documents import Block
from gateway.extract.html_elements import Attributes, Elements, Frame
from gateway.extract.html_seen import Look, is_dropped, look_of
from gateway.extract.html_style import Sheet, declarations, hides, merged

_WHOLE = frozenset({"html", "body"})  # hidden until a script has run: all of a page or nothing
_LOOKS = frozenset({"color", "background", "background-color"})


class Page:
    """A parser's target: start, data, end, close."""

    def __init__(self) -> None:
        self._title = ""
        self._elements = Elements()
        self._frames = [Frame(Look())]
        self._sheet = Sheet()
        self._left_out = 0  # elements open, from the outermost one that is dropped
        self._apart: list[str] | None = None  # text of a title or style element

    def start(self, tag: str, attributes: Attributes) -> None:
        """An element begins."""
        if self._left_out:
            self._left_out += 1
            return
        frame = Frame(self._frames[-1].look)
        self._frames.append(frame)
        if tag in {"title", "style"}:
            self._apart, self._left_out = [], 1
            is_shown = "print" not in attributes.get("media", "")
            frame.at_end.append(lambda: self._end_apart(tag, is_shown=is_shown))
            return
        style = self._style(tag, attributes)
        if self._is_hidden(tag, attributes, style):
            self._left_out = 1
            return
        frame.look = look_of(frame.look, tag, attributes, style)
        self._elements.open(tag, attributes, frame, style.get("display", ""))

    def data(self, text: str) -> None:
        """Text of the innermost element."""
        if self._apart is not None:
            self._apart.append(text)
        elif not self._left_out:
            self._elements.add(text, self._frames[-1].look)

    def end(self, _tag: str) -> None:
        """The innermost element ends."""
        if self._left_out > 1:
            self._left_out -= 1
            return
        self._left_out = 0
        self._elements.close(self._frames.pop())

    def close(self) -> tuple[str, list[Block]]:
        """(title, blocks)."""
        while len(self._frames) > 1:
            self.end("")
        flow = self._elements.flow
        flow.flush()
        return " ".join(self._title.split()), flow.blocks

    def _end_apart(self, tag: str, *, is_shown: bool) -> None:
        text = "".join(self._apart or ())
        self._apart = None
        if tag == "title":
            self._title = self._title or text
        elif is_shown:
            self._sheet.add(text)

    def _style(self, tag: str, attributes: Attributes) -> dict[str, str]:
        parts = list(self._sheet.declared_for(tag, attributes))
        if "style" in attributes:
            parts.append(declarations(attributes["style"]))
        if not parts:
            return {}
        style = merged(parts)
        return {name: style[name] for name in style if name in _LOOKS} if tag in _WHOLE else style

    def _is_hidden(self, tag: str, attributes: Attributes, style: Attributes) -> bool:
        if tag in _WHOLE:
            return False
        is_worded = self._elements.is_worded
        return is_dropped(tag, attributes, is_worded=is_worded) or (bool(style) and hides(style))

"""Text of a page between the borders of its blocks, with white space as a browser shows it."""

import re
from dataclasses import dataclass, field

from gateway.core.documents import Block
from gateway.core.passages import Locator

HERE = Locator()
BREAK = "\u2028"  # stands for <br> until white space is dealt with
_WIDE = "\u2e80-\u312f\u3190-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\U00020000-\U0003ffff"
# a line end between two characters of Chinese or Japanese is none (CSS Text, segment breaks)
_WIDE_BREAK = re.compile(rf"(?<=[{_WIDE}])[ \t\r\f]*\n[ \t\r\n\f]*(?=[{_WIDE}])")
_SPACE = re.compile(r"[ \t\r\n\f]+")
_AROUND_BREAK = re.compile(f" ?{BREAK} ?")


@dataclass(slots=True)
class Flow:
    """Collects pieces of text into blocks."""

    blocks: list[Block] = field(default_factory=list)
    level: int | None = None  # of the heading that is open
    marker: str = ""  # of a list's item, put before its first text
    is_kept: bool = False  # white space, as in <pre>
    _line: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """More of the line."""
        self._line.append(text)

    def flush(self) -> None:
        """End the block that is open, if there is text in it."""
        if not self._line:
            return
        text = "".join(self._line)
        self._line.clear()
        text = _kept(text) if self.is_kept else _collapsed(text)
        if not text.strip():
            return
        if self.level is not None:
            self.blocks.append(Block(" ".join(text.split()), HERE, heading_level=self.level))
        else:
            self.blocks.append(Block(self.marker + text, HERE))
        self.marker = ""


def _kept(text: str) -> str:
    return text.replace(BREAK, "\n").strip("\r\n").rstrip()


def _collapsed(text: str) -> str:
    text = _SPACE.sub(" ", _WIDE_BREAK.sub("", text))
    return _AROUND_BREAK.sub(BREAK, text).strip(f" {BREAK}").replace(BREAK, "\n")

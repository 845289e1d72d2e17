"""Rich Text: what is shown of it, each run in the code page of its font."""

import re
from collections.abc import Callable
from dataclasses import replace

from gateway.core.documents import Block, SourceWarning
from gateway.extract.reading import Document, ReadOptions, bounded, refuse
from gateway.extract.rtf_charsets import by_page, character
from gateway.extract.rtf_flow import Asides, Flow
from gateway.extract.rtf_tables import State, Tables, outline_level
from gateway.extract.rtf_words import (
    CHARACTERS,
    HEADERS,
    INNER,
    PARAGRAPH_ENDS,
    is_skipped,
)

MEDIA_TYPE = "application/rtf"
MAX_DEPTH = 1_000
_TOKEN = re.compile(
    r"\\(?:([a-zA-Z]{1,40})(-?\d{1,10})? ?|'([0-9a-fA-F]{2})|(.))|([{}])|([^\\{}\r\n]+)|[\r\n]+",
    re.DOTALL,
)


def read_rtf(data: bytes, options: ReadOptions) -> Document:
    """The document with all changes accepted; comments are left out, hidden text unless wished."""
    reader = _Reader(include_hidden=options.include_hidden)
    blocks = bounded(reader.read(data.decode("latin-1")), options.max_chars)
    warnings = (SourceWarning("hidden_content_skipped"),) if reader.has_skipped else ()
    return Document(blocks, MEDIA_TYPE, warnings, title=" ".join(reader.title.split()))


class _Reader:
    """Walks the control words with a stack of states."""

    def __init__(self, *, include_hidden: bool) -> None:
        self.title = ""
        self.has_skipped = False  # hidden text
        self._include_hidden = include_hidden
        self._state = State()
        self._stack: list[State] = []
        self._flow = Flow()
        self._tables = Tables()
        self._run = bytearray()
        self._run_font = -1
        self._to_skip = 0  # characters after \u
        self._is_first = False  # in its group
        self._is_starred = False
        self._level: int | None = None
        self._is_in_table = False
        self._asides = Asides()
        self._settings = self._obeyed()

    def _obeyed(self) -> dict[str, Callable[[int | None], None]]:
        return {
            "f": self._font,
            "fcharset": self._font_charset,
            "cpg": self._font_page,
            "s": self._style,
            "outlinelevel": self._outline_level,
            "ansicpg": lambda number: self._set_page(by_page(number or 0)),
            "mac": lambda _: self._set_page(by_page(10_000)),
            "pc": lambda _: self._set_page(by_page(437)),
            "pca": lambda _: self._set_page(by_page(850)),
            "deff": self._set_default_font,
            "uc": self._set_fallback,
            "u": self._unicode,
            "v": self._hide,
            "deleted": self._delete,
            "mvf": self._delete,
            "plain": self._plain,
            "pard": self._new_paragraph,
            "intbl": lambda _: self._in_table(1),
            "itap": self._in_table,
            "cell": lambda _: self._end_of(Flow.end_cell),
            "row": lambda _: self._end_of(Flow.end_row),
            "nestcell": lambda _: self._end_of(Flow.end_inner_cell),
            "nestrow": lambda _: self._end_of(Flow.end_inner_row),
        }

    def read(self, text: str) -> list[Block]:
        """The blocks of the whole file."""
        at = 0
        while match := _TOKEN.match(text, at):
            at = match.end()
            if match[1] == "bin":
                at += max(0, int(match[2] or 0))
            elif match[5]:
                self._brace(match[5])
                if not self._stack:
                    break
            else:
                self._token(match)
        while self._stack:
            self._brace("}")
        self._flush()
        return self._flow.finish()

    def _token(self, match: re.Match[str]) -> None:
        word, number, code, symbol, _, run = match.groups()
        if run:
            self._bytes(run.encode("latin-1"))
        elif code:
            self._bytes(bytes((int(code, 16),)))
        elif symbol == "*":
            self._flush()
            self._is_starred = True
        elif word or symbol:
            self._word(word or symbol, int(number) if number else None)

    # ------------------------------------------------------------ groups and bytes

    def _brace(self, brace: str) -> None:
        self._to_skip = 0
        self._flush()
        if brace == "{":
            if len(self._stack) >= MAX_DEPTH:
                raise refuse("document_limits", "groups are nested too deeply")
            self._stack.append(self._state)
            self._state = replace(self._state, at_end=None)
            self._is_first = True
            return
        if not self._stack:
            return
        ended, self._state = self._state, self._stack.pop()
        if ended.at_end is not None:
            ended.at_end()
        if ended.place == "styles":
            self._tables.end_style()
        self._is_first = self._is_starred = False

    def _bytes(self, run: bytes) -> None:
        self._is_first = False
        if self._to_skip:
            skipped = min(self._to_skip, len(run))
            self._to_skip -= skipped
            run = run[skipped:]
        state = self._state
        if state.is_skipped or state.is_deleted or state.place == "fonts":
            return
        if state.is_hidden:
            self.has_skipped = self.has_skipped or not run.isspace()
            return
        if state.font != self._run_font:
            self._flush()
            self._run_font = state.font
        self._run += run

    def _flush(self) -> None:
        if self._run:
            text = self._tables.decoded(bytes(self._run), self._run_font)
            self._run.clear()
            self._text(text)

    def _text(self, text: str) -> None:
        """Characters for where they belong."""
        state = self._state
        if state.place == "title":
            self.title += text
        elif state.place == "styles":
            self._tables.style_name += text
        elif state.is_hidden:
            self.has_skipped = self.has_skipped or not state.is_skipped
        elif not (state.is_skipped or state.is_deleted or state.place):
            self._flow.add(text)

    # ------------------------------------------------------------ control words

    def _word(self, word: str, number: int | None) -> None:
        is_first, self._is_first = self._is_first, False
        is_starred, self._is_starred = self._is_starred, False
        if self._to_skip and word != "u":
            self._to_skip -= 1
            if word in CHARACTERS:
                return
        if (is_first or is_starred) and self._destination(word, is_starred=is_starred):
            return
        if not self._state.is_skipped or word in {"u", "uc"}:
            self._obey(word, number)

    def _obey(self, word: str, number: int | None) -> None:
        if word in CHARACTERS:
            self._character(word)
        elif word in PARAGRAPH_ENDS:
            self._flush()
            if not self._state.place:
                self._flow.end_paragraph(level=self._level, is_in_table=self._is_in_table)
        elif word in self._settings:
            self._settings[word](number)

    def _character(self, word: str) -> None:
        if word in "{}\\":  # may be the second byte of a character
            self._bytes(word.encode())
        else:
            self._flush()
            self._text(CHARACTERS[word])

    def _destination(self, word: str, *, is_starred: bool) -> bool:
        """Whether the word tells what its group is."""
        state = self._state
        if word == state.inner:
            state.is_skipped, state.inner = False, ""
            state.place = "title" if word == "title" else ""
            if word == "shptxt":
                self._aside(self._flow.add_after)
        elif is_skipped(word, is_starred=is_starred):
            state.is_skipped, state.inner = True, ""
        elif word in INNER and not state.is_skipped:
            state.is_skipped, state.inner = True, INNER[word]
        elif word in {"fonttbl", "stylesheet"}:
            state.place = "fonts" if word == "fonttbl" else "styles"
        elif word == "footnote" and not state.is_skipped:
            self._aside(lambda blocks: self._asides.note(self._flow, blocks))
        elif word in HEADERS and not state.is_skipped:
            self._aside(lambda blocks: self._asides.edge(self._flow, blocks))
        else:
            return False
        return True

    def _aside(self, take: Callable[[list[Block]], None]) -> None:
        """Read the group into a flow of its own, and hand its blocks over at its end."""
        self._flush()
        outer, was_in_table, level = self._flow, self._is_in_table, self._level
        self._flow, self._is_in_table, self._level = Flow(), False, None

        def end() -> None:
            blocks = self._flow.finish()
            self._flow, self._is_in_table, self._level = outer, was_in_table, level
            take(blocks)

        self._state.at_end = end

    # ------------------------------------------------------------ settings

    def _font(self, number: int | None) -> None:
        if self._state.place == "fonts":
            self._tables.named = number or 0
        else:
            self._state.font = number or 0

    def _font_charset(self, number: int | None) -> None:
        if self._state.place == "fonts":
            self._tables.add_charset(number or 0)

    def _font_page(self, number: int | None) -> None:
        if self._state.place == "fonts":
            self._tables.add_page(number or 0)

    def _style(self, number: int | None) -> None:
        if self._state.place == "styles":
            self._tables.named = number or 0
        else:
            self._level = self._tables.level_of(number or 0)

    def _outline_level(self, number: int | None) -> None:
        if self._state.place == "styles":
            self._tables.add_level(number)
        else:
            self._level = outline_level(number)

    def _set_page(self, codec: str) -> None:
        self._tables.page = codec

    def _set_default_font(self, number: int | None) -> None:
        self._tables.default_font = self._state.font = number or 0

    def _set_fallback(self, number: int | None) -> None:
        self._state.fallback = max(0, 1 if number is None else number)

    def _unicode(self, number: int | None) -> None:
        self._flush()
        self._text(character((number or 0) & 0xFFFF))
        self._to_skip = self._state.fallback

    def _hide(self, number: int | None) -> None:
        self._flush()
        self._state.is_hidden = number != 0 and not self._include_hidden

    def _delete(self, number: int | None) -> None:
        self._flush()
        self._state.is_deleted = number != 0

    def _plain(self, _number: int | None) -> None:
        self._flush()
        self._state.font = self._tables.default_font
        self._state.is_hidden = self._state.is_deleted = False

    def _new_paragraph(self, _number: int | None) -> None:
        self._level, self._is_in_table = None, False

    def _in_table(self, number: int | None) -> None:
        self._is_in_table = number != 0

    def _end_of(self, end: Callable[[Flow], None]) -> None:
        self._flush()
        if not self._state.place:
            end(self._flow)

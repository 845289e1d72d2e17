"""Reads a workbook's large parts as a stream: no tree, no DTD, no entity, bounded depth."""

from collections.abc import Callable, Mapping
from pyexpat import ExpatError, ParserCreate

from gateway.extract.reading import refuse
from gateway.extract.xml import MAX_DEPTH

SPACES = (
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://purl.oclc.org/ooxml/spreadsheetml/main",  # the strict form
)
_BUFFER_BYTES = 1 << 16
Attributes = Mapping[str, str]
OnStart = Callable[[Attributes], object]
OnEnd = Callable[[str], object]  # with the name space before the name


class Stream:
    """Calls a method for each element that is known; what stands in others is passed over.

    Ends of known elements are told only on demand: a call costs as much as reading a cell.
    """

    def __init__(self, on_start: Mapping[str, OnStart], on_text: Callable[[str], object]) -> None:
        self._on_start = {
            f"{space} {name}": call for space in SPACES for name, call in on_start.items()
        }
        self._on_text = on_text
        self._on_end: OnEnd | None = None
        self._depth = 0  # within an element that is passed over
        self._parser = ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.buffer_size = _BUFFER_BYTES
        self._parser.StartDoctypeDeclHandler = refuse_doctype
        self._parser.StartElementHandler = self._start
        self._parser.CharacterDataHandler = on_text

    def read(self, data: bytes) -> None:
        """ExtractionError: `document_limits`, or `extract_crashed` if it is no XML."""
        try:
            self._parser.Parse(data, True)  # noqa: FBT003 - it takes no name
        except (ExpatError, ValueError, LookupError) as error:
            raise refuse("extract_crashed", "a part is not well-formed") from error

    def watch_ends(self, call: OnEnd | None) -> None:
        """From here on tell the ends of known elements, or no more."""
        self._on_end = call
        self._parser.EndElementHandler = call

    def _start(self, name: str, attributes: Attributes) -> None:
        call = self._on_start.get(name)
        if call is not None:
            call(attributes)
        else:
            self._depth = 1
            self._parser.StartElementHandler = self._deeper
            self._parser.EndElementHandler = self._higher
            self._parser.CharacterDataHandler = None

    def _deeper(self, _name: str, _attributes: Attributes) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise refuse("document_limits", "elements are nested too deeply")

    def _higher(self, _name: str) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._parser.EndElementHandler = self._on_end
            self._parser.StartElementHandler = self._start
            self._parser.CharacterDataHandler = self._on_text


def refuse_doctype(*_: object) -> None:
    raise refuse("document_limits", "a document type declaration")

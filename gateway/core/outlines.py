"""The section tree of a document as a reader meets it: title, summary and pages."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SectionHit:
    """A section of a source's current revision.

    `path`: titles from the outermost section down to this one, `title` the last; a document
    without headings has sections too, named by its title, its sheet or a range of its pages.
    `summary`: at most 200 characters, untrusted text; "" only where nothing of the
    section may be used. Pages count from 1, sections within it included; None where the format
    has no pages.
    """

    source_id: str
    ordinal: int  # in reading order; what stands before the first heading counts below 0
    title: str
    summary: str
    path: tuple[str, ...] = ()
    level: int = 1
    first_page: int | None = None
    last_page: int | None = None
    summary_by: str = ""  # the model that wrote it; "": the document's own sentences

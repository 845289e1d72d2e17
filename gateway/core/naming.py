"""Finding people by the name they show, without ever listing them (FEATURES A27)."""

import unicodedata

LEAST_CHARS = 2  # code points, after folding and trimming
MOST_PEOPLE = 20


def is_searchable(query: str) -> bool:
    """Long enough that it looks for somebody."""
    return len(_trimmed(query)) >= LEAST_CHARS


def matches(query: str, name: str) -> bool:
    """The name contains the query, whatever the width and case of the letters."""
    return _trimmed(query).casefold() in _trimmed(name).casefold()


def _trimmed(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip()

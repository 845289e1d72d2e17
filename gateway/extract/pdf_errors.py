"""What the PDF library raises for a file that is broken, and the code for it."""

import pymupdf

from gateway.extract.reading import refuse

BROKEN = (RuntimeError, ValueError, IndexError, pymupdf.mupdf.FzErrorBase)


def named(error: Exception) -> Exception:
    """The library reports a failed allocation like any other fault."""
    if "alloc" in str(error):
        return MemoryError(str(error))
    return refuse("extract_crashed", repr(error))

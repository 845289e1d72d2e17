"""Pictures of a document's pages."""

from typing import Protocol

DPI = 144  # what a page is drawn at where nobody asks for another


class PageImages(Protocol):
    """Pages of stored originals as PNG, drawn in the sandbox when they are asked for.

    It stands *below* permission: the caller has decided that this reader may read the source whose
    original it asks for, at this very request. No surface takes a hash from outside.
    """

    async def count(self, sha256: str) -> int:
        """Pages of a stored PDF, or frames of a stored image.

        NotFoundError: there is no such original (any more). ExtractionError: `unsupported_format`
        for a file without pages, `encrypted`, `extract_crashed`, `extract_timeout`, `extract_oom`,
        `document_limits`, `sandbox_unavailable`. GatewayError `pages_busy`: ask again later.
        """
        ...

    async def png(self, sha256: str, page: int, *, dpi: int = DPI) -> bytes:
        """Page `page`, from 1, as a reader of the file sees it.

        `dpi` is clamped to 36..200; a large page comes coarser, at most 8 million pixels and 8 MiB.
        Raises as `count`; NotFoundError also for a page that is not there.
        """
        ...

    async def forget(self, sha256: str) -> None:
        """Remove the kept pictures of an original that goes; harmless where there are none."""
        ...

"""How much the library holds and how a file is read: `[knowledge]` of config.toml (A29)."""

from dataclasses import dataclass

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class KnowledgeLimits:
    """Quotas of the document library; the names are the keys of the configuration file."""

    max_source_bytes: int = 100 * MEBIBYTE
    max_source_chars: int = 500_000
    max_sources_per_collection: int = 300
    max_collections: int = 200
    max_chunks_total: int = 200_000
    max_collection_bytes: int = 2048 * MEBIBYTE
    max_total_bytes: int = 20 * 1024 * MEBIBYTE
    max_vector_rows: int = 200_000  # passages, not vectors (DESIGN section 8.10)
    batch_size: int = 16  # passages embedded at a time
    extract_timeout_secs: int = 180
    extract_memory_mb: int = 2048
    extract_when_unavailable: str = "refuse"  # or "run_unsandboxed"
    index_hidden: bool = False  # sheets, rows and slides that their author hid
    ocr: bool = False  # read scanned pages and image files, with the optional package
    ocr_page_timeout_secs: int = 60
    ocr_timeout_secs: int = 1_800  # for all pages of one document
    page_cache_mb: int = 256  # of pictures of pages, kept until others need the room
    vision_pages: int = 200  # of one document that a vision model is shown
    vision_page_timeout_secs: int = 60
    vision_timeout_secs: int = 3_600  # for all pages of one document

    @property
    def may_run_unsandboxed(self) -> bool:
        """The operator accepted reading files without the sandbox; the time limit stays."""
        return self.extract_when_unavailable == "run_unsandboxed"


# (least, greatest); a value outside is clamped
RANGES: dict[str, tuple[int, int]] = {
    "max_source_bytes": (MEBIBYTE, 200 * MEBIBYTE),
    "max_source_chars": (1_000, 20_000_000),
    "max_sources_per_collection": (1, 100_000),
    "max_collections": (1, 10_000),
    "max_chunks_total": (1, 10_000_000),
    "max_collection_bytes": (MEBIBYTE, 1 << 50),
    "max_total_bytes": (MEBIBYTE, 1 << 50),
    "max_vector_rows": (0, 10_000_000),
    "batch_size": (1, 64),
    "extract_timeout_secs": (1, 3_600),
    "extract_memory_mb": (256, 65_536),
    "ocr_page_timeout_secs": (1, 3_600),
    "ocr_timeout_secs": (1, 86_400),
    "page_cache_mb": (0, 65_536),
    "vision_pages": (1, 20_000),
    "vision_page_timeout_secs": (1, 3_600),
    "vision_timeout_secs": (1, 86_400),
}

"""The documents of an evaluation: all files of one or several folders, and how gold names them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Document:
    """A file and its name in gold places.

    The name is the path within its folder; where several folders hold the same one, the path of
    the folder as it was given comes before it.
    """

    path: Path
    name: str


def documents_of(folders: Sequence[Path]) -> tuple[Document, ...]:
    """All files but hidden ones, folder by folder, by name."""
    each = [(folder, path) for folder in dict.fromkeys(folders) for path in sorted(_files(folder))]
    count = Counter(path.relative_to(folder) for folder, path in each)
    return tuple(
        Document(path, (within if count[within] == 1 else path).as_posix())
        for folder, path in each
        for within in [path.relative_to(folder)]
    )


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not is_hidden:
            yield path

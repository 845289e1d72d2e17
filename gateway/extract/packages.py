"""Office packages: parts and the relationships that say which part is which."""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from gateway.extract.archives import Archive
from gateway.extract.xml import first_tag, parse_office

R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_USUAL = {
    "word/document.xml": "document",
    "ppt/presentation.xml": "presentation",
    "xl/workbook.xml": "workbook",
}


@dataclass(frozen=True, slots=True)
class Relation:
    """That one part uses another: `kind` is the last word of its type, as `slide`."""

    id: str
    kind: str
    target: str  # the part's name


class Package:
    """A container seen through its relationships, whatever names its writer gave the parts."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._relations: dict[str, Mapping[str, Relation]] = {}
        self.main = self._main()

    @property
    def main_tag(self) -> str:
        """What the main part is: `document`, `presentation`, `workbook` or something else."""
        tag = first_tag(self._archive.head(self.main))
        return tag if tag in _USUAL.values() else _USUAL.get(self.main, tag)

    def root(self, name: str, prepare: Callable[[bytes], bytes] = bytes) -> Any | None:
        """The part's root element with transitional names, or None."""
        data = self._archive.find(name)
        return None if data is None else parse_office(prepare(data))

    def relations(self, part: str) -> Mapping[str, Relation]:
        """By their ids, in the order of the file; none to places outside the container."""
        if part not in self._relations:
            self._relations[part] = {each.id: each for each in self._read_relations(part)}
        return self._relations[part]

    def related(self, part: str, kind: str) -> list[str]:
        """The names of the parts that `part` uses as `kind`, each once."""
        found = (each.target for each in self.relations(part).values() if each.kind == kind)
        return list(dict.fromkeys(found))

    def companion(
        self, part: str, kind: str, prepare: Callable[[bytes], bytes] = bytes
    ) -> Any | None:
        """The root of the one part that `part` uses as `kind`, or of the part usually named so."""
        usual = f"{posixpath.dirname(part)}/{kind}.xml"
        names = self.related(part, kind) if self.relations(part) else [usual]
        return self.root(names[0], prepare) if names else None

    @property
    def names(self) -> frozenset[str]:
        return self._archive.names

    def _main(self) -> str:
        named = self.related("", "officeDocument")
        return next((name for name in (*named, *_USUAL) if self._archive.head(name)), "")

    def _read_relations(self, part: str) -> Iterator[Relation]:
        folder, name = posixpath.split(part)
        root = self.root(posixpath.join(folder, "_rels", f"{name}.rels"))
        if root is None:
            return
        for each in root.iter(_RELATIONSHIP):
            if each.get("TargetMode") != "External":
                target = posixpath.join("/", folder, unquote(each.get("Target", "")))
                yield Relation(
                    id=each.get("Id", ""),
                    kind=each.get("Type", "").rpartition("/")[2],
                    target=posixpath.normpath(target).lstrip("/"),
                )

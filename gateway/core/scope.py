"""The scope rule: which collections one turn may read, and why (FEATURES A3 to A5)."""

from dataclasses import dataclass

from gateway.core.access import Audience


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one collection is, or is not, readable; `code` is a key of the catalogues."""

    collection_id: str
    is_readable: bool
    code: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """The collections one turn may read. Empty means nothing; nothing means everything.

    Only functions of this module build one (a test looks for other constructor calls).
    """

    collections: frozenset[str]
    audience: Audience
    is_direct: bool
    reasons: tuple[Reason, ...] = ()
    generation: int = 0

    def narrow(self, collections: frozenset[str]) -> "Scope":
        """Keep only what `collections` names as well; never adds."""
        return Scope(
            self.collections & collections,
            self.audience,
            self.is_direct,
            self.reasons,
            self.generation,
        )

    @property
    def is_empty(self) -> bool:
        """Nothing may be read."""
        return not self.collections

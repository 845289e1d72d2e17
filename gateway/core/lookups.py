"""A question to the library."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.core.audit import AccessEntry
from gateway.core.followups import Wording


@dataclass(frozen=True, slots=True)
class Lookup:
    """A question, its row of the access log, and what it may mean after what was said before."""

    query: str
    entry: AccessEntry
    wordings: Sequence[Wording] = ()

"""Rows of the access log and of the security audit (FEATURES A24)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

QUERY_KEPT_CHARS = 500
Detail = str | int | bool | None | Sequence[Mapping[str, str | None]]  # what JSON can hold
Details = Mapping[str, Detail]


class AccessAction(StrEnum):
    """What was done with documents."""

    SEARCH = "search"
    PASSAGE = "passage"
    LIST = "list"
    DOWNLOAD = "download"
    AUTO_INJECT = "auto_inject"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """One read of the library, or a refused one; never the text of a passage."""

    action: AccessAction
    at: datetime
    account_id: str | None = None
    agent_id: str | None = None
    channel: str | None = None
    sender: str | None = None
    turn_id: str | None = None
    query: str = ""  # first QUERY_KEPT_CHARS characters
    collections: tuple[str, ...] = ()  # readable at that moment
    results: tuple[str, ...] = ()  # passage, source or collection ids


@dataclass(frozen=True, slots=True)
class SecurityEvent:
    """A change of collections, grants, sources or accounts, for security_audit.jsonl."""

    event: str
    at: datetime
    actor: str
    details: Details

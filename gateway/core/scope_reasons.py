"""Why a collection is, or is not, readable in one turn (FEATURES F2)."""

from dataclasses import dataclass
from enum import StrEnum


class Why(StrEnum):
    """Codes of reasons; each is a key of the catalogue (`scope.toml`)."""

    # the whole turn reads nothing
    NO_IDENTITY = "scope.no_identity"
    UPSTREAM_UNKNOWN = "scope.upstream_unknown"
    NO_AGENT = "scope.no_agent"
    AGENT_ARCHIVED = "scope.agent_archived"
    ACCOUNT_INACTIVE = "scope.account_inactive"
    LINK_ENDED = "scope.link_ended"
    # this collection is not readable
    NOT_GRANTED_TO_AGENT = "scope.not_granted_to_agent"
    NOT_IN_AGENT_LIST = "scope.not_in_agent_list"
    NOT_GRANTED_TO_PERSON = "scope.not_granted_to_person"
    NOT_GRANTED_TO_CHANNEL = "scope.not_granted_to_channel"
    VISITOR_PUBLIC_ONLY = "scope.visitor_public_only"
    SYSTEM_INTERNAL_ONLY = "scope.system_internal_only"
    NOT_DIRECT = "scope.not_direct"
    # taken away from a scope later in the turn
    NOT_READABLE_AT_FIRST = "scope.not_readable_at_first"
    NOT_ASKED_FOR = "scope.not_asked_for"
    RESTRICTED_NOT_INJECTED = "scope.restricted_not_injected"
    # readable
    BY_ADMIN = "scope.readable_by_admin"
    BY_USER = "scope.readable_by_user_grant"
    BY_DEPARTMENT = "scope.readable_by_department_grant"
    BY_CHANNEL = "scope.readable_by_channel_grant"
    BY_AGENT = "scope.readable_by_agent_grant"

    @property
    def is_readable(self) -> bool:
        """The code says what allowed the collection, not what excluded it."""
        return self.value.startswith("scope.readable_")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one collection is, or is not, readable; `code` is a key of the catalogues.

    `detail` lists the grants that allowed it, `agent:a1, user:u1`: only ever the asker's own.
    """

    collection_id: str
    is_readable: bool
    code: str
    detail: str = ""

    def of(self, collection_id: str) -> "Reason":
        """The same of another collection."""
        return Reason(collection_id, self.is_readable, self.code, self.detail)


def reason(collection_id: str, why: Why, detail: str = "") -> Reason:
    """The only way to make one, so that code and outcome cannot disagree."""
    return Reason(collection_id, why.is_readable, why.value, detail)

"""What a collection may be called and said to be, and what a change of its settings changed."""

import dataclasses
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from gateway.core.access import Collection, EmbeddingPolicy, Sensitivity
from gateway.errors import InvalidRequestError

NAME_CHARS = 200
LABEL_CHARS = 200
DESCRIPTION_CHARS = 2_000
_BREAKS = frozenset({"Cc", "Zl", "Zp"})  # controls and line ends: a name is one line everywhere
_SETTINGS = ("name", "description", "sensitivity", "department", "embedding_policy", "parent_id")


@dataclass(frozen=True, slots=True)
class CollectionDraft:
    """A collection to be; a blank slug is made from the name. `parent_id`: by id or slug."""

    name: str
    slug: str = ""
    sensitivity: Sensitivity = Sensitivity.INTERNAL
    description: str = ""
    department: str = ""
    embedding_policy: EmbeddingPolicy = EmbeddingPolicy.ANY
    parent_id: str | None = None

    def collection(self, collection_id: str, slug: str) -> Collection:
        """The collection before the store gives it a number."""
        return Collection(
            collection_id,
            0,
            slug,
            self.name,
            self.sensitivity,
            self.description,
            self.department,
            self.embedding_policy,
            parent_id=self.parent_id,
        )


def checked_draft(draft: CollectionDraft) -> CollectionDraft:
    """The draft with its texts checked; InvalidRequestError names the wrong one."""
    return dataclasses.replace(
        draft,
        name=checked_name(draft.name),
        description=checked_text(draft.description),
        department=checked_label(draft.department),
    )


def checked_name(name: str) -> str:
    """One line of 1 to NAME_CHARS characters, without blanks around it."""
    if not name.strip() or len(name) > NAME_CHARS or not _is_one_line(name):
        raise InvalidRequestError("name", reason=f"name: one line, 1 to {NAME_CHARS} characters")
    return name.strip()


def checked_label(department: str) -> str:
    """One line of at most LABEL_CHARS characters."""
    if len(department) > LABEL_CHARS or not _is_one_line(department):
        reason = f"department: one line, up to {LABEL_CHARS} characters"
        raise InvalidRequestError("department", reason=reason)
    return department.strip()


def checked_text(description: str) -> str:
    """At most DESCRIPTION_CHARS characters."""
    if len(description) > DESCRIPTION_CHARS:
        reason = f"description: up to {DESCRIPTION_CHARS} characters"
        raise InvalidRequestError("description", reason=reason)
    return description.strip()


def _is_one_line(text: str) -> bool:
    return not any(unicodedata.category(char) in _BREAKS for char in text.strip())


def differences(before: Collection, after: Collection) -> tuple[Mapping[str, str | None], ...]:
    """Each changed setting with its old and new value, for the audit; a description's text is
    nobody's evidence and stays out.
    """
    changed = [key for key in _SETTINGS if getattr(before, key) != getattr(after, key)]
    return tuple(
        {"setting": key}
        if key == "description"
        else {"setting": key, "old": _told(getattr(before, key)), "new": _told(getattr(after, key))}
        for key in changed
    )


def _told(value: object) -> str | None:
    return None if value is None else str(value)

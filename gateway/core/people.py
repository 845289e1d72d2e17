"""What may be changed of a person's account, and by whom; the rules of names and labels."""

import dataclasses
import unicodedata
from dataclasses import dataclass

from gateway.core.access import Account, AccountRole

NAME_CHARS = 100  # of a display name or a department
LABEL_CHARS = 100  # of a token's label
OWN_FIELDS = frozenset({"language"})  # what a person without a right over people may set
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True, slots=True)
class AccountChange:
    """New values of an account; None leaves a field as it is. `language` "" takes it away."""

    display_name: str | None = None
    role: AccountRole | None = None
    department: str | None = None
    language: str | None = None
    is_active: bool | None = None

    @property
    def fields(self) -> frozenset[str]:
        """The fields that are given."""
        named = (field.name for field in dataclasses.fields(self))
        return frozenset(name for name in named if getattr(self, name) is not None)


def changed(account: Account, change: AccountChange) -> Account:
    """The account with what is given."""
    given = {name: getattr(change, name) for name in change.fields}
    if "language" in given:
        given["language"] = given["language"] or None
    return dataclasses.replace(account, **given)


def may_change(by: Account, of: Account, change: AccountChange) -> bool:
    """Admins change everybody; everybody else the language they are answered in themselves.

    A department opens collections and a name vouches for a person, so neither is one's own.
    """
    if by.is_admin:
        return True
    return by.is_active and by.id == of.id and change.fields <= OWN_FIELDS


def takes_last_admin(before: Account, after: Account, other_admins: int) -> bool:
    """Whether nobody who can administer would be left. `other_admins`: active ones besides."""
    return before.is_admin and not after.is_admin and other_admins == 0


def is_line(text: str, most: int) -> bool:
    """One line of at most `most` characters, none of which hides or turns what is read."""
    return len(text) <= most and not any(
        char in _DIRECTIONS or unicodedata.category(char) in _UNSEEN for char in text
    )

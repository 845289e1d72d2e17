"""Slugs: the codes by which agent settings and chat commands name collections."""

import re
import unicodedata

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


def is_slug(text: str) -> bool:
    """Lower-case letters, digits and inner hyphens, up to 64."""
    return SLUG.fullmatch(text) is not None


def slug_of(name: str, fallback: str) -> str:
    """Make a slug of a name; a name without Latin letters or digits gets `fallback`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64].strip("-")
    return slug or fallback

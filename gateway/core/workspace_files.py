"""Files of an agent's workspace: which names lead there, and whose pictures of pages may be seen.

The second is a rule of permission: what an agent's workspace holds was put there for one person,
and another who works with the same agent may not read the same documents.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from gateway.core.slugs import is_slug

PATH_CHARS = 1_000
PATH_PARTS = 32
PART_BYTES = 255
PICTURES = ("input", "knowledge")  # the gateway's own folder in a workspace
PNG, JPEG = "image/png", "image/jpeg"
_SIGNATURES = ((b"\x89PNG\r\n\x1a\n", PNG), (b"\xff\xd8\xff", JPEG))


@dataclass(frozen=True, slots=True)
class KeptPicture:
    """A page's picture in an agent's workspace, also after its file went.

    `collection_id`: where the document is now; None once it, or its collection, was deleted.
    """

    agent_id: str
    source_id: str
    page: int
    namespace: str
    path: str  # within the workspace
    sha256: str  # of the file's bytes
    at: datetime
    is_there: bool = True
    collection_id: str | None = None


def parts_of(path: str) -> tuple[str, ...] | None:
    """The names along a relative path; None for what leads elsewhere, or is no path at all."""
    parts = path.split("/")
    if len(path) > PATH_CHARS or len(parts) > PATH_PARTS:
        return None
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return None
    try:
        is_short = all(len(part.encode()) <= PART_BYTES for part in parts)
    except UnicodeEncodeError:  # half a character
        return None
    return tuple(parts) if is_short else None


def picture_path(namespace: str, source_id: str | None, page: int) -> str:
    """`input/knowledge/{namespace}/page_003.png`, or in a folder of the document's own."""
    assert is_slug(namespace)
    folders = (*PICTURES, namespace) if source_id is None else (*PICTURES, namespace, source_id)
    return "/".join((*folders, f"page_{page:03}.png"))


def may_show(
    parts: Sequence[str], sha256: str, kept: Sequence[KeptPicture], readable: Collection[str]
) -> bool:
    """Whether whoever reads the collections `readable` may see this file.

    `kept`: what this agent's workspace was given at this path or with these bytes. In the
    gateway's folder only what was put there is shown, to readers of its document. Elsewhere a
    file is the agent's own, unless it holds the bytes of such a picture.
    """
    path = "/".join(parts)
    same = [each for each in kept if each.sha256 == sha256]
    may = [each for each in same if each.collection_id is not None]
    may = [each for each in may if each.collection_id in readable]
    if tuple(parts[: len(PICTURES)]) == PICTURES:
        return any(each.path == path and each.is_there for each in may)
    return not same or bool(may)


def media_type_of(head: bytes) -> str | None:
    """PNG or JPEG by the first bytes; nothing of the file is parsed here."""
    for signature, media_type in _SIGNATURES:
        if head.startswith(signature):
            return media_type
    return None

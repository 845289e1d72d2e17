"""Folders: which collection may lie in which (FEATURES D1). A place grants nothing."""

import dataclasses
from collections.abc import Collection as Ids
from collections.abc import Iterator, Mapping

from gateway.core.access import Collection
from gateway.errors import InvalidRequestError, NotFoundError

MOST_DEPTH = 10  # levels of folders, the top one counted
Parents = Mapping[str, str | None]  # of every live collection; a parent that is gone counts as none


def check_parent(parents: Parents, moved: str, parent: str) -> None:
    """Whether `moved`, new or known, may lie in `parent`.

    NotFoundError: there is no such parent. InvalidRequestError: it would lie in itself, or its
    lowest folder more than MOST_DEPTH levels deep.
    """
    if parent not in parents:
        raise NotFoundError(f"parent {parent}")
    above = list(_upwards(parents, parent))
    if moved in above:
        raise InvalidRequestError("parent", reason="parent_id: a folder cannot lie in itself")
    if len(above) + _height(parents, moved) > MOST_DEPTH:
        reason = f"parent_id: at most {MOST_DEPTH} folders deep"
        raise InvalidRequestError("parent", reason=reason)


def seen_among(listed: Ids[str], folder: Collection) -> Collection:
    """The folder as it looks to somebody who lists these: no hint of a parent that is not."""
    if folder.parent_id is None or folder.parent_id in listed:
        return folder
    return dataclasses.replace(folder, parent_id=None)


def _upwards(parents: Parents, start: str) -> Iterator[str]:
    """The folder and those it lies in, inside out."""
    seen: set[str] = set()
    each: str | None = start
    while each is not None and each in parents and each not in seen:
        seen.add(each)
        yield each
        each = parents[each]


def _height(parents: Parents, folder: str) -> int:
    """Levels from the folder down to the lowest that lies in it; 1 for an empty one."""
    lengths = [1]
    for each in parents:
        path = list(_upwards(parents, each))
        if folder in path:
            lengths.append(path.index(folder) + 1)
    return max(lengths)

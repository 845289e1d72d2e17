"""Drafts that are shown while they come: what to show, when, and by which message."""

from collections import OrderedDict
from dataclasses import dataclass

MOST_TURNS = 10_000  # remembered; a turn that ended long ago is forgotten first


@dataclass(slots=True)
class _Draft:
    text: str = ""
    shown_at_s: float = float("-inf")
    preview: str | None = None


class Drafts:
    """The drafts of one platform account's turns, shown at most once every so many seconds."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._drafts: OrderedDict[str, _Draft] = OrderedDict()

    def add(self, turn_id: str, piece: str, now_s: float) -> str | None:
        """The whole draft when it is due to be shown anew, else None."""
        draft = self._of(turn_id)
        draft.text += piece
        if now_s - draft.shown_at_s < self._every_s or not draft.text.strip():
            return None
        draft.shown_at_s = now_s
        return draft.text

    def shown(self, turn_id: str, preview: str) -> None:
        """The platform's id of the message that shows it."""
        self._of(turn_id).preview = preview

    def preview(self, turn_id: str) -> str | None:
        """That id, if there is one."""
        draft = self._drafts.get(turn_id)
        return draft.preview if draft is not None else None

    def end(self, turn_id: str) -> None:
        """The reply is out, or the message is gone."""
        self._drafts.pop(turn_id, None)

    def _of(self, turn_id: str) -> _Draft:
        draft = self._drafts.setdefault(turn_id, _Draft())
        self._drafts.move_to_end(turn_id)
        if len(self._drafts) > MOST_TURNS:
            self._drafts.popitem(last=False)
        return draft

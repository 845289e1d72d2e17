"""An agent's own collection: who gets it, what archiving takes away and gives back (A26)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gateway.core.access import BindingRole, Collection, Grant, Role, SubjectKind
from gateway.core.shelving import NAME_CHARS

Subject = tuple[SubjectKind, str]


@dataclass(frozen=True, slots=True)
class OwnCollection:
    """The collection of one agent; it stays the agent's, whatever both are called.

    `owes_listing`: it still has to be added to the agent's own list.
    """

    agent_id: str
    collection: Collection
    owes_listing: bool = False


def own_name(display_name: str, agent_id: str) -> str:
    """What it is called until somebody calls it otherwise; one line, whatever the agent's name."""
    shown = "".join(char if char.isprintable() else " " for char in display_name)
    end = " 的資料"
    return (" ".join(shown.split()) or agent_id)[: NAME_CHARS - len(end)] + end


def first_grants(
    collection_id: str,
    agent_id: str,
    creator_id: str,
    bound: Mapping[str, BindingRole],
) -> tuple[Grant, ...]:
    """Creator and agent; of the people `bound` (active ones, where asked for) owners own it."""
    roles = {
        account_id: Role.OWNER if role is BindingRole.OWNER else Role.VIEWER
        for account_id, role in bound.items()
    }
    people = roles | {creator_id: Role.OWNER}
    return (
        *(
            Grant(collection_id, SubjectKind.USER, account_id, role)
            for account_id, role in sorted(people.items())
        ),
        Grant(collection_id, SubjectKind.AGENT, agent_id, Role.VIEWER),
    )


def stays_archived(grant: Grant) -> bool:
    """While the agent is away only people who own its collection keep their share."""
    return grant.subject_kind is SubjectKind.USER and grant.role is Role.OWNER


def effective(collection: Collection, grants: Sequence[Grant]) -> tuple[Grant, ...]:
    """What a save by hand comes to: in an archived collection nobody but owners gets a share."""
    return tuple(each for each in grants if not collection.is_archived or stays_archived(each))


def restored(now: Iterable[Grant], removed: Iterable[Grant]) -> tuple[Grant, ...]:
    """The owners there are now, and all that archiving took from anybody else.

    What was put in by hand meanwhile, owners aside, never had an effect and is dropped.
    """
    kept: dict[Subject, Grant] = {_subject(each): each for each in removed}
    kept |= {_subject(each): each for each in now if stays_archived(each)}
    return tuple(kept[subject] for subject in sorted(kept))


def _subject(grant: Grant) -> Subject:
    return grant.subject_kind, grant.subject_id

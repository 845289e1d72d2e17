"""What a turn's record keeps of its audience and its scope, and the audience made anew from it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from gateway.core.access import Account, Audience, AudienceKind, ChatAddress
from gateway.core.scope import Scope
from gateway.core.scope_kinds import root

UPSTREAM_LASTS = timedelta(hours=24)  # a turn can be dispatched from for as long (A3)
MOST_CODES = 500  # reasons kept a turn, far beyond what a library holds
UNKNOWN_UPSTREAM = Audience(AudienceKind.DELEGATED)  # not on record, too old, somebody else's


@dataclass(frozen=True, slots=True)
class Origin:
    """For whom a turn was, by ids alone; of a dispatch, all but the last two tell of its root."""

    kind: AudienceKind
    account_id: str | None = None
    address: ChatAddress | None = None
    sender_id: str | None = None
    is_direct: bool = False
    is_dispatch: bool = False
    upstream_turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The reasons by which a turn's first scope was decided: collection ids by code (F2)."""

    generation: int
    unnamed: str  # the code of every collection that is not listed
    codes: dict[str, tuple[str, ...]]

    def code_of(self, collection_id: str) -> str:
        """The code as it was decided then."""
        for code, ids in self.codes.items():
            if collection_id in ids:
                return code
        return self.unnamed


@dataclass(frozen=True, slots=True)
class Provenance:
    """Both, as one turn's record keeps them; no decision where the turn read nothing at all.

    `told_by` names the turns of colleagues whose answers went into this one.
    """

    origin: Origin
    decision: Decision | None = None
    told_by: tuple[str, ...] = ()


def provenance(
    audience: Audience, scope: Scope | None, told_by: tuple[str, ...] = ()
) -> Provenance:
    """What to keep of a turn for `audience` whose first scope was `scope`."""
    return Provenance(_origin(audience), None if scope is None else _decision(scope), told_by)


def rebuilt(origin: Origin, account: Account | None) -> Audience:
    """The audience again; `account` is that of `origin.account_id` as it is now, None if gone."""
    first = Audience(
        origin.kind,
        account,
        origin.address,
        is_direct=origin.is_direct,
        sender_id=origin.sender_id,
    )
    return delegated(first, origin.upstream_turn_id) if origin.is_dispatch else first


def delegated(upstream: Audience, turn_id: str | None) -> Audience:
    """For whom a dispatch from a turn is: the root's audience, never 1:1, or a system turn again.

    `turn_id` names the turn it comes from, so that the chain can be followed later.
    """
    first = root(upstream)
    if first.kind is AudienceKind.SYSTEM:
        return Audience(AudienceKind.SYSTEM)
    return Audience(AudienceKind.DELEGATED, first.account, upstream=first, turn_id=turn_id)


def is_recent(asked_at: datetime, now: datetime) -> bool:
    """A turn asked then may still be dispatched from."""
    return now - asked_at <= UPSTREAM_LASTS


def _origin(audience: Audience) -> Origin:
    first = root(audience)
    return Origin(
        first.kind,
        None if first.account is None else first.account.id,
        first.address,
        first.sender_id,
        is_direct=first.is_direct,
        is_dispatch=audience.kind is AudienceKind.DELEGATED,
        upstream_turn_id=audience.turn_id,
    )


def _decision(scope: Scope) -> Decision:
    """Bounded, what was readable first; those beyond are told like the unnamed ones."""
    codes: dict[str, list[str]] = {}
    for reason in sorted(scope.reasons, key=lambda each: not each.is_readable)[:MOST_CODES]:
        if reason.code != scope.unnamed:
            codes.setdefault(reason.code, []).append(reason.collection_id)
    return Decision(
        scope.generation, scope.unnamed, {code: tuple(ids) for code, ids in codes.items()}
    )

"""For whom a dispatched turn is: found from the record of the turn it comes from (FEATURES A3)."""

from gateway.core.access import Account, Audience
from gateway.core.scope_origin import UNKNOWN_UPSTREAM, Origin, delegated, is_recent, rebuilt
from gateway.core.turns import TurnRecord
from gateway.interfaces import Accounts, Clock, Turns

LONGEST_CHAIN = 8  # dispatches one from another; a longer chain is nobody's


class Delegation:
    """Follows a chain of dispatches to its root, by the records of the turns alone."""

    def __init__(self, turns: Turns, accounts: Accounts, clock: Clock) -> None:
        self._turns = turns
        self._accounts = accounts
        self._clock = clock

    async def from_turn(self, turn_id: str, asker: Account) -> Audience:
        """For whom a dispatch is that `asker` makes from a turn of their own.

        A turn that is not on record, older than 24 hours, or another person's reads nothing; the
        three look alike.
        """
        turn = await self._on_record(turn_id)
        if turn is None or turn.provenance is None:
            return UNKNOWN_UPSTREAM
        if turn.provenance.origin.account_id != asker.id:
            return UNKNOWN_UPSTREAM
        return delegated(await self.audience(turn.provenance.origin), turn_id)

    async def audience(self, origin: Origin) -> Audience:
        """The audience that a turn had, with its account as it is now."""
        account = None
        if origin.account_id is not None:
            account = await self._accounts.find(origin.account_id)
        return rebuilt(origin, account)

    async def _on_record(self, turn_id: str) -> TurnRecord | None:
        """The turn, if all of the chain above it is on record and recent."""
        found: TurnRecord | None = None
        above = turn_id
        for _ in range(LONGEST_CHAIN):
            turn = await self._turns.find(above)
            if turn is None or turn.provenance is None:
                return None
            if not is_recent(turn.asked_at, self._clock.now()):
                return None
            found = found or turn
            upstream = turn.provenance.origin.upstream_turn_id
            if upstream is None:
                return found
            above = upstream
        return None

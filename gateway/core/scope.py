"""The scope rule: which collections one turn may read, and why (FEATURES A3 to A5)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gateway.core.access import AgentSide, Audience, Collection, ScopeFacts, Sensitivity
from gateway.core.scope_kinds import is_proven_direct
from gateway.core.scope_reasons import Reason, Why, reason
from gateway.core.scope_rules import judge, judge_unnamed

__all__ = ["Reason", "Scope", "decide", "explain", "renew", "without_restricted"]


@dataclass(frozen=True, slots=True)
class Scope:
    """The collections one turn may read. Empty means nothing; nothing means everything.

    Only functions of this module build one (a test looks for other constructor calls).
    The readable ones among `reasons` are always exactly `collections`; `unnamed` is the code that
    holds of every collection without a reason of its own.
    """

    collections: frozenset[str]
    audience: Audience
    is_direct: bool
    reasons: tuple[Reason, ...] = ()
    generation: int = 0
    unnamed: str = ""

    def narrow(self, collections: frozenset[str]) -> "Scope":
        """Keep only what `collections` names as well; never adds."""
        return _keep(self, collections, Why.NOT_ASKED_FOR)

    @property
    def is_empty(self) -> bool:
        """Nothing may be read."""
        return not self.collections


def decide(audience: Audience, agent: AgentSide | None, facts: ScopeFacts) -> Scope:
    """Agent side ∩ person side, for every kind of turn; whatever is in doubt reads nothing.

    `agent` is the one that answers (of a dispatch, the dispatched one); None only where a person
    reads the library without one. The table of turn kinds is `scope_kinds.TABLE`.
    """
    reasons = judge(audience, agent, facts)
    return Scope(
        frozenset(each.collection_id for each in reasons if each.is_readable),
        audience,
        is_proven_direct(audience, agent),
        reasons,
        facts.generation,
        judge_unnamed(audience, agent, facts).value,
    )


def explain(audience: Audience, agent: AgentSide | None, facts: ScopeFacts) -> tuple[Reason, ...]:
    """For each collection in `facts` the first rule that excluded it, or what allowed it (F2).

    The same reasons that `decide` decides by; ask for facts about every collection to see all.
    """
    return decide(audience, agent, facts).reasons


def renew(first: Scope, now: Scope) -> Scope:
    """The scope as it is now, never wider than the first of this turn (DESIGN section 8.7)."""
    kept = _keep(now, first.collections, Why.NOT_READABLE_AT_FIRST)
    return replace(kept, audience=first.audience, is_direct=first.is_direct and now.is_direct)


def without_restricted(scope: Scope, collections: Sequence[Collection]) -> Scope:
    """What automatic injection may search (A4): only those known not to be `restricted`.

    `collections` are the ones of the scope as stored; one that is missing there is left out.
    """
    known = (each for each in collections if each.sensitivity is not Sensitivity.RESTRICTED)
    return _keep(scope, frozenset(each.id for each in known), Why.RESTRICTED_NOT_INJECTED)


def _keep(scope: Scope, collections: frozenset[str], why: Why) -> Scope:
    kept = scope.collections & collections
    reasons = tuple(
        reason(each.collection_id, why)
        if each.is_readable and each.collection_id not in kept
        else each
        for each in scope.reasons
    )
    return replace(scope, collections=kept, reasons=reasons)

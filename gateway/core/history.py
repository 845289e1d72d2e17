"""Which past exchanges may go into a prompt, or be shown again (DESIGN section 8.8)."""

from collections.abc import Collection, Sequence

from gateway.core.chat import ChatMessage, Speaker
from gateway.core.scope import Scope
from gateway.core.turns import Exchange, TurnRecord

MAX_MESSAGES = 20
MAX_CHARS = 8_000
MAX_EXCHANGES = MAX_MESSAGES // 2  # how many to ask the store for


def usable(exchanges: Sequence[Exchange], scope: Scope) -> tuple[ChatMessage, ...]:
    """The newest exchanges that may still be read, whole ones, oldest first.

    `exchanges` are those of this very conversation, newest last. One that rests on anything the
    scope does not hold any more, or that has gone, is left out as if it had never been said; the
    bound (20 messages or 8,000 characters) counts what is left.
    """
    return tuple(message for exchange in _kept(exchanges, scope) for message in _messages(exchange))


def rests_on(exchanges: Sequence[Exchange], scope: Scope) -> tuple[tuple[str, str], ...]:
    """(source id, collection id) of all that the exchanges which `usable` keeps rested on.

    An answer written after reading them may repeat any of it ("summarise that").
    """
    kept = _kept(exchanges, scope)
    return tuple(dict.fromkeys(each for exchange in kept for each in exchange.presented))


def is_showable(turn: TurnRecord, readable: Collection[str]) -> bool:
    """Whether an old answer may be shown to who can read these collections: all that it, and the
    answers before it, rested on is still there and readable.
    """
    own = all(each.title and each.collection_id in readable for each in turn.citations)
    return own and all(collection in readable for _, collection in turn.rests_on)


def _kept(exchanges: Sequence[Exchange], scope: Scope) -> Sequence[Exchange]:
    kept: list[Exchange] = []
    chars = 0
    for exchange in reversed(exchanges):
        if not _is_usable(exchange, scope):
            continue
        chars += len(exchange.question) + len(exchange.answer)
        if chars > MAX_CHARS or len(kept) == MAX_EXCHANGES:
            break
        kept.append(exchange)
    return kept[::-1]


def _is_usable(exchange: Exchange, scope: Scope) -> bool:
    if not exchange.is_complete or not exchange.question.strip() or not exchange.answer.strip():
        return False
    if exchange.is_direct and not scope.is_direct:
        return False  # said in private; the same chat may since have become a group
    return all(collection in scope.collections for _, collection in exchange.presented)


def _messages(exchange: Exchange) -> tuple[ChatMessage, ChatMessage]:
    return (
        ChatMessage(Speaker.USER, exchange.question),
        ChatMessage(Speaker.ASSISTANT, exchange.answer),
    )

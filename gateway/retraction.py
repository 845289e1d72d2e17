"""Messages taken back by who wrote them: files, the waiting turn, and the question go."""

from collections.abc import Sequence
from typing import Protocol

import structlog

from gateway.core.messages import Conversation, InboundMessage, NoticeKind
from gateway.errors import StoreError
from gateway.interfaces import Retractions, Turns

log = structlog.get_logger()


class Shelf(Protocol):
    """Where files of messages are kept."""

    async def forget(self, conversation: Conversation, message_keys: Sequence[str]) -> None: ...


class Retraction:
    """The inbox remembers first what is to go, so that a crash in between leaves nothing behind.

    Two databases have no common transaction: what the inbox marks is wiped from the record of
    turns at once, again when a running turn ends, and again by `sweep`.
    """

    def __init__(self, inbox: Retractions, turns: Turns, shelf: Shelf) -> None:
        self._inbox = inbox
        self._turns = turns
        self._shelf = shelf

    async def retract(self, message: InboundMessage) -> None:
        """Durable when it returns; StoreError when the mark cannot be written."""
        notice = message.notice
        if notice is None or notice.kind is not NoticeKind.RETRACTED:
            return
        place, keys = message.conversation, [key for key in notice.message_keys if key]
        await self._shelf.forget(place, keys)
        turn_ids = await self._inbox.retract(place, keys)
        log.info("messages taken back", channel=place.channel, count=len(keys), turns=turn_ids)
        try:
            await self._turns.forget_questions(turn_ids)
        except StoreError as error:
            log.warning("questions not wiped yet", turns=turn_ids, code=error.code)

    async def sweep(self) -> None:
        """Wipe what a crash or a full disk left; at the start and from time to time."""
        await self._turns.forget_questions(await self._inbox.retracted())

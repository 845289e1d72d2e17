"""Looks once more at a reply that waited: whether whoever reads it there may still do so."""

import dataclasses

from gateway.catalogue import DEFAULT_LANGUAGE, text
from gateway.core.access import AgentSide, Audience, AudienceKind
from gateway.core.answering import NO_PASSAGE
from gateway.core.asking import reply_language
from gateway.core.messages import Conversation, InboundMessage, OutboundCall, Reply, Sender
from gateway.core.owed import final_frame
from gateway.core.scope_origin import delegated
from gateway.core.turns import TurnRecord
from gateway.interfaces import AgentFiles, PassageIndex, Scopes, Turns


@dataclasses.dataclass(frozen=True, slots=True)
class Rechecking:
    """Finds the turn behind a call and asks the store as it is now (DESIGN section 4, 2)."""

    turns: Turns
    agents: AgentFiles
    scopes: Scopes
    passages: PassageIndex
    language: str = DEFAULT_LANGUAGE
    has_library: bool = True  # [knowledge] enabled

    async def __call__(self, call: OutboundCall) -> OutboundCall | None:
        """The call as it may go: as it is, with a sentence instead, or None for the rest of it."""
        turn = await self.turns.find(call.turn_id)
        if turn is None:
            return call if call.parts else None
        if call.parts and not turn.citations and not turn.rests_on:
            return call
        audience = await self._audience(turn, call.conversation)
        if call.parts and await self._may_read(turn, audience):
            return call
        if call.seq > 0:
            return None
        language = reply_language(audience.account, None, turn.question, self.language)
        sentence = text(NO_PASSAGE, language)
        extra = call.extra and final_frame(Reply(call.turn_id, (sentence,), sentence))
        return dataclasses.replace(call, parts=(sentence,), extra=extra)

    async def _may_read(self, turn: TurnRecord, audience: Audience) -> bool:
        """Whether all that the model was shown may still be read where the reply goes: passages,
        what the past answers in its prompt had rested on, and what its colleagues were shown.
        """
        if not self.has_library:
            return False
        told_by = [await self.turns.find(each) for each in _colleagues(turn)]
        elsewhere: set[int | str] = set()  # passages and sources read on a colleague's side
        for told in told_by:
            if told is None or not await self._may_read(told, delegated(audience, turn.id)):
                return False
            elsewhere |= {each.passage_id for each in told.citations}
            elsewhere |= {each.source_id for each in told.citations}
            elsewhere |= {source for source, _ in told.rests_on}
        scope = await self.scopes.scope(audience, await self._side(turn.agent_id))
        rests = {collection for source, collection in turn.rests_on if source not in elsewhere}
        if not rests <= scope.collections:
            return False
        ids = {each.passage_id for each in turn.citations} - elsewhere
        return not ids or len(await self.passages.load(scope, sorted(ids))) == len(ids)

    async def _audience(self, turn: TurnRecord, place: Conversation) -> Audience:
        prefix = f"{place.channel}/{place.account_name}/"
        sender = None
        if turn.sender is not None and turn.sender.startswith(prefix):
            sender = Sender(place.channel, place.account_name, turn.sender.removeprefix(prefix))
        asked = InboundMessage(
            conversation=place,
            delivery_id="",
            message_key="",
            text="",
            received_at=turn.asked_at,
            sender=sender,
            account_id=turn.account_id if turn.audience is AudienceKind.WEBCHAT else None,
            agent_id=turn.agent_id,
            is_visitor=turn.audience is AudienceKind.VISITOR,
        )
        return await self.scopes.audience(asked)

    async def _side(self, agent_id: str | None) -> AgentSide | None:
        agent = await self.agents.load(agent_id) if agent_id is not None else None
        return agent.side if agent is not None else None


def _colleagues(turn: TurnRecord) -> tuple[str, ...]:
    """The turns of colleagues whose answers went into this one."""
    return () if turn.provenance is None else turn.provenance.told_by

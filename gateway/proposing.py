"""The chat command 「加入知識庫 <slug>」: the sender's files become proposals (FEATURES A22)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from gateway.attachments import KeptFile
from gateway.catalogue import error_text, text
from gateway.core.access import AgentSide
from gateway.core.chat_commands import Command
from gateway.core.messages import Conversation, InboundMessage, Sender
from gateway.core.proposals import FILES_AT_ONCE, Proposal, may_propose_in_chat
from gateway.errors import GatewayError, NotFoundError
from gateway.interfaces import AgentFiles, Channel, Claimed, Scopes
from gateway.knowledge.beneath import opened
from gateway.knowledge.proposals import Offered, Proposals, ProposingTurn, file_offered

MINUTES = 30  # how long the shelf keeps files
SAID = frozenset({"proposal_limit", "too_large", "knowledge_disabled"})  # by their own sentences
NO_AGENT = AgentSide("", "", frozenset())  # has nothing, so nothing is found


class Shelf(Protocol):
    """Where files of messages are kept."""

    async def files(
        self, conversation: Conversation, sender: Sender, channel: Channel
    ) -> tuple[KeptFile, ...]: ...


@dataclass(frozen=True, slots=True)
class AddSource:
    """Files come from the shelf alone: what a message says of files or paths is not looked at."""

    proposals: Proposals
    scopes: Scopes
    agents: AgentFiles
    shelf: Shelf
    channels: Mapping[tuple[str, str], Channel]

    async def __call__(self, claimed: Claimed, command: Command, language: str) -> str | None:
        """What to say; a turn that is run again says the same and proposes nothing more."""
        words = command.argument.split()
        try:
            turn = await self._turn(claimed)
            if not may_propose_in_chat(turn.audience):
                return text("proposals.refused", language)
            if not words:
                return text("proposals.how", language)
            return await self._propose(turn, claimed.message, words[0].lower(), language)
        except NotFoundError:
            return text("proposals.refused", language)
        except GatewayError as error:
            if error.code not in SAID:
                raise
            return error_text(error.code, language, **error.params)

    async def _turn(self, claimed: Claimed) -> ProposingTurn:
        message = claimed.message
        audience = await self.scopes.audience(message)
        agent = await self.agents.load(message.agent_id) if message.agent_id is not None else None
        side = agent.side if agent is not None else NO_AGENT
        return ProposingTurn(claimed.id, audience, side, message.conversation.channel)

    async def _propose(
        self, turn: ProposingTurn, message: InboundMessage, slug: str, language: str
    ) -> str:
        before = await self.proposals.of_turn(turn.turn_id)
        if before:
            return _told(before, message, language)
        _, first = await self.proposals.readable(turn, slug)
        if message.sender is None:
            return text("proposals.upload_in_page", language)
        offered = await self._offered(message, message.sender)
        missing = text("proposals.no_file", language, minutes=MINUTES)
        if not offered:
            return missing
        try:
            cards = await self.proposals.from_chat(replace(turn, first=first), slug, offered)
        except OSError:  # gone from the shelf at this very moment
            return missing
        return _told(cards, message, language)

    async def _offered(self, message: InboundMessage, sender: Sender) -> Sequence[Offered]:
        """The message's own files, or where it has none the sender's last ones in this chat."""
        place = message.conversation
        channel = self.channels.get((place.channel, place.account_name))
        if channel is None:
            return []
        kept = await self.shelf.files(place, sender, channel)
        if message.attachments:
            key = message.message_key or message.delivery_id
            kept = tuple(each for each in kept if each.message_key == key)
        return [
            file_offered(each.name, partial(opened, each.path), each.media_type)
            for each in kept[-FILES_AT_ONCE:]
        ]


def _told(cards: Sequence[Proposal], message: InboundMessage, language: str) -> str:
    """The ids and no more: a chat is not the place where cards are seen."""
    ids = ", ".join(card.id for card in cards)
    said = [text("proposals.proposed", language, count=len(cards), ids=ids)]
    files = message.attachments
    if len(files) > FILES_AT_ONCE:
        said.append(text("proposals.only_first", language, count=FILES_AT_ONCE))
    return "\n".join(said)

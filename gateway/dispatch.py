"""What becomes of a message: a command, a file to keep, a word of help, or a turn."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import quote, urlencode

import structlog

from gateway.accounts.linking import Linking
from gateway.catalogue import DEFAULT_LANGUAGE, text
from gateway.core.access import AudienceKind
from gateway.core.asking import is_blank, reply_language
from gateway.core.chat_commands import Command, CommandKind, parse
from gateway.core.link_codes import tail
from gateway.core.messages import InboundMessage, Reply, Sender
from gateway.errors import ChannelError, GatewayError
from gateway.interfaces import Channel, Claimed, Replies, Scopes

log = structlog.get_logger()
RunTurn = Callable[[Claimed, Channel], Awaitable[None]]
# the reply, or None where nothing is to be said; the language is that of our own sentences
CommandHandler = Callable[[Claimed, Command, str], Awaitable[str | None]]


class Attachments(Protocol):
    """Takes the files of a message into keeping."""

    async def receive(self, claimed: Claimed, channel: Channel) -> str | None:
        """What to say about them, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """What the lanes run: everything that is no question is answered here, the rest by a turn."""

    run_turn: RunTurn
    linking: Linking
    scopes: Scopes
    replies: Replies
    language: str = DEFAULT_LANGUAGE
    public_url: str = ""
    attachments: Attachments | None = None
    handlers: Mapping[CommandKind, CommandHandler] = field(default_factory=dict)

    async def run(self, claimed: Claimed, channel: Channel) -> None:
        """Answer a message that is for us; repeating it changes nothing that was done."""
        message = claimed.message
        has_text = not is_blank(message.text)
        command = parse(message.text) if has_text else None
        if command is None and has_text:
            await self._ask(claimed, channel)
            return
        if command is None and message.attachments:
            sentence = await self._keep(claimed, channel)
        else:
            sentence = await self._obey(claimed, channel, command or Command(CommandKind.HELP))
        if sentence is not None:
            reply = Reply(claimed.id, (sentence,), sentence)
            await self.replies.put(claimed.id, message, reply)

    async def _ask(self, claimed: Claimed, channel: Channel) -> None:
        """A question; files beside it are kept meanwhile, and what goes wrong there is theirs."""
        answered, kept = await asyncio.gather(
            self.run_turn(claimed, channel),
            self._keep(claimed, channel),
            return_exceptions=True,  # both are waited for; nothing runs on behind a failure
        )
        if isinstance(answered, BaseException):
            raise answered
        if isinstance(kept, GatewayError):
            log.warning("files not kept", turn=claimed.id, code=kept.code)
        elif isinstance(kept, BaseException):
            raise kept

    async def _keep(self, claimed: Claimed, channel: Channel) -> str | None:
        if self.attachments is None or not claimed.message.attachments:
            return None
        return await self.attachments.receive(claimed, channel)

    async def _obey(self, claimed: Claimed, channel: Channel, command: Command) -> str | None:
        message = claimed.message
        audience = await self.scopes.audience(message)
        default = command.language or self.language
        language = reply_language(audience.account, message.language, "", default)
        if command.kind is CommandKind.LINK:
            if command.argument and message.account_id is None:
                return await self._redeem(claimed, command.argument, language)
            return await self._how_to_link(message, channel, language, audience.kind)
        handler = self.handlers.get(command.kind)
        if handler is not None:
            await self._keep(claimed, channel)
            return await handler(claimed, command, language)
        is_help = command.kind is CommandKind.HELP
        return text("chat.help" if is_help else "chat.proposals_unavailable", language)

    async def _redeem(self, claimed: Claimed, typed: str, language: str) -> str:
        """The code itself is never said again."""
        message = claimed.message
        outcome = await self.linking.redeem(claimed.id, message, typed)
        ending = tail(message.sender.id) if message.sender is not None else ""
        return text(f"links.{outcome.value}", language, tail=ending)

    async def _how_to_link(
        self, message: InboundMessage, channel: Channel, language: str, kind: AudienceKind
    ) -> str:
        sender = message.sender
        if message.account_id is not None:
            key, url = "links.web_chat", None
        elif sender is None or not message.conversation.is_direct or message.is_visitor:
            key, url = "links.not_direct", None
        elif kind is AudienceKind.LINKED:
            key, url = "links.linked", None
        elif (url := await self._own_flow(sender, channel)) is not None:
            key = "links.open_page"
        else:
            key, url = ("links.how_at", self.public_url) if self.public_url else ("links.how", None)
        return text(key, language, url=url or "")

    async def _own_flow(self, sender: Sender, channel: Channel) -> str | None:
        """Our page with the platform's token; a code does as well where that cannot be had."""
        if not self.public_url:
            return None
        try:
            token = await channel.link_token(sender.id)
        except ChannelError as error:
            log.warning("no link token", channel=channel.name, code=error.code)
            return None
        if token is None:
            return None
        place = f"{quote(channel.name, safe='')}/{quote(channel.account_name, safe='')}"
        return f"{self.public_url}/link/{place}?{urlencode({'linkToken': token})}"

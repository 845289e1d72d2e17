"""Who may stand at a widget's door: its agent, its sites, and by what an asker is counted."""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter

from aiohttp import web

from channels.widget.channel import WidgetChannel
from gateway.core.agents import AgentSettings
from gateway.core.visitors import client_address
from gateway.errors import GatewayError, NotFoundError
from gateway.interfaces import Channel
from gateway.operations.visitors import VisitorDesk
from gateway.surfaces.session import HttpCallers


@dataclass(frozen=True, slots=True)
class WidgetDoor:
    """What the page and the socket of a widget share; `channels` changes with the settings."""

    channels: Mapping[tuple[str, str], Channel]
    desk: VisitorDesk
    callers: HttpCallers

    def find(self, agent_id: str) -> WidgetChannel:
        """The widget of an agent; NotFoundError where none is configured."""
        for _key, channel in sorted(self.channels.items(), key=itemgetter(0)):
            if isinstance(channel, WidgetChannel) and channel.settings.agent == agent_id:
                return channel
        raise NotFoundError("widget")

    async def agent(self, channel: WidgetChannel) -> AgentSettings:
        """Its agent; one that is archived or gone looks like one that never was."""
        return await self.desk.agent(channel.settings.agent)

    def is_current(self, channel: WidgetChannel) -> bool:
        """Whether it still is what config.toml wants."""
        return self.channels.get((channel.name, channel.account_name)) is channel

    def check_origin(self, request: web.Request, channel: WidgetChannel) -> None:
        """`origin_refused` for any page but our own and those of the list; browsers name theirs."""
        origin = request.headers.get("Origin")
        if origin is None or not (self.callers.is_own_origin(request) or channel.allows(origin)):
            raise GatewayError("origin", code="origin_refused")


def address_of(request: web.Request, channel: WidgetChannel) -> str:
    """By what the asker is counted: the peer, or whom a proxy of ours speaks for (DESIGN 9.5)."""
    forwarded_for = request.headers.getall("X-Forwarded-For", ())
    return client_address(request.remote or "", forwarded_for, channel.proxies)

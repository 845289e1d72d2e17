"""One widget: its settings, its limits, and how a reply reaches a visitor's sockets."""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from channels.framed import FramedChannel
from channels.sealing import KEY_BYTES
from channels.widget import parse, render
from gateway.core.messages import InboundMessage, Limits, OutboundCall
from gateway.core.visitors import Network, Place, Windows, networks
from gateway.errors import ConfigError
from gateway.interfaces import Channel

ORIGIN = re.compile(r"https?://[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::[0-9]{1,5})?")  # as CSP takes it
OPENINGS = 4  # times as many sockets as questions: pages are turned, connections drop


@dataclass(frozen=True, slots=True)
class WidgetSettings:
    """One `[channels.widget.<name>]` table."""

    name: str
    agent: str
    origins: tuple[str, ...]  # sites that may show it: "https://www.example.com"
    language: str | None = None
    title: str | None = None  # at the head of the window; else the agent's name
    greeting: str | None = None
    per_visitor_per_minute: int = 10
    per_address_per_minute: int = 60
    most_visitors: int = 500  # connected at the same time
    trusted_proxies: tuple[str, ...] = ()  # whose X-Forwarded-For counts; addresses or networks

    def __post_init__(self) -> None:
        """Refuse an empty or odd list of sites: it must never mean every site."""
        if not self.origins:
            raise self._wrong("origins", "is empty")
        for origin in self.origins:
            if not ORIGIN.fullmatch(origin):
                reason = f"{origin!r} is no origin such as https://www.example.com"
                raise self._wrong("origins", reason)
        for key in ("per_visitor_per_minute", "per_address_per_minute", "most_visitors"):
            if getattr(self, key) < 1:
                raise self._wrong(key, "must be at least 1")
        if self.language is not None and self.language not in parse.LANGUAGES:
            raise self._wrong("language", f"must be one of {', '.join(sorted(parse.LANGUAGES))}")
        try:
            networks(self.trusted_proxies)
        except ValueError as error:
            raise self._wrong("trusted_proxies", str(error)) from error

    def _wrong(self, key: str, reason: str) -> ConfigError:
        path = f"channels.widget.{self.name}.{key}"
        return ConfigError(f"{path} {reason}", path=path, reason=reason)


class WidgetChannel(FramedChannel):
    """Implements the Channel protocol of gateway/interfaces for visitors of a website."""

    def __init__(self, settings: WidgetSettings) -> None:
        self.settings = settings
        super().__init__()
        self.by_visitor = Windows(settings.per_visitor_per_minute)
        self.by_address = Windows(settings.per_address_per_minute)
        self.openings = Windows(OPENINGS * settings.per_address_per_minute)
        self.proxies: tuple[Network, ...] = networks(settings.trusted_proxies)
        key = secrets.token_bytes(KEY_BYTES)
        self._reading = parse.Reading(settings.name, key, settings.agent, settings.language)

    @property
    def name(self) -> str:
        """The platform."""
        return parse.CHANNEL

    @property
    def account_name(self) -> str:
        """Which of our widgets."""
        return self.settings.name

    @property
    def limits(self) -> Limits:
        """One large part; the citations travel beside it."""
        return render.LIMITS

    @property
    def place(self) -> Place:
        """Where its visitors' tokens hold."""
        return Place(self.settings.name, self.settings.agent)

    def allows(self, origin: str) -> bool:
        """Whether a page of this origin may show the widget; browsers leave usual ports out."""
        return origin in {_as_sent(each) for each in self.settings.origins}

    def seal(self, entry: parse.Entry) -> tuple[Mapping[str, str], bytes]:
        """What the socket checked, in the form that `parse` takes."""
        return parse.seal(entry, self._reading.key)

    def parse(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> Sequence[InboundMessage]:
        """SignatureError for what this gateway did not seal."""
        return parse.parse(headers, body, now, self._reading)

    def final_frame(self, call: OutboundCall) -> str:
        """The finished answer with its citations."""
        return render.final(call)

    def delta_frame(self, turn_id: str, text: str) -> str:
        """A piece of a draft."""
        return render.delta(turn_id, text)


def _as_sent(origin: str) -> str:
    usual = ":443" if origin.startswith("https:") else ":80"
    return origin.removesuffix(usual)


fits: type[Channel] = WidgetChannel

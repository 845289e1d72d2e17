"""Puts the HTTP application together: webhooks, RPC, uploads, chats, pages, health."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from yarl import URL

from channels.webchat.channel import WebChatChannel
from gateway.accounts.sign_in import SignIn
from gateway.app_folders import Surfaces, build_folders
from gateway.app_library import Shelves
from gateway.app_operations import Operations, linking_of
from gateway.channel_set import ChannelSet
from gateway.config import GatewaySettings
from gateway.core.limits import KnowledgeLimits
from gateway.errors import ConfigError
from gateway.inbox import InboxLanes
from gateway.interfaces import Clock
from gateway.knowledge.proposals import Proposals
from gateway.surfaces import (
    chat_socket,
    folder_routes,
    health,
    http,
    mcp_http,
    page_image,
    retrieve,
    rpc,
    upload,
    widget_socket,
)
from gateway.surfaces.chat_socket import ChatSockets
from gateway.surfaces.docs_page import DocsPage
from gateway.surfaces.health import Health
from gateway.surfaces.idempotency import Idempotency
from gateway.surfaces.limits import LimitSettings, RequestLimits
from gateway.surfaces.line_link import LinkPages
from gateway.surfaces.mcp_http import McpDoor, McpHttp
from gateway.surfaces.meter import PrometheusMeter
from gateway.surfaces.page_image import PageImageRoute, PagesSeen
from gateway.surfaces.pages import Pages
from gateway.surfaces.rest import Rest
from gateway.surfaces.retrieve import Retrieve, echo_request_id
from gateway.surfaces.rpc import Rpc
from gateway.surfaces.session import HttpCallers
from gateway.surfaces.upload import Files, Uploads
from gateway.surfaces.visitor_key import visitor_key
from gateway.surfaces.webhooks import Webhooks
from gateway.surfaces.widget_door import WidgetDoor
from gateway.surfaces.widget_page import WidgetPages
from gateway.surfaces.widget_socket import WidgetSockets

SERVER_LOG = logging.getLogger("shutten.http")  # what it says of broken requests quotes them
SERVER_LOG.setLevel(logging.CRITICAL)
LINGER_S = 2.0  # for what still comes of a request that was refused
READ_AHEAD_BYTES = 2**16  # of each connection: what nobody asked for yet fills no memory
MOST_LINE_BYTES = 64 * 2**10  # of an address: a thousand Chinese characters take nine
UNSETTLED = ("unknown", "dead")
ROUTES = (  # described for /openapi.json
    *upload.ROUTES,
    *page_image.ROUTES,
    *health.ROUTES,
    *retrieve.ROUTES,
    *folder_routes.ROUTES,
    *mcp_http.ROUTES,
    *rpc.ROUTES,
    *chat_socket.ROUTES,
    *widget_socket.ROUTES,
)
LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class WebParts:
    """What the surfaces are made of."""

    home: Path
    settings: GatewaySettings
    limits: KnowledgeLimits
    shelves: Shelves
    operations: Operations
    sign_in: SignIn
    channels: ChannelSet
    web_chat: WebChatChannel
    lanes: InboxLanes
    clock: Clock
    meter: PrometheusMeter
    config: Callable[[], str]  # "ok", or "rejected"
    mcp: McpHttp
    proposals: Proposals


def build_application(parts: WebParts) -> web.Application:
    """Every route, behind the same checks."""
    hosts = LOCAL_NAMES | {parts.settings.host, *parts.settings.allowed_hosts}
    if parts.settings.public_url:
        hosts |= {URL(parts.settings.public_url).host or ""}
    callers = HttpCallers(parts.sign_in, hosts)
    accept, chat = parts.lanes.accept, parts.operations.chat
    door = WidgetDoor(parts.channels, parts.operations.visitors, callers)
    visitors = WidgetSockets(door, accept, visitor_key(parts.home), parts.clock)
    registry = parts.operations.registry
    repeats = Idempotency(parts.shelves.store.repeats, parts.clock)
    surfaces = (
        Webhooks(parts.channels, accept, parts.clock, meter=parts.meter),
        Rpc(registry, callers, secure_cookie=parts.settings.secure_cookie, repeats=repeats),
        Rest(registry, callers, parts.operations.doors, repeats),
        DocsPage(registry, ROUTES),
        McpDoor(parts.operations.doors, callers, parts.mcp),
        Uploads(callers, _files(parts), repeats),
        PageImageRoute(callers, _pages(parts)),
        Retrieve(parts.operations.doors, parts.operations.retrieval),
        *_folders(parts, repeats),
        ChatSockets(callers, parts.web_chat, accept, chat, parts.clock),
        _health(parts, callers),
        Pages(callers),
        LinkPages(parts.channels, callers, linking_of(parts.shelves.store, parts.clock)),
        WidgetPages(door),
        visitors,
    )
    routes = [route for surface in surfaces for route in surface.routes()]
    ends = [parts.web_chat.hub.close, visitors.close, parts.mcp.close]
    application = http.build(callers, routes, on_shutdown=ends, limits=_limits(parts))
    application.on_response_prepare.append(echo_request_id)
    return application


def _folders(parts: WebParts, repeats: Idempotency) -> Surfaces:
    shelves, operations = parts.shelves, parts.operations
    return build_folders(shelves, operations, repeats, parts.proposals, parts.clock)


def _limits(parts: WebParts) -> RequestLimits:
    settings = parts.settings
    return RequestLimits(
        LimitSettings(
            settings.requests_per_minute,
            settings.requests_per_minute_of_address,
            settings.request_timeout_secs,
        ),
        parts.clock,
    )


def _health(parts: WebParts, callers: HttpCallers) -> Health:
    registry, states = parts.meter.registry, parts.channels.states
    return Health(callers, _Figures(parts), registry, states, parts.config)


def _files(parts: WebParts) -> Files:
    store = parts.shelves.store
    return Files(
        parts.operations.desk,
        parts.shelves.library,
        store.sources,
        store.blobs,
        store.audit,
        parts.clock,
        parts.limits.max_source_bytes,
        parts.home / "run",
    )


def _pages(parts: WebParts) -> PagesSeen:
    store, images = parts.shelves.store, parts.shelves.images
    return PagesSeen(parts.operations.desk, store.sources, images, store.audit, parts.clock)


class _Figures:
    """What /metrics tells: amounts, no names."""

    def __init__(self, parts: WebParts) -> None:
        self._parts = parts

    async def __call__(self) -> dict[str, Mapping[str, float]]:
        store = self._parts.shelves.store
        depths = await store.maintenance.depths(self._parts.clock.now())
        owed = depths["outbox_calls"]
        return {
            **depths,
            "jobs_waiting": dict(await store.jobs.waiting()),
            "outbox_unsettled": {state: owed.get(state, 0.0) for state in UNSETTLED},
            "chat_seats": {"webchat": len(self._parts.web_chat.hub)},
        }


def runner_of(application: web.Application) -> web.AppRunner:
    """What serves it."""
    return web.AppRunner(
        application,
        access_log=None,
        logger=SERVER_LOG,
        lingering_time=LINGER_S,
        read_bufsize=READ_AHEAD_BYTES,
        max_line_size=MOST_LINE_BYTES,
    )


async def listen(runner: web.AppRunner, host: str, port: int) -> str:
    """Open the port; ConfigError where it cannot be had."""
    try:
        await web.TCPSite(runner, host, port).start()
    except (OSError, OverflowError, UnicodeError) as error:  # taken, out of range, no host name
        reason = f"{host}:{port}: {getattr(error, 'strerror', None) or error}"
        raise ConfigError(reason, path="gateway.port", reason=reason) from error
    address = runner.addresses[0]
    return f"http://{address[0]}:{address[1]}"

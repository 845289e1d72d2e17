"""GET /healthz, /readyz, /metrics: whether we live, whether we can work, and figures."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from gateway.core.messages import ChannelState, LinkState
from gateway.errors import InvalidRequestError, NotFoundError
from gateway.surfaces.http import json_response
from gateway.surfaces.routes import ANYONE, Route, query_parameter
from gateway.surfaces.session import HttpCallers

# figure name -> label value ("" where there is none) -> figure; never a person's or file's name
Figures = Callable[[], Awaitable[Mapping[str, Mapping[str, float]]]]
States = Callable[[], Mapping[tuple[str, str], ChannelState]]  # by (platform, account name)

ROUTES = (
    Route(
        "get",
        "/healthz",
        "Tell that the process answers.",
        "health",
        ANYONE,
        answer={
            "type": "object",
            "required": ["status"],
            "properties": {"status": {"const": "ok"}},
        },
    ),
    Route(
        "get",
        "/readyz",
        "Tell whether the gateway can work; from its own machine, or with an admin's token.",
        "health",
        ANYONE,
        parameters=(query_parameter("strict", {"enum": ["0", "1"]}, "Channels down count."),),
        answer={"type": "object"},
    ),
    Route(
        "get",
        "/metrics",
        "Figures for Prometheus; from its own machine, or with an admin's token.",
        "health",
        ANYONE,
        answer={"type": "string"},
        answer_type="text/plain",
    ),
)


class Health:
    """For whoever runs the machine; /readyz and /metrics from here or with a token only."""

    def __init__(
        self,
        callers: HttpCallers,
        figures: Figures,
        registry: CollectorRegistry,
        states: States,
        config: Callable[[], str],
    ) -> None:
        """`figures` reads the store, so that it also proves that the store can be read.

        `config` says "rejected" while config.toml holds something that was not taken over.
        """
        self._callers = callers
        self._config = config
        self._figures = figures
        self._states = states
        self._registry = registry
        self._gauges: dict[str, Gauge] = {}
        self._channels = Gauge(
            "shutten_channels",
            "Accounts of a platform by the state of their connection.",
            ["channel", "state"],
            registry=registry,
        )

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The three routes."""
        return (
            web.get("/healthz", self.alive),
            web.get("/readyz", self.ready),
            web.get("/metrics", self.metrics),
        )

    async def alive(self, _request: web.Request) -> web.Response:
        """The process answers; nothing more is said."""
        return json_response({"status": "ok"})

    async def ready(self, request: web.Request) -> web.Response:
        """The store can be read; StoreError otherwise. A channel that is down is shown, and does
        not count: the others work, and a restart would not help. With `?strict=1` it is 503.
        """
        await self._check(request)
        is_strict = _is_strict(request)
        await self._figures()
        channels = self._by_platform()
        is_down = any(LinkState.DOWN in states for states in channels.values())
        is_refused = is_down and is_strict
        config = self._config()
        status = "degraded" if is_down or config != "ok" else "ready"
        told = {"status": status, "config": config, "channels": channels}
        return json_response(told, status=503 if is_refused else 200)

    async def metrics(self, request: web.Request) -> web.Response:
        """The figures in Prometheus' text form."""
        await self._check(request)
        for name, values in (await self._figures()).items():
            gauge = self._gauge(name)
            gauge.clear()
            for label, value in values.items():
                gauge.labels(label).set(value)
        self._channels.clear()
        for platform, states in self._by_platform().items():
            for state, count in states.items():
                self._channels.labels(platform, state).set(count)
        body = generate_latest(self._registry)
        return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4"})

    def _by_platform(self) -> dict[str, dict[str, int]]:
        """How many accounts of each platform are in each state; names would tell too much."""
        counted: dict[str, Counter[str]] = {}
        for (platform, _), state in sorted(self._states().items(), key=lambda item: item[0]):
            counted.setdefault(platform, Counter())[state.state.value] += 1
        return {platform: dict(states) for platform, states in counted.items()}

    def _gauge(self, name: str) -> Gauge:
        if name not in self._gauges:
            what = name.replace("_", " ")
            self._gauges[name] = Gauge(
                f"shutten_{name}",
                f"{what[0].upper()}{what[1:]}.",
                ["kind"],
                registry=self._registry,
            )
        return self._gauges[name]

    async def _check(self, request: web.Request) -> None:
        if not await self._callers.may_operate(request):
            raise NotFoundError("health")


def _is_strict(request: web.Request) -> bool:
    given = request.query.getall("strict", ["0"])
    if given not in (["0"], ["1"]):
        raise InvalidRequestError("strict", reason="strict: 0 or 1")
    return given == ["1"]

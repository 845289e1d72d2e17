"""GET /healthz, /readyz, /metrics: whether we live, whether we can work, and figures."""

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web
from prometheus_client import CollectorRegistry, Gauge, ProcessCollector, generate_latest

from gateway.errors import NotFoundError
from gateway.surfaces.http import json_response
from gateway.surfaces.session import HttpCallers

# figure name -> label value ("" where there is none) -> figure; never a person's or file's name
Figures = Callable[[], Awaitable[Mapping[str, Mapping[str, float]]]]


class Health:
    """For whoever runs the machine; /readyz and /metrics from here or with a token only."""

    def __init__(self, callers: HttpCallers, figures: Figures) -> None:
        """`figures` reads the store, so that it also proves that the store can be read."""
        self._callers = callers
        self._figures = figures
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._gauges: dict[str, Gauge] = {}

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
        """The store can be read; StoreError otherwise."""
        await self._check(request)
        await self._figures()
        return json_response({"status": "ready"})

    async def metrics(self, request: web.Request) -> web.Response:
        """The figures in Prometheus' text form."""
        await self._check(request)
        for name, values in (await self._figures()).items():
            gauge = self._gauge(name)
            gauge.clear()
            for label, value in values.items():
                gauge.labels(label).set(value)
        body = generate_latest(self._registry)
        return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4"})

    def _gauge(self, name: str) -> Gauge:
        if name not in self._gauges:
            what = name.replace("_", " ")
            self._gauges[name] = Gauge(f"shutten_{name}", what, ["kind"], registry=self._registry)
        return self._gauges[name]

    async def _check(self, request: web.Request) -> None:
        if not await self._callers.may_operate(request):
            raise NotFoundError("health")

"""The figures of the running program for Prometheus, every name and label in one table."""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from gateway.interfaces import Clock, Meter

PREFIX = "shutten"
QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
TURN = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
LAG = (0.001, 0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0, 5.0)
SAMPLED_EVERY_S = 0.1
SAMPLES_KEPT = 600  # of the last minute


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric. With `buckets` it is a histogram of seconds, otherwise a counter."""

    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


# Labels are names of platforms, stages, methods and configured models: few, and nobody's.
FIGURES: Mapping[str, Figure] = {
    "received": Figure("Messages stored to be answered.", ("channel",)),
    "deduplicated": Figure("Messages that had come before.", ("channel",)),
    "busy": Figure("Messages answered with the busy sentence.", ("channel",)),
    "loop_dropped": Figure("Messages of conversations that turn over too fast.", ("channel",)),
    "acknowledged": Figure("Seconds from a webhook's call to our answer.", ("channel",), QUICK),
    "turn": Figure("Seconds a turn spent in a stage.", ("stage",), TURN),
    "sent": Figure("Calls that a platform accepted.", ("channel", "method")),
    "send_retried": Figure("Calls put off to be tried again.", ("channel",)),
    "rate_limited": Figure("Calls that a platform refused by its rate.", ("channel",)),
    "given_up": Figure("Calls that ended dead or unknown.", ("channel", "state")),
    "llm": Figure("Seconds of a language model's call.", ("provider", "model"), TURN),
    "llm_calls": Figure("Language model calls.", ("provider", "model", "outcome")),
    "llm_tokens": Figure("Tokens read (in) and written (out).", ("provider", "model", "kind")),
    "llm_cost": Figure("Cost of tokens, in the prices' unit.", ("provider", "model")),
    "citations": Figure("Citation marks of answers, by what became of them.", ("outcome",)),
    "loop_lag": Figure("Seconds the event loop came late.", (), LAG),
}


class PrometheusMeter:
    """Implements `interfaces.Meter`; the names it knows are those of FIGURES."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        for name, figure in FIGURES.items():
            self._make(name, figure)
        self._lag_p99 = Gauge(
            f"{PREFIX}_loop_lag_p99_seconds",
            "How late the event loop came in the last minute, all but one in a hundred.",
            registry=self.registry,
        )

    def count(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """Add to a counter; KeyError for a name or labels that the table does not have."""
        counter = self._counters[name]
        _check(name, labels)
        (counter.labels(**labels) if labels else counter).inc(amount)

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Seconds into a histogram; KeyError as for `count`."""
        histogram = self._histograms[name]
        _check(name, labels)
        (histogram.labels(**labels) if labels else histogram).observe(value)

    def lag_is(self, p99_s: float) -> None:
        """The event loop's lag of the last minute."""
        self._lag_p99.set(p99_s)

    def _make(self, name: str, figure: Figure) -> None:
        if figure.buckets:
            self._histograms[name] = Histogram(
                f"{PREFIX}_{name}_seconds",
                figure.help,
                figure.labels,
                registry=self.registry,
                buckets=figure.buckets,
            )
        else:
            self._counters[name] = Counter(
                f"{PREFIX}_{name}", figure.help, figure.labels, registry=self.registry
            )


class LoopLag:
    """Measures how late the event loop runs what is due: what a blocking call costs everybody."""

    def __init__(self, meter: PrometheusMeter, clock: Clock) -> None:
        self._meter = meter
        self._clock = clock
        self._late: deque[float] = deque(maxlen=SAMPLES_KEPT)

    async def run(self) -> None:
        """Sample until cancelled."""
        while True:
            due = self._clock.monotonic() + SAMPLED_EVERY_S
            await asyncio.sleep(SAMPLED_EVERY_S)
            self.add(max(0.0, self._clock.monotonic() - due))

    def add(self, late_s: float) -> None:
        """One sample."""
        self._late.append(late_s)
        self._meter.observe("loop_lag", late_s)
        ordered = sorted(self._late)
        self._meter.lag_is(ordered[(len(ordered) * 99 - 1) // 100])


def _check(name: str, labels: Mapping[str, str]) -> None:
    if set(labels) != set(FIGURES[name].labels):
        raise KeyError(f"{name}: labels are {FIGURES[name].labels}")


fits: type[Meter] = PrometheusMeter

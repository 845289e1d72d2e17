"""`gateway.check` and `outbox.replay`: what an operator looks at, and puts right."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.core.audit import SecurityEvent
from gateway.core.messages import Check, LinkState
from gateway.errors import ConflictError, GatewayError, NotFoundError
from gateway.interfaces import Audit, Channel, Clock, Outbox
from gateway.operations.auth import Nothing
from gateway.operations.table import Caller, Operation, Permission

CHECK_TIMEOUT_S = 20.0  # with loading the platform's SDK, which takes seconds by itself
MOST_SEARCHED = 10_000
CHANNEL, PROVIDER = "channel", "provider"


class ChecksProviders(Protocol):
    """Asks each language model provider whether it is there and takes the key."""

    async def check(self) -> Mapping[str, Check]: ...


@dataclass(frozen=True, slots=True)
class CheckView:
    """One thing that was looked at: `kind` channel or provider, `name` as in config.toml."""

    kind: str
    name: str
    check: str
    is_ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """A dead call; one whose outcome is unknown only with `unknown`, for it may have arrived."""

    id: str
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Watching:
    """What these operations share. `wake` tells the sender that something is due."""

    outbox: Outbox
    audit: Audit
    channels: Callable[[], Iterable[Channel]]
    providers: ChecksProviders
    wake: Callable[[], None]
    clock: Clock

    async def check(self, _caller: Caller, _request: Nothing) -> Sequence[CheckView]:
        """Every channel but our own page's, and every provider; nothing is changed."""
        channels = [each for each in self.channels() if each.name != "webchat"]
        of_channels, of_providers = await asyncio.gather(
            check_channels(channels), self.providers.check()
        )
        return [*of_channels, *views_of_providers(of_providers)]

    async def replay(self, caller: Caller, request: ReplayRequest) -> None:
        """The call is due once more, behind nothing of its conversation. NotFoundError where it
        is neither, or its text is gone; ConflictError for an unknown one without `unknown`.
        """
        now = self.clock.now()
        states = ("dead", "unknown") if request.unknown else ("dead",)
        try:
            await self.outbox.replay(request.id, now, states)
        except NotFoundError:
            if not request.unknown and await self._is_unknown(request.id):
                raise ConflictError(request.id, code="outcome_unknown") from None
            raise
        actor = caller.account.id if caller.account is not None else "operator"
        event = SecurityEvent(
            "dead_letter_replayed",
            now,
            actor,
            {"call_id": request.id, "unknown": request.unknown},
        )
        await self.audit.event(event)
        self.wake()

    async def _is_unknown(self, call_id: str) -> bool:
        rows = await self.outbox.listed(["unknown"], MOST_SEARCHED)
        return any(row["id"] == call_id for row in rows)


async def check_channels(channels: Iterable[Channel]) -> Sequence[CheckView]:
    """All at the same time, each within its deadline; one that breaks down is a finding."""
    channels = list(channels)
    outcomes = await asyncio.gather(
        *(_checks(each) for each in channels),
        return_exceptions=True,  # a bug of one must not hide the others
    )
    found = []
    for channel, outcome in zip(channels, outcomes, strict=True):
        if isinstance(outcome, BaseException):
            outcome = (Check("connection", is_ok=False, detail=_said(outcome)),)  # noqa: PLW2901
        name = f"{channel.name}/{channel.account_name}"
        found += [CheckView(CHANNEL, name, c.name, c.is_ok, c.detail) for c in outcome]
    return found


def views_of_providers(checks: Mapping[str, Check]) -> Sequence[CheckView]:
    """One row a provider."""
    return [
        CheckView(PROVIDER, name, each.name, each.is_ok, each.detail)
        for name, each in checks.items()
    ]


async def _checks(channel: Channel) -> Sequence[Check]:
    async with asyncio.timeout(CHECK_TIMEOUT_S):
        checks = list(await channel.check())
    state = channel.state
    if state.state is LinkState.DOWN:
        checks.append(Check("state", is_ok=False, detail=state.reason))
    return checks or [Check("settings", is_ok=True)]


def _said(error: BaseException) -> str:
    if isinstance(error, GatewayError):
        return error.code
    return "timeout" if isinstance(error, TimeoutError) else type(error).__name__


def operations(watching: Watching) -> tuple[Operation, ...]:
    """The rows of watching."""
    admin = Permission.ADMIN
    return (
        Operation(
            "gateway.check",
            "Ask platforms and language models whether our credentials and webhooks are right.",
            admin,
            Nothing,
            watching.check,
        ),
        Operation(
            "outbox.replay",
            "Send a dead letter once more; one of unknown outcome only when told to.",
            admin,
            ReplayRequest,
            watching.replay,
        ),
    )

"""Choosing a cloud provider: what is disclosed first, and the record of who agreed (A14)."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gateway.core.audit import Details, SecurityEvent
from gateway.core.redaction import Redactor, counted
from gateway.errors import ConflictError, InvalidRequestError
from gateway.interfaces import Accounts, Audit, Clock, VectorCoverage
from gateway.operations.auth import Nothing
from gateway.operations.embedding_types import CloudChoice, SelectRequest, Settings
from gateway.operations.table import Caller, Operation, Permission
from gateway.settings_file import SettingsFile, Value
from models.cloud.settings import VENDORS, CloudSettings, Consent, address_of, problem_of

SECTION = ("knowledge", "embedding")


@dataclass(frozen=True, slots=True)
class DisclosureRequest:
    """The provider that somebody thinks of choosing."""

    provider: str
    cloud_model: str | None = None
    cloud_account: str | None = None


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What would leave, and where to; `is_vendors_own` false: the key goes there as well.

    `redaction_rules` 0 or a `problem`: nothing would be sent. `collections` in all, of which
    `restricted` and other `local_only` ones stay. `id` goes back with the agreement.
    """

    id: str

    provider: str
    host: str
    port: int
    model: str
    is_vendors_own: bool
    redaction_rules: int  # at work: 0 where one is broken
    rules_compiled: int
    rules_broken: int
    collections: int
    restricted: int
    local_only: int
    has_key: bool
    has_consent: bool
    problem: str


@dataclass(frozen=True, slots=True)
class ConsentView:
    """Who agreed when to what."""

    by: str  # the name, or the account's id where it is gone
    at: str
    host: str
    port: int
    model: str


@dataclass(frozen=True, slots=True)
class SettingsView:
    """What is chosen and what can be. `is_loaded`: the local model is in memory; None: no local
    one answers.
    """

    provider: str
    local_model: str
    cloud_model: str
    cloud_account: str
    consent: ConsentView | None
    is_loaded: bool | None
    clouds: list[CloudChoice]


Wanted = Callable[[str, str, str], CloudSettings | None]  # provider, model, account


@dataclass(frozen=True, slots=True)
class CloudDesk:
    """Discloses, records the consent and writes the choice; the only one that writes either."""

    wanted: Wanted
    settings: SettingsFile
    audit: Audit
    clock: Clock
    look: Callable[[], Awaitable[None]]
    settled: Callable[[], Settings]  # what config.toml says now
    is_loaded: Callable[[], bool | None]
    coverage: VectorCoverage
    accounts: Accounts

    async def now(self, _caller: Caller, _request: Nothing) -> SettingsView:
        """For the page of the settings."""
        chosen = self.settled()
        return SettingsView(
            provider=chosen.provider,
            local_model=chosen.local_model,
            cloud_model=chosen.cloud_model,
            cloud_account=chosen.cloud_account,
            consent=None if chosen.consent is None else await self._consent(chosen.consent),
            is_loaded=self.is_loaded(),
            clouds=list(chosen.clouds),
        )

    async def _consent(self, agreed: Consent) -> ConsentView:
        account = await self.accounts.find(agreed.by)
        name = agreed.by if account is None else account.display_name
        return ConsentView(name, agreed.at, agreed.host, agreed.port, agreed.model)

    async def disclosure(self, _caller: Caller, request: DisclosureRequest) -> Disclosure:
        """What the dialog says before anybody agrees."""
        cloud = self._cloud(request.provider, request.cloud_model, request.cloud_account)
        redactor = Redactor(cloud.redaction)
        host, port = address_of(cloud)
        everything, restricted, local_only = await self.coverage.kept_here()
        compiled, broken = counted(cloud.redaction)
        return Disclosure(
            id=_id_of(cloud, request.cloud_account),
            provider=cloud.vendor.name,
            host=host,
            port=port,
            model=cloud.model,
            is_vendors_own=cloud.is_vendors_own,
            redaction_rules=redactor.count,
            rules_compiled=compiled,
            rules_broken=broken,
            collections=everything,
            restricted=restricted,
            local_only=local_only,
            has_key=bool(cloud.key),
            has_consent=cloud.has_consent,
            problem=problem_of(cloud) or redactor.problem,
        )

    async def choose(self, caller: Caller, request: SelectRequest) -> None:
        """ConflictError `cloud_disclosure_needed`: not agreed to, neither now nor before, or to
        something else than would be told now.
        """
        cloud = self._cloud(request.provider, request.cloud_model, request.cloud_account)
        problem = problem_of(cloud)
        if problem:
            raise InvalidRequestError("cloud_base_url", reason=problem)
        is_stale = request.disclosure_id not in {None, _id_of(cloud, request.cloud_account)}
        if is_stale or not (request.acknowledge_disclosure or cloud.has_consent):
            raise ConflictError(request.provider, code="cloud_disclosure_needed")
        actor = caller.account.id if caller.account is not None else "operator"
        now = self.clock.now()
        host, port = address_of(cloud)
        values: dict[str, Value] = {
            "provider": cloud.vendor.name,
            "cloud_model": request.cloud_model or "",
            "cloud_account": request.cloud_account or "",
        }
        if request.acknowledge_disclosure:
            values["cloud_disclosure_ack"] = {
                "by": actor,
                "at": now.isoformat(timespec="seconds").replace("+00:00", "Z"),
                "provider": cloud.vendor.name,
                "host": host,
                "port": port,
                "model": cloud.model,
            }
        await self.settings.put(SECTION, values)
        told: Details = {
            "provider": cloud.vendor.name,
            "host": host,
            "port": port,
            "model": cloud.model,
        }
        await self.audit.event(SecurityEvent("embedding_provider_change", now, actor, told))
        await self.look()

    def _cloud(self, provider: str, model: str | None, account: str | None) -> CloudSettings:
        cloud = self.wanted(provider, model or "", account or "")
        if cloud is None:
            known = ", ".join(("local", "none", *VENDORS))
            raise InvalidRequestError("provider", reason=f"provider: {known}")
        return cloud


def _id_of(cloud: CloudSettings, account: str | None) -> str:
    """Of all that a disclosure tells which settings decide: another one has another."""
    rules = [[rule.name, rule.pattern, rule.marker] for rule in cloud.redaction.rules]
    told = [cloud.vendor.name, *address_of(cloud), cloud.base_url, cloud.model, account or ""]
    told += [rules, cloud.redaction.enabled, cloud.redaction.is_forced_off, bool(cloud.key)]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]


def operations(desk: CloudDesk) -> tuple[Operation, ...]:
    """The rows of the cloud providers."""
    return (
        Operation(
            "knowledge.embedding.disclosure",
            "Tell what would leave this machine, and where to.",
            Permission.ADMIN,
            DisclosureRequest,
            desk.disclosure,
        ),
        Operation(
            "knowledge.embedding.settings",
            "Tell who computes vectors, who agreed to it, and who else could.",
            Permission.ADMIN,
            Nothing,
            desk.now,
        ),
    )

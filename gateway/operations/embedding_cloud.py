"""Choosing a cloud provider: what is disclosed first, and the record of who agreed (A14)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gateway.core.audit import Details, SecurityEvent
from gateway.core.redaction import Redactor
from gateway.errors import ConflictError, InvalidRequestError
from gateway.interfaces import Audit, Clock
from gateway.operations.embedding_types import SelectRequest
from gateway.operations.table import Caller, Operation, Permission
from gateway.settings_file import SettingsFile, Value
from models.cloud.settings import VENDORS, CloudSettings, address_of, problem_of

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

    `redaction_rules` 0 or a `problem`: nothing would be sent.
    """

    provider: str
    host: str
    port: int
    model: str
    is_vendors_own: bool
    redaction_rules: int
    has_key: bool
    has_consent: bool
    problem: str


Wanted = Callable[[str, str, str], CloudSettings | None]  # provider, model, account


@dataclass(frozen=True, slots=True)
class CloudDesk:
    """Discloses, records the consent and writes the choice; the only one that writes either."""

    wanted: Wanted
    settings: SettingsFile
    audit: Audit
    clock: Clock
    look: Callable[[], Awaitable[None]]

    async def disclosure(self, _caller: Caller, request: DisclosureRequest) -> Disclosure:
        """What the dialog says before anybody agrees."""
        cloud = self._cloud(request.provider, request.cloud_model, request.cloud_account)
        redactor = Redactor(cloud.redaction)
        host, port = address_of(cloud)
        return Disclosure(
            provider=cloud.vendor.name,
            host=host,
            port=port,
            model=cloud.model,
            is_vendors_own=cloud.is_vendors_own,
            redaction_rules=redactor.count,
            has_key=bool(cloud.key),
            has_consent=cloud.has_consent,
            problem=problem_of(cloud) or redactor.problem,
        )

    async def choose(self, caller: Caller, request: SelectRequest) -> None:
        """ConflictError `cloud_disclosure_needed`: not agreed to, neither now nor before."""
        cloud = self._cloud(request.provider, request.cloud_model, request.cloud_account)
        problem = problem_of(cloud)
        if problem:
            raise InvalidRequestError("cloud_base_url", reason=problem)
        if not request.acknowledge_disclosure and not cloud.has_consent:
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
    )

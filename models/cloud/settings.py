"""Which cloud provider computes vectors, where, and what was agreed to."""

from dataclasses import dataclass

from yarl import URL

from gateway.core.addresses import is_public
from gateway.core.redaction import CLOUD_KEY, RedactionSettings
from gateway.core.secrets import Secret

HTTPS_PORT = 443
LOOPBACK = "127.0.0.1"  # the one place that plain http may go to


@dataclass(frozen=True, slots=True)
class Vendor:
    """A provider: its own endpoint, its default model, how long that one's vectors are."""

    name: str
    base_url: str
    model: str
    dimensions: int
    key_variable: str  # of the environment, where no account has a key
    most_texts: int  # of one request


VENDORS = {
    vendor.name: vendor
    for vendor in (
        Vendor(
            *("openai", "https://api.openai.com/v1", "text-embedding-3-small", 1536),
            *("OPENAI_API_KEY", 128),
        ),
        Vendor(
            *("gemini", "https://generativelanguage.googleapis.com/v1beta"),
            *("gemini-embedding-001", 768, "GEMINI_API_KEY", 100),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Consent:
    """`cloud_disclosure_ack`: who agreed when that text goes where, to which model."""

    by: str
    at: str  # RFC 3339
    provider: str
    host: str
    port: int  # of a record without one: 443
    model: str


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """What `[knowledge.embedding]`, `[providers]` and `[redaction]` say of the cloud."""

    vendor: Vendor
    model: str
    base_url: str
    allow_private_endpoint: bool
    key: Secret
    consent: Consent | None
    redaction: RedactionSettings

    @property
    def url(self) -> URL:
        """Where the API is; ValueError for what is no URL."""
        return URL(self.base_url.rstrip("/"))

    @property
    def model_key(self) -> str:
        """Vectors of another endpoint or model are others."""
        host, port = address_of(self)
        return f"{CLOUD_KEY}{self.vendor.name}:{host}:{port}:{self.model}:{self.vendor.dimensions}"

    @property
    def has_consent(self) -> bool:
        """The record is of exactly this provider, host, port and model."""
        agreed = self.consent
        if agreed is None or not agreed.by or not agreed.at:
            return False
        here = (self.vendor.name, *address_of(self), self.model)
        return (agreed.provider, agreed.host, agreed.port, agreed.model) == here

    @property
    def is_vendors_own(self) -> bool:
        """The key and the texts go to the vendor itself."""
        own = URL(self.vendor.base_url)
        return address_of(self) == (own.host, own.port)


def address_of(settings: CloudSettings) -> tuple[str, int]:
    """(host, port); empty and 0 where the endpoint is no URL."""
    try:
        url = settings.url
        return (url.host or "").lower(), url.port or 0
    except ValueError:
        return "", 0


def problem_of(settings: CloudSettings) -> str:
    """Why the endpoint may not be asked; empty: it may, if its addresses may be connected to."""
    host, port = address_of(settings)
    if not host or not port:
        return "cloud_base_url: is no address"
    url = settings.url
    if url.user is not None or url.password is not None or url.query_string or url.fragment:
        return "cloud_base_url: has more than host, port and path"
    is_local = settings.allow_private_endpoint and host == LOOPBACK
    if url.scheme != "https" and not (url.scheme == "http" and is_local):
        return "cloud_base_url: must be https"
    if host.replace(".", "").isdigit() or ":" in host:
        return "" if may_connect(settings, host) else "cloud_base_url: is not public"
    return ""


def may_connect(settings: CloudSettings, address: str) -> bool:
    """A public address, or any where the admin's setting says so."""
    return settings.allow_private_endpoint or is_public(address)

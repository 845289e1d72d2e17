"""Where a language model is to be had: `[providers.<id>]` of config.toml."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from urllib.parse import urlsplit

from gateway.core.chat import TokenUsage
from gateway.core.secrets import Secret
from gateway.errors import ConfigError

NO_SECRET = Secret("")
PER_MILLION = 1_000_000


class ProviderKind(StrEnum):
    """Which wire a provider speaks."""

    OPENAI = "openai"  # chat completions, by the vendor or by any server that imitates it
    ANTHROPIC = "anthropic"  # the messages API


VENDORS = {
    ProviderKind.OPENAI: "https://api.openai.com/v1",
    ProviderKind.ANTHROPIC: "https://api.anthropic.com",
}


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """One provider. The key never prints; a local server may need none.

    Prices are for a million tokens, in whatever currency the operator thinks in.
    """

    kind: ProviderKind = ProviderKind.OPENAI
    base_url: str = ""  # empty: the vendor's own
    api_key: Secret = NO_SECRET
    proxy: Secret = NO_SECRET  # its URL, which may hold a password; the environment's is not used
    connect_timeout_s: float = 5.0
    first_token_timeout_s: float = 30.0  # from the request, tries again included, to first token
    total_timeout_s: float = 120.0
    max_retries: int = 2
    max_tokens: int = 0  # of one answer; 0: the server's own limit, Anthropic's needs one: 4096
    ask_usage: bool = True  # false for servers that refuse `stream_options`
    price_in_per_million: float = 0.0
    price_out_per_million: float = 0.0
    prices: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # model -> [in, out]

    @property
    def url(self) -> str:
        """Where the API is."""
        return self.base_url or VENDORS[self.kind]

    @property
    def is_local(self) -> bool:
        """The server listens on this machine's loopback, and no proxy stands between."""
        host = (urlsplit(self.url).hostname or "").rstrip(".")
        if self.proxy or not host:
            return False
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def cost(self, model: str, usage: TokenUsage) -> float:
        """What these tokens of this model cost."""
        provider = (self.price_in_per_million, self.price_out_per_million)
        price_in, price_out = self.prices.get(model, provider)
        return (usage.tokens_in * price_in + usage.tokens_out * price_out) / PER_MILLION


def checked(provider_id: str, settings: ProviderSettings) -> ProviderSettings:
    """The settings, if they can work at all; ConfigError names the key that cannot."""
    path = f"providers.{provider_id}"
    if not settings.api_key and settings.url in VENDORS.values():
        raise _wrong(f"{path}.api_key", "is empty")
    for model, prices in settings.prices.items():
        if len(prices) != 2 or min(prices) < 0:
            raise _wrong(f"{path}.prices.{model}", "must be [in, out] for a million tokens")
    return settings


def _wrong(path: str, reason: str) -> ConfigError:
    return ConfigError(f"{path}: {reason}", path=path, reason=reason)

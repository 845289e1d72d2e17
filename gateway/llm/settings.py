"""Where a language model is to be had: `[providers.<id>]` of config.toml."""

from dataclasses import dataclass
from enum import StrEnum

from gateway.core.secrets import Secret

NO_SECRET = Secret("")


class ProviderKind(StrEnum):
    """Which wire a provider speaks."""

    OPENAI = "openai"  # chat completions, by the vendor or by any server that imitates it


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """One provider. The key never prints; a local server may need none."""

    kind: ProviderKind = ProviderKind.OPENAI
    base_url: str = "https://api.openai.com/v1"
    api_key: Secret = NO_SECRET
    connect_timeout_s: float = 5.0
    first_token_timeout_s: float = 30.0  # from the request, tries again included, to first token
    total_timeout_s: float = 120.0
    max_retries: int = 2

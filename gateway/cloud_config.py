"""The cloud provider of `[knowledge.embedding]`, with its key, its consent and the redaction."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from yarl import URL

from gateway.config import Config, environment, lenient_section, section, wrong
from gateway.core.redaction import RedactionSettings, Redactor, Rule
from gateway.core.secrets import Secret
from gateway.errors import ModelError
from models.cloud.encoder import reason_of
from models.cloud.settings import HTTPS_PORT, VENDORS, CloudSettings, Consent, problem_of

FORCED_OFF = "SHUTTEN_REDACTION_OFF"  # a variable: any value but an empty one
NO_KEY = Secret("")
EMBEDDING_ONLY = frozenset({"gemini"})  # kinds of providers that no language model here speaks


@dataclass(frozen=True, slots=True)
class CloudKeys:
    """What `[knowledge.embedding]` says of the cloud."""

    cloud_model: str = ""
    cloud_account: str = ""
    cloud_base_url: str = ""
    allow_private_endpoint: bool = False


def redaction_of(config: Config) -> RedactionSettings:
    """`[redaction]`; ConfigError names a wrong key. A pattern that is wrong is told by its use."""
    table = dict(config.redaction)
    rules = table.pop("rules", [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise wrong("redaction.rules", "must be a list of tables")
    read = tuple(section(Rule, rule, f"redaction.rules[{n}]") for n, rule in enumerate(rules))
    for key, value in table.items():
        if key != "enabled" or not isinstance(value, bool):
            raise wrong(f"redaction.{key}", "known keys: enabled (a boolean), rules")
    is_forced_off = bool((environment(FORCED_OFF) or "").strip())
    return RedactionSettings(bool(table.get("enabled", False)), read, is_forced_off)


def cloud_of(
    config: Config, provider: str, keys: CloudKeys, consent: Consent | None
) -> CloudSettings | None:
    """The settings of a cloud provider; None for local, none and what nobody knows."""
    vendor = VENDORS.get(provider)
    if vendor is None:
        return None
    base_url = keys.cloud_base_url or vendor.base_url
    return CloudSettings(
        vendor,
        keys.cloud_model or vendor.model,
        base_url,
        keys.allow_private_endpoint,
        _key(config, provider, keys.cloud_account, base_url, vendor.key_variable),
        consent,
        redaction_of(config),
    )


def wanted_of(config: Config, provider: str, model: str, account: str) -> CloudSettings | None:
    """As `cloud_of`, for a choice that somebody thinks of; the endpoint is the file's."""
    keys = replace(cloud_keys(config), cloud_model=model, cloud_account=account)
    consent = consent_of(config.embedding.get("cloud_disclosure_ack"))
    return cloud_of(config, provider, keys, consent)


def cloud_keys(config: Config) -> CloudKeys:
    """What the file says of the cloud, whichever provider is chosen."""
    names = {each.name for each in fields(CloudKeys)} & config.embedding.keys()
    table = {key: config.embedding[key] for key in names}
    found, _ = lenient_section(CloudKeys, table, "knowledge.embedding", {})
    return found


def consent_of(table: object) -> Consent | None:
    """The record in the file; None for none and for what is none."""
    if not isinstance(table, Mapping):
        return None
    values = {field.name: table.get(field.name) for field in fields(Consent)}
    port = HTTPS_PORT if values["port"] is None else values.pop("port")
    texts = {name: value for name, value in values.items() if name != "port"}
    if type(port) is not int or not all(isinstance(value, str) for value in texts.values()):
        return None
    told: dict[str, Any] = texts
    return Consent(port=port, **told)


def told(settings: CloudSettings) -> str:
    """For `doctor`: who computes the vectors, and how many rules are at work. ModelError."""
    redactor = Redactor(settings.redaction)
    reason = reason_of(settings, redactor)
    if reason is not None:
        detail = problem_of(settings) or redactor.problem
        raise ModelError(f"{reason.value} {detail}".strip(), code="model_unavailable")
    return f"{settings.vendor.name} {settings.model}, redaction: {redactor.count}"


def _key(config: Config, provider: str, account: str, base_url: str, variable: str) -> Secret:
    """Of the named account, else of any that is for this provider's endpoint, else a variable."""
    for name, table in config.providers.items():
        is_named = name == account
        is_ours = table.get("kind", "openai") == provider and _is_at(table, base_url, provider)
        if is_named or (not account and is_ours):
            found = _account_key(table, name)
            if found or is_named:
                return found
    return NO_KEY if account else Secret(environment(variable) or "")


def _is_at(table: Mapping[str, Any], base_url: str, provider: str) -> bool:
    """A key goes to nobody but the one it was given for."""
    try:
        host = URL(str(table.get("base_url") or VENDORS[provider].base_url)).host
        return host in {URL(base_url).host, URL(VENDORS[provider].base_url).host}
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class _Account:
    api_key: Secret = NO_KEY


def _account_key(table: Mapping[str, Any], name: str) -> Secret:
    mine = {key: value for key, value in table.items() if key.startswith("api_key")}
    return section(_Account, mine, f"providers.{name}").api_key

"""config.toml and the environment, parsed once and strictly; nothing else reads either."""

import os
import re
import tomllib
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from gateway.core.secrets import Secret
from gateway.errors import ConfigError

T = TypeVar("T")
DEFAULT_HOME = "~/.shutten"
_PUBLIC_URL = re.compile(r"https?://[^\s/?#@]+")
SECRET_SUFFIXES = ("_env", "_file")  # a secret may stand in the file, a variable or another file


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """`[gateway]`: where it listens and how much it does at once."""

    host: str = "127.0.0.1"
    port: int = 8787
    allowed_hosts: tuple[str, ...] = ()  # beside host, localhost and 127.0.0.1
    language: str = "zh-TW"
    default_agent: str = ""
    max_concurrent_turns: int = 4096
    lane_limit: int = 20  # unanswered messages of one conversation before it says "busy"
    turns_per_minute: int = 60  # of one conversation; more is two programs, and dropped
    citation_check: bool = True  # cited sentences are compared with their passages
    session_days: int = 14
    secure_cookie: bool = False  # true behind https
    requests_per_minute: int = 1200  # of one token or signed-in browser; 0: no limit
    requests_per_minute_of_address: int = 600  # without a token that holds; 0: no limit
    request_timeout_secs: float = 300.0  # an answer that takes longer is given up; 0: never
    public_url: str = ""  # where people and platforms reach the page, for links in chats

    def __post_init__(self) -> None:
        """A link that leads nowhere would be found out by people only."""
        numbers = ("requests_per_minute", "requests_per_minute_of_address", "request_timeout_secs")
        for name in numbers:
            if getattr(self, name) < 0:
                raise wrong(f"gateway.{name}", "must not be negative")
        if self.public_url and not _PUBLIC_URL.fullmatch(self.public_url):
            raise wrong("gateway.public_url", "must be http(s)://host or http(s)://host:port")


@dataclass(frozen=True, slots=True)
class Config:
    """The whole file: typed where one part owns it, raw tables where several of a kind may be."""

    gateway: GatewaySettings
    knowledge: Mapping[str, Any]
    embedding: Mapping[str, Any]
    channels: Mapping[str, Mapping[str, Mapping[str, Any]]]  # platform -> name -> table
    providers: Mapping[str, Mapping[str, Any]]
    redaction: Mapping[str, Any] = field(default_factory=dict)


SECTIONS = ("gateway", "knowledge", "channels", "providers", "redaction")


def home_folder(option: str | None) -> Path:
    """`--home`, else SHUTTEN_HOME, else ~/.shutten."""
    return Path(option or os.environ.get("SHUTTEN_HOME") or DEFAULT_HOME).expanduser().absolute()


def environment(name: str) -> str | None:
    """One variable, or None; the only door to the environment."""
    return os.environ.get(name)


def load(path: Path) -> Config:
    """Parse config.toml; a missing file means defaults. ConfigError names the exact wrong key."""
    try:
        table = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(str(error), path=path.name, reason=str(error)) from error
    for key in table:
        if key not in SECTIONS:
            raise wrong(key, f"unknown; known sections: {', '.join(SECTIONS)}")
    knowledge = dict(table_of(table.get("knowledge", {}), "knowledge"))
    embedding = table_of(knowledge.pop("embedding", {}), "knowledge.embedding")
    channels = {
        platform: {
            name: table_of(settings, f"channels.{platform}.{name}")
            for name, settings in table_of(accounts, f"channels.{platform}").items()
        }
        for platform, accounts in table_of(table.get("channels", {}), "channels").items()
    }
    providers = {
        name: table_of(settings, f"providers.{name}")
        for name, settings in table_of(table.get("providers", {}), "providers").items()
    }
    gateway = section(GatewaySettings, table_of(table.get("gateway", {}), "gateway"), "gateway")
    redaction = table_of(table.get("redaction", {}), "redaction")
    return Config(gateway, knowledge, embedding, channels, providers, redaction)


def section(cls: type[T], table: Mapping[str, Any], path: str) -> T:
    """Build the settings class of one part from its table, or name the exact wrong key."""
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for key, value in table.items():
        name, value = _resolved(key, value, hints, path)  # noqa: PLW2901
        if name in values:
            raise wrong(f"{path}.{key}", f"{name} is given twice")
        values[name] = _typed(hints[name], value, f"{path}.{key}")
    for each in fields(cls):  # type: ignore[arg-type]
        if each.name not in values and each.default is each.default_factory is MISSING:
            raise wrong(f"{path}.{each.name}", "is required")
    return cls(**values)


def lenient_section(
    cls: type[T], table: Mapping[str, Any], path: str, ranges: Mapping[str, tuple[int, int]]
) -> tuple[T, tuple[str, ...]]:
    """Like `section` for [knowledge]: clamp numbers, ignore what does not fit; with warnings."""
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    warnings: list[str] = []
    for key, value in table.items():
        if key not in hints:
            warnings.append(f"{path}.{key}: unknown, ignored")
            continue
        try:
            values[key] = _typed(hints[key], value, f"{path}.{key}")
        except ConfigError as error:
            warnings.append(f"{error}, ignored")
            continue
        if key in ranges:
            low, high = ranges[key]
            clamped = min(max(values[key], low), high)
            if clamped != values[key]:
                warnings.append(f"{path}.{key}: {values[key]} is out of range, {clamped} is used")
                values[key] = clamped
    return cls(**values), tuple(warnings)


def wrong(path: str, reason: str) -> ConfigError:
    """Name the key and what is wrong with it."""
    return ConfigError(f"{path}: {reason}", path=path, reason=reason)


def table_of(value: object, path: str) -> Mapping[str, Any]:
    """The value, if it is a table."""
    if not isinstance(value, dict):
        raise wrong(path, "must be a table")
    return value


def _resolved(key: str, value: Any, hints: Mapping[str, Any], path: str) -> tuple[str, Any]:
    """Turn `x_env` and `x_file` of a secret x into (x, its value)."""
    if key in hints:
        return key, value
    for suffix in SECRET_SUFFIXES:
        name = key.removesuffix(suffix)
        if key.endswith(suffix) and _plain(hints.get(name)) is Secret:
            return name, _secret_from(suffix, value, f"{path}.{key}")
    raise wrong(f"{path}.{key}", f"unknown; known keys: {', '.join(hints)}")


def _secret_from(suffix: str, value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise wrong(path, "must be a string")
    if suffix == "_env":
        found = os.environ.get(value)
        if not found:
            raise wrong(path, f"the variable {value} is not set")
        return found
    try:
        found = Path(value).expanduser().read_text("utf-8").strip()
    except OSError as error:
        raise wrong(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise wrong(path, "cannot be read: no UTF-8 text") from error
    if not found:
        raise wrong(path, "the file is empty")
    return found


def _plain(hint: Any) -> Any:
    """The type without `| None`."""
    if get_origin(hint) in (Union, types.UnionType):
        return next(arg for arg in get_args(hint) if arg is not type(None))
    return hint


def _typed(hint: Any, value: Any, path: str) -> Any:
    kind = _plain(hint)
    if get_origin(kind) in (tuple, Mapping):
        return _several(kind, value, path)
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        if value not in list(kind):
            raise wrong(path, f"must be one of {', '.join(kind)}")
        return kind(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise wrong(path, f"must be a {getattr(kind, '__name__', kind)}")
    return value


def _several(kind: Any, value: Any, path: str) -> Any:
    """A list as a tuple, or a table whose keys are names of the operator's."""
    if get_origin(kind) is Mapping:
        of = get_args(kind)[1]
        table = table_of(value, path)
        return {key: _typed(of, each, f"{path}.{key}") for key, each in table.items()}
    if not isinstance(value, list):
        raise wrong(path, "must be a list")
    return tuple(_typed(get_args(kind)[0], item, path) for item in value)

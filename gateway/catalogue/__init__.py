"""User strings: one TOML file a topic, each key in zh-TW (the default), ja and en."""

import tomllib
from importlib import resources

LANGUAGES = ("zh-TW", "ja", "en")
DEFAULT_LANGUAGE = "zh-TW"


def _load() -> dict[str, dict[str, str]]:
    strings: dict[str, dict[str, str]] = {}
    for file in resources.files(__name__).iterdir():
        if file.name.endswith(".toml"):
            topic = file.name.removesuffix(".toml")
            for key, texts in tomllib.loads(file.read_text("utf-8")).items():
                strings[f"{topic}.{key}"] = texts
    return strings


STRINGS = _load()


def text(key: str, language: str | None = None, /, **params: str | int) -> str:
    """The sentence `topic.key` in `language`, or in zh-TW where that is not offered."""
    texts = STRINGS[key]
    template = texts.get(language or DEFAULT_LANGUAGE) or texts[DEFAULT_LANGUAGE]
    return template.format_map(_Params(params))


class _Params(dict[str, str | int]):
    """Names in braces that nobody filled stay readable instead of raising in an error path."""

    def __missing__(self, key: str) -> str:
        return "…"


def error_text(code: str, language: str | None = None, /, **params: str | int) -> str:
    """The public sentence of an error code (gateway/errors.py)."""
    return text(f"errors.{code}", language, **params)

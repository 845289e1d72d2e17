"""Checks calls of Telegram's Bot API against its specification: method, parameters, types, lengths.

The specification is scraped from the official page; limits stand in its descriptions.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

OWN_SPEC = Path(__file__).parent.parent / "fixtures" / "telegram" / "api.json"
_LENGTH = re.compile(r"(\d+)-(\d+) characters")
_RANGE = re.compile(r"Values between (\d+)-(\d+) are accepted")


class TelegramApi:
    """One specification; `violations` of a call are sentences, none when it is right."""

    def __init__(self, path: Path = OWN_SPEC) -> None:
        self.spec: dict[str, Any] = json.loads(path.read_text("utf-8"))

    def violations(self, method: str, given: Mapping[str, str]) -> list[str]:
        """`given` is the form: every value a string, what is nested as JSON."""
        found = self.spec["methods"].get(method)
        if found is None:
            return [f"{method} is not in the specification"]
        return [f"{method}: {each}" for each in self._fields(found, given, is_form=True)]

    def _fields(
        self, owner: Mapping[str, Any], given: Mapping[str, Any], *, is_form: bool
    ) -> Iterator[str]:
        known = {field["name"]: field for field in owner.get("fields", ())}
        for name, field in known.items():
            if name in given:
                yield from self._value(field, given[name], is_form=is_form)
            elif field["required"]:
                yield f"{name} is missing"
        yield from (f"{name} is unknown" for name in given.keys() - known.keys())

    def _value(self, field: Mapping[str, Any], value: Any, *, is_form: bool) -> Iterator[str]:
        tries = [list(self._typed(kind, value, is_form=is_form)) for kind in field["types"]]
        if all(tries):
            yield f"{field['name']}: {tries[0][0]}"
        elif isinstance(value, str):
            yield from _sizes(field, value)

    def _typed(self, kind: str, value: Any, *, is_form: bool) -> Iterator[str]:
        """Why the value is none of that kind."""
        if is_form and kind != "String":
            try:
                value = json.loads(value)
            except ValueError:
                yield f"{kind} is not JSON"
                return
        if kind.startswith("Array of "):
            yield from self._items(kind.removeprefix("Array of "), value)
        elif kind in self.spec["types"]:
            if isinstance(value, dict):
                yield from self._fields(self.spec["types"][kind], value, is_form=False)
            else:
                yield f"no {kind}"
        elif not _is_plain(kind, value):
            yield f"no {kind}"

    def _items(self, kind: str, value: Any) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"no list of {kind}"
            return
        for item in value:
            yield from self._typed(kind, item, is_form=False)


def _is_plain(kind: str, value: Any) -> bool:
    types: dict[str, tuple[type, ...]] = {
        "String": (str,),
        "Integer": (int,),
        "Boolean": (bool,),
        "Float": (int, float),
    }
    is_truth = isinstance(value, bool)
    return isinstance(value, types.get(kind, ())) and is_truth == (kind == "Boolean")


def _sizes(field: Mapping[str, Any], value: str) -> Iterator[str]:
    """Lengths by the smaller reading, UTF-16 code units."""
    length, numbers = _LENGTH.search(field["description"]), _RANGE.search(field["description"])
    units = len(value.encode("utf-16-le")) // 2
    if length and not int(length[1]) <= units <= int(length[2]):
        yield f"{field['name']}: {units} units"
    if numbers and not int(numbers[1]) <= int(value) <= int(numbers[2]):
        yield f"{field['name']}: {value} is out of range"

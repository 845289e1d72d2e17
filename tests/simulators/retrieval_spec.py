"""Checks agentic retrieval's requests and answers against the service's published definitions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
}
KIND = {"type": "string", "enum": ["searchIndex", "azureBlob"]}  # of a file beside this one


class RetrievalSpec:
    """The preview's definitions; what has a discriminator is checked as what it says it is."""

    def __init__(self, path: Path) -> None:
        self._definitions: dict[str, Any] = json.loads(path.read_text("utf-8"))["definitions"]
        self._definitions["KnowledgeSourceKind"] = KIND

    def violations(self, name: str, value: Any) -> list[str]:
        """Sentences, none where the value is a `name` with no field beyond those defined."""
        return list(self._checked({"$ref": f"#/definitions/{name}"}, value, name))

    def _checked(self, schema: dict[str, Any], value: Any, path: str) -> Iterator[str]:
        if "$ref" in schema:
            name = schema["$ref"].split("/")[-1]
            schema = self._whole(self._meant(name, value))
            if schema.get("discriminator"):
                yield f"{path}: no kind of {name}"
        if not isinstance(value, TYPES[schema["type"]]):
            yield f"{path}: no {schema['type']}"
        elif "enum" in schema and value not in schema["enum"]:
            yield f"{path}: {value!r}"
        elif isinstance(value, list):
            for number, each in enumerate(value):
                yield from self._checked(schema["items"], each, f"{path}[{number}]")
        elif isinstance(value, dict):
            yield from self._checked_fields(schema, value, path)

    def _checked_fields(self, schema: dict[str, Any], value: Any, path: str) -> Iterator[str]:
        fields = schema.get("properties", {})
        yield from (
            f"{path}.{each}: missing" for each in schema.get("required", ()) if each not in value
        )
        for name, each in value.items():
            if name in fields:
                yield from self._checked(fields[name], each, f"{path}.{name}")
            elif not schema.get("additionalProperties"):
                yield f"{path}.{name}: not defined"

    def _meant(self, name: str, value: Any) -> str:
        """The kind of `name` that the value says it is; the base where it says none."""
        field = self._definitions[name].get("discriminator")
        mark = value.get(field) if field and isinstance(value, dict) else None
        for each, definition in self._definitions.items():
            if (
                mark
                and definition.get("x-ms-discriminator-value") == mark
                and name in self._up(each)
            ):
                return each
        return name

    def _up(self, name: str) -> list[str]:
        above = [each["$ref"].split("/")[-1] for each in self._definitions[name].get("allOf", ())]
        return [*above, *(higher for each in above for higher in self._up(each))]

    def _whole(self, name: str) -> dict[str, Any]:
        """A definition with the fields of those above it."""
        whole = {"required": [], **self._definitions[name]}
        for each in map(self._definitions.__getitem__, self._up(name)):
            whole["properties"] = each.get("properties", {}) | whole.get("properties", {})
            whole["required"] = [*whole["required"], *each.get("required", ())]
        return whole

"""Checks HTTP requests against an OpenAPI 3.0 document: path, method, headers, body."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from openapi_schema_validator import OAS30Validator, oas30_format_checker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

SPEC_URI = "urn:spec"


class OpenApi:
    """One specification; `violations` of a request are sentences, none when it is right."""

    def __init__(self, path: Path) -> None:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.spec: dict[str, Any] = yaml.load(path.read_text("utf-8"), Loader=loader)
        resource: Resource[Any] = DRAFT4.create_resource(self.spec)
        self._registry: Registry[Any] = Registry().with_resource(SPEC_URI, resource)

    def schema(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.spec["components"]["schemas"][name]
        return found

    def violations(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> list[str]:
        operation = self.spec["paths"].get(path, {}).get(method.lower())
        if operation is None:
            return [f"{method} {path} is not in the specification"]
        found = list(self._header_violations(operation, headers))
        wanted = operation.get("requestBody")
        if wanted:
            found += self._body_violations(wanted["content"]["application/json"], headers, body)
        return found

    def _header_violations(
        self, operation: dict[str, Any], headers: Mapping[str, str]
    ) -> Iterator[str]:
        token = headers.get("Authorization", "")
        if not token.startswith("Bearer ") or len(token) < 8:
            yield "no bearer token"
        for parameter in operation.get("parameters", ()):
            if parameter["in"] != "header":
                continue
            value = headers.get(parameter["name"])
            if value is None:
                if parameter.get("required"):
                    yield f"header {parameter['name']} is missing"
            else:
                yield from self.mismatches(parameter["schema"], value, parameter["name"])

    def _body_violations(
        self, content: dict[str, Any], headers: Mapping[str, str], body: bytes
    ) -> Iterator[str]:
        if headers.get("Content-Type", "").split(";")[0] != "application/json":
            yield "content type is not application/json"
        try:
            value = json.loads(body)
        except ValueError:
            yield "body is not JSON"
            return
        yield from self.mismatches(content["schema"], value, "body")

    def mismatches(self, schema: dict[str, Any], value: Any, where: str) -> Iterator[str]:
        """Schema errors, keys the schema does not know, and the same for each polymorphic item."""
        absolute = _absolute(schema)
        validator = OAS30Validator(
            absolute, registry=self._registry, format_checker=oas30_format_checker
        )
        for error in validator.iter_errors(value):
            yield f"{where}: {error.json_path}: {error.message[:200]}"
        yield from self._unknown_keys(schema, value, where)

    def _unknown_keys(self, schema: dict[str, Any], value: Any, where: str) -> Iterator[str]:
        schema = self._resolved(schema)
        if isinstance(value, list) and "items" in schema:
            for index, item in enumerate(value):
                yield from self._unknown_keys(schema["items"], item, f"{where}[{index}]")
            return
        if not isinstance(value, dict):
            return
        special = self._special(schema, value)
        if special is not None and special is not schema:
            yield from self.mismatches(special, value, where)
            return
        known = self._properties(schema)
        for key, item in value.items():
            if key not in known:
                yield f"{where}: unknown key {key}"
            else:
                yield from self._unknown_keys(known[key], item, f"{where}.{key}")

    def _special(self, schema: dict[str, Any], value: dict[str, Any]) -> dict[str, Any] | None:
        """The schema that a discriminator points at."""
        choice = schema.get("discriminator")
        if choice is None:
            return None
        reference = choice["mapping"].get(value.get(choice["propertyName"]))
        if (
            reference is None
            or reference.rsplit("/", 1)[1] not in self.spec["components"]["schemas"]
        ):
            return {"not": {}}  # nothing fits: an unknown kind, or one that nobody here sends
        return self._resolved({"$ref": reference})

    def _properties(self, schema: dict[str, Any]) -> dict[str, Any]:
        schema = self._resolved(schema)
        found = dict(schema.get("properties", {}))
        for part in schema.get("allOf", ()):
            found |= self._properties(part)
        return found

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            schema = self.schema(schema["$ref"].rsplit("/", 1)[1])
        return schema


def _absolute(node: Any) -> Any:
    """The schema with its references made absolute, so that it stands outside the document."""
    if isinstance(node, dict):
        return {
            key: f"{SPEC_URI}{item}" if key == "$ref" else _absolute(item)
            for key, item in node.items()
        }
    if isinstance(node, list):
        return [_absolute(item) for item in node]
    return node

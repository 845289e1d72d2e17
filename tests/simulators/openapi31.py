"""Checks HTTP requests against an OpenAPI 3.1 document: path template, method, query, body."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from openapi_schema_validator import OAS31Validator, oas31_format_checker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

SPEC_URI = "urn:spec"
_PARAMETER = re.compile(r"\{(\w+)\}")


class OpenApi31:
    """One specification; `violations` of a request are sentences, none when it is right."""

    def __init__(self, path: Path) -> None:
        self.spec: dict[str, Any] = json.loads(path.read_text("utf-8"))
        resource: Resource[Any] = DRAFT202012.create_resource(self.spec)
        self._registry: Registry[Any] = Registry().with_resource(SPEC_URI, resource)
        self._templates = [
            (re.compile(_PARAMETER.sub(r"(?P<\1>[^/]+)", template) + r"\Z"), item)
            for template, item in self.spec["paths"].items()
        ]

    def violations(
        self, method: str, path: str, query: Mapping[str, str], body: bytes
    ) -> list[str]:
        for template, item in self._templates:
            match = template.match(path)
            if match is not None and method.lower() in item:
                operation = item[method.lower()]
                named = [*item.get("parameters", ()), *operation.get("parameters", ())]
                found = self._parameter_violations(named, match.groupdict(), query)
                return [*found, *self._body_violations(operation, body)]
        return [f"{method} {path} is not in the specification"]

    def _parameter_violations(
        self, named: list[dict[str, Any]], in_path: Mapping[str, str], query: Mapping[str, str]
    ) -> Iterator[str]:
        given = {"path": in_path, "query": query}
        known = {each["name"] for each in named}
        yield from (f"unknown parameter {name}" for name in query if name not in known)
        for each in named:
            value: Any = given[each["in"]].get(each["name"])
            if value is None:
                if each.get("required"):
                    yield f"parameter {each['name']} is missing"
                continue
            if each["schema"].get("type") == "integer" and value.isdigit():
                value = int(value)
            yield from self.mismatches(each["schema"], value, each["name"])

    def _body_violations(self, operation: dict[str, Any], body: bytes) -> Iterator[str]:
        wanted = operation.get("requestBody")
        if wanted is None:
            if body:
                yield "a body that nobody asked for"
            return
        try:
            value = json.loads(body)
        except ValueError:
            yield "body is not JSON"
            return
        schema = wanted["content"]["application/json"]["schema"]
        yield from self.mismatches(schema, value, "body")
        yield from self._unknown_keys(schema, value, "body")

    def mismatches(self, schema: dict[str, Any], value: Any, where: str) -> Iterator[str]:
        validator = OAS31Validator(
            _absolute(schema), registry=self._registry, format_checker=oas31_format_checker
        )
        for error in validator.iter_errors(value):
            yield f"{where}: {error.json_path}: {error.message[:200]}"

    def _unknown_keys(self, schema: dict[str, Any], value: Any, where: str) -> Iterator[str]:
        """Discord ignores what it does not know: a typing error would go unseen."""
        known = dict(self._properties(schema))
        if not isinstance(value, dict) or not known:
            return
        for key, item in value.items():
            if key not in known:
                yield f"{where}: unknown key {key}"
            else:
                yield from self._unknown_keys(known[key], item, f"{where}.{key}")

    def _properties(self, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        while "$ref" in schema:
            schema = self.spec["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        yield from schema.get("properties", {}).items()
        for part in (*schema.get("allOf", ()), *schema.get("oneOf", ())):
            yield from self._properties(part)


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

"""Checks calls of Slack's Web API against its specification, and what it came to lack."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

OWN_SPEC = Path(__file__).parent.parent / "fixtures" / "slack" / "web-api.json"
TEXT_UNITS = 4000  # around which Slack's apps begin to fold and cut
# What Slack takes since the specification was archived in 2021.
SINCE: dict[str, dict[str, tuple[type, ...]]] = {
    "chat.postMessage": {"metadata": (dict,)},
    "conversations.history": {"include_all_metadata": (str,)},
    "conversations.replies": {"include_all_metadata": (str,)},
    "assistant.threads.setStatus": {
        "channel_id": (str,),
        "thread_ts": (str,),
        "status": (str,),
    },
    "apps.connections.open": {},
}
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int,),
}


class SlackSpec:
    """`violations` of a call are sentences, none when it is right."""

    def __init__(self) -> None:
        self.paths: dict[str, Any] = json.loads(OWN_SPEC.read_text("utf-8"))["paths"]

    def violations(
        self, verb: str, method: str, values: Mapping[str, Any], *, is_json: bool
    ) -> list[str]:
        operations: dict[str, Any] = self.paths.get(f"/{method}", {})
        if not operations and method not in SINCE:
            return ["not in the specification"]
        found = []
        # auth.test is a GET there; Slack takes a POST for every method, and the SDK sends one
        if verb.lower() not in operations and verb != "POST":
            found.append(f"{verb} is not offered")
        parameters = [
            each
            for operation in operations.values()
            for each in operation["parameters"]
            if each["name"] != "token"  # in the header, for each of them by now
        ]
        known = {p["name"]: TYPES[p["type"]] if is_json else (str,) for p in parameters}
        known |= SINCE.get(method, {})
        found += [
            f"{each['name']} is missing"
            for each in parameters
            if each.get("required") and each["name"] not in values
        ]
        found += _argument_violations(values, known)
        if method in ("chat.postMessage", "chat.update"):
            found += _text_violations(method, values)
        return found


def _argument_violations(
    values: Mapping[str, Any], known: Mapping[str, tuple[type, ...]]
) -> Iterator[str]:
    for key, value in values.items():
        if key not in known:
            yield f"unknown argument {key}"
        elif not isinstance(value, known[key]):
            yield f"{key} is a {type(value).__name__}"


def _text_violations(method: str, values: Mapping[str, Any]) -> Iterator[str]:
    text = str(values.get("text", ""))
    if not text.strip():
        yield "no text"
    if len(text.encode("utf-16-le")) // 2 > TEXT_UNITS:
        yield f"a text of {len(text)} characters"
    bare = text.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "")
    for character in "&<>":
        if character in bare:
            yield f"an unescaped {character}"
    if values.get("parse") != "none":
        yield "left to Slack's own parsing"
    unfurls = values.get("unfurl_links"), values.get("unfurl_media")
    if method == "chat.postMessage" and unfurls != (False, False):
        yield "previews of links"

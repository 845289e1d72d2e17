"""The agentic retrieval of a search service on the wire: its request read, its answer written."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from gateway.core.chat import ChatMessage, Speaker
from gateway.core.filters import Filter
from gateway.core.folding import storable
from gateway.core.grounding import HIGHEST, Reference, grounding
from gateway.core.odata import ODataError, parse_filter
from gateway.errors import InvalidRequestError
from gateway.operations.retrieve import MOST_HITS, Retrieved, Searched, Target

KIND = "searchIndex"
MOST_MESSAGES = 200
MOST_SOURCES = 20
SPEAKERS = {"assistant": Speaker.ASSISTANT, "user": Speaker.USER, None: Speaker.USER}


class Image(msgspec.Struct, frozen=True):
    """Of a picture: its address, which is never fetched."""

    url: str


class TextContent(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """Words of a message."""

    text: str


class ImageContent(msgspec.Struct, frozen=True, tag_field="type", tag="image"):
    """A picture of a message."""

    image: Image


class Message(msgspec.Struct, frozen=True):
    """`role` user (or none) or assistant; what others say is passed over."""

    content: list[TextContent | ImageContent]
    role: str | None = None


class SourceParams(msgspec.Struct, frozen=True, rename="camel"):
    """How one collection is searched. What this program has no use for is passed over."""

    knowledge_source_name: str
    kind: Literal["searchIndex"]
    filter_add_on: str | None = None
    reranker_threshold: Annotated[float, msgspec.Meta(ge=0, le=HIGHEST)] | None = None
    max_docs_for_reranker: Annotated[int, msgspec.Meta(ge=1)] | None = None
    include_references: bool | None = None
    include_reference_source_data: bool | None = None
    always_query_source: bool | None = None  # a source that is named always is


class RetrieveRequest(msgspec.Struct, frozen=True, rename="camel"):
    """The body."""

    messages: Annotated[list[Message], msgspec.Meta(min_length=1, max_length=MOST_MESSAGES)]
    knowledge_source_params: (
        Annotated[list[SourceParams], msgspec.Meta(max_length=MOST_SOURCES)] | None
    ) = None


def request_of(body: object) -> RetrieveRequest:
    """InvalidRequestError names the field that does not fit."""
    try:
        return msgspec.convert(body, RetrieveRequest, strict=True)
    except msgspec.ValidationError as error:
        raise InvalidRequestError(str(error), reason=str(error)) from error


def messages_of(request: RetrieveRequest) -> tuple[ChatMessage, ...]:
    """The words of the people and of the assistant, in their order."""
    told: list[ChatMessage] = []
    for message in request.messages:
        speaker = SPEAKERS.get(message.role)
        words = [each.text for each in message.content if isinstance(each, TextContent)]
        if speaker is not None and any(words):
            told.append(ChatMessage(speaker, storable("\n".join(words))))
    return tuple(told)


def targets_of(request: RetrieveRequest) -> tuple[Target, ...]:
    """What is to be searched; InvalidRequestError names the filter and where it is none."""
    return tuple(
        _target(params, f"knowledgeSourceParams[{number}]")
        for number, params in enumerate(request.knowledge_source_params or ())
    )


def _target(params: SourceParams, path: str) -> Target:
    return Target(
        params.knowledge_source_name,
        _filter(params.filter_add_on, path),
        params.filter_add_on or None,
        params.reranker_threshold,
        min(params.max_docs_for_reranker or MOST_HITS, MOST_HITS),
        with_references=params.include_references is not False,
        with_data=params.include_reference_source_data is not False,
    )


def _filter(text: str | None, path: str) -> Filter | None:
    if not text:
        return None
    try:
        return parse_filter(text)
    except ODataError as error:
        reason = f"{path}.filterAddOn: {error}"
        raise InvalidRequestError("filter", reason=reason) from error


def answer_of(found: Retrieved) -> dict[str, Any]:
    """The response: grounding, what was done, and what the grounding refers to."""
    text = grounding(found.references) if found.written is None else found.written.text
    return {
        "response": [{"role": "assistant", "content": [{"type": "text", "text": text}]}],
        "activity": _activity(found),
        "references": _references(found),
    }


def _activity(found: Retrieved) -> list[dict[str, Any]]:
    plan = {
        "type": "modelQueryPlanning",
        "id": 0,
        "inputTokens": found.plan.tokens_in,
        "outputTokens": found.plan.tokens_out,
        "elapsedMs": found.plan.elapsed_ms,
    }
    ranking = {
        "type": "semanticReranker",
        "id": 1 + len(found.searched),
        "inputTokens": found.ranked_tokens,
        "elapsedMs": found.ranked_ms,
    }
    told = [plan, *(_search(each) for each in found.searched), ranking]
    if found.written is not None and found.written.usage is not None:
        told.append(
            {
                "type": "modelAnswerSynthesis",
                "id": len(told),
                "inputTokens": found.written.usage.tokens_in,
                "outputTokens": found.written.usage.tokens_out,
                "elapsedMs": found.written.elapsed_ms,
            }
        )
    return told


def _search(searched: Searched) -> dict[str, Any]:
    arguments = {"search": searched.query}
    if searched.target.filter_text is not None:
        arguments["filter"] = searched.target.filter_text
    told: dict[str, Any] = {"type": KIND, "id": searched.id}
    if searched.name is not None:
        told["knowledgeSourceName"] = searched.name
    return told | {
        "queryTime": _rfc3339(searched.at),
        "count": len(searched.passed),
        "elapsedMs": searched.elapsed_ms,
        "searchIndexArguments": arguments,
    }


def _references(found: Retrieved) -> list[dict[str, Any]]:
    by_id = {each.id: each.target for each in found.searched}
    return [
        _reference(number, each, with_data=by_id[each.activity].with_data)
        for number, each in enumerate(found.references)
    ]


def _reference(number: int, found: Reference, *, with_data: bool) -> dict[str, Any]:
    key = str(found.passage.id)
    told: dict[str, Any] = {
        "type": KIND,
        "id": str(number),
        "activitySource": found.activity,
        "rerankerScore": found.score,
        "docKey": key,
    }
    if with_data:
        passage = found.passage
        told["sourceData"] = {
            "id": key,
            "title": passage.title,
            "content": passage.text,
            "locator": passage.locator.label(),
            "metadata": {
                "source_id": passage.source_id,
                "ordinal": passage.ordinal,
                "is_flagged": passage.is_flagged,
            },
        }
    return told


def _rfc3339(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

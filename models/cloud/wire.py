"""What the providers' embedding APIs are asked and answer."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from gateway.interfaces import Vector
from models.cloud.settings import CloudSettings


class Task(StrEnum):
    """What a text is; gemini embeds the two differently."""

    QUESTION = "RETRIEVAL_QUERY"
    PASSAGE = "RETRIEVAL_DOCUMENT"


class WireError(Exception):
    """An answer that is none; says what is wrong, never what it held."""


def request_of(settings: CloudSettings, texts: Sequence[str], task: Task) -> tuple[str, Any]:
    """(path below the endpoint, JSON body)."""
    if settings.vendor.name == "openai":
        body = {"model": settings.model, "input": list(texts), "encoding_format": "float"}
        return "embeddings", body
    model = f"models/{settings.model}"
    asked = [
        {
            "model": model,
            "content": {"parts": [{"text": text}]},
            "taskType": task.value,
            "outputDimensionality": settings.vendor.dimensions,
        }
        for text in texts
    ]
    return f"{model}:batchEmbedContents", {"requests": asked}


def headers_of(settings: CloudSettings) -> dict[str, str]:
    """With the key; never logged."""
    key = settings.key.reveal()
    if settings.vendor.name == "openai":
        return {"Authorization": f"Bearer {key}"}
    return {"x-goog-api-key": key}


def vectors_of(settings: CloudSettings, answer: Any, count: int) -> list[Vector]:
    """One unit vector a text, in their order. WireError."""
    try:
        rows = _openai(answer) if settings.vendor.name == "openai" else _gemini(answer)
        found = np.array(rows, dtype=np.float32)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise WireError("not the answer of an embedding API") from error
    if found.shape != (count, settings.vendor.dimensions):
        raise WireError(f"vectors of shape {found.shape}")
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if not np.isfinite(found).all() or (lengths == 0).any():
        raise WireError("vectors that are none")
    return list(found / lengths)


def _openai(answer: Any) -> list[list[float]]:
    rows = sorted(answer["data"], key=lambda row: row["index"])
    if [row["index"] for row in rows] != list(range(len(rows))):
        raise ValueError("not every text once")
    return [row["embedding"] for row in rows]


def _gemini(answer: Any) -> list[list[float]]:
    return [row["values"] for row in answer["embeddings"]]

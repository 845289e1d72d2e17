"""The model loaded: text in, unit vector out. Runs in the worker process only."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as runtime_errors

from models.files import BPE_FILE, MODEL_FILE
from models.recipe import Recipe
from models.tokenizer import Tokenizer

Vector = NDArray[np.float32]
# What loading or running a model may raise; the runtime's own have no common class but Exception.
FAILURES = (
    OSError,
    RuntimeError,
    ValueError,
    runtime_errors.Fail,
    runtime_errors.InvalidArgument,
    runtime_errors.InvalidGraph,
    runtime_errors.InvalidProtobuf,
    runtime_errors.NoSuchFile,
    runtime_errors.NotImplemented,
    runtime_errors.RuntimeException,
)
PAST = "past_key_values"  # what a language model remembers of tokens before: nothing
STATES = "last_hidden_state"
_KINDS = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


class Windows(Protocol):
    """Cuts a text into runs of the model."""

    def windows(self, prefix: str, text: str) -> list[list[int]]: ...


class EmbeddingSession:
    """One thread, one text at a time: a vector never depends on what else is being embedded."""

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        """`folder` holds the model and its tokeniser."""
        self._recipe = recipe
        self._tokenizer = _tokenizer(folder, recipe)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # its memory would stay at the longest text seen
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            str(folder / MODEL_FILE), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = [value.name for value in self._session.get_inputs()]
        self._past = _nothing_before(self._session.get_inputs())
        outputs = [value.name for value in self._session.get_outputs()]
        self._output = STATES if STATES in outputs else outputs[0]

    def embed(self, kind: int, text: str) -> Vector:
        """Shape (d,), length 1. `kind` is an index of the prefixes (models/frames.py)."""
        windows = self._tokenizer.windows(self._recipe.prefixes[kind], text)
        if len(windows) == 1:
            return self._run(windows[0])
        weighted = [self._run(window) * np.float32(len(window)) for window in windows]
        return _unit(np.sum(weighted, axis=0, dtype=np.float32))

    def _run(self, ids: Sequence[int]) -> Vector:
        tokens = np.array([ids], np.int64)
        fixed: dict[str, NDArray[np.generic]] = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
            "position_ids": np.arange(len(ids), dtype=np.int64)[None],
        }
        feed = {name: fixed[name] for name in self._inputs if name in fixed} | self._past
        output = self._session.run([self._output], feed)[0]
        if output.ndim == 2:  # our own build pools in the graph
            return np.asarray(output[0], np.float32)
        states = output[0].astype(np.float32, copy=False)
        pooled = states[-1] if self._recipe.pooling == "last" else states.mean(axis=0)
        return _unit(pooled[: self._recipe.dimensions])


def _tokenizer(folder: Path, recipe: Recipe) -> Windows:
    path = folder / recipe.tokenizer
    if recipe.tokenizer != BPE_FILE:
        return Tokenizer(path)
    from models.bpe import BpeTokenizer  # noqa: PLC0415 - the other model has no need of it

    return BpeTokenizer(path, recipe.window)


def _nothing_before(inputs: Sequence[onnxruntime.NodeArg]) -> dict[str, NDArray[np.generic]]:
    """Empty tensors (batch 1, heads, 0 tokens, size) for an export that can go on writing."""
    return {
        value.name: np.zeros(
            (1, value.shape[1], 0, value.shape[3]), _KINDS.get(value.type, np.float32)
        )
        for value in inputs
        if value.name.startswith(PAST)
    }


def _unit(vector: Vector) -> Vector:
    return np.asarray(vector / np.linalg.norm(vector), np.float32)

"""The model loaded: text in, unit vector out. Runs in the worker process only."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as runtime_errors

from models.files import MODEL_FILE, TOKENIZER_FILE
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
# By kind (models/frames.py); without them the model ranks badly. The blank that follows stands in
# the text's own first piece.
PREFIXES = ("query:", "passage:")


class EmbeddingSession:
    """One thread, one text at a time: a vector never depends on what else is being embedded."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds the model and its tokeniser."""
        self._tokenizer = Tokenizer(folder / TOKENIZER_FILE)
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

    def embed(self, kind: int, text: str) -> Vector:
        """Shape (384,), length 1. `kind` is an index of PREFIXES."""
        windows = self._tokenizer.windows(PREFIXES[kind], text)
        if len(windows) == 1:
            return self._run(windows[0])
        weighted = [self._run(window) * np.float32(len(window)) for window in windows]
        total = np.sum(weighted, axis=0, dtype=np.float32)
        return np.asarray(total / np.linalg.norm(total), np.float32)

    def _run(self, ids: Sequence[int]) -> Vector:
        tokens = np.array([ids], np.int64)
        fixed = {"attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        feed = {"input_ids": tokens} | fixed
        output = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        if output.ndim == 2:  # our own build pools in the graph
            return np.asarray(output[0], np.float32)
        mean = output[0].mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), np.float32)

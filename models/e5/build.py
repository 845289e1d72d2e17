"""From `e5-small-q4.bin` to the two files the encoder loads; the same bytes on every machine."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from models.e5 import graph, tokenizer, weights
from models.e5.wire import Message
from models.files import MODEL_FILE, TOKENIZER_FILE, sync

SMOOTHING = Path(__file__).parents[1] / "data" / "e5_small_smoothing.npy"
STEPS = 2


def build(binary: Path, folder: Path, progress: Callable[[int, int], None]) -> None:
    """Write the model and its tokeniser into `folder`; `progress` gets steps done and all."""
    source = weights.load(binary)
    progress(0, STEPS)
    _write(tokenizer.build(source.vocabulary), folder / TOKENIZER_FILE)
    progress(1, STEPS)
    _write(graph.build(source, np.load(SMOOTHING)), folder / MODEL_FILE)
    progress(2, STEPS)


def _write(message: Message, path: Path) -> None:
    with path.open("wb") as file:
        message.write(file)
    sync(path)

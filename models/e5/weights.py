"""Reads `e5-small-q4.bin`: a 4-bit multilingual-e5-small with its vocabulary (format E5S1)."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gateway.errors import ModelError

BLOCK = 32  # weights that share one scale
HIDDEN, LAYERS, HEADS, INNER, POSITIONS = 384, 12, 12, 1536, 512
_MAGIC = b"E5S1"
_BLOCK_RECORD = np.dtype([("scale", "<f2"), ("nibbles", "u1", (BLOCK // 2,))])


@dataclass(frozen=True, slots=True)
class Quantised:
    """A matrix of 4-bit weights: value[r, 32 b + j] = (nibble[r, b, j] - 8) x scale[r, b]."""

    records: NDArray[Any]  # _BLOCK_RECORD, shape (rows, blocks)

    @property
    def shape(self) -> tuple[int, int]:
        rows, blocks = self.records.shape
        return rows, blocks * BLOCK

    def scales(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(self.records["scale"], dtype=np.float32)

    def values(self) -> NDArray[np.float32]:
        """All weights as float32, shape (rows, columns)."""
        packed = self.records["nibbles"]  # byte j: weight j low, weight j + 16 high
        nibbles = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32)
        return ((nibbles - 8.0) * self.scales()[:, :, None]).reshape(self.shape)

    def repacked(self) -> NDArray[np.uint8]:
        """Signed 4-bit numbers in the order ONNX wants: byte j holds weights 2j and 2j + 1."""
        packed = self.records["nibbles"]
        half = BLOCK // 4
        low, high = packed & 15, packed >> 4
        out = np.empty_like(packed)
        out[..., :half] = low[..., 0::2] | low[..., 1::2] << 4
        out[..., half:] = high[..., 0::2] | high[..., 1::2] << 4
        return out ^ np.uint8(0x88)  # offset binary to two's complement


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The pieces by token id, with their log probabilities."""

    pieces: tuple[bytes, ...]
    scores: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Weights:
    """Everything of the file that the model needs; matrices have shape (out, in)."""

    epsilon: float
    vocabulary: Vocabulary
    plain: Mapping[str, NDArray[np.float32]]
    quantised: Mapping[str, Quantised]


class _Reader:
    """A place in the file that moves as fields are read."""

    def __init__(self, raw: memoryview) -> None:
        self.raw = raw
        self.at = 0

    def fields(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + form, self.raw, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def take(self, size: int) -> memoryview:
        piece = self.raw[self.at : self.at + size]
        self.at += size
        return piece


def load(path: Path) -> Weights:
    """Map the file and read its directory; ModelError when it is not the file we know."""
    try:
        return _read(_Reader(np.memmap(path, np.uint8, mode="r").data))
    except (struct.error, ValueError, KeyError, UnicodeDecodeError) as error:
        reason = f"unreadable weights: {error}"
        raise ModelError(reason, code="model_verification_failed") from error


def _read(reader: _Reader) -> Weights:
    if bytes(reader.take(4)) != _MAGIC:
        raise ValueError("not an E5S1 file")
    _version, hidden, layers, heads, inner, _rows, positions, _types = reader.fields("I7i")
    if (hidden, layers, heads, inner, positions) != (HIDDEN, LAYERS, HEADS, INNER, POSITIONS):
        raise ValueError("another shape of model")
    epsilon, _block = reader.fields("fi")
    vocabulary = _vocabulary(reader)
    _skip_normaliser(reader)
    plain: dict[str, NDArray[np.float32]] = {}
    quantised: dict[str, Quantised] = {}
    (entries,) = reader.fields("i")
    for _ in range(entries):
        (length,) = reader.fields("H")
        name = bytes(reader.take(length)).decode()
        kind, count, offset, size = reader.fields("BIQQ")
        data = reader.raw[offset : offset + size]
        if kind == 0:
            plain[name] = np.frombuffer(data, "<f4", count)
        else:
            columns = INNER if name.endswith("fo.w") else HIDDEN
            records = np.frombuffer(data, _BLOCK_RECORD)
            quantised[name] = Quantised(records.reshape(count // columns, columns // BLOCK))
    return Weights(epsilon, vocabulary, plain, quantised)


def _vocabulary(reader: _Reader) -> Vocabulary:
    size, _bos, _eos, _pad, _unk, length = reader.fields("5iQ")
    offsets = np.frombuffer(reader.take(4 * (size + 1)), "<u4")
    scores = np.frombuffer(reader.take(4 * size), "<f4")
    blob = bytes(reader.take(length))
    pieces = tuple(blob[offsets[i] : offsets[i + 1]] for i in range(size))
    return Vocabulary(pieces, scores)


def _skip_normaliser(reader: _Reader) -> None:
    """The file's own table of characters; the tokeniser uses the full nmt_nfkc map instead."""
    entries, _size = reader.fields("iI")
    for _ in range(entries):
        _code_point, length = reader.fields("IB")
        reader.take(4 * length)

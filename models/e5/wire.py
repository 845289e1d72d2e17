"""Writes the protobuf wire format: the same bytes on every machine, whatever is installed."""

import struct
from collections.abc import Iterable
from typing import BinaryIO

_VARINT, _BYTES, _FIXED32 = 0, 2, 5


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative int64 values take ten bytes
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class Message:
    """One message as a rope of byte pieces, so that big tensors are never copied."""

    __slots__ = ("pieces", "size")

    def __init__(self) -> None:
        self.pieces: list[bytes | memoryview] = []
        self.size = 0  # bytes

    def _append(self, piece: bytes | memoryview) -> None:
        self.pieces.append(piece)
        self.size += len(piece)

    def integer(self, field: int, value: int) -> "Message":
        self._append(_varint(field << 3 | _VARINT) + _varint(value))
        return self

    def integers(self, field: int, values: Iterable[int]) -> "Message":
        for value in values:
            self.integer(field, value)
        return self

    def real(self, field: int, value: float) -> "Message":
        self._append(_varint(field << 3 | _FIXED32) + struct.pack("<f", value))
        return self

    def data(self, field: int, value: bytes | memoryview) -> "Message":
        self._append(_varint(field << 3 | _BYTES) + _varint(len(value)))
        self._append(value)
        return self

    def text(self, field: int, value: str) -> "Message":
        return self.data(field, value.encode())

    def message(self, field: int, value: "Message") -> "Message":
        self._append(_varint(field << 3 | _BYTES) + _varint(value.size))
        self.pieces.extend(value.pieces)
        self.size += value.size
        return self

    def write(self, file: BinaryIO) -> None:
        file.writelines(self.pieces)

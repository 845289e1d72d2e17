"""Room for the rows of vectors in memory, in three precisions side by side."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gateway.interfaces import Vector

GONE = -1  # in the place of a passage id
CODE_RANGE = 127
CODED_AT_ONCE = 1024  # rows; stays in the processor's cache


class Space:
    """Arrays of `capacity` rows that are filled and wiped, never resized or used again.

    `codes · steps` are the rows in 8 bits a number, `signs` in one; `owners` tells the passage
    of each row. What nobody has filled yet takes no memory.
    """

    def __init__(self, dimension: int, capacity: int, *, is_shared: bool = False) -> None:
        self.is_shared = is_shared
        self.rows: Vector = np.zeros((capacity, dimension), np.float32)
        self.codes: NDArray[np.int8] = np.zeros((capacity, dimension), np.int8)
        self.steps: Vector = np.zeros(capacity, np.float32)
        self.signs: NDArray[np.uint8] = np.zeros((capacity, (dimension + 7) // 8), np.uint8)
        self.owners: NDArray[np.int64] = np.full(capacity, GONE, np.int64)

    def __len__(self) -> int:
        """Rows there is room for."""
        return len(self.owners)

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The owners last: whoever reads a row first and its owner then, never errs."""
        return self.rows, self.codes, self.steps, self.signs, self.owners

    def wipe(self, begin: int, end: int) -> None:
        self.owners[begin:end] = GONE
        for array in self.arrays()[:-1]:
            array[begin:end] = 0

    def encode(self, begin: int, end: int) -> float:
        """Fill the cheap precisions of rows; how far the worst of them is from its code."""
        worst = 0.0
        for at in range(begin, end, CODED_AT_ONCE):
            part = slice(at, min(at + CODED_AT_ONCE, end))
            rows = self.rows[part]
            codes, steps = coded(rows)
            self.codes[part], self.steps[part], self.signs[part] = codes, steps, signs_of(rows)
            off = rows - codes * steps[:, None]
            worst = max(worst, float(np.einsum("ij,ij->i", off, off).max()))
        return math.sqrt(worst)


class Region(NamedTuple):
    """A part of a space that was left for another, still holding what it held."""

    space: Space
    begin: int
    end: int

    def wipe(self) -> None:
        self.space.wipe(self.begin, self.end)


def coded(rows: Vector) -> tuple[NDArray[np.int8], Vector]:
    """Each row of (n, d) as whole numbers of its own step: codes, and steps of shape (n,)."""
    steps: Vector = np.maximum.reduce(np.abs(rows), axis=-1, initial=1e-30)
    steps /= CODE_RANGE
    whole = rows / steps[:, None]
    return np.rint(whole, out=whole).astype(np.int8), steps


def signs_of(rows: Vector) -> NDArray[np.uint8]:
    """One bit a number: whether it is above zero."""
    return np.packbits(rows > 0, axis=-1)

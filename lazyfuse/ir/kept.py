"""What a write leaves of an array, as pieces of memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lazyfuse.ir.layout import Layout
from lazyfuse.ir.plan import Launch, Renew

#: Pieces that memory may have; a column of a large array has one for each element.
MOST_PIECES = 1 << 16


class Rooms(NamedTuple):
    """The memories that a wave writes, so many, each in the same rows (`runtime/waves.py`).

    pieces: of what lies beside the elements that are written, rows of offset and length in bytes,
    in rising order; None for too many, which are copied as a whole before the wave. begin, stride,
    span: bytes before the first row that is written, from row to row, and of one row.
    """

    number: int
    pieces: np.ndarray | None
    begin: int
    stride: int
    span: int

    def near(self, low: int, high: int, reach: int) -> tuple[int, int]:
        """Which pieces lie in the memory of rows [low, high), or less than so many rows away."""
        assert self.pieces is not None
        offsets, lengths = self.pieces[:, 0], self.pieces[:, 1]
        begin = self.begin + (low - reach) * self.stride - self.span
        end = self.begin + (high + reach) * self.stride + self.span
        first = np.searchsorted(offsets + lengths, begin, side="right")
        return int(first), int(np.searchsorted(offsets, end, side="left"))


def rooms_of(renew: Renew, launch: Launch, number: int) -> Rooms:
    """The rooms of a wave whose writes are all like this one."""
    itemsize = int(renew.dtype[1:])
    store = launch.operands[launch.kernel.outputs[0]]
    row, *inner = store.strides
    last = sum(step * (extent - 1) for step, extent in zip(inner, launch.extents[1:], strict=True))
    written = pieces_of([Layout(launch.extents, store.strides, store.offset)], itemsize)
    beside = None if written is None else _beside(written, renew.nbytes)
    return Rooms(number, beside, store.offset * itemsize, row * itemsize, (last + 1) * itemsize)


def _beside(pieces: np.ndarray, nbytes: int) -> np.ndarray:
    """The pieces between and around these, in so many bytes."""
    begins = np.append(0, pieces.sum(axis=1))
    ends = np.append(pieces[:, 0], nbytes)
    return np.stack([begins, ends - begins], axis=1)[ends > begins]


def pieces_of(layouts: Sequence[Layout], itemsize: int) -> np.ndarray | None:
    """Offset and length in bytes of the pieces of memory that layouts, none of which has elements
    of another, cover: in rising order, as few as possible; None for more than MOST_PIECES."""
    rows = np.zeros((0, 2), np.int64)
    for layout in layouts:
        own = _pieces(layout)
        if own is None or len(rows) + len(own) > MOST_PIECES:
            return None
        rows = np.concatenate([rows, own])
    if not len(rows):
        return rows
    offsets, lengths = rows[np.argsort(rows[:, 0])].T
    firsts = np.flatnonzero(np.append(True, offsets[1:] != offsets[:-1] + lengths[:-1]))
    joined = np.stack([offsets[firsts], np.add.reduceat(lengths, firsts)], axis=1)
    return joined * itemsize


def _pieces(layout: Layout) -> np.ndarray | None:
    """The pieces of one layout, in elements."""
    axes = sorted(zip(layout.strides, layout.shape, strict=True), key=lambda axis: abs(axis[0]))
    if 0 in layout.shape:
        return np.zeros((0, 2), np.int64)
    length, offsets = 1, np.array([layout.offset])
    for stride, extent in axes:
        if stride == length and len(offsets) == 1:
            length *= extent
        elif len(offsets) * extent > MOST_PIECES:
            return None
        else:
            offsets = np.add.outer(offsets, stride * np.arange(extent)).ravel()
    return np.stack([offsets, np.full(len(offsets), length)], axis=1)

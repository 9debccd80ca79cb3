"""New arrays whose regions are those of another one: `roll` and `pad`.

    roll([0 1 2 3], 1)      [3 | 0 1 2]
    pad([0 1 2], 1, "edge") [0 | 0 1 2 | 2]

Along each axis an array is made of pieces, and its regions are all combinations of these. Each is
recorded as one write; what reads the result may read the other array itself then
(`passes/pieces.py`). Where the regions lie is remembered.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.frontend.at_once import copied
from lazyfuse.frontend.convert import integer_range
from lazyfuse.frontend.handle import Handle, new, view
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Fill, Node, Update, View
from lazyfuse.ir.order import (
    c_strides,
    copy_strides,
    f_strides,
    is_contiguous,
    is_f_contiguous,
)
from lazyfuse.ops.shapes import Shape, size_of
from lazyfuse.runtime import engine

#: Modes of `pad` in which what is added is the constant, or pieces of the array.
_MODES = frozenset(("constant", "edge", "wrap", "reflect", "symmetric"))


#: Bytes of an array from which what moves is recorded: results computed from it read the array
#: itself then. Smaller ones are copied at once, which takes less than recording.
_LARGE = 1 << 19


class Piece(NamedTuple):
    """`length` elements from `to` on, which are those from `start` on, `step` after each other; a
    step of 0 repeats one."""

    to: int
    length: int
    start: int
    step: int = 1


class Moves(NamedTuple):
    """The shape and the strides of the new array, and each region of it with one of the array."""

    shape: Shape
    strides: tuple[int, ...]
    regions: tuple[tuple[Layout, Layout], ...]


def rolled(array: Any, shifts: tuple[int, ...]) -> Any:
    """The elements shifted by so many places along each axis, in memory order K."""
    moves = _rolls(array._layout, shifts)
    is_copied = len(moves.regions) == 1 and array.nbytes >= _LARGE
    return array.copy("K") if is_copied else _moved(array, moves, None)


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """`np.pad` of a large array by integers, with one constant or up to as many elements as there
    are; None for all else."""
    if type(array) is not Handle._concrete or array._host is not None or mode not in _MODES:
        return None
    if not array._layout.shape or 0 in array._layout.shape:
        return None
    is_constant = mode == "constant"
    value = kwargs.pop("constant_values", 0) if is_constant else None
    widths = _widths(pad_width, len(array._layout.shape))
    if kwargs or widths is None or is_constant and not _is_held(value, array._code):
        return None
    moves = _pads(array._layout, widths, mode)
    if moves is None or size_of(moves.shape) > sys.maxsize // np.dtype(array._code).itemsize:
        return None
    return _moved(array, moves, value)


def _is_held(value: Any, dtype: str) -> bool:
    """Whether a constant is a number that a dtype holds as it is."""
    if type(value) is int and dtype[0] in "iu":
        low, high = integer_range(dtype)
        return low <= value <= high
    if type(value) is float and dtype in ("f8", "c16"):
        return True
    return type(value) is int and (
        value in (0, 1) or dtype in ("f8", "c16") and abs(value) < 2**53
    )


def _widths(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...] | None:
    """How many elements are added before and behind along each axis."""
    if type(pad_width) not in (int, tuple, list):
        return None
    try:
        given = np.asarray(pad_width)
        if given.dtype.kind != "i" or given.min(initial=0) < 0:
            return None
        wide = np.broadcast_to(given, (ndim, 2))
    except ValueError:
        return None
    return tuple([(int(before), int(behind)) for before, behind in wide])


def _moved(array: Any, moves: Moves, value: Any) -> Any:
    """The new array, with the value where no region is; without one the regions are all of it."""
    if value is None and size_of(moves.shape) * array.itemsize < _LARGE:
        now = copied(array, *moves)
        if now is not None:
            return now
    base, place, dtype = array._storage.current(), engine.origin(), array._code
    filling = np.asarray(0 if value is None else value).astype(dtype).item()
    node: Node = Fill(moves.shape, dtype, moves.strides, (Const(filling, dtype),))
    is_plain = array._cast is None and len(moves.regions) > 1
    for target, source in moves.regions:
        part = View(base, source) if is_plain else view(array, source)._read()
        node = Update(node, target, part)
        node.origin = place
    return new(node, array._storage.device)


@lru_cache(maxsize=1024)
def _rolls(layout: Layout, shifts: tuple[int, ...]) -> Moves:
    strides = copy_strides(layout.shape, layout.strides)
    axes = [_rolled(extent, by) for extent, by in zip(layout.shape, shifts, strict=True)]
    return Moves(layout.shape, strides, _regions(layout, strides, axes))


def _rolled(extent: int, by: int) -> list[Piece]:
    """The pieces of an axis that is shifted."""
    by = by % extent if extent else 0
    if not by:
        return [Piece(0, extent, 0)]
    return [Piece(by, extent - by, 0), Piece(0, by, extent - by)]


@lru_cache(maxsize=1024)
def _pads(layout: Layout, widths: tuple[tuple[int, int], ...], mode: str) -> Moves | None:
    axes = [
        _padded(extent, before, behind, mode)
        for extent, (before, behind) in zip(layout.shape, widths, strict=True)
    ]
    if any(axis is None for axis in axes):
        return None
    shape = tuple(
        [extent + sum(width) for extent, width in zip(layout.shape, widths, strict=True)]
    )
    lies = layout.shape, layout.strides
    is_fortran = is_f_contiguous(*lies) and not is_contiguous(*lies)
    strides = f_strides(shape) if is_fortran else c_strides(shape)
    return Moves(shape, strides, _regions(layout, strides, [axis or [] for axis in axes]))


def _padded(extent: int, before: int, behind: int, mode: str) -> list[Piece] | None:
    """The pieces of an axis that gets longer; None for more than the array has."""
    own = Piece(before, extent, 0)
    end, last = before + extent, extent - 1
    match mode:
        case "constant":
            return [own]
        case "edge":
            sides = [Piece(0, before, 0, 0), Piece(end, behind, last, 0)]
        case "wrap":
            sides = [Piece(0, before, extent - before), Piece(end, behind, 0)]
        case "symmetric":
            sides = [Piece(0, before, before - 1, -1), Piece(end, behind, last, -1)]
        case _:
            sides = [Piece(0, before, before, -1), Piece(end, behind, last - 1, -1)]
    most = extent - (mode == "reflect")
    if mode != "edge" and max(before, behind) > most:
        return None
    return [own, *(piece for piece in sides if piece.length)]


def _regions(
    layout: Layout, strides: tuple[int, ...], axes: Sequence[Sequence[Piece]]
) -> tuple[tuple[Layout, Layout], ...]:
    """All combinations of pieces."""
    return tuple([_region(layout, strides, parts) for parts in product(*axes)])


def _region(
    layout: Layout, strides: tuple[int, ...], parts: Sequence[Piece]
) -> tuple[Layout, Layout]:
    shape = tuple([part.length for part in parts])
    target = sum(part.to * stride for part, stride in zip(parts, strides, strict=True))
    pairs = list(zip(parts, layout.strides, strict=True))
    source = layout.offset + sum(part.start * stride for part, stride in pairs)
    steps = tuple([part.step * stride for part, stride in pairs])
    return Layout(shape, strides, target), Layout(shape, steps, source)

"""Layouts: where the elements of an array lie in flat memory,
and how a view re-indexes the array under it.

A Layout counts in elements. `index_map` says which element of the source each element of a view
is, as one affine expression per source axis; it is None when a view is not affine in the source's
axes (a reshape that merges axes).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from lazyfuse.ops.shapes import Shape, size_of


class Layout(NamedTuple):
    """Element (i, j, ...) lies at offset + i*strides[0] + j*strides[1] + ..."""

    shape: Shape
    strides: tuple[int, ...]
    offset: int


class Affine(NamedTuple):
    """start + sum of step * (index along axis)."""

    start: int
    terms: tuple[tuple[int, int], ...] = ()


IndexMap = tuple[Affine, ...]
#: Maps that are remembered: a scheduler walks over the same views some tens of times.
_KEPT = 1 << 13


def identity(shape: Shape) -> IndexMap:
    """Each axis is itself; axes of length 1 are pinned to 0, so that equal maps compare equal."""
    return tuple(
        Affine(0, ((axis, 1),)) if extent != 1 else Affine(0) for axis, extent in enumerate(shape)
    )


@lru_cache(_KEPT)
def broadcast_map(outer: IndexMap, shape: Shape, target: Shape) -> IndexMap:
    """The index map of an operand of `shape` where its broadcast to `target` is read through
    `outer`."""
    if shape == target:
        return outer
    skip = len(target) - len(shape)
    return tuple(
        Affine(0) if extent == 1 else outer[axis] for axis, extent in enumerate(shape, skip)
    )


@lru_cache(_KEPT)
def compose(inner: IndexMap, outer: IndexMap) -> IndexMap:
    """The map that first applies `outer` (axes of the space to the view),
    then `inner` (view to source)."""
    return tuple(_substitute(affine, outer) for affine in inner)


def _substitute(affine: Affine, outer: IndexMap) -> Affine:
    start = affine.start
    steps: dict[int, int] = {}
    for axis, step in affine.terms:
        start += step * outer[axis].start
        for space_axis, inner_step in outer[axis].terms:
            steps[space_axis] = steps.get(space_axis, 0) + step * inner_step
    return Affine(start, tuple(sorted((axis, step) for axis, step in steps.items() if step)))


@lru_cache(_KEPT)
def index_map(view: Layout, shape: Shape, strides: tuple[int, ...]) -> IndexMap | None:
    """`view` in terms of the axes of a dense source; None when it is not affine in them.

    Offsets of a dense array name its elements uniquely, so any decomposition that stays in range
    is the right one.
    """
    if size_of(shape) == 0 or size_of(view.shape) == 0:
        return (Affine(0),) * len(shape)
    axes = [axis for axis in range(len(shape)) if shape[axis] > 1]
    axes.sort(key=lambda axis: -strides[axis])
    starts = [0] * len(shape)
    _decompose(view.offset, axes, strides, starts)
    terms: list[list[tuple[int, int]]] = [[] for _ in shape]
    for number, (extent, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        if extent == 1 or stride == 0:
            continue
        steps = _steps(stride, extent, axes, shape, strides, starts)
        if steps is None:
            return None
        for axis, step in steps.items():
            terms[axis].append((number, step))
    result = tuple(Affine(start, tuple(term)) for start, term in zip(starts, terms, strict=True))
    return result if _in_range(result, view.shape, shape) else None


def _decompose(value: int, axes: list[int], strides: tuple[int, ...], into: list[int]) -> int:
    for axis in axes:
        into[axis], value = divmod(value, strides[axis])
    return value


def _steps(
    stride: int,
    extent: int,
    axes: list[int],
    shape: Shape,
    strides: tuple[int, ...],
    starts: list[int],
) -> dict[int, int] | None:
    """The step along each source axis that one step of the view makes."""
    for axis in axes:
        if stride % strides[axis] == 0:
            step = stride // strides[axis]
            if 0 <= starts[axis] + step * (extent - 1) < shape[axis]:
                return {axis: step}
    sign = 1 if stride > 0 else -1
    steps = [0] * len(shape)
    if _decompose(abs(stride), axes, strides, steps):
        return None
    return {axis: sign * steps[axis] for axis in axes if steps[axis]}


def _in_range(result: IndexMap, view_shape: Shape, shape: Shape) -> bool:
    for affine, extent in zip(result, shape, strict=True):
        low = high = affine.start
        for axis, step in affine.terms:
            reach = step * (view_shape[axis] - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        if low < 0 or high >= extent:
            return False
    return True


def access(source: IndexMap, strides: tuple[int, ...], axes: int) -> tuple[tuple[int, ...], int]:
    """Strides per space axis and the offset of reading memory of `strides` through an index
    map."""
    steps = [0] * axes
    offset = 0
    for affine, stride in zip(source, strides, strict=True):
        offset += affine.start * stride
        for axis, step in affine.terms:
            steps[axis] += step * stride
    return tuple(steps), offset

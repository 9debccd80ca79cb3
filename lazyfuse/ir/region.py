"""Regions of dense arrays: what a write leaves, and whether two accesses can meet.

x of shape (4, 5), the region x[1:-1, 1:-1]     what it leaves, as boxes
    . . . . .                                   rows 0:1, columns 0:5
    . # # # .                                   rows 3:4, columns 0:5
    . # # # .                                   rows 1:3, columns 0:1
    . . . . .                                   rows 1:3, columns 4:5

A box is a range of positions, one after the other, along each axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import TypeAlias

from lazyfuse.ir.layout import Affine, IndexMap, Layout, index_map
from lazyfuse.ops.shapes import Shape, size_of

Box: TypeAlias = tuple[range, ...]


def whole(shape: Shape) -> Box:
    """All of an array."""
    return tuple(range(extent) for extent in shape)


def box_of(region: Layout, shape: Shape, strides: tuple[int, ...]) -> Box | None:
    """The box of a dense array that a layout addresses, each element once; None if it is none, or
    has no elements."""
    found = index_map(region, shape, strides) if size_of(region.shape) else None
    if found is None:
        return None
    steps = [term for affine in found for term in affine.terms]
    moving = [axis for axis, extent in enumerate(region.shape) if extent > 1]
    if sorted(axis for axis, _ in steps) != moving or any(abs(step) != 1 for _, step in steps):
        return None
    box = tuple(_positions(affine, region.shape) for affine in found)
    return box if prod(map(len, box)) == size_of(region.shape) else None


def layout_of(box: Box, strides: tuple[int, ...]) -> Layout:
    """Where the elements of a box lie in the memory of its array."""
    offset = sum(each.start * stride for each, stride in zip(box, strides, strict=True))
    return Layout(tuple(map(len, box)), strides, offset)


def without(box: Box, cut: Box) -> list[Box]:
    """What is left of a box, as boxes that do not meet. Those before and after the cut along an
    axis keep the axes behind it whole: in C order they are runs of memory."""
    shared = tuple(map(common, box, cut))
    if not all(shared):
        return [box]
    left: list[Box] = []
    for axis, (span, kept) in enumerate(zip(box, shared, strict=True)):
        for side in (range(span.start, kept.start), range(kept.stop, span.stop)):
            if side:
                left.append((*shared[:axis], side, *box[axis + 1 :]))
    return left


def left_by(region: Layout, shape: Shape, strides: tuple[int, ...]) -> list[Layout]:
    """What a region leaves of a dense array; everything where that is not known."""
    for axes, steps in _forms(shape, strides):
        box = box_of(region, axes, steps)
        if box is not None:
            return [layout_of(each, steps) for each in without(whole(axes), box)]
    return [layout_of(whole(shape), strides)]


def _forms(shape: Shape, strides: tuple[int, ...]) -> list[tuple[Shape, tuple[int, ...]]]:
    """A dense array as it is, and as one axis, along which views of other shapes are ranges."""
    return [(shape, strides), ((size_of(shape),), (1,))]


def common(one: range, other: range) -> range:
    """The positions that two boxes share along an axis."""
    return range(max(one.start, other.start), min(one.stop, other.stop))


def are_apart(left: Layout, right: Layout, shape: Shape, strides: tuple[int, ...]) -> bool:
    """Whether two regions of a dense array certainly share no element: along one of its axes they
    have no position in common."""
    if 0 in left.shape or 0 in right.shape:
        return True
    for form in _forms(shape, strides):
        one, other = index_map(left, *form), index_map(right, *form)
        if one is not None and other is not None:
            pairs = zip(_reach(one, left), _reach(other, right), strict=True)
            return any(_never_meet(*pair) for pair in pairs)
    return False


def _reach(places: IndexMap, region: Layout) -> list[range]:
    return [_positions(affine, region.shape) for affine in places]


def _positions(affine: Affine, extents: Sequence[int]) -> range:
    """A range that holds all positions along an axis."""
    reach = [step * (extents[axis] - 1) for axis, step in affine.terms]
    low = affine.start + sum(min(0, each) for each in reach)
    high = affine.start + sum(max(0, each) for each in reach)
    return range(low, high + 1, gcd(*(step for _, step in affine.terms)) or 1)


def _never_meet(left: range, right: range) -> bool:
    if left[-1] < right[0] or right[-1] < left[0]:
        return True
    step = gcd(*(each.step for each in (left, right) if len(each) > 1))
    return step > 1 and (left[0] - right[0]) % step != 0

"""Typed views: the memory of a node read and written as elements of another dtype.

The parts of a complex array are ordinary operations, which fuse:

    z.real        ->  real(View(z))
    z.imag = x    ->  Update(z, complex_of(real(View(z)), x))

Every other dtype (`x.view("u4")`), and writes through a layout that addresses an element twice
(`as_strided`), are recorded calls on the bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyfuse.ir.interp import flat_of, view_of
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.library import Request
from lazyfuse.ir.node import Map, Node, Opaque, Update, View
from lazyfuse.ir.order import copy_strides, result_strides
from lazyfuse.ops.shapes import size_of
from lazyfuse.ops.table import OPS

#: The operations that give the parts of complex elements.
PARTS = ("real", "imag")
#: The dtype of the parts of complex elements.
FLOAT_OF = {"c8": "f4", "c16": "f8"}


class Cast(NamedTuple):
    """How a typed view reads memory: as elements of `dtype`, the first of which begins `shift`
    bytes after the memory does (less than an element)."""

    dtype: str
    shift: int = 0


class Part(NamedTuple):
    """A part of complex elements: 0 or 1 of `PARTS`, and where the elements are."""

    number: int
    layout: Layout


def read(node: Node, cast: Cast, layout: Layout) -> Node:
    """The elements that `layout` addresses in the memory of a node, read as `cast` says."""
    dtype = cast.dtype
    found = part(node, cast, layout)
    if found is None:
        return viewed(node, cast, layout)
    number, halved = found
    pairs = View(node, halved)
    strides = result_strides([layout[:2]], layout.shape)
    return Map(OPS[PARTS[number]], (node.dtype,), dtype, layout.shape, strides, (pairs,))


def viewed(node: Node, cast: Cast, layout: Layout) -> Node:
    """As `read`, as a view of memory in every case: for calls that ask where elements lie."""
    return View(_reinterpreted(node, cast), layout)


def written(base: Node, cast: Cast, layout: Layout, value: Node) -> Node:
    """The next version of `base`: its elements at `layout`, as `cast` reads them, replaced by
    `value`."""
    dtype = cast.dtype
    found = part(base, cast, layout)
    if found is None:
        return overwritten(base, cast, layout, value)
    number, halved = found
    other = read(base, cast, Layout(layout.shape, layout.strides, layout.offset ^ 1))
    pair = (value, other) if number == 0 else (other, value)
    strides = copy_strides(layout.shape, layout.strides)
    both = Map(OPS["complex_of"], (dtype, dtype), base.dtype, layout.shape, strides, pair)
    return Update(base, halved, both)


def overwritten(base: Node, cast: Cast, layout: Layout, value: Node) -> Node:
    """As `written`, by one recorded call on a copy: the last write to an element wins."""
    call = _Overwrite(cast, layout, base.strides)
    return Opaque(
        "assign", call, "the elements written lie across those of the array",
        shape=base.shape, dtype=base.dtype, strides=base.strides, srcs=(base, value),
    )  # fmt: skip


def repeats(layout: Layout) -> bool:
    """Whether a layout may address an element twice (no false no)."""
    reach = 0
    spans = [(abs(s), n) for s, n in zip(layout.strides, layout.shape, strict=True) if n > 1]
    for stride, extent in sorted(spans):
        if stride <= reach:
            return True
        reach += stride * (extent - 1)
    return False


def part(node: Node, cast: Cast, layout: Layout) -> Part | None:
    """Which part of complex elements a layout of floats addresses; None where it is none."""
    if FLOAT_OF.get(node.dtype) != cast.dtype or cast.shift:
        return None
    if any(s % 2 for s, n in zip(layout.strides, layout.shape, strict=True) if n > 1):
        return None
    halves = tuple(stride // 2 for stride in layout.strides)
    return Part(layout.offset % 2, Layout(layout.shape, halves, layout.offset // 2))


def _reinterpreted(node: Node, cast: Cast) -> Node:
    """The whole memory of a node as one axis; bytes that fill no element are left."""
    count = (node.nbytes - cast.shift) // int(cast.dtype[1:])
    call = _Reinterpret(cast, node.strides)
    return Opaque(
        "view", call, f"the bytes of {node.dtype} are read as {cast.dtype}",
        shape=(count,), dtype=cast.dtype, strides=(1,), srcs=(node,),
    )  # fmt: skip


class _Call:
    """A call on arrays that is equal to its likes, so that plans are found again."""

    __slots__ = ("key",)

    def __init__(self, *key: Any) -> None:
        self.key = key

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.key == self.key

    def __hash__(self) -> int:
        return hash((type(self), self.key))


class _Reinterpret(_Call):
    """key: the cast, and the strides of the operand's memory."""

    def __call__(self, array: np.ndarray) -> np.ndarray:
        cast, strides = self.key
        return _flat(_dense(array, strides), cast)

    @property
    def request(self) -> Request:
        cast, _ = self.key
        return Request("view", {"shift": cast.shift})


class _Overwrite(_Call):
    """key: the cast of the view, its layout, and the strides of the base's memory."""

    def __call__(self, base: np.ndarray, value: np.ndarray) -> np.ndarray:
        cast, layout, strides = self.key
        result = _copy(base, strides)
        view_of(_flat(result, cast), layout)[...] = value
        return result

    @property
    def request(self) -> Request:
        cast, layout, _ = self.key
        again = repeats(layout)
        return Request("assign", {**cast._asdict(), "layout": layout, "repeats": again})


def _dense(array: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """The array in memory of these strides: itself where it lies so."""
    if size_of(array.shape) == 0 or array.strides == tuple(s * array.itemsize for s in strides):
        return array
    return _copy(array, strides)


def _copy(array: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """A copy in dense memory of these strides."""
    copy = view_of(np.empty(array.size, array.dtype), Layout(array.shape, strides, 0))
    copy[...] = array
    return copy


def _flat(dense: np.ndarray, cast: Cast) -> np.ndarray:
    """The memory of a dense array as one axis of a dtype."""
    if dense.size == 0:
        return np.empty(0, cast.dtype)
    return elements(flat_of(dense).view(np.uint8), cast)


def elements(memory: np.ndarray, cast: Cast) -> np.ndarray:
    """Bytes as one axis of elements; those that fill none are left."""
    size = int(cast.dtype[1:])
    count = (memory.size - cast.shift) // size
    found: np.ndarray = memory[cast.shift : cast.shift + count * size].view(cast.dtype)
    return found

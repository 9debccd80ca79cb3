"""Which traces are alike but for their extents: the shape class of a trace.

Every number of a shape that is not small is a letter there, and so are strides and offsets; the
same number is the same letter. What a planner compares is kept: which letter is the larger one,
and between which powers of two each lies, and each product of extents. So all traces of a class
get the same kernels in the same order (`runtime/alike.py`).

    x[5:] * y  of 1,000 and 995 elements    A = 1,000, B = 995, C = 5;  512 <= B < A < 1024
    x[7:] * y  of 1,001 and 994             the same class
"""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import NamedTuple

from lazyfuse.ir.node import Const, Fill, Map, Node, Reduce, Scan, View
from lazyfuse.ops.shapes import Shape
from lazyfuse.runtime.renumber import count_of
from lazyfuse.runtime.trace import Trace

#: Numbers up to which extents and strides stand for themselves: a planner's limits that are no
#: powers of two are smaller (`schedule/cost.py`, `lower/access.py`).
SMALL = 64
#: Elements from which there are no classes: GPUs count in 32 bits below 2**31 (`lower/narrow.py`).
LARGE = 1 << 30
#: Axes of an array, and letters, up to which there are classes.
_MOST_AXES, _MOST_LETTERS = 4, 8
#: What stands for letters, which small numbers are not; and for those of offsets.
_LETTER, _OFFSET = 1 << 10, 1 << 12


class ShapeClass(NamedTuple):
    """`key` is equal for traces of one class; `numbers` are what its letters stand for here."""

    key: tuple[object, ...]
    numbers: tuple[int, ...]


def shape_class(pending: Trace) -> ShapeClass | None:
    """The class of a trace; None where there is none: of writes, indices and library calls, of
    parts of what is pending and has several axes, of arrays without elements; and where all
    numbers are small."""
    letters = _Letters()
    key: list[object] = []
    for node in pending.nodes:
        rest = _rest(node, letters)
        if rest is None or len(node.shape) > _MOST_AXES:
            return None
        key.append((node.dtype, letters.shape(node.shape), letters.strides(node.strides), rest))
    numbers = tuple(letters.letters)
    if not 0 < len(numbers) <= _MOST_LETTERS or not 0 < letters.least <= letters.most < LARGE:
        return None
    links = [part for part in pending.structure if type(part) is int]  # who is whose operand
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    return ShapeClass((*key, *links, *order, *letters.magnitudes), numbers)


def _rest(node: Node, letters: _Letters) -> tuple[object, ...] | None:
    """What decides the plan but shape, dtype and strides; None for what is in no class."""
    kind = type(node)
    if node.buffer is not None:
        return ()
    match node:
        case Map():
            return kind, node.op.name, node.loop
        case Const():
            return kind, letters.count(node)
        case Reduce():
            return kind, node.op.name, node.axes, node.accumulate, node.order
        case Scan():
            return kind, node.op.name, node.axis
        case View() if node.srcs[0].buffer is not None or _moves_axes(node):
            return kind, letters.offset(node.layout.offset)
        case Fill():
            return (kind,)
    return None


def _moves_axes(node: View) -> bool:
    """Whether a view has the axes of its source, in whatever order, some of them repeated. Where
    the elements of other parts lie in a source of several axes is a matter of division."""
    src = node.srcs[0]
    if len(src.shape) == 1:
        return True
    own = set(zip(src.shape, src.strides, strict=True))
    axes = zip(node.shape, node.strides, strict=True)
    return not node.layout.offset and all(
        axis in own for axis in axes if axis[0] != 1 and axis[1] != 0
    )


class _Letters:
    """letters: the place of each number. least, most: elements of an array. magnitudes: what is
    known of numbers and products, as they are met."""

    def __init__(self) -> None:
        self.letters: dict[int, int] = {}
        self.magnitudes: list[int] = []
        self.least = self.most = 1
        self._shapes: dict[Shape, tuple[int, ...]] = {}
        self._strides: dict[tuple[int, ...], tuple[int, ...]] = {}

    def shape(self, shape: Shape) -> tuple[int, ...]:
        known = self._shapes.get(shape)
        if known is None:
            known = self._shapes[shape] = tuple([self._letter(extent) for extent in shape])
            size = prod(shape)
            self.least, self.most = min(self.least, size), max(self.most, size)
            for count in range(2, len(shape) + 1):
                products = map(prod, combinations(shape, count))
                self.magnitudes += [_magnitude(product) for product in products]
        return known

    def strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        known = self._strides.get(strides)
        if known is None:
            known = self._strides[strides] = tuple([self._letter(step) for step in strides])
        return known

    def offset(self, offset: int) -> int:
        """No limit of a planner is one of offsets."""
        return _OFFSET + self._place(offset) if offset else 0

    def count(self, node: Const) -> object:
        """What a scalar that follows from shapes decides."""
        count = count_of(node)
        if count is not None:
            return type(node.value), self._letter(count)
        return repr(node.value) if node.from_shape else None

    def _letter(self, number: int) -> int:
        if -SMALL <= number <= SMALL:
            return number
        if abs(number) not in self.letters:
            self.magnitudes.append(_magnitude(abs(number)))
        return _LETTER + self._place(number) if number > 0 else -_LETTER - self._place(-number)

    def _place(self, number: int) -> int:
        return self.letters.setdefault(number, len(self.letters))


def _magnitude(number: int) -> int:
    """Between which powers of two a number lies, or which one it is."""
    return 2 * number.bit_length() + (number & (number - 1) == 0)

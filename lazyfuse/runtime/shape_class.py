"""Which traces are alike but for their extents: the shape class of a trace.

Every number of a shape that is not small is a letter there, and so are strides and offsets; the
same number is the same letter. What a planner compares is kept: which letter is the larger one,
between which powers of two each lies, and each product of extents, which axes of an array can be
walked as one, how many elements a view has of its source, and how many times a value is read. So
all traces of a class get the same kernels in the same order (`runtime/alike.py`).

    x[5:] * y  of 1,000 and 995 elements    A = 1,000, B = 995, C = 5;  512 <= B < A < 1024
    x[7:] * y  of 1,001 and 994             the same class
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from math import ceil, prod
from typing import NamedTuple

from lazyfuse.ir.graph import memory_of, topological
from lazyfuse.ir.kernel import NEAR
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Fill, Map, Node, Reduce, Scan, Update, View
from lazyfuse.ir.region import are_apart
from lazyfuse.ir.torn import stored_first
from lazyfuse.ops.shapes import Shape, size_of
from lazyfuse.runtime.renumber import count_of
from lazyfuse.runtime.trace import Trace
from lazyfuse.schedule import cost

#: Numbers up to which extents and strides stand for themselves: a planner's limits that are no
#: powers of two are smaller (`schedule/cost.py`, `lower/access.py`).
SMALL = 64
#: Elements from which there are no classes: GPUs count in 32 bits below 2**31 (`lower/narrow.py`).
LARGE = 1 << 30
#: Elements from which arrays are in classes that writes change after they have read of them
#: elsewhere, or that are computed before: plans of other steps of a loop take as long as NumPy
#: takes for fewer.
_TORN = 1 << 18
#: Readings of a value from which more of them decide nothing: what costs least of all that is
#: stored for being repeated is stored by then (`schedule/cost.py`).
_MANY = 1 + ceil(cost.STORE_COST / min(cost.BROADCAST_COST, cost.RESULT_COST))
#: Axes of an array, and letters of extents and of offsets, up to which there are classes.
_MOST_AXES, _MOST_LETTERS, _MOST_OFFSETS = 4, 12, 64
#: What stands for letters, which small numbers are not; and for those of offsets.
_LETTER, _OFFSET = 1 << 10, 1 << 12


class ShapeClass(NamedTuple):
    """`key` is equal for traces of one class; `numbers` are what its letters stand for here, and
    `sizes` the places of those that are more than offsets."""

    key: tuple[object, ...]
    numbers: tuple[int, ...]
    sizes: tuple[int, ...]


def shape_class(pending: Trace) -> ShapeClass | None:
    """The class of a trace; None where there is none: of indices and library calls, of parts of
    what is computed and has several axes, of writes to what is read elsewhere, of arrays without
    elements; and where all numbers are small."""
    writes = [node for node in pending.nodes if type(node) is Update and node.buffer is None]
    stored = {*pending.outputs, *[write.srcs[0] for write in writes]}  # in any case
    if not _are_plain_writes(writes, pending, stored):
        return None
    first = tuple([_stored_first(write, pending) for write in writes])
    if None in first:
        return None
    is_sum = _offsets_add_up(pending.nodes, stored)
    letters = _Letters(is_sum=is_sum)
    key: list[object] = [first]
    maps: dict[object, object] = {}  # those that are of one kind differ in their operands alone
    for node in pending.nodes:
        kind = _plain_map(node)
        known = None if kind is None else maps.get(kind)
        if known is not None:
            key.append(known)
            continue
        rest = _rest(node, letters, stored)
        if rest is None or len(node.shape) > _MOST_AXES:
            return None
        own = node.dtype, letters.array(node.shape, node.strides)
        maps[kind] = whole = (*own, rest, _reused(node))
        key.append(whole)
    numbers, sizes = tuple(letters.letters), letters.sizes()
    if len(sizes) > _MOST_LETTERS or not 0 < len(numbers) <= len(sizes) + _MOST_OFFSETS:
        return None
    if not 0 < letters.least <= letters.most < LARGE:
        return None
    if is_sum and any(_steps_far(node) for node in pending.nodes):
        return None
    links = [part for part in pending.structure if type(part) is int]  # who is whose operand
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    return ShapeClass((*key, *links, *order, *letters.magnitudes, *letters.gaps()), numbers, sizes)


def _plain_map(node: Node) -> object:
    """The kind of a pending operation that reads no views; None for others."""
    if type(node) is not Map or node.buffer is not None:
        return None
    for src in node.srcs:
        if type(src) is View:
            return None
    kind = node._mapkind
    return kind if kind is not None and kind.form is node.form else None


def _rest(node: Node, letters: _Letters, stored: set[Node]) -> tuple[object, ...] | None:
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
            order = node.order
            return kind, node.op.name, node.axes, node.accumulate, order, len(node.srcs)
        case Scan():
            return kind, node.op.name, node.axis
        case View() if _is_memory(node.srcs[0], stored) or _moves_axes(node):
            return kind, letters.offset(node.layout.offset), *_share(node)
        case Update() if len(node.layout.shape) <= _MOST_AXES:
            region = letters.array(node.layout.shape, node.layout.strides)
            return kind, region, letters.offset(node.layout.offset), _covers(node)
        case Fill():
            return kind, len(node.srcs)
    return None


def _is_memory(node: Node, stored: set[Node]) -> bool:
    """Whether a node has memory of its own when the plan runs, as far as that is sure."""
    if type(node) is Map and node.buffer is None:
        return node in stored and size_of(node.shape) >= _TORN
    return node.buffer is not None or type(node) is Update


def _are_plain_writes(writes: Sequence[Update], pending: Trace, stored: set[Node]) -> bool:
    """Whether all writes go to parts of what is in memory, or one to all of it. Whether others may
    be done in place is a matter of sums of extents, and what is written over nothing is one of
    pieces."""
    is_one = len(writes) == 1 and writes[0] in pending.outputs
    return all(
        node.index is None
        and 0 not in node.layout.shape
        and _is_memory(node.srcs[0], stored)
        and (is_one or not _covers(node))
        for node in writes
    )


def _covers(node: Update) -> bool:
    """Whether a write changes all elements."""
    return prod(node.layout.shape) == prod(node.shape)


def _stored_first(write: Update, pending: Trace) -> tuple[int, ...] | None:
    """The places of what is stored before a write, since it reads elsewhere what is changed: which
    of it is small says its size. None where something does that is not stored before."""
    torn = _torn_reads(write, pending)
    if not torn:
        return ()
    first = stored_first(write) if prod(write.shape) >= _TORN else []
    if not torn.issubset(topological(first, stop=write.srcs[:1])):
        return None
    return tuple([pending.nodes.index(node) for node in first])


def _torn_reads(node: Update, pending: Trace) -> set[Node]:
    """What reads the memory that a write changes at other places, some of them changed."""
    base, region = node.srcs[0], node.layout
    reads = {
        each: each.layout if type(each) is View else Layout(base.shape, base.strides, 0)
        for each in pending.nodes
        if each.buffer is None and each is not node and base in each.srcs
    }
    return {
        each
        for each, read in reads.items()
        if read != region and not are_apart(read, region, base.shape, base.strides)
    }


def _share(node: View) -> tuple[int, bool]:
    """How often a view has its source, and whether that is all: elements that are repeated count
    once."""
    axes = zip(node.shape, node.strides, strict=True)
    times, left = divmod(
        prod([extent for extent, step in axes if step]), max(prod(node.srcs[0].shape), 1)
    )
    return times, left == 0


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


def _reused(node: Node) -> tuple[int, ...]:
    """How many times a node reads what is pending under views. Elsewhere the extents say so."""
    if node.buffer is not None:
        return ()
    under = [memory_of(src) for src in node.srcs if type(src) is View or type(node) is View]
    size = size_of(node.shape)
    return tuple(
        [min(size // max(size_of(own.shape), 1), _MANY) for own in under if own.buffer is None]
    )


def _offsets_add_up(nodes: Sequence[Node], stored: set[Node]) -> bool:
    """Whether what a part of something pending reads may be a part itself: `x[a:] * 2` from b on
    reads x from a + b on. No letter stands for that, and it may be any other offset as well."""
    moved = {node for node in nodes if _moves(node)}
    pending = [node.srcs[0] for node in moved if not _is_memory(node.srcs[0], stored)]
    return bool(pending) and len(moved) > 1 and not moved.isdisjoint(topological(pending))


def _moves(node: Node) -> bool:
    return node.buffer is None and type(node) is View and node.layout.offset != 0


def _steps_far(node: Node) -> bool:
    """Whether a view takes steps that a letter stands for."""
    is_view = node.buffer is None and type(node) is View
    return is_view and any(abs(step) > SMALL for step in node.strides)


class _Letters:
    """letters: the place of each number. least, most: elements of an array. magnitudes: what is
    known of numbers and products, as they are met. is_sum: offsets stand for themselves."""

    def __init__(self, *, is_sum: bool) -> None:
        self.letters: dict[int, int] = {}
        self.magnitudes: list[int] = []
        self._is_sum = is_sum
        self._offsets = {0}
        self._measured: set[int] = set()
        self.least = self.most = 1
        self._arrays: dict[tuple[Shape, tuple[int, ...]], object] = {}

    def array(self, shape: Shape, strides: tuple[int, ...]) -> object:
        """What stands for extents and strides."""
        known = self._arrays.get((shape, strides))
        if known is None:
            steps = tuple([self._letter(step) for step in strides])
            known = (self._shape(shape), steps, _joins(shape, strides))
            self._arrays[shape, strides] = known
        return known

    def _shape(self, shape: Shape) -> tuple[int, ...]:
        size = prod(shape)
        self.least, self.most = min(self.least, size), max(self.most, size)
        for count in range(2, len(shape) + 1):
            products = map(prod, combinations(shape, count))
            self.magnitudes += [_magnitude(product) for product in products]
        return tuple([self._letter(extent) for extent in shape])

    def gaps(self) -> list[int]:
        """How far offsets are from the next smaller one, where that is near: it decides what is
        read with it (`lower/neighbours.py`). Extents that are near offsets decide nothing."""
        return [min(high - low, NEAR + 1) for low, high in pairwise(sorted(self._offsets))]

    def sizes(self) -> tuple[int, ...]:
        """The places of letters that are more than offsets."""
        return tuple([self.letters[size] for size in self.letters if size in self._measured])

    def offset(self, offset: int) -> int:
        """No limit of a planner is one of offsets, but how far apart they are."""
        if self._is_sum or not offset:
            return -offset
        self._offsets.add(offset)
        return _OFFSET + self._place(offset)

    def count(self, node: Const) -> object:
        """What a scalar that follows from shapes decides."""
        count = count_of(node)
        if count is not None:
            return type(node.value), self._letter(count)
        return repr(node.value) if node.from_shape else None

    def _letter(self, number: int) -> int:
        if -SMALL <= number <= SMALL:
            return number
        size = abs(number)
        if size not in self._measured:
            self._measured.add(size)
            self.magnitudes.append(_magnitude(size))
        letter = _LETTER + self._place(size)
        return letter if number > 0 else -letter

    def _place(self, number: int) -> int:
        return self.letters.setdefault(number, len(self.letters))


def _joins(shape: Shape, strides: tuple[int, ...]) -> tuple[bool, ...]:
    """Which axes can be walked as one with which other ones."""
    return tuple([
        slow == fast * extent
        for place, slow in enumerate(strides)
        for axis, (fast, extent) in enumerate(zip(strides, shape, strict=True))
        if axis != place
    ])  # fmt: skip


def _magnitude(number: int) -> int:
    """Between which powers of two a number lies, or which one it is."""
    return 2 * number.bit_length() + (number & (number - 1) == 0)

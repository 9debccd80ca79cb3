"""Keys with arrays in them -> where the elements lie that they pick.

    x[rows, :, columns]  ->  Selection(layout, index):  offset + layout + rows*s0 + columns*s2

Placement, order in memory and errors follow numpy/_core/src/multiarray/mapping.c. Integer arrays
and masks pick together, as if broadcast against each other; so do integers beside them. Their axes
stand where they stood when nothing separates them, else first. The index is an expression of the
arrays that the user gave: nothing is computed for it but what has to be known at the call, the
bounds of the integers and the number of true elements. What NumPy refuses is handed to NumPy, on
an array that has the shape and no memory, for its error.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.lib.stride_tricks import as_strided

from lazyfuse.frontend import picks
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.keys import is_index
from lazyfuse.frontend.memory import borrow
from lazyfuse.frontend.picks import Pick
from lazyfuse.ir import recast
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Gather, Node, View
from lazyfuse.ir.order import c_strides, copy_strides, result_strides
from lazyfuse.ops.shapes import Shape, broadcast, size_of
from lazyfuse.runtime import session
from lazyfuse.runtime.caller import call_as_user


@dataclass(frozen=True, slots=True)
class Selection:
    """The elements that a key picks: of the memory `base`, at `layout` moved by `index`.

    reach: bounds of the index. strides: the memory order of the copy that NumPy makes of them.
    unique: whether no element is picked twice. orders: the memory orders of the arrays of the key,
    where they decide in which order NumPy writes; none where that is C order.
    """

    base: Node
    layout: Layout
    index: Node
    reach: tuple[int, int]
    strides: tuple[int, ...]
    unique: bool
    orders: tuple[tuple[Shape, tuple[int, ...]], ...]

    @property
    def shape(self) -> Shape:
        return self.layout.shape

    def gather(self) -> Gather:
        """The elements as a node. There must be some."""
        return Gather(self.base, self.layout, self.index, reach=self.reach, strides=self.strides)


class Empty(NamedTuple):
    """A key that picks nothing: only the shape is left."""

    shape: Shape


class Axis(NamedTuple):
    """An axis that a slice, newaxis or Ellipsis leaves. `lies`: its stride in the user's array,
    which parts of complex numbers have not in the memory that is read."""

    extent: int
    stride: int
    lies: int


def select(array: Any, key: Any) -> Selection | Empty | Layout:
    """What a key with arrays picks; when they are 0-d integers only, the Layout of a view.

    Raises: IndexError as NumPy does, TypeError for what is no index.
    """
    items = key if isinstance(key, tuple) else (key,)
    if len(items) > _MANY:
        _picked_shape(array, key)
    try:
        device = array._storage.device
        return _Reader(array).read([_part(item, device) for item in items])
    except _RefusedError:
        # an index out of bounds is accepted where another one makes the result empty
        return Empty(_picked_shape(array, key))


#: Parts of a key from which NumPy may find them too many.
_MANY = 60


class _RefusedError(Exception):
    """NumPy raises, too: it knows the words."""


def refuse(array: Any, key: Any, value: Any) -> NoReturn:
    """Raise what NumPy raises for `array[key] = value`."""
    with session.flush_lock:
        assign = _shadow(array, array.dtype).__setitem__
        call_as_user(assign, values_in(key), values_in(value))
    raise AssertionError(f"NumPy assigns to {key!r} on shape {array.shape}")


def _picked_shape(array: Any, key: Any) -> Shape:
    """The shape that NumPy gives what a key picks, or its error: of elements without a size, since
    it makes room for them before it looks at the bounds."""
    with session.flush_lock:
        picked: Shape = _shadow(array, "V0")[values_in(key)].shape
    return picked


def _shadow(array: Any, dtype: Any) -> np.ndarray:
    """An array that has the shape, all of it in one element."""
    return as_strided(np.zeros(1, dtype), array.shape, (0,) * array.ndim, writeable=True)


def values_in(key: Any) -> Any:
    """A key or a value with NumPy's arrays in place of ours, borrowed."""
    if isinstance(key, Handle):
        values = borrow(key)
        return values[()] if key._is_scalar else values
    if isinstance(key, tuple):
        return tuple(values_in(item) for item in key)
    if isinstance(key, list):
        return [values_in(item) for item in key]
    return key


def _part(item: Any, device: str) -> Any:
    """None, Ellipsis, a slice, an int, or a Pick."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, bool | np.bool_):
        return picks.truth(bool(item))
    if not isinstance(item, Handle | np.ndarray) and is_index(item):
        return operator.index(item)
    found = picks.pick(item, device)
    if found is None:
        raise _RefusedError
    return found


class _Reader:
    """Walks the parts of a key along the axes of an array."""

    def __init__(self, array: Any) -> None:
        node = array._read()
        if isinstance(node, View):
            self.base, self.memory = node.srcs[0], node.layout
        else:
            self.base, self.memory = node, Layout(node.shape, node.strides, 0)
        self.lies, self.begin = array._layout.strides, array._layout.offset
        self.axis = 0
        self.offset = self.memory.offset
        self.terms: list[Node] = []
        self.picked: list[Shape] = []
        self.orders: list[tuple[Shape, tuple[int, ...]]] = []
        self.low = self.high = 0
        self.unique = not recast.repeats(self.memory)

    def read(self, parts: list[Any]) -> Selection | Empty | Layout:
        parts = self._filled(parts)
        left: list[Axis] = []
        places: list[int] = []  # where a part that picks stands among the axes that are left
        scattered = False
        for number, part in enumerate(parts):
            if isinstance(part, int | Pick):
                scattered |= bool(places) and not isinstance(parts[number - 1], int | Pick)
                places.append(len(left))
                self._take(part)
            else:
                left += self._leave(part)
        if not self.picked:
            layout = tuple(axis.extent for axis in left), tuple(axis.lies for axis in left)
            return Layout(*layout, self.begin)
        return self._placed(left, 0 if scattered else places[0])

    def _filled(self, parts: list[Any]) -> list[Any]:
        """The parts with the Ellipsis as whole slices; one at the end if there is none."""
        ndim = len(self.memory.shape)
        consumed = sum(_consumes(part) for part in parts)
        if sum(part is Ellipsis for part in parts) > 1 or consumed > ndim:
            raise _RefusedError
        place = next((n for n, part in enumerate(parts) if part is Ellipsis), len(parts))
        whole = [slice(None)] * (ndim - consumed)
        rest = parts[place + 1 :]
        # an Ellipsis separates arrays also where it stands for no axis
        between = [_NOTHING] if place < len(parts) and not whole else whole
        return [*parts[:place], *between, *rest]

    def _leave(self, part: Any) -> list[Axis]:
        if part is None:
            return [Axis(1, 0, 0)]
        if part is _NOTHING:
            return []
        extent, stride = self.memory.shape[self.axis], self.memory.strides[self.axis]
        start, stop, step = part.indices(extent)
        length, lies = len(range(start, stop, step)), self.lies[self.axis]
        self._move(start if length else 0)
        return [Axis(length, step * stride, step * lies)]

    def _move(self, places: int) -> None:
        """Go so far along the axis, and on to the next."""
        self.offset += places * self.memory.strides[self.axis]
        self.begin += places * self.lies[self.axis]
        self.axis += 1

    def _take(self, part: int | Pick) -> None:
        if isinstance(part, int):
            extent = self.memory.shape[self.axis]
            if not -extent <= part < extent:
                raise _RefusedError
            self._move(part % extent)
            return
        shape = self.memory.shape[self.axis : self.axis + part.consumes]
        strides = self.memory.strides[self.axis : self.axis + part.consumes]
        if not part.fits(shape):
            raise _RefusedError
        self.axis += part.consumes
        self.picked.append(part.shape)
        self.orders.append((part.shape, part.strides))
        self.unique &= part.is_unique
        if size_of(part.shape) and part.consumes:
            self.terms.append(part.offsets(shape, strides))
        for extent, stride in zip(shape, strides, strict=True):
            self.low += min(0, (extent - 1) * stride)
            self.high += max(0, (extent - 1) * stride)

    def _placed(self, left: list[Axis], place: int) -> Selection | Empty:
        try:
            picked = broadcast(self.picked)
        except ValueError:
            raise _RefusedError from None
        before, after = left[:place], left[place:]
        shape = (*(a.extent for a in before), *picked, *(a.extent for a in after))
        if 0 in shape:
            return Empty(shape)
        steps = (*(a.stride for a in before), *(0 for _ in picked), *(a.stride for a in after))
        strides = self._memory_order(left, picked, place)
        index = picks.total(self.terms)
        if after and index.shape:
            index = _with_axes(index, len(after))
        # a broadcast repeats what an array picks; two arrays may meet in one element
        unique = self.unique and len(self.terms) <= 1 and self.picked == [picked]
        layout = Layout(shape, steps, self.offset)
        alone = size_of(tuple(axis.extent for axis in left)) == 1
        padding = len(after)
        orders = [
            (shape + (1,) * padding, strides + (0,) * padding) for shape, strides in self.orders
        ]
        return Selection(
            self.base, layout, index, (self.low, self.high), strides, unique,
            tuple(orders) if alone else (),
        )  # fmt: skip

    def _memory_order(self, left: list[Axis], picked: Shape, place: int) -> tuple[int, ...]:
        """The strides of NumPy's copy: what is picked outside, as an nditer would walk it, what is
        left inside, sorted by stride. Around several elements, it is walked in C order.
        """
        shape = tuple(axis.extent for axis in left)
        inside = copy_strides(shape, tuple(axis.lies for axis in left))
        if size_of(shape) > 1:
            outside = tuple(step * size_of(shape) for step in c_strides(picked))
        else:
            outside = result_strides(self.orders, picked, trivial=False)
        return (*inside[:place], *outside, *inside[place:])


def in_written_order(found: Selection, value: Node) -> tuple[Layout, Node, Node]:
    """The layout, the value and the index of a write, with axes in the order in which NumPy walks
    them: it matters where an element is picked twice."""
    shape = found.shape
    orders = [*found.orders, (value.shape, value.strides)] if found.orders else []
    steps = result_strides(orders, shape, trivial=False) if orders else c_strides(shape)
    axes = sorted(range(len(shape)), key=lambda axis: -steps[axis])
    if found.unique or axes == sorted(axes):
        return found.layout, value, found.index
    steps = tuple(found.layout.strides[axis] for axis in axes)
    layout = Layout(tuple(shape[axis] for axis in axes), steps, found.layout.offset)
    return layout, _transposed(value, shape, axes), _transposed(found.index, shape, axes)


def _transposed(node: Node, shape: Shape, axes: list[int]) -> Node:
    """A node broadcast to `shape`, with its axes in another order."""
    if not node.shape:
        return node
    skip = len(shape) - len(node.shape)
    own = [0] * skip + [s if n > 1 else 0 for n, s in zip(node.shape, node.strides, strict=True)]
    start = node.layout.offset if isinstance(node, View) else 0
    memory = node.srcs[0] if isinstance(node, View) else node
    strides = tuple(own[axis] for axis in axes)
    return View(memory, Layout(tuple(shape[axis] for axis in axes), strides, start))


def _with_axes(node: Node, count: int) -> View:
    """The node with `count` axes of length 1 at the end."""
    start = node.layout.offset if isinstance(node, View) else 0
    memory = node.srcs[0] if isinstance(node, View) else node
    return View(memory, Layout(node.shape + (1,) * count, node.strides + (0,) * count, start))


class _Nothing:
    """An Ellipsis that stands for no axis."""


_NOTHING = _Nothing()


def _consumes(part: Any) -> int:
    """How many axes of the array a part uses up."""
    if part is None or part is Ellipsis or part is _NOTHING:
        return 0
    return part.consumes if isinstance(part, Pick) else 1

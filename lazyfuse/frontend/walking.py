"""Going through arrays: `for row in x`, and the elements of `x.flat`.

NumPy's own iterators go through computed memory of the engine. A write where it lies they see; by
any other one the memory is none of the array's any more, of which `ir/orphans.py` tells, and the
next element comes from the new version. So an element costs what it costs in NumPy. The rows of an
array are views, made by a function over what differs between them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain, cycle, repeat
from operator import call
from typing import Any

from lazyfuse.frontend.export import to_array
from lazyfuse.frontend.handle import small_array, view
from lazyfuse.frontend.memory import in_place
from lazyfuse.frontend.rerecord import count
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.orphans import follow, unfollow
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime import engine, session

#: What machine code saves of a row, and of an iteration over elements (`rerecord.count`).
_ROW_SAVED, _SAVED = 1, 5


def iterate(array: Any) -> Iterator[Any]:
    """Rows as views, elements of one axis as NumPy's scalars, read when they are reached; what is
    pending is computed at the first one.

    Raises: TypeError for a 0-d array."""
    host = array._host
    if host is not None:
        if host.ndim == 1:
            return iter(host)
        owner = array._owner
        return map(small_array, host, repeat(array if owner is None else owner))
    array = itself(array)
    shape, strides, offset = array._layout
    if len(shape) == 1:
        return chain.from_iterable(pieces(array))
    if not shape:
        raise TypeError("iteration over a 0-d array")
    extent, step = shape[0], strides[0]
    row = _row if array._cast is None else row_of
    places = range(offset, offset + extent * step, step) if step else repeat(offset, extent)
    kept: Iterator[list[Any]] = cycle(([None], [None]))  # the one before is still in use
    return map(row, repeat(array), repeat(shape[1:]), repeat(strides[1:]), kept, places)


def itself(array: Any) -> Any:
    """An array of the engine as it is now, whatever memory, shape, dtype and flags it gets in the
    middle of a loop (`resize`)."""
    return view(array, array._layout)


def row_of(array: Any, shape: Any, strides: Any, _: list[Any], offset: int) -> Any:
    """A row of an array of the engine. Machine code keeps it in the list, and gives it again as
    another one when nobody else has it any more."""
    count(_ROW_SAVED)
    return view(array, Layout(shape, strides, offset))


#: Machine code does so for arrays that are not recast.
_row: Callable[..., Any] = row_of


def use(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Take a function of machine code for `row_of`."""
    globals()["_row"] = functions["row"]


class Steps:
    """Machine code's iterator over an array of the engine of one axis that is computed: `line` is
    NumPy's array of the elements to come. From the first write on by which `array` has another
    memory, `rest` has them. Or that over a small array: `rest` has its rows, and `array` the
    memory."""

    __slots__ = ("array", "line", "rest")
    array: Any
    line: Any
    rest: Iterator[Any]

    def __iter__(self) -> Steps:
        return self

    def __next__(self) -> Any:
        return next(self)  # machine code is there, else there would be no such iterator


def leave(steps: Steps) -> None:
    """Go on with the memory that the array has now."""
    walk = Walk()
    walk.before = steps.array.size - len(steps.line)
    steps.rest = chain.from_iterable(pieces(steps.array, walk))
    del steps.line


#: The position of an iterator that ends at the next step.
_PAST_END = sys.maxsize - 1


class Walk:
    """Where somebody is who goes through the elements of an array of the engine: `before` are the
    elements before the piece of memory that is read, `count` those of the piece, which NumPy's
    iterator goes through."""

    __slots__ = ("before", "count", "piece")

    def __init__(self) -> None:
        self.before = self.count = 0
        self.piece: Any = iter(())

    @property
    def index(self) -> int:
        """The position of the next element."""
        return self.before + self._read(self.piece.__reduce__())

    def _read(self, state: tuple[Any, ...]) -> int:
        """How many elements of the piece have been read, by its iterator's state: one that is at
        its end has no position."""
        return min(state[2], self.count) if len(state) == 3 else self.count

    def leave(self) -> None:
        """The memory is none of the array's any more: the piece ends here."""
        piece = self.piece
        # in one step, or another thread might take an element in between
        state, _ = map(call, (piece.__reduce__, partial(piece.__setstate__, _PAST_END)))
        self.count = self._read(state)


def pieces(array: Any, walk: Walk | None = None) -> Iterator[Iterator[Any]]:
    """Iterators over all elements of an array of the engine in C order. Each ends where another
    memory begins."""
    count(_SAVED)
    walk = Walk() if walk is None else walk
    size, leave = size_of(array._layout.shape), walk.leave
    while walk.before < size:
        try:
            with session.flush_lock:  # nobody writes meanwhile
                found = _found(array, walk.before)
                walk.count, walk.piece = len(found), iter(found)
                follow(array._storage.node.buffer, leave)
            yield walk.piece
        finally:
            unfollow(leave, None)
        walk.before += walk.count
        walk.count = 0


def _found(array: Any, position: int) -> Any:
    """Some elements from a position on."""
    storage = array._storage
    node = storage.now()
    engine.flush([node], storage.device)
    if storage.device != "cpu":
        return to_array(array).reshape(-1)[position:]
    return in_place(node, array._reading, line_from(array._layout, position))


def line_from(layout: Layout, position: int) -> Layout:
    """The elements of a layout in C order from a position on, as far as they are one distance
    apart; there are some."""
    shape, strides, offset = layout
    count, step, axes = 1, 0, len(shape)
    while axes and (shape[axes - 1] == 1 or count == 1 or strides[axes - 1] == step * count):
        axes -= 1
        if shape[axes] != 1:
            step = step if count > 1 else strides[axes]
            count *= shape[axes]
    line, within = divmod(position, count)
    while axes:
        axes -= 1
        line, index = divmod(line, shape[axes])
        offset += index * strides[axes]
    return Layout((count - within,), (step,), offset + within * step)

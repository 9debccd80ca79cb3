"""Keys with arrays in them that are at hand: as NumPy takes them, and how many elements they pick.

Machine code does the same (`backends/cpu/methods_keys_text.py`).
"""

from __future__ import annotations

import math
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.frontend.rerecord import ARRAYS
from lazyfuse.frontend.windows import at_hand
from lazyfuse.ops.rules import PICKED, PICKED_ROWS, ROW
from lazyfuse.ops.shapes import size_of

#: What stands for a part of a key that is not at hand, or large.
UNKNOWN = object()
_INTEGERS = frozenset(
    (int, np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8)
)
_BASIC = _INTEGERS | {slice, type(None), type(...)}


def has_arrays(key: Any) -> bool:
    """Whether a key is, or has in it, an array, a list or a range."""
    kinds = map(type, key) if type(key) is tuple else (type(key),)
    return any(kind in ARRAYS or kind in _ARRAYS for kind in kinds)


_ARRAYS = frozenset((np.ndarray, list, range))


class Picked(NamedTuple):
    """A key as NumPy takes it; and of an array how many places it picks, infinitely many for what
    is not looked into, and how many elements at each."""

    where: Any
    places: float
    each: int

    @property
    def size(self) -> float:
        """The elements of all places."""
        return self.places * self.each if self.each else 0

    def most(self, least: int) -> int:
        """The most elements that are picked at once, `least` or more."""
        return max(least, PICKED_ROWS if self.each >= ROW else PICKED)


def for_numpy(key: Any, shape: tuple[int, ...], limit: int) -> Picked | None:
    """A key as NumPy takes it, and how much of an array of this shape it picks. None where parts
    of it are not at hand, or have more elements than `limit`."""
    if type(key) is not tuple:
        part = part_of(key, limit)
        return None if part is UNKNOWN else Picked(part, *_count(shape, (part,)))
    parts = tuple([part_of(item, limit) for item in key])
    return None if any(part is UNKNOWN for part in parts) else Picked(parts, *_count(shape, parts))


def part_of(item: Any, limit: int) -> Any:
    """A part of a key for NumPy; UNKNOWN for those that are not at hand, or large."""
    kind = type(item)
    if kind in _BASIC:
        return item
    if kind is range:
        is_short = not item[limit:]  # of any length
        made = np.arange(item.start, item.stop, item.step) if is_short else None
    elif kind is list:
        made = np.asarray(item) if _holds_numbers(item, limit) else None
    elif kind in ARRAYS:
        if item._host is None and size_of(item._layout.shape) <= limit and can_pick(item):
            item._flush()
        made = at_hand(item, limit)
    else:
        made = at_hand(item, limit) if kind is np.ndarray else None
    is_index = made is not None and made.dtype.kind in "biu" and made.size <= limit
    return made if is_index else UNKNOWN


def can_pick(key: Any) -> bool:
    """Whether an array of the engine may be computed for being a key: what it says of the result
    has to be known at once."""
    return key._code[0] in "biu" and key._storage.device == "cpu"


def _holds_numbers(items: list[Any], limit: int) -> bool:
    """Whether a list has at most so many integers, and nothing else but lists of one length with
    such."""
    if len(items) > limit:
        return False
    if _INTEGERS.issuperset(map(type, items)):
        return True
    if {list} != set(map(type, items)) or len(set(map(len, items))) != 1:
        return False
    return len(items[0]) <= limit and _holds_numbers(list(chain(*items)), limit)


def _count(shape: tuple[int, ...], parts: tuple[Any, ...]) -> tuple[float, int]:
    """How many places a key picks, and how many elements at each."""
    taken = sum(map(_axes_of, parts))
    if taken > len(shape) or sum(part is ... for part in parts) > 1:
        return math.inf, 1
    arrays: list[tuple[int, ...]] = []
    axis, count = 0, 1
    for part in parts:
        if part is None:
            continue
        stop = axis + (len(shape) - taken if part is ... else _axes_of(part))
        extents = shape[axis:stop]
        if part is ...:
            count *= size_of(extents)
        elif type(part) is slice:
            count *= len(range(*part.indices(extents[0])))
        elif isinstance(part, np.ndarray | np.generic):
            if part.dtype != bool:
                arrays.append(part.shape)
            elif part.shape == extents:
                arrays.append((int(np.count_nonzero(part)),))
            else:
                return math.inf, 1
        axis = stop
    return _together(arrays), count * size_of(shape[axis:])


def _axes_of(part: Any) -> int:
    """How many axes a part of a key uses up."""
    if part is None or part is ...:
        return 0
    is_mask = isinstance(part, np.ndarray | np.generic) and part.dtype == bool
    return part.ndim if is_mask else 1


def _together(shapes: list[tuple[int, ...]]) -> float:
    """How many elements arrays in a key have when they are broadcast; infinitely many where they
    cannot be, which the engine says."""
    if all(shape == shapes[0] for shape in shapes[1:]):
        return math.prod(shapes[0]) if shapes else 1
    try:
        return math.prod(np.broadcast_shapes(*shapes))
    except ValueError:
        return math.inf

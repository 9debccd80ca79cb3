"""The arrays in a key: integers and masks, as what they say about offsets in memory.

Masks are counted when they are used, since the shape of the result needs it; the list of their
true positions is a recorded call that runs when something reads it, kept as long as the mask is.
The bounds of integers are looked at once per array.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.frontend import reductions
from lazyfuse.frontend.convert import source
from lazyfuse.frontend.handle import Handle, new
from lazyfuse.frontend.masks import listed
from lazyfuse.frontend.memory import look
from lazyfuse.ir.library import Request
from lazyfuse.ir.node import Const, Map, Node, Opaque, View
from lazyfuse.ir.order import c_strides, copy_strides
from lazyfuse.ir.storage import Storage
from lazyfuse.ops.shapes import Shape, broadcast, size_of
from lazyfuse.ops.table import OPS
from lazyfuse.runtime import engine, session


class Pick(NamedTuple):
    """An array of a key. It uses up `consumes` axes and gives `shape`; `strides` is its memory
    order. `bounds` are the smallest and the largest integer; `mask` is the shape of a mask.
    `handle` holds the values."""

    handle: Any
    consumes: int
    shape: Shape
    strides: tuple[int, ...]
    bounds: tuple[int, int] = (0, 0)
    mask: Shape | None = None

    @property
    def is_unique(self) -> bool:
        """Whether it is known to pick nothing twice."""
        return self.mask is not None

    def fits(self, shape: Shape) -> bool:
        """Whether the array may index axes of this shape."""
        if self.mask is not None:
            return self.mask == shape
        (extent,) = shape
        low, high = self.bounds
        return not size_of(self.shape) or (-extent <= low and high < extent)

    def offsets(self, shape: Shape, strides: tuple[int, ...]) -> Node:
        """How far from the first element of axes of this shape the picked ones lie."""
        if self.mask is None:
            return _scaled(_wrapped(self, shape[0]), strides[0])
        step = _common_step(shape, strides)
        if step is not None:
            return _scaled(positions(self.handle), step)
        found = look(self.handle, np.nonzero)
        total = sum(axis * stride for axis, stride in zip(found, strides, strict=True))
        offsets = np.asarray(total, np.int64)
        return source(offsets, self.handle._storage.device, owned=True)


def truth(value: bool) -> Pick:
    """True or False as an index: a new axis of one element, or of none."""
    return Pick(None, 0, (int(value),), (1 if value else 0,), mask=())


def pick(item: Any, device: str) -> Pick | int | None:
    """An array in a key, an int for a 0-d one, or None for what is no index.

    Raises: ValueError for an array on another device.
    """
    if isinstance(item, Handle) and item._host is not None:
        item = item._host
    if isinstance(item, Handle):
        if item._storage.device != device:
            raise ValueError(
                f"the index lives on {item._storage.device}, the array on {device}; "
                "move it with to_device"
            )
        code = item._code
        shape: Shape = item._layout.shape
    else:
        given = _as_integers(item)
        if given is None:
            return None
        code, shape = given.dtype.kind, given.shape
        item = given
    if code[0] not in "biu":
        return None
    if not shape:
        value = look(item, lambda values: values.item()) if isinstance(item, Handle) else item[()]
        return truth(bool(value)) if code[0] == "b" else int(value)
    handle = steady(item) if isinstance(item, Handle) else _on_engine(item, device)
    return _mask(handle) if code[0] == "b" else _integer_array(handle)


def steady(array: Any) -> Any:
    """The array, or a copy of one in memory that NumPy's arrays may write: what is known of it has
    to hold when it is read."""
    if array._host is not None or not array._storage.is_lent or not array.size:
        return array
    node = array._read()
    if isinstance(node, View):  # what repeats
        strides = copy_strides(node.shape, node.strides)
        node = Map(OPS["astype"], (node.dtype,), node.dtype, node.shape, strides, (node,))
    return new(node, array._storage.device)


def _as_integers(item: Any) -> np.ndarray | None:
    """What NumPy makes of a sequence in a key: an empty one is of integers."""
    try:
        array = np.asarray(item)
    except ValueError:
        return None
    if not isinstance(item, np.ndarray) and array.size == 0:
        array = array.astype(np.intp)
    return array if array.dtype.kind in "biu" else None


def _on_engine(values: np.ndarray, device: str) -> Any:
    """A copy of an index, which its owner may change later."""
    return new(source(values, device), device)


def _mask(handle: Any) -> Pick:
    count = count_true(handle)
    strides = (1,) if count else (0,)
    return Pick(handle, len(handle.shape), (count,), strides, mask=handle.shape)


def _integer_array(handle: Any) -> Pick:
    if handle._code == "u8":  # NumPy casts without a check: 2**64 - 1 is the last element
        device = handle._storage.device
        handle = new(_map("astype", (handle._read(),), "i8"), device)
    bounds = _bounds(handle) if handle.size else (0, 0)
    return Pick(handle, 1, handle.shape, handle._layout.strides, bounds)


def _wrapped(found: Pick, extent: int) -> Node:
    """The integers as i8, negative ones counted from the end."""
    node = _as_i8(found.handle._read())
    if found.bounds[0] >= 0:
        return node
    is_negative = _map("less", (node, Const(0, "i8")), "b1")
    wrapped = _map("add", (node, Const(extent, "i8")), "i8")
    return _map("where", (is_negative, wrapped, node), "i8")


def total(terms: list[Node]) -> Node:
    """The sum of the offsets that several arrays give."""
    if not terms:
        return Const(0, "i8")
    sum_ = terms[0]
    for term in terms[1:]:
        sum_ = _map("add", (sum_, term), "i8")
    return sum_


def _scaled(node: Node, step: int) -> Node:
    node = _as_i8(node)
    return node if step == 1 else _map("multiply", (node, Const(step, "i8")), "i8")


def _as_i8(node: Node) -> Node:
    return node if node.dtype == "i8" else _map("astype", (node,), "i8")


def _map(name: str, operands: tuple[Node, ...], dtype: str) -> Node:
    shape = broadcast([node.shape for node in operands])
    loop = tuple(node.dtype for node in operands)
    return Map(OPS[name], loop, dtype, shape, c_strides(shape), operands)


def is_even(shape: Shape, strides: tuple[int, ...]) -> bool:
    """Whether elements lie as far apart in C order everywhere."""
    return _common_step(shape, strides) is not None


def _common_step(shape: Shape, strides: tuple[int, ...]) -> int | None:
    """The stride along which axes can be walked as one in C order."""
    axes = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    if any(s != t * m for (_, s), (m, t) in zip(axes, axes[1:], strict=False)):
        return None
    return axes[-1][1] if axes else 0


# ---- what is known about the arrays that index

#: Per array: its version, and answers about its views. They go with the array.
_KNOWN: weakref.WeakKeyDictionary[
    Storage, tuple[weakref.ref[Node] | None, dict[Hashable, Any]]
] = weakref.WeakKeyDictionary()


def _known(array: Handle, question: str, answer: Callable[[], Any]) -> Any:
    """The answer to a question about the current values of an array, asked once."""
    storage = array._storage
    with session.flush_lock:
        engine.flush([storage.now()], storage.device)
    if storage.is_lent:
        return answer()  # which may be another one the next time
    version, answers = _KNOWN.get(storage, (None, {}))
    if version is None or version() is not storage.node:
        answers = {}
        _KNOWN[storage] = (weakref.ref(storage.node), answers)
    key = (question, array._layout, array._code)
    if key not in answers:
        answers[key] = answer()
    return answers[key]


def count_true(mask: Handle) -> int:
    """How many elements of a mask are true."""

    def counted() -> int:
        if mask._storage.device == "cpu":
            return int(look(mask, np.count_nonzero))
        return int(reductions.count_nonzero(mask))

    found: int = _known(mask, "count", counted)
    return found


def _bounds(array: Handle) -> tuple[int, int]:
    def looked_at() -> tuple[int, int]:
        if array._storage.device == "cpu":
            return look(array, lambda values: (int(values.min()), int(values.max())))
        both = reductions.min(array), reductions.max(array)
        engine.flush([bound._storage.node for bound in both], array._storage.device)
        return int(both[0]), int(both[1])

    found: tuple[int, int] = _known(array, "bounds", looked_at)
    return found


def positions(mask: Handle) -> Node:
    """Where a mask is true, counted in C order; 4 bytes each where they are enough."""

    def recorded() -> Storage:
        dtype = "i4" if size_of(mask._layout.shape) < 1 << 31 else "i8"
        node = Opaque(
            "flatnonzero", _Positions(dtype), "the true elements of a mask are listed once",
            shape=(count_true(mask),), dtype=dtype, strides=(1,), srcs=(mask._read(),),
        )  # fmt: skip
        return Storage(node, mask._storage.device)

    found: Storage = _known(mask, "positions", recorded)
    return found.node


class _Positions:
    """The call behind `positions`; equal to its likes, so that plans are found again."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def __call__(self, mask: np.ndarray) -> np.ndarray:
        return listed(mask, self.dtype)

    @property
    def request(self) -> Request:
        return Request("flatnonzero")

    def __eq__(self, other: object) -> bool:
        return type(other) is _Positions and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash((_Positions, self.dtype))

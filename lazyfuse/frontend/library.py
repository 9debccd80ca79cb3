"""Library calls that are recorded: matrix products, transforms, sorting.

Nothing fuses into such a call, but what is around it still fuses, and nothing runs before its
result is needed. Shape, dtype and memory order of the result have to be known at once, and so do
errors. NumPy itself is asked: `outline` runs the function on tiny arrays whose extents are equal
where the real ones are, and whose axes lie in memory in the same order.

Only functions whose results have the extents of their operands, and that cannot fail for values,
can be recorded in this way. A singular matrix raises at the call, so `inv` is not among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.frontend.at_once import computed
from lazyfuse.frontend.convert import ForeignError, adopted, gpu_home, plain, source
from lazyfuse.frontend.handle import Handle, new, result
from lazyfuse.frontend.references import is_alone
from lazyfuse.ir.library import Request
from lazyfuse.ir.node import Node, Opaque
from lazyfuse.ir.order import c_strides
from lazyfuse.ops.shapes import Shape
from lazyfuse.ops.table import DTYPES
from lazyfuse.ops.types import code
from lazyfuse.runtime import session


@dataclass(frozen=True)
class Call:
    """A NumPy function with its options fixed: called on arrays. Equal calls share plans.
    `name` is the function's public one, where its own is another."""

    function: Callable[..., Any]
    before: tuple[Any, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    name: str = ""

    @property
    def __name__(self) -> str:
        """What `explain` calls it."""
        return self.name or self.function.__name__

    @property
    def request(self) -> Request:
        """What it asks for, for devices with libraries of their own."""
        return Request(self.__name__, dict(self.options), self.before)

    def __call__(self, *arrays: Any) -> Any:
        return self.function(*self.before, *arrays, **dict(self.options))


class Outline(NamedTuple):
    """What is known of a result before it is computed; a scalar is no array in NumPy."""

    shape: Shape
    dtype: str
    strides: tuple[int, ...]
    is_scalar: bool


#: What decides an operand's part in an outline: shape, dtype code, strides.
Memory = tuple[Shape, str, tuple[int, ...]]


def record(call: Call, operands: Sequence[Any], *, reason: str) -> Any:
    """Record `call` on operands, arrays or what NumPy makes arrays of; run it, where that is
    better (`at_once.py`).

    Raises: what NumPy raises for these shapes and dtypes; ForeignError for dtypes that only NumPy
    handles.
    """
    now = computed(
        call.function,
        operands,
        lambda memory: math.prod(outline(call, memory).shape),
        call.before,
        call.options,
    )
    if now is not None:
        return now
    device = device_of(operands)
    nodes = [node_of(value, device) for value in operands]
    found = outline(call, tuple((node.shape, node.dtype, node.strides) for node in nodes))
    if found.dtype not in DTYPES:
        raise ForeignError(found.dtype)
    node = opaque(call, nodes, found.shape, found.dtype, found.strides, reason)
    return result(node, device) if found.is_scalar else new(node, device)


def opaque(
    call: Callable[..., Any],
    nodes: Sequence[Node],
    shape: Shape,
    dtype: str,
    strides: tuple[int, ...],
    reason: str,
) -> Opaque:
    """The node of a recorded call; `call` is hashable and equal to its likes."""
    return Opaque(
        call.__name__, call, reason, shape=shape, dtype=dtype, strides=strides, srcs=tuple(nodes)
    )


def node_of(value: Any, device: str) -> Node:
    """The memory of an operand of a library call: NumPy's scalars and Python's are arrays here.
    Raises: ForeignError."""
    if isinstance(value, Handle):
        return value._in_memory()
    home = gpu_home(value)
    if home is not None:
        node: Node = adopted(value, home)._read()
        return node
    array = plain(value)
    if code(array.dtype) not in DTYPES or array.dtype.kind in "OSUVMm":
        raise ForeignError(str(array.dtype))
    made = array is not value and array.base is None and is_alone(array)
    return source(array, device, owned=made)


def device_of(operands: Sequence[Any]) -> str:
    """The device on which the operands live. Raises: ValueError when there are several."""
    found = {home for home in map(_home, operands) if home is not None}
    if len(found) > 1:
        raise ValueError(
            f"operands live on different devices ({', '.join(sorted(found))}); "
            "move them with to_device"
        )
    return found.pop() if found else session.default_device()


def _home(value: Any) -> str | None:
    """The device of an array of ours, or of another library's on a GPU; None for all else."""
    if isinstance(value, Handle):
        return value._storage.device
    return gpu_home(value)


# ---- asking NumPy


@lru_cache(maxsize=4096)
def outline(call: Call, memory: tuple[Memory, ...]) -> Outline:
    """What NumPy's result on operands of this memory looks like. Raises: what NumPy raises."""
    small = _small_extents(extent for shape, _, _ in memory for extent in shape)
    real = {tiny: extent for extent, tiny in small.items()}
    try:
        with np.errstate(all="ignore"):
            found = call(*(_tiny(item, small) for item in memory))
    except (TypeError, ValueError, IndexError):
        call(*(_hollow(item) for item in memory))  # the same error, in the words of these shapes
        raise
    array = np.asarray(found)
    shape = tuple(real[extent] for extent in array.shape)
    strides = _ordered(shape, array.strides)
    return Outline(shape, code(array.dtype), strides, is_scalar=isinstance(found, np.generic))


def _small_extents(extents: Any) -> dict[int, int]:
    """A small extent for each extent: 0 and 1 mean what they are, others differ where they did."""
    small = {0: 0, 1: 1}
    for extent in extents:
        small.setdefault(extent, len(small))
    return small


def _tiny(memory: Memory, small: dict[int, int]) -> np.ndarray:
    """Ones of small extents, with the axes in the same memory order."""
    shape, dtype, strides = memory
    slowest_first = sorted(range(len(shape)), key=lambda axis: (-abs(strides[axis]), axis))
    extents = [(small[shape[axis]] or 1) if strides[axis] else 1 for axis in slowest_first]
    made = np.ones(extents, np.dtype(dtype)).transpose(np.argsort(slowest_first).tolist())
    parts = zip(shape, strides, strict=True)
    turned = made[  # an array, also of objects without axes
        *(slice(None, None if n else 0, -1 if stride < 0 and n else 1) for n, stride in parts), ...
    ]
    whole = tuple(small[extent] for extent in shape)
    return turned if turned.shape == whole else np.broadcast_to(turned, whole)


def _hollow(memory: Memory) -> np.ndarray:
    """An array of the real extents over one element."""
    shape, dtype, _ = memory
    return np.broadcast_to(np.ones((), np.dtype(dtype)), shape)


def _ordered(shape: Shape, strides: Sequence[int]) -> tuple[int, ...]:
    """Dense strides of a shape with its axes in the memory order of `strides`."""
    if math.prod(shape) == 0:
        return c_strides(shape)
    step = 1
    result = [0] * len(shape)
    for axis in sorted(range(len(shape)), key=lambda axis: (abs(strides[axis]), -axis)):
        result[axis] = step
        step *= shape[axis]
    return tuple(result)

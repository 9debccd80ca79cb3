"""Library calls whose results are not very large: NumPy runs them at once.

Recording such a call takes 50 us and more: a node, a plan, copies of small operands. That would
be worth it if something fused with it; as it is, the operands have to be in memory anyway. Results
that take much longer than that to make are left to the engine, which may not need them after all,
and so is what `fuse` records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazyfuse.frontend.convert import eager_size, to_array
from lazyfuse.frontend.handle import Handle, new
from lazyfuse.frontend.memory import in_place
from lazyfuse.frontend.rerecord import count
from lazyfuse.frontend.sequences import SCALARS
from lazyfuse.frontend.small import KNOWN
from lazyfuse.ir.copies import copy_to
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Node, Source
from lazyfuse.ir.recast import Cast
from lazyfuse.ops.rules import MOST
from lazyfuse.ops.shapes import Shape
from lazyfuse.ops.types import code
from lazyfuse.runtime import engine, session, under_way
from lazyfuse.runtime.caller import call_as_user
from lazyfuse.runtime.heard import heard

#: What machine code saves of a product (`rerecord.count`).
_SAVED = 10
#: Bytes of a new array that others are moved into, from which that is recorded: results computed
#: from it read those themselves then, and threads share what is written. To record it costs as
#: much as NumPy takes for a fifth of that.
MOVED = 1 << 22
#: Where regions of a new array lie, and those that they are copies of.
Regions = Sequence[tuple[Layout, Layout]]
#: Of an operand: shape, dtype and strides in elements.
Memory = tuple[tuple[int, ...], str, tuple[int, ...]]


def computed(
    call: Callable[..., Any],
    operands: Sequence[Any],
    size: Callable[[tuple[Memory, ...]], int],
    before: Sequence[Any] = (),
    options: Sequence[tuple[str, Any]] = (),
) -> Any:
    """What a function of NumPy's gives for `before`, the operands and these options, as the
    user's; None where it is to be recorded. `size` is that of the result for operands of this
    memory. Raises: what it does, and the function."""
    if not _is_allowed(operands) or size(tuple(map(_memory, operands))) > _most():
        return None
    return _run(call, operands, before=before, options=options)


def product(left: Any, right: Any) -> Any:
    """`left @ right` of an array and a vector or matrix, one of which may be NumPy's, without
    asking NumPy what it will be like; None for all else."""
    if not all(isinstance(value, Handle) or type(value) is np.ndarray for value in (left, right)):
        return None
    one, other = _shape(left), _shape(right)
    if not one or not 1 <= len(other) <= 2 or one[-1] != other[0]:
        return None
    if math.prod((*one[:-1], *other[1:])) > _most() or not _is_allowed((left, right)):
        return None
    count(_SAVED)
    return _run(np.matmul, (left, right), heard)


def copied(array: Handle, shape: Shape, strides: tuple[int, ...], regions: Regions) -> Any:
    """A new array of such memory, whose regions, the first of each pair, are copies of those of
    `array`, and all of it; None where that is to be recorded."""
    if not _is_known(array) or not eager_size() or under_way.is_recording():
        return None
    nbytes = math.prod(shape) * np.dtype(array._code).itemsize
    own = array._storage.now()  # this version, whoever writes meanwhile
    if own.buffer is None:
        engine.flush([own], "cpu")
    node = Source(shape, array._code, strides, session.backend("cpu").allocate(nbytes))
    for target, source in regions:
        if 0 not in target.shape:
            values = in_place(own, array._reading, source)
            copy_to(in_place(node, Cast(array._code), target), values)
    return new(node, "cpu")


def joined(parts: Sequence[Handle], axis: int, dtype: np.dtype, casting: Any) -> Any:
    """One new array of all parts along an axis, each cast to a dtype; None where that is to be
    recorded: parts are pending, and what they are computed by may write into the new array, or it
    is large; or parts are empty, whose strides have a say in the memory order."""
    sizes = [math.prod(_shape(part)) for part in parts]
    if 0 in sizes or sum(sizes) * dtype.itemsize >= MOVED:
        return None
    if not _is_allowed(parts) or _pending(parts):
        return None

    def join(*arrays: np.ndarray) -> np.ndarray:
        return np.concatenate(arrays, axis, dtype=dtype, casting=casting)

    return _run(join, parts)


def _run(
    call: Callable[..., Any],
    operands: Sequence[Any],
    by: Callable[..., Any] = call_as_user,
    before: Sequence[Any] = (),
    options: Sequence[tuple[str, Any]] = (),
) -> Any:
    _flush(operands)
    engine.count_asked()
    found = by(call, *before, *map(_array, operands), **dict(options))
    if type(found) is not np.ndarray:
        return found
    is_own = found.base is None and found.flags.owndata
    return to_array(found, owned=is_own)


def _is_allowed(operands: Sequence[Any]) -> bool:
    """Whether anything is computed at once here, and NumPy can have these operands."""
    if not eager_size() or under_way.is_recording():
        return False
    return any(isinstance(value, Handle) for value in operands) and all(map(_is_known, operands))


def _most() -> int:
    """The most elements of a result that is computed at once."""
    size = eager_size()
    return size and max(size, MOST)


def _flush(operands: Sequence[Any]) -> None:
    """Compute what is pending under operands, all at once."""
    pending = _pending(operands)
    if pending:
        engine.flush(pending, "cpu")


def _pending(operands: Sequence[Any]) -> list[Node]:
    """What is to be computed before NumPy can have the operands."""
    nodes = [
        value._storage.now()
        for value in operands
        if isinstance(value, Handle) and value._host is None
    ]
    return [node for node in nodes if node.buffer is None]


def _shape(value: Handle | np.ndarray) -> tuple[int, ...]:
    if isinstance(value, np.ndarray):
        return value.shape
    host = value._host
    return value._layout.shape if host is None else host.shape


def _is_known(value: Any) -> bool:
    """Whether a value is an operand that NumPy can have as it is: memory on the CPU, a scalar."""
    if isinstance(value, Handle):
        return value._host is not None or value._storage.device == "cpu"
    if type(value) is np.ndarray:
        return value.dtype in KNOWN
    return type(value) in SCALARS


def _memory(value: Any) -> Memory:
    """Shape, dtype and strides of an operand."""
    if isinstance(value, Handle):
        if value._host is None:
            layout = value._layout
            return layout.shape, value._code, layout.strides
        value = value._host
    array = np.asarray(value)
    size = array.itemsize
    return array.shape, code(array.dtype), tuple([stride // size for stride in array.strides])


def _array(value: Any) -> Any:
    """An operand as NumPy's, in the memory where it is."""
    if not isinstance(value, Handle):
        return value
    if value._host is not None:
        return value._host
    shape = value._layout.shape
    if 0 in shape:
        return np.empty(shape, value._code)
    node = value._storage.now()
    if node.buffer is None:  # another thread has written since
        engine.flush([node], "cpu")
    return in_place(node, value._reading, value._layout)  # of what is read-only NumPy makes copies

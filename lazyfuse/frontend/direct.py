"""Transcendental functions of small arrays, and of larger ones where that is new: the op's own
kernel, called at once.

Their bits are the kernels', not NumPy's, so NumPy cannot compute them even where it would be
faster than recording and running (`small.py`). But the kernel of a single op
(`runtime/op_kernels.py`) can be called on NumPy's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from lazyfuse import config
from lazyfuse.frontend import elementwise, registry
from lazyfuse.frontend.array_likes import in_memory
from lazyfuse.frontend.convert import Operand, eager_size, limits, operand
from lazyfuse.frontend.handle import Handle, small_array
from lazyfuse.frontend.rerecord import count
from lazyfuse.frontend.sequences import SCALARS
from lazyfuse.frontend.small import KNOWN, lowered
from lazyfuse.frontend.windows import largest, made, operated, reach, spread_size, window
from lazyfuse.ir.node import Map, Source
from lazyfuse.ops.types import code
from lazyfuse.runtime import session
from lazyfuse.runtime.direct_records import chained
from lazyfuse.runtime.error_modes import current_modes
from lazyfuse.runtime.op_kernels import OpKernel, op_kernel
from lazyfuse.runtime.single import Address

#: Calls after which machine code is told of a kernel: that takes a millisecond once.
_OFFERED_AFTER = 8
#: What machine code saves of an operation here (`rerecord.count`).
_SAVED = 8
#: Elements of the arrays that stand for the operands of an op.
_SAMPLE = 64


class _Kernel(NamedTuple):
    """The kernel of an op on arrays and numbers, and the dtype of its result."""

    op: OpKernel
    dtype: np.dtype


def direct(name: str) -> Callable[[Sequence[Any]], Any]:
    """A function of the operands of op `name`: a small array or NumPy's scalar, or None where the
    engine is better asked: other operands, memory orders that are not dense, conditions to be told
    of."""
    kernels: dict[Any, _Kernel | None] = {}
    uses: dict[Any, int] = {}

    def call(values: Sequence[Any]) -> Any:
        found = of_arrays(values)
        if found is not None:
            return found
        taken = list(map(_taken, values))
        is_same = all(map(is_, taken, values))
        return None if is_same else of_arrays(taken)

    def of_arrays(values: Sequence[Any]) -> Any:
        if name == "power" and (_are_integers(values) or any(map(_is_complex, values))):
            return operated(np.power, *values)  # whose bits are NumPy's in any case
        limit = reach(values, largest())
        found = _operands(values, limit)
        most = max(limit, eager_size())
        result = None if found is None else _aligned(found[0], most)
        if found is None or result is None:
            return None if found is None else _of_none(name, values, found[0])
        operands, marks = found
        key = tuple(marks)
        kernel = kernels.get(key)
        if kernel is None and key not in kernels:
            kernel = kernels[key] = _kernel(name, marks)
        if kernel is None:
            return None
        uses[key] = used = uses.get(key, 0) + 1
        if used == _OFFERED_AFTER:
            _offer(name, kernel, marks)
        count(_SAVED)
        return _run(kernel, operands, *result)

    return call


def _taken(value: Any) -> Any:
    """An array of ours that is read in place of a range, or of memory; else that itself."""
    found = in_memory(value, eager_size())
    return value if found is value or found.dtype not in KNOWN else small_array(found)


def _are_integers(values: Sequence[Any]) -> bool:
    """Whether the loop of these values is one of integers, as that of masks is; that of int64 and
    uint64 is not."""
    dtypes: list[np.dtype] = []
    for value in values:
        if type(value) is Handle._concrete:
            host = value._host
            dtypes.append(np.dtype(value._code) if host is None else host.dtype)
        elif type(value) is not int:
            return False
    kinds = {dtype.kind for dtype in dtypes}
    return bool(kinds) and kinds <= set("biu") and np.result_type(*dtypes).kind in "biu"


def _of_none(name: str, values: Sequence[Any], operands: Sequence[Any]) -> Any:
    """NumPy's result where operands have no elements; None for others."""
    if not any(map(_is_empty, operands)):
        return None
    try:
        return operated(getattr(np, name), *values)
    except ValueError:
        return None  # which is said when the engine records it, after what is wrong with `out`


def _is_empty(operand: Any) -> bool:
    return type(operand) is np.ndarray and not operand.size


def _is_complex(value: Any) -> bool:
    if type(value) is Handle._concrete:
        host = value._host
        return bool(value._code[0] == "c" if host is None else host.dtype.kind == "c")
    if type(value) is np.ndarray:
        return bool(value.dtype.kind == "c")
    return isinstance(value, complex | np.complexfloating)


def _operands(values: Sequence[Any], limit: int) -> tuple[list[Any], list[Any]] | None:
    """Operands as a kernel takes them, and of each its dtype or type; None for others."""
    operands: list[Any] = []
    marks: list[Any] = []
    is_of_floats = len(values) == 1 or float in map(type, values)
    for value in values:
        kind = type(value)
        if kind is float or kind is int:
            operands.append(value)
            marks.append(kind)
            continue
        host = _host(value, limit)
        if host is None:
            return None
        if host.dtype == np.int64 and is_of_floats:
            # as every such function takes it; of axes that repeat, `astype` has another order
            host = np.asarray(np.positive(host, dtype=np.float64))
        operands.append(host)
        marks.append(host.dtype)
    if len(values) == 2 and marks == [np.float64, np.float64]:  # beside which floats are the same
        for place, value in enumerate(values):
            if type(value) is np.float64:
                operands[place], marks[place] = float(value), float
    return operands, marks


def _host(value: Any, limit: int) -> np.ndarray | None:
    """The elements of an operand: of an array of ours, or of a small one of NumPy's, a list or a
    number that NumPy makes an array of."""
    kind = type(value)
    if kind is Handle._concrete:
        host: np.ndarray | None = value._host
        return window(value, limit) if host is None else host
    if kind is np.ndarray:
        found = value
    elif kind in SCALARS:
        found = np.asarray(value)
    elif kind is list or kind is tuple:
        given = lowered((value,), {})
        try:
            found = np.asarray(None if given is None else given.args[0])
        except ValueError:
            return None  # which is said when the engine records it
    else:
        return None
    is_known = found.dtype in KNOWN and found.dtype.isnative and found.flags.aligned
    return found if is_known and found.size <= eager_size() else None


def _offer(name: str, kernel: _Kernel, marks: Sequence[Any]) -> None:
    """Let machine code call a kernel: it does not tell integers from floats beside an array, which
    only arrays of floats do not mind."""
    function = registry.NATIVE.get(name)
    has_number = any(isinstance(mark, type) for mark in marks)
    of_floats = all(mark.kind in "fc" for mark in marks if isinstance(mark, np.dtype))
    if isinstance(function, registry.AtOnce) and (of_floats or not has_number):
        chain = function._kernels or 0
        function._kernels = chained(chain, kernel.op, marks, kernel.dtype) or None


def _aligned(operands: list[Any], most: int) -> tuple[tuple[int, ...], str] | None:
    """Bring the arrays among operands into one shape and one dense memory order: shape and order
    of the result, as NumPy allocates it. None without elements, or such an order, and for more
    elements than `most`."""
    arrays = [x for x in operands if type(x) is np.ndarray]
    if spread_size(arrays) > most:
        return None
    shape = arrays[0].shape if arrays else ()
    if all(x.flags.c_contiguous and x.shape == shape for x in arrays):
        return (shape, "C") if arrays and 0 not in shape else None
    try:
        like = np.equal(arrays[0], arrays[-1])  # laid out as any ufunc's result
    except ValueError:
        return None  # which is said when the engine records it
    flags = like.flags
    order: Any = "C" if flags.c_contiguous else "F" if flags.f_contiguous else None
    if order is None or not like.size or not like.shape:
        return None
    for place, item in enumerate(operands):
        if type(item) is np.ndarray:
            wide = item if item.shape == like.shape else np.broadcast_to(item, like.shape)
            operands[place] = np.asarray(wide, order=order)
    return like.shape, order


def _run(kernel: _Kernel, hosts: list[Any], shape: tuple[int, ...], order: Any) -> Any:
    """The result for arrays of a shape; None when somebody wants to hear of its conditions, or a
    number does not fit."""
    op, result = kernel.op, np.empty(shape, kernel.dtype, order)
    hosts.append(result)
    memory = [Address(hosts[place]) for place in op.arrays]
    scalars = []
    for place, dtype in op.numbers:
        number = hosts[place]
        if not _fits(number, dtype):
            return None
        scalars.append(float(number) if dtype[0] == "f" else number)
    met = op.launch(result.size)(memory, scalars, threads=config.current().threads)
    if met & current_modes().reported:
        return None
    return made(result, eager_size()) if shape else result[()]


def _fits(number: float, dtype: str) -> bool:
    """Whether a dtype takes a Python number without a word."""
    known = limits(dtype)
    return known is not None and known[0] <= number <= known[1]


def _sample(mark: Any) -> Operand:
    """What stands for an operand: memory only of integers, which are looked at as exponents."""
    if isinstance(mark, type):
        return operand(mark(1))
    if mark.kind not in "fc":
        return operand(np.ones(_SAMPLE, mark))
    kind = code(mark)
    node = Source((_SAMPLE,), kind, (1,), "placeholder")
    return Operand(kind, node, None, session.default_device())


def _kernel(name: str, marks: Sequence[Any]) -> _Kernel | None:
    """The kernel of an op on arrays of dtypes and on numbers of Python types; None where it is
    not one kernel."""
    try:
        node, device = elementwise.record(name, [*map(_sample, marks)])
    except (TypeError, ValueError):
        return None  # which is said when the engine records it
    if type(node) is not Map or device != "cpu" or node.op.name != name:
        return None
    op = op_kernel(node, device)
    return None if op is None else _Kernel(op, np.dtype(node.dtype))

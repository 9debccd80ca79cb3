"""Reductions: sum, prod, min, max, any, all, mean, var, std, argmin, argmax, count_nonzero.

mean, var and std are compositions of recorded operations with the dtypes and the order of NumPy's
numpy/_core/_methods.py, so that they have its bits; they fuse like everything else.
"""

from __future__ import annotations

import operator
from collections.abc import Generator
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback, methods, recorded
from lazyfuse.frontend.convert import ForeignError, scalar, to_array, warn_of_cast
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.library import Call, record
from lazyfuse.frontend.outputs import (
    check_array,
    check_folded,
    counted,
    finished,
    into,
    is_swapped,
    mask_node,
)
from lazyfuse.ir.node import Const, Fill, Map, Node, Reduce
from lazyfuse.ir.order import c_strides, reduction_strides, result_strides
from lazyfuse.ops.shapes import broadcast, integer, normalize_axis, reduced
from lazyfuse.ops.table import OPS, REDUCTIONS
from lazyfuse.ops.table_reduce import ReduceDef
from lazyfuse.ops.types import Loop, can_cast, code, resolve_reduction

_MISSING = np._NoValue


def reduce(
    name: str,
    a: Any,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _MISSING,
    where: Any = True,
    like: str | None = None,
) -> Any:
    """Record `ufunc.reduce`; `like` is the dtype of an output that the caller writes later.

    Raises: AxisError, ValueError for an empty maximum, TypeError for refused dtypes.
    """
    row = REDUCTIONS[name]
    assert row.ufunc is not None, name
    check_array(out)
    keep = keepdims is not _MISSING and _flag(keepdims)
    where = True if where is _MISSING else where
    is_numpys = is_swapped(dtype) or (out is not None and not isinstance(out, Handle))
    array = None if is_numpys else native(a)
    if array is not None and not _narrows(row.ufunc, array._code, dtype, out):
        axes = normalize(axis, len(array._layout.shape))
        asked = None if dtype is None else code(np.dtype(dtype))
        loop = resolve_reduction(row.ufunc, array._code, asked, like if out is None else out._code)
        if loop is not None and loop.native and _computes(row, loop.operands[0], initial, where):
            if out is not None:
                check_folded(reduced(array.shape, axes, keepdims=keep), out)
            device = array._storage.device
            chosen = None if where is True else mask_node(where, device)
            node = _fold(row, array._read(), axes, loop, initial=initial, chosen=chosen, keep=keep)
            return finished(node, device, out)
        found = recorded.reduction(
            row.ufunc, array, axis=axis, dtype=dtype, keepdims=keep, initial=initial, where=where,
            like=like if out is None else out._code,
        )  # fmt: skip
        if found is not None:
            return into(found, out)
    options = {"axis": axis, "dtype": dtype, "keepdims": keep}
    options |= {} if initial is _MISSING else {"initial": initial}
    options |= {} if where is True else {"where": where}
    options |= {} if out is None else {"out": out}
    return fallback.call(row.ufunc.reduce, a, **options)


def _narrows(ufunc: np.ufunc, operand: str, dtype: Any, out: Any) -> bool:
    """Whether an output holds less than the fold: NumPy keeps what it has folded so far in the
    output, cast, so that the result depends on how it walks."""
    if out is None:
        return False
    asked = None if dtype is None else code(np.dtype(dtype))
    loop = resolve_reduction(ufunc, operand, asked, out._code)
    return loop is not None and loop.native and not can_cast(loop.result, out._code, "safe")


def _fold(
    row: ReduceDef,
    source: Node,
    axes: tuple[int, ...],
    loop: Loop,
    *,
    initial: Any,
    chosen: Node | None,
    keep: bool,
) -> Node:
    """The node of a fold that kernels compute, of what a mask leaves where there is one."""
    accumulate = loop.operands[0]
    warn_of_cast(source.dtype, accumulate)
    source = counted(source, accumulate)
    if chosen is not None:
        source = _masked(row, source, chosen, accumulate)
    elif not row.empty and initial is _MISSING:
        _check_not_empty(row.name, source, axes)
    if not axes:
        return _folded_alone(row, source, accumulate, loop.result, initial)
    start = () if initial is _MISSING or initial is None else (scalar(initial, accumulate),)
    return reduce_node(row.name, (source, *start), axes, accumulate, loop.result, keep)


def _flag(value: Any) -> bool:
    """A truth value as NumPy reads it: a bool, or an integer. Raises: TypeError for others."""
    return bool(value) if isinstance(value, bool | np.bool) else bool(operator.index(value))


def normalize(axis: Any, ndim: int, *, strict: bool = False) -> tuple[int, ...]:
    """Axes as non-negative numbers.
    A 0-d array has axes 0 and -1 unless `strict`, as in NumPy's functions.

    Raises: AxisError, ValueError for a repeated axis, TypeError for no integer.
    """
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    if ndim == 0 and not strict and len(given) == 1 and integer(given[0]) in (0, -1):
        return ()
    axes = tuple(normalize_axis(integer(item), ndim) for item in given)
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(axes)) if len(axes) > 1 else axes


def reduce_node(
    name: str,
    srcs: tuple[Node, ...],
    axes: tuple[int, ...],
    accumulate: str,
    dtype: str,
    keepdims: bool,  # noqa: FBT001  # NumPy's name
) -> Reduce:
    """A Reduce over `axes` in NumPy's layout of the result: K order, indices in C order."""
    source = srcs[0]
    shape = reduced(source.shape, axes, keepdims=keepdims)
    if REDUCTIONS[name].gives_index:
        strides = c_strides(shape)
    else:
        strides = reduction_strides(source.shape, source.strides, axes, keepdims=keepdims)
    return Reduce(REDUCTIONS[name], axes, accumulate, dtype, shape, strides, srcs)


def _folded_alone(row: Any, source: Node, accumulate: str, dtype: str, initial: Any) -> Node:
    """A fold over no axes: each element joined with the start value, so that -0.0 sums to 0.0."""
    strides = reduction_strides(source.shape, source.strides, (), keepdims=False)
    node: Node = _as(source, accumulate, strides)
    start = initial if initial is not _MISSING and initial is not None else None
    if start is None and row.fold == "add":
        start = 0
    if start is not None:
        name = {"mul": "multiply", "or": "bitwise_or", "and": "bitwise_and", "xor": "bitwise_xor"}
        op = OPS[name.get(row.fold, row.fold)]
        loop = (accumulate, accumulate)
        node = Map(op, loop, accumulate, node.shape, strides, (scalar(start, accumulate), node))
    return _as(node, dtype, strides)


def _as(node: Node, dtype: str, strides: tuple[int, ...]) -> Map:
    return Map(OPS["astype"], (node.dtype,), dtype, node.shape, strides, (node,))


def _computes(row: Any, accumulate: str, initial: Any, where: Any) -> bool:
    """Whether kernels give NumPy's bits:
    float sums under a mask, and products that NumPy rounds late, do not."""
    if accumulate[0] not in row.kinds or (accumulate == "f2" and row.fold == "mul"):
        return False
    masked = where is not True
    if masked and row.fold in ("add", "mul") and accumulate[0] in "fc":
        return False
    if masked and not row.empty and initial is _MISSING:
        return False
    return True


def _masked(row: Any, source: Node, chosen: Node, accumulate: str) -> Node:
    """The operand with the fold's identity where the mask is false."""
    if broadcast([source.shape, chosen.shape]) != source.shape:
        raise ValueError(
            f"where= of shape {chosen.shape} does not broadcast to the operand's {source.shape}"
        )
    identity = scalar(_identity(row.fold, accumulate), accumulate)
    loop = ("b1", accumulate, accumulate)
    memory = [(node.shape, node.strides) for node in (source, chosen)]
    strides = source.strides
    if 0 not in source.shape:  # an order of no elements is lost otherwise
        strides = result_strides(memory, source.shape, trivial=False)
    return Map(OPS["where"], loop, accumulate, source.shape, strides, (chosen, source, identity))


def _identity(fold: str, dtype: str) -> Any:
    kind = np.dtype(dtype)
    match fold:
        case "add" | "or" | "xor":
            return 0
        case "mul":
            return 1
        case "and":
            return True if dtype == "b1" else -1 if dtype[0] == "i" else np.iinfo(kind).max
    low, high = (-np.inf, np.inf) if dtype[0] == "f" else (False, True) if dtype == "b1" else (
        np.iinfo(kind).min, np.iinfo(kind).max)  # fmt: skip
    return low if fold in ("maximum", "fmax") else high


def _check_not_empty(name: str, source: Node, axes: tuple[int, ...]) -> None:
    if 0 in [source.shape[axis] for axis in axes]:
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")


# ---- NumPy's functions


def sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _MISSING,
        initial: Any = _MISSING, where: Any = True) -> Any:  # fmt: skip
    """Sum over axes, in NumPy's order of additions.
    Dtypes: small integers and bool widen to the platform's. Raises: TypeError for a generator,
    as NumPy does from 2.4 on."""
    if isinstance(a, Generator):
        return np.sum(a, axis, dtype, out)  # type: ignore[call-overload]  # raises, or warns
    return reduce(
        "add", a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where
    )


def prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _MISSING,
         initial: Any = _MISSING, where: Any = True) -> Any:  # fmt: skip
    """Product over axes."""
    options = {"keepdims": keepdims, "initial": initial, "where": where}
    return reduce("multiply", a, axis=axis, dtype=dtype, out=out, **options)


def max(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _MISSING,
        initial: Any = _MISSING, where: Any = True) -> Any:  # fmt: skip
    """Maximum over axes; NaN wins. Raises: ValueError when there is nothing to compare."""
    return reduce(
        "maximum", a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where
    )


def min(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _MISSING,
        initial: Any = _MISSING, where: Any = True) -> Any:  # fmt: skip
    """Minimum over axes; NaN wins. Raises: ValueError when there is nothing to compare."""
    return reduce(
        "minimum", a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where
    )


amax, amin = max, min


def any(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = _MISSING, *, where: Any = _MISSING
) -> Any:
    """Whether any element over the axes is true (NaN is)."""
    return _logical("logical_or", a, axis, out, keepdims, where)


def all(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = _MISSING, *, where: Any = _MISSING
) -> Any:
    """Whether all elements over the axes are true (NaN is)."""
    return _logical("logical_and", a, axis, out, keepdims, where)


def _logical(name: str, a: Any, axis: Any, out: Any, keepdims: Any, where: Any) -> Any:
    mask = True if where is _MISSING else where
    return reduce(name, a, axis=axis, dtype=bool, out=out, keepdims=keepdims, where=mask)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Number of elements that are not zero, as intp."""
    try:
        array = a if isinstance(a, Handle) else to_array(a)
    except ForeignError:
        return fallback.call(np.count_nonzero, a, axis, keepdims=keepdims)
    true = array if array._code == "b1" else methods.converted(array, "b1")
    return sum(true, axis=axis, dtype=np.intp, keepdims=keepdims)


def native(a: Any) -> Any:
    try:
        return a if isinstance(a, Handle) else to_array(a)
    except ForeignError:
        return None


def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _MISSING) -> Any:
    """Index of the first maximum, in C order; the first NaN wins."""
    return _argument("argmax", a, axis, out, keepdims)


def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _MISSING) -> Any:
    """Index of the first minimum, in C order; the first NaN wins."""
    return _argument("argmin", a, axis, out, keepdims)


def _argument(name: str, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    array = native(a)
    keep = keepdims is not _MISSING and _flag(keepdims)
    if out is not None:
        if not isinstance(out, Handle | np.ndarray):
            raise TypeError("output must be an array")
        check_array(out)
        if isinstance(out, Handle) and not np.can_cast(out._code, np.intp):
            out = np.empty(out._layout.shape, out._code)  # refused by NumPy, read-only or not
    if array is not None and axis is not None:
        axis = operator.index(axis)
        normalize(axis, array.ndim)  # raises, whatever the output
    if array is None or (out is not None and not _takes_index(out, array)):
        return fallback.call(getattr(np, name), a, axis, out=out, keepdims=keep)
    if array._code[0] == "c" and out is None:
        call = Call(getattr(np, name), options=(("axis", axis), ("keepdims", keep)))
        return record(call, (array,), reason="kernels do not order complex numbers")
    axes = normalize(axis, array.ndim)
    source = array._read()
    if 0 in [source.shape[x] for x in axes]:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if not axes:
        return finished(Fill((), "i8", (), (Const(0, "i8"),)), array._storage.device, None)
    accumulate = "f4" if array._code == "f2" else "u1" if array._code == "b1" else array._code
    node = reduce_node(name, (source,), axes, accumulate, "i8", keep)
    return finished(node, array._storage.device, out)


def _takes_index(out: Any, array: Any) -> bool:
    """Whether positions in `array` can be written to `out` by a kernel."""
    return isinstance(out, Handle) and out._code == "i8" and array.ndim and array._code[0] != "c"


# ---- methods of LazyArray


def sum_method(self: Any, axis: Any = None, dtype: Any = None, out: Any = None,
               keepdims: Any = False, initial: Any = _MISSING,
               where: Any = True) -> Any:  # fmt: skip
    return sum(self, axis, dtype, out, keepdims, initial, where)


def prod_method(self: Any, axis: Any = None, dtype: Any = None, out: Any = None,
                keepdims: Any = False, initial: Any = _MISSING,
                where: Any = True) -> Any:  # fmt: skip
    return prod(self, axis, dtype, out, keepdims, initial, where)


def max_method(self: Any, axis: Any = None, out: Any = None, keepdims: Any = False,
               initial: Any = _MISSING, where: Any = True) -> Any:  # fmt: skip
    return max(self, axis, out, keepdims, initial, where)


def min_method(self: Any, axis: Any = None, out: Any = None, keepdims: Any = False,
               initial: Any = _MISSING, where: Any = True) -> Any:  # fmt: skip
    return min(self, axis, out, keepdims, initial, where)


def any_method(
    self: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = _MISSING
) -> Any:
    return any(self, axis, out, keepdims, where=where)


def all_method(
    self: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = _MISSING
) -> Any:
    return all(self, axis, out, keepdims, where=where)


def argmax_method(self: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return argmax(self, axis, out, keepdims=keepdims)


def argmin_method(self: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return argmin(self, axis, out, keepdims=keepdims)

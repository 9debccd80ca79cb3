"""Scans: `ufunc.accumulate`, cumsum, cumprod and the cumulative functions of the Array API.

A scan is a recorded node with a kernel of its own, into which its operand's expression fuses. Ops
that kernels do not scan with (those that are not exact, since a scan compounds errors) are
recorded NumPy calls.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lazyfuse.frontend import creation, fallback, joining, manipulation
from lazyfuse.frontend.convert import check_home, warn_of_cast
from lazyfuse.frontend.folds import single
from lazyfuse.frontend.handle import Handle, new
from lazyfuse.frontend.outputs import check_array, converted, counted, is_swapped
from lazyfuse.frontend.reductions import native
from lazyfuse.ir.node import Map, Node, Opaque, Scan
from lazyfuse.ir.order import result_strides
from lazyfuse.ops.scan import has_step
from lazyfuse.ops.shapes import normalize_axis
from lazyfuse.ops.table import OPS
from lazyfuse.ops.types import code, resolve_accumulation


def accumulate(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """Record `ufunc.accumulate`.

    Shapes: that of `array`. Dtypes: as `ufunc.reduce`, or `dtype`, or that of `out`.
    Raises: TypeError for a scalar or dtypes that the ufunc does not scan, ValueError for several
    axes or an `out` of another shape, AxisError.
    """
    out = single(out)
    given = native(array) if ufunc.signature is None and ufunc.nin == 2 else None
    foreign = out is not None and not isinstance(out, Handle)
    if given is None or foreign or _is_unknown(dtype) or ufunc.nout != 1:
        return fallback.call(ufunc.accumulate, array, axis, dtype, out=out)
    if not given.shape:
        np.add.accumulate(0, axis)  # raises
    number = _axis(axis, given.ndim)
    asked = None if dtype is None else code(np.dtype(dtype))
    like = None if out is None else out._code
    kind = resolve_accumulation(ufunc, given._code, asked, like)
    if kind is None or _may_raise(ufunc, kind):
        return fallback.call(ufunc.accumulate, array, number, dtype, out=out)
    node = _node(ufunc, given._read(), number, kind)
    device = given._storage.device
    return new(node, device) if out is None else _into(out, node, device)


def _node(ufunc: np.ufunc, source: Node, axis: int, dtype: str) -> Node:
    """The scan, or a recorded call of NumPy's."""
    strides = result_strides([(source.shape, source.strides)], source.shape, trivial=False)
    warn_of_cast(source.dtype, dtype)
    is_part = source.dtype[0] == "c" and dtype[0] != "c"  # NumPy would tell again
    source = converted(source, dtype) if is_part else counted(source, dtype)
    op = OPS.get(ufunc.__name__)
    if op is not None and op.ufunc is ufunc and has_step(op, dtype):
        return Scan(op, axis, dtype, strides, source)
    return Opaque(
        f"{ufunc.__name__}.accumulate",
        Accumulation(ufunc, axis, dtype),
        f"kernels do not scan with {ufunc.__name__} in {dtype}",
        shape=source.shape,
        dtype=dtype,
        strides=strides,
        srcs=(source,),
    )


class Accumulation:
    """A recorded `ufunc.accumulate`; equal to its likes, so that plans are found again."""

    __slots__ = ("_key",)

    def __init__(self, ufunc: np.ufunc, axis: int, dtype: str) -> None:
        self._key = (ufunc, axis, dtype)

    def __call__(self, array: Any) -> Any:
        ufunc, axis, dtype = self._key
        return ufunc.accumulate(array, axis, np.dtype(dtype))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Accumulation) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _axis(axis: Any, ndim: int) -> int:
    if axis is None or isinstance(axis, tuple):
        axes = tuple(range(ndim)) if axis is None else axis
        if len(axes) != 1:
            raise ValueError("accumulate does not allow multiple axes")
        (axis,) = axes
    if isinstance(axis, bool):
        raise TypeError("an integer is required")
    return normalize_axis(operator.index(axis), ndim)


def _is_unknown(dtype: Any) -> bool:
    if dtype is None:
        return False
    return is_swapped(dtype) or code(np.dtype(dtype)) not in fallback.KNOWN


def _may_raise(ufunc: np.ufunc, dtype: str) -> bool:
    """Whether values can make the call raise: it has to run where it is written then."""
    return ufunc is np.power and dtype[0] == "i"


def _into(out: Any, node: Node, device: str) -> Any:
    """Write a scan of the dtype of `out` into it."""
    check_array(out)
    check_home(out.device, device)
    if out.shape != node.shape:
        raise ValueError(
            "operands could not be broadcast together with remapped shapes "
            f"[original->remapped]: {out.shape} and {node.shape}"
        )
    out._check_writeable("output array")
    warn_of_cast(node.dtype, out._code)
    out._write(Map(OPS["astype"], (node.dtype,), out._code, node.shape, node.strides, (node,)))
    return out


# ---- NumPy's functions


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sums along an axis; without one, of the elements in C order."""
    return _cumulated(np.add, a, axis, dtype, out)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running products along an axis; without one, of the elements in C order."""
    return _cumulated(np.multiply, a, axis, dtype, out)


def _cumulated(ufunc: np.ufunc, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    array = native(a)
    if array is None:
        name = "cumsum" if ufunc is np.add else "cumprod"
        return fallback.call(getattr(np, name), a, axis, dtype, out)
    if not array.shape:
        array = manipulation.ravel(array)
    elif axis is None and array.ndim > 1:
        array = manipulation.ravel(array)
    native_dtype = np.dtype(dtype).newbyteorder("=") if is_swapped(dtype) else dtype
    number = 0 if axis is None else operator.index(axis)
    return accumulate(ufunc, array, number, native_dtype, out)


def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None,
                   include_initial: bool = False) -> Any:  # fmt: skip
    """Running sums; with `include_initial`, a 0 before them. Raises: ValueError without an axis
    for more than one dimension."""
    return _cumulative(np.add, x, axis, dtype, out, include_initial=include_initial)


def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None,
                    include_initial: bool = False) -> Any:  # fmt: skip
    """Running products; with `include_initial`, a 1 before them. Raises: ValueError without an
    axis for more than one dimension."""
    return _cumulative(np.multiply, x, axis, dtype, out, include_initial=include_initial)


def _cumulative(
    ufunc: np.ufunc, x: Any, axis: Any, dtype: Any, out: Any, *, include_initial: bool
) -> Any:
    """Source: _cumulative_func in numpy/_core/fromnumeric.py."""
    array = native(x)
    if array is None:
        name = "cumulative_sum" if ufunc is np.add else "cumulative_prod"
        options = {"axis": axis, "dtype": dtype, "out": out, "include_initial": include_initial}
        return fallback.call(getattr(np, name), x, **options)
    array = manipulation.atleast_1d(array)
    if axis is None:
        if array.ndim != 1:
            raise ValueError(
                "For arrays which have more than one dimension ``axis`` argument is required."
            )
        axis = 0
    if out is not None and include_initial:
        inside = tuple(
            slice(1, None) if number == normalize_axis(axis, out.ndim) else slice(None)
            for number in range(out.ndim)
        )
        first = tuple(0 if isinstance(key, slice) and key.start else slice(None) for key in inside)
        accumulate(ufunc, array, axis, dtype, out[inside])
        out[first] = ufunc.identity
        return out
    result = accumulate(ufunc, array, axis, dtype, out)
    if not include_initial:
        return result
    shape = list(result.shape)
    shape[axis] = 1
    initial = creation.full_like(result, ufunc.identity, shape=tuple(shape))
    return joining.concatenate((initial, result), axis=axis)


def cumsum_method(self: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return cumsum(self, axis, dtype, out)


def cumprod_method(self: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return cumprod(self, axis, dtype, out)

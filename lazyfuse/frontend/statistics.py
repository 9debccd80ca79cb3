"""Mean, variance, standard deviation, trace: compositions of recorded operations.

Dtypes and order are those of NumPy's numpy/_core/_methods.py, so that the bits are the same; they
fuse like everything else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.frontend import elementwise, fallback, methods
from lazyfuse.frontend.handle import Handle, result
from lazyfuse.frontend.library import Call, record
from lazyfuse.frontend.outputs import (
    as_array,
    check_array,
    check_cast,
    check_folded,
    check_output,
    into,
)
from lazyfuse.frontend.reductions import _MISSING, native, normalize, reduce
from lazyfuse.frontend.reductions import sum as sum_over
from lazyfuse.frontend.views import diagonal
from lazyfuse.ir.node import Const, Map
from lazyfuse.ops.numpy_version import NUMPY
from lazyfuse.ops.shapes import size_of
from lazyfuse.ops.table import OPS
from lazyfuse.ops.types import code
from lazyfuse.runtime.caller import warn_here


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _MISSING, *,
         where: Any = _MISSING) -> Any:  # fmt: skip
    """Arithmetic mean. Dtypes: f8 for integers and bool; f2 is summed in f4.
    Empty: NaN, as NumPy."""
    array = native(a)
    if array is None or where is not _MISSING and where is not True or _is_foreign(dtype, out):
        return fallback.call(
            np.mean, a, **_given(axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where)
        )
    axes = _axes(axis, array.ndim, out)
    half = array._code == "f2" and dtype is None
    wide = (
        np.float64 if dtype is None and array._code[0] in "iub" else np.float32 if half else dtype
    )
    count = size_of(tuple(array.shape[x] for x in axes))
    if not count:
        warn_here("Mean of empty slice" if NUMPY >= (2, 4) else "Mean of empty slice.")
    quotient = _divided(_sum(array, axes, wide, keepdims, out), count)
    if half and out is None:
        quotient = methods.astype(quotient, "f2")
    return into(quotient, out)


def var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
        keepdims: Any = _MISSING, *, where: Any = _MISSING, mean: Any = _MISSING,
        correction: Any = _MISSING) -> Any:  # fmt: skip
    """Variance: mean of the squared distances from the mean, over N - ddof (at least 0)."""
    options = {"axis": axis, "dtype": dtype, "out": out, "ddof": ddof, "keepdims": keepdims,
               "where": where, "mean": mean, "correction": correction}  # fmt: skip
    value = _variance(a, **options)
    return _called(np.var, a, options) if value is None else into(value, out)


def std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
        keepdims: Any = _MISSING, *, where: Any = _MISSING, mean: Any = _MISSING,
        correction: Any = _MISSING) -> Any:  # fmt: skip
    """Standard deviation: the square root of `var`."""
    options = {"axis": axis, "dtype": dtype, "out": out, "ddof": ddof, "keepdims": keepdims,
               "where": where, "mean": mean, "correction": correction}  # fmt: skip
    value = _variance(a, **options)
    if value is None:
        return _called(np.std, a, options)
    root = elementwise.apply("sqrt", (value,))
    if out is not None:
        check_folded(value.shape, out)
        check_output("sqrt", root._code, out, "same_kind")
        return into(root, out)
    return _rooted(root, value)


def _called(function: Any, a: Any, options: dict[str, Any]) -> Any:
    """The variance by NumPy: recorded where nothing about it depends on values."""
    given = _given(**options)
    array = native(a)
    free = given.get("correction", given.get("ddof", 0))
    plain = array is not None and array.size and not {"where", "out"} & given.keys()
    if plain and isinstance(free, int | float) and not _is_foreign(given.get("dtype"), None):
        center = given.pop("mean", None)
        axes = normalize(given.get("axis"), array.ndim, strict=True)
        if free < size_of(tuple(array.shape[axis] for axis in axes)):
            named = tuple(given.items())
            operands = (array,) if center is None else (array, center)
            return record(
                Call(_with_mean, (function,), named, function.__name__),
                operands,
                reason="NumPy folds it",
            )
        given |= {} if center is None else {"mean": center}
    return fallback.call(function, a, **given)


def _axes(axis: Any, ndim: int, out: Any) -> tuple[int, ...]:
    """The axes of a mean: NumPy looks at `out` before it looks whether one is given twice."""
    try:
        return normalize(axis, ndim, strict=True)
    except np.exceptions.AxisError:
        raise
    except ValueError:
        check_array(out)
        raise


def _with_mean(function: Any, array: Any, center: Any = None, **options: Any) -> Any:
    return function(array, **options, **({} if center is None else {"mean": center}))


def _rooted(root: Any, variance: Any) -> Any:
    """The root as NumPy leaves it: written over the variance, or a scalar of its dtype."""
    if root._code == variance._code:
        return root
    if variance.shape:
        check_cast(np.sqrt, root._code, variance._code, "same_kind")
    return methods.astype(root, variance._code)


def _variance(a: Any, *, axis: Any, dtype: Any, out: Any, ddof: float, keepdims: Any, where: Any,
              mean: Any, correction: Any) -> Any:  # fmt: skip
    """The variance as recorded operations; None for what only NumPy does."""
    if correction is not _MISSING and ddof:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    array = native(a)
    masked = where is not _MISSING and where is not True
    if array is None or masked or mean is not _MISSING or _is_foreign(dtype, out):
        return None
    if array._code[0] == "c":
        return None
    axes = normalize(axis, array.ndim, strict=True)
    count = size_of(tuple(array.shape[x] for x in axes))
    divisor = count - (correction if correction is not _MISSING else ddof)
    if divisor <= 0:
        warn_here("Degrees of freedom <= 0 for slice")
    wide = np.float64 if dtype is None and array._code[0] in "iub" else dtype
    center = _divided(sum_over(array, axis=axes, dtype=wide, keepdims=True), count)
    distance = elementwise.apply("subtract", (array, center))
    squares = elementwise.apply("square", (distance,))
    total = _sum(squares, axes, wide, keepdims, out)
    return _divided(total, divisor if divisor > 0 else 0)


def _sum(array: Any, axes: tuple[int, ...], dtype: Any, keepdims: Any, out: Any) -> Any:
    """The sum as NumPy writes it into `out`, where it goes on: its dtype takes part in the
    loop's."""
    like = None if out is None else out._code
    total = as_array(reduce("add", array, axis=axes, dtype=dtype, keepdims=keepdims, like=like))
    return total if like in (None, total._code) else methods.astype(total, like)


def _divided(total: Any, count: float) -> Any:
    """total / count as `true_divide(total, intp, out=total)`:
    in f8 (c16), rounded to the dtype of `total`."""
    dtype = total._code
    wide = "c16" if dtype[0] == "c" else "f8"
    node = total._read()
    divisor = Const(complex(count) if wide == "c16" else float(count), wide, from_shape=True)
    quotient = Map(OPS["divide"], (wide, wide), dtype, node.shape, node.strides, (node, divisor))
    return result(quotient, total._storage.device)


def _given(**options: Any) -> dict[str, Any]:
    return {
        key: value for key, value in options.items() if value is not _MISSING and value is not None
    }


def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    """Sum along the diagonals."""
    return sum_over(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


def mean_method(self: Any, axis: Any = None, dtype: Any = None, out: Any = None,
                keepdims: Any = False, *, where: Any = _MISSING) -> Any:  # fmt: skip
    return mean(self, axis, dtype, out, keepdims, where=where)


def var_method(self: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
               keepdims: Any = False, *, where: Any = _MISSING,
               mean: Any = _MISSING) -> Any:  # fmt: skip
    return var(self, axis, dtype, out, ddof, keepdims, where=where, mean=mean)


def std_method(self: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
               keepdims: Any = False, *, where: Any = _MISSING,
               mean: Any = _MISSING) -> Any:  # fmt: skip
    return std(self, axis, dtype, out, ddof, keepdims, where=where, mean=mean)


def trace_method(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None,
                 out: Any = None) -> Any:  # fmt: skip
    return trace(self, offset, axis1, axis2, dtype, out)


def _is_foreign(dtype: Any, out: Any) -> bool:
    unknown = dtype is not None and code(np.dtype(dtype)) not in fallback.KNOWN
    return unknown or (out is not None and not isinstance(out, Handle))

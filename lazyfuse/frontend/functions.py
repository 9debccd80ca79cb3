"""NumPy's functions that are compositions of recorded operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.frontend import elementwise, fallback, indexing, methods
from lazyfuse.frontend.convert import ForeignError
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.manipulation import asarray
from lazyfuse.ir.interp import view_of
from lazyfuse.ops.shapes import size_of


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """Elements of `x` where the condition holds, else of `y`;
    with the condition alone, `nonzero`."""
    if x is None and y is None:
        return fallback.call(np.where, condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    return elementwise.apply("where", (condition, x, y))


def clip(a: Any, a_min: Any = np._NoValue, a_max: Any = np._NoValue, out: Any = None, *,
         min: Any = np._NoValue, max: Any = np._NoValue, **options: Any) -> Any:  # fmt: skip
    """Limit values to an interval; None leaves a side open. NaN stays NaN."""
    low = min if a_min is np._NoValue else a_min
    high = max if a_max is np._NoValue else a_max
    low = None if low is np._NoValue else low
    high = None if high is np._NoValue else high
    try:
        return methods.clip_method(asarray(a), low, high, out, **options)
    except ForeignError:
        return fallback.call(np.clip, a, low, high, out=out, **options)


def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Replace NaN by `nan` and infinities by the dtype's limits, or by what is given."""
    array = asarray(x)
    if array._code[0] not in "f":
        if array._code[0] == "c" or not copy:
            return fallback.call(np.nan_to_num, x, copy, nan, posinf, neginf)
        return methods.converted(array, array._code)
    limits = np.finfo(array.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    result = where(elementwise.apply("isnan", (array,)), _of(nan, array), array)
    result = where(elementwise.apply("equal", (result, np.inf)), _of(high, array), result)
    result = where(elementwise.apply("equal", (result, -np.inf)), _of(low, array), result)
    if not copy and isinstance(x, Handle):
        array[...] = result
        return array
    return result


def _of(value: Any, array: Any) -> Any:
    """A scalar of the array's dtype."""
    return array.dtype.type(value)


def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Round half to even."""
    return methods.round_method(asarray(a), decimals, out)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Any:
    """A copy with another dtype (Array API)."""
    return methods.astype(asarray(x), dtype, copy=copy)


def real(val: Any) -> Any:
    return methods.real(asarray(val))


def imag(val: Any) -> Any:
    return methods.imag(asarray(val))


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write `src` into `dst`, where the mask holds.

    Raises: TypeError when the cast is not allowed, ValueError when the shapes do not fit.
    """
    if not isinstance(dst, Handle):
        mask = fallback.lower(where)
        np.copyto(dst, fallback.lower(src), casting=casting, where=mask)  # type: ignore[arg-type]  # NumPy checks the word
        return
    given = asarray(src)
    weak = type(src) in (bool, int, float, complex)
    source = np.result_type(type(src), dst._code) if weak else given.dtype
    if not np.can_cast(source, dst._code, casting):  # type: ignore[arg-type]  # NumPy checks the word
        raise TypeError(
            f"Cannot cast array data from {source!r} to {np.dtype(dst._code)!r} "
            f"according to the rule '{casting}'"
        )
    if where is True:
        indexing.assign(dst, src)
        return
    fresh = methods.astype(given, dst._code)
    chosen = elementwise.apply("where", (where, fresh, dst))
    indexing.assign(dst, chosen)


def shape(a: Any) -> tuple[int, ...]:
    """The shape of anything array-like; computes nothing."""
    return a.shape if hasattr(a, "shape") else np.shape(a)


def ndim(a: Any) -> int:
    return a.ndim if hasattr(a, "ndim") else np.ndim(a)


def size(a: Any, axis: int | None = None) -> int:
    if axis is not None:
        return shape(a)[axis]
    return a.size if hasattr(a, "size") else np.size(a)


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """The promoted dtype; arrays count by their dtype and are not computed."""
    return np.result_type(*(x.dtype if isinstance(x, Handle) else x for x in arrays_and_dtypes))  # type: ignore[attr-defined]  # every Handle is a LazyArray


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    source = from_.dtype if isinstance(from_, Handle) else from_  # type: ignore[attr-defined]  # every Handle is a LazyArray
    return bool(np.can_cast(source, to, casting))  # type: ignore[arg-type]  # NumPy checks it


def isscalar(element: Any) -> bool:
    return bool(np.isscalar(element))


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two arrays may overlap in memory."""
    if isinstance(a, Handle) and isinstance(b, Handle):
        return a._storage is b._storage and bool(np.may_share_memory(*_mirrors(a, b)))
    return False


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two arrays have an element in common."""
    if isinstance(a, Handle) and isinstance(b, Handle):
        return a._storage is b._storage and bool(np.shares_memory(*_mirrors(a, b)))
    return False


def _mirrors(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """One-byte NumPy views of one memory with the layouts of the arrays: nothing is computed."""
    total = size_of(a._storage.node.shape)
    memory = np.empty(max(total, 1), np.uint8)
    return view_of(memory, a._layout), view_of(memory, b._layout)

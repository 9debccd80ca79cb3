"""Recorded library calls that a GPU answers itself, through CuPy: one row for each function.

A row says for which dtypes and options CuPy's answer is NumPy's: equal bit for bit, or a sum whose
terms are added in another order. What is not known to be equal is refused, with the reason, and
runs in NumPy on the host. Facts of CuPy 14.2, from its source. `calls.py` runs the rows,
`at_once.py` has those of functions that are never recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.backends.cuda import products, sorts, typed_views
from lazyfuse.ir.library import Elements, Request

#: What cuBLAS and CuPy's kernels count in 32 bits.
LARGEST = (1 << 31) - 1

Refuses = Callable[[Request, Sequence[Elements], Elements], str]
Runs = Callable[[Any, Request, Sequence[Any], Elements], Any]


class Row(NamedTuple):
    """`calls` are the functions of CuPy that `runs` uses, dotted in submodules; `by` is what
    computes below them. `refuses` gives the reason why a call is left to the host, or ""; `runs`
    gives None where values decide that.
    `dtypes` and `equal` tell people what is computed and how equal it is to NumPy's."""

    calls: tuple[str, ...]
    by: str
    dtypes: str
    equal: str
    refuses: Refuses
    runs: Runs
    takes_scalars: bool = False


def refusal(row: Row, request: Request, operands: Sequence[Elements], result: Elements) -> str:
    """Why a call is left to the host; "" when it is not."""
    if 0 in result.layout.shape:
        return ""
    if any(0 in item.layout.shape for item in operands):
        return "an operand has no elements"
    if not row.takes_scalars and any(item.is_scalar for item in operands):
        return "an operand is a scalar"
    return row.refuses(request, operands, result)


def _options(request: Request, known: str) -> str:
    """Refuse options that CuPy does not have, or that are not known to mean the same."""
    unknown = [name for name in request.options if name not in known.split()]
    return f"CuPy has no {unknown[0]}=" if unknown else ""


def _exact(source: str, target: str) -> bool:
    """Whether CuPy converts a dtype without loss: it flushes float32 denormals when it widens."""
    if source in ("f4", "c8") and target not in ("f4", "c8"):
        return False
    return np.can_cast(np.dtype(source), np.dtype(target), "safe")


# ---- products


def _refuses_product(request: Request, operands: Sequence[Elements], result: Elements) -> str:
    if request.before:
        return "an argument before the arrays"
    if any(not _exact(item.dtype, result.dtype) for item in operands):
        return f"CuPy's conversion to {result.dtype} is not exact for float32 denormals"
    is_whole = result.dtype[0] in "biu"
    shapes = [item.layout.shape for item in (*operands, result)]
    if max(_counted(request.name, shape, is_whole=is_whole) for shape in shapes) > LARGEST:
        return "it counts further than 2**31 - 1"
    return _options(request, "dtype casting order subok")


def _counted(name: str, shape: tuple[int, ...], *, is_whole: bool) -> int:
    """How far one index of a product may count in an array. cuBLAS counts rows, columns and
    matrices; where axes are merged first, and in CuPy's kernel for integers, it may be all."""
    if is_whole or (len(shape) > 2 and name != "matmul"):
        return math.prod(shape)
    return max(*shape, math.prod(shape[:-2]), 1)


def _refuses_scalars(request: Request, operands: Sequence[Elements], result: Elements) -> str:
    if any(not item.layout.shape for item in operands):
        return "an operand is no vector"
    return _refuses_product(request, operands, result)


def _refuses_einsum(request: Request, operands: Sequence[Elements], result: Elements) -> str:
    labels = _subscripts(request)
    if labels is None or len(operands) != 2:
        return "the subscripts are no product of two operands"
    sizes: dict[str, int] = {}
    for label, item in zip(labels, operands, strict=False):
        for letter, extent in zip(label, item.layout.shape, strict=True):
            if sizes.setdefault(letter, extent) != extent:
                return "an operand is broadcast"
    plain = Request("einsum", request.options)
    return _refuses_product(plain, operands, result)


def _subscripts(request: Request) -> tuple[str, str, str] | None:
    (subscripts,) = request.before
    return products.einsum_labels(subscripts)


def _prepared(arrays: Sequence[Any], result: Elements) -> list[Any]:
    return [array.astype(np.dtype(result.dtype), copy=False) for array in arrays]


def _matmul(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    return products.matmul(cupy, *_prepared(arrays, result))


def _dot(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    a, b = _prepared(arrays, result)
    return products.contracted(cupy, a, b, products.dot_labels(a.ndim, b.ndim))


def _inner(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    a, b = _prepared(arrays, result)
    return products.contracted(cupy, a, b, products.inner_labels(a.ndim, b.ndim))


def _vdot(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    a, b = _prepared(arrays, result)
    return products.matmul(cupy, a.reshape(-1).conj(), b.reshape(-1))


def _vecdot(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    a, b = _prepared(arrays, result)
    return products.matmul(cupy, a.conj()[..., None, :], b[..., :, None])[..., 0, 0]


def _matvec(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    a, b = _prepared(arrays, result)
    return products.matmul(cupy, a, b[..., :, None])[..., 0]


def _vecmat(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    a, b = _prepared(arrays, result)
    return products.matmul(cupy, a.conj()[..., None, :], b)[..., 0, :]


def _einsum(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    labels = _subscripts(request)
    assert labels is not None  # refused before
    a, b = _prepared(arrays, result)
    return products.contracted(cupy, a, b, labels)


def _product_row(run: Runs, refuses: Refuses = _refuses_product) -> Row:
    return Row(
        ("matmul",), "cuBLAS; CuPy for integers",
        "all, but float32 beside a wider dtype",
        "sums in another order; integers bit for bit; float16 is added in float32",
        refuses, run,
    )  # fmt: skip


# ---- transforms


#: The complex dtype in which a transform with such a result computes.
_COMPLEX = {"f4": "c8", "f8": "c16", "c8": "c8", "c16": "c16"}


def _refuses_transform(request: Request, operands: Sequence[Elements], result: Elements) -> str:
    wanted = _COMPLEX.get(result.dtype)
    if wanted is None or not _exact(operands[0].dtype, wanted):
        return f"CuPy does not convert {operands[0].dtype} exactly for a result in {result.dtype}"
    if not isinstance(request.options["factor"], int | float | np.floating):
        return "the factor is no number"
    return ""


def _transform(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    """Transform without a factor; multiply real and imaginary parts by it."""
    inner = request.name.rpartition(".")[2]
    axis, length, factor = (request.options[name] for name in ("axis", "n", "factor"))
    wide = _COMPLEX[result.dtype]
    real = "f4" if wide == "c8" else "f8"
    given = real if inner == "rfft" else wide
    moved = cupy.moveaxis(arrays[0].astype(np.dtype(given), copy=False), axis, -1)
    norm = "forward" if inner.startswith("i") else "backward"
    found = cupy.ascontiguousarray(getattr(cupy.fft, inner)(moved, length, -1, norm))
    if factor != 1:
        parts = found.view(np.dtype(real))
        parts *= float(factor)
    return cupy.moveaxis(found, -1, axis)


def _transform_row(name: str) -> Row:
    return Row(
        (f"fft.{name}", "moveaxis", "ascontiguousarray"), "cuFFT",
        "all", "sums in another order; factors of float32 flush denormals", _refuses_transform,
        _transform,
    )  # fmt: skip


# ---- sorting


def _is_stable(request: Request) -> bool:
    options = request.options
    return bool(options.get("stable")) or options.get("kind") in ("stable", "mergesort")


def _refuses_sort(request: Request, operands: Sequence[Elements], result: Elements) -> str:
    return _options(request, "axis kind stable")


def _refuses_lexsort(request: Request, operands: Sequence[Elements], result: Elements) -> str:
    if any(len(item.layout.shape) != 1 for item in operands):
        return "keys of more than one axis"
    if len({item.dtype for item in operands}) > 1:
        return "keys of different dtypes"
    return "complex keys" if operands[0].dtype[0] == "c" else _options(request, "axis")


def _sort(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    (array,) = arrays
    is_long = array.ndim == 1 and array.size >= sorts.LONG
    if is_long and array.dtype.kind == "f" and not _is_stable(request):
        return sorts.by_bits(cupy, array)
    return sorts.along(cupy, cupy.sort, array, request.options.get("axis", -1))


def _argsort(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    """NumPy's own order of what is equal is known to NumPy alone: then it has to sort, unless a
    stable sort is asked for."""
    (array,), axis = arrays, request.options.get("axis", -1)
    found = sorts.along(cupy, cupy.argsort, array, axis)
    if not _is_stable(request) and sorts.has_ties(cupy, array, found, axis):
        return None
    return found


def _lexsort(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    return cupy.lexsort(cupy.stack(list(arrays)))


# ---- searching


def _refuses_search(request: Request, operands: Sequence[Elements], result: Elements) -> str:
    dtypes = {item.dtype for item in operands}
    if len(dtypes) > 1:
        return "CuPy compares values of two dtypes as C does"
    if dtypes & {"f4", "c8", "c16", "b1"}:
        return f"CuPy does not compare {dtypes.pop()} as NumPy does (denormals, order of complex)"
    return _options(request, "side")


def _search(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    return cupy.searchsorted(*arrays, side=request.options.get("side", "left"))


def _refuses_places(request: Request, operands: Sequence[Elements], result: Elements) -> str:
    return "" if operands[0].dtype == "b1" else "the operand is no mask"


def _flatnonzero(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    return _places(cupy, arrays[0], result.layout.shape[0], np.dtype(result.dtype))


def _places(cupy: Any, mask: Any, count: int, dtype: np.dtype) -> Any:
    """Where a mask is true, whose count is known: the k-th place is the first with k true elements
    up to it. CuPy's own `flatnonzero` waits to learn the count."""
    upto = cupy.cumsum(mask.reshape(-1), dtype=dtype)
    return cupy.searchsorted(upto, cupy.arange(1, count + 1, dtype=dtype), side="left")


def _argwhere(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    flat = _places(cupy, arrays[0], result.layout.shape[0], np.dtype("i8"))
    columns = []
    for extent in reversed(arrays[0].shape):
        columns.append(flat % extent)
        flat = flat // extent
    return cupy.stack(columns[::-1], axis=1)


# ---- typed views


def _refuses_view(request: Request, operands: Sequence[Elements], result: Elements) -> str:
    return "" if typed_views.is_dense(operands[0].layout) else "the operand has gaps"


def _refuses_assign(request: Request, operands: Sequence[Elements], result: Elements) -> str:
    options = request.options
    if options["repeats"]:
        return "the last write to an element wins, and a GPU writes in no order"
    if options["shift"]:
        return "elements that are not aligned"
    base = operands[0].layout
    if not typed_views.is_dense(base) or base.strides != result.layout.strides:
        return "the operand has gaps"
    return "" if operands[1].dtype == options["dtype"] else "the value has another dtype"


def _view(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    count = result.layout.shape[0]
    return typed_views.read(arrays[0], request.options["shift"], np.dtype(result.dtype), count)


def _assign(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    base, value = arrays
    dtype, layout = np.dtype(request.options["dtype"]), request.options["layout"]
    return typed_views.written(cupy, base, dtype, layout, value)


# ---- determinants


def _refuses_det(request: Request, operands: Sequence[Elements], result: Elements) -> str:
    if result.dtype not in ("f8", "c16"):
        return "CuPy flushes float32 denormals on the diagonal"
    return ""


def _det(cupy: Any, request: Request, arrays: Sequence[Any], result: Elements) -> Any:
    return cupy.linalg.det(arrays[0])


_SORTED = "bit for bit; which of equal floats (zeros, NaNs) is first, only if stable"

TABLE: dict[str, Row] = {
    "matmul": _product_row(_matmul),
    "dot": _product_row(_dot, _refuses_scalars),
    "inner": _product_row(_inner, _refuses_scalars),
    "vdot": _product_row(_vdot, _refuses_scalars),
    "vecdot": _product_row(_vecdot),
    "matvec": _product_row(_matvec),
    "vecmat": _product_row(_vecmat),
    "einsum": _product_row(_einsum, _refuses_einsum),
    **{f"fft.{name}": _transform_row(name) for name in ("fft", "ifft", "rfft", "irfft")},
    "sort": Row(
        ("sort", "moveaxis"), "thrust", "all", _SORTED, _refuses_sort, _sort,
    ),
    "argsort": Row(
        ("argsort", "take_along_axis", "equal", "isnan"), "thrust", "all",
        "bit for bit; unless stable, waits to learn whether elements are equal: then NumPy's",
        _refuses_sort, _argsort,
    ),
    "lexsort": Row(
        ("lexsort", "stack"), "thrust", "all but complex, of one axis and one dtype",
        "bit for bit", _refuses_lexsort, _lexsort,
    ),
    "searchsorted": Row(
        ("searchsorted",), "CuPy", "integers, float16 and float64, of one dtype", "bit for bit",
        _refuses_search, _search,
    ),
    "flatnonzero": Row(
        ("cumsum", "searchsorted", "arange"), "CuPy", "masks", "bit for bit", _refuses_places,
        _flatnonzero,
    ),
    "argwhere": Row(
        ("cumsum", "searchsorted", "arange", "stack"), "CuPy", "masks", "bit for bit",
        _refuses_places, _argwhere,
    ),
    "view": Row(("ndarray",), "CuPy", "all", "bit for bit", _refuses_view, _view),
    "assign": Row(("ndarray",), "CuPy", "all", "bit for bit", _refuses_assign, _assign, True),
    "linalg.det": Row(
        ("linalg.det",), "cuSOLVER, cuBLAS", "float64, complex128 and integers",
        "the same formula; LU in another order", _refuses_det, _det,
    ),
}  # fmt: skip

"""`ufunc.reduce` and `ufunc.reduceat`, of any ufunc and with every keyword."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyfuse.frontend import elementwise, fallback, recorded, reductions
from lazyfuse.frontend.at_once import computed
from lazyfuse.frontend.handle import Handle, new
from lazyfuse.frontend.library import Call, opaque
from lazyfuse.frontend.outputs import into, is_swapped
from lazyfuse.frontend.reductions import native
from lazyfuse.ir.order import result_strides
from lazyfuse.ops.shapes import normalize_axis
from lazyfuse.ops.table import DTYPES, REDUCTIONS
from lazyfuse.ops.types import code, resolve_accumulation


def reduce(
    ufunc: np.ufunc,
    array: Any,
    *,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
) -> Any:
    """Record `ufunc.reduce`.

    Raises: AxisError, ValueError for an empty fold without identity, for several axes of an op
    whose order matters, for an `out` of another shape; TypeError for refused dtypes.
    """
    out = single(out)
    keep = keepdims if isinstance(keepdims, bool) else bool(operator.index(keepdims))
    is_first = type(axis) is int and axis == 0
    if type(array) in (list, tuple) and is_first and dtype is None and out is None and not keep:
        is_plain = initial is np._NoValue and where is True
        found = _of_items(ufunc.__name__, array) if is_plain else None
        if found is not None:
            return found
    options = {"axis": axis, "dtype": dtype, "keepdims": keep, "initial": initial, "where": where}
    if ufunc.__name__ in REDUCTIONS and REDUCTIONS[ufunc.__name__].ufunc is ufunc:
        return reductions.reduce(ufunc.__name__, array, out=out, **options)
    given = native(array) if (ufunc.nin, ufunc.nout) == (2, 1) else None
    if isinstance(out, Handle) and given is not None and given._code != out._code:
        given = None  # NumPy keeps what it has folded so far in the output, cast
    if given is not None and (out is None or isinstance(out, Handle)):
        like = None if out is None else out._code
        found = recorded.reduction(ufunc, given, like=like, **options)
        if found is not None:
            return into(found, out)
    if initial is np._NoValue:
        del options["initial"]
    return fallback.call(ufunc.reduce, array, out=out, **options)


#: Kinds of dtypes of which a fold over items is a chain of elementwise operations that meet no
#: conditions, and gives that dtype.
_CHAINS = {
    **dict.fromkeys(("minimum", "maximum", "fmin", "fmax"), "biuf"),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), "biu"),
    **dict.fromkeys(("logical_and", "logical_or"), "b"),
}
_MOST_ITEMS = 64


def _of_items(name: str, items: Sequence[Any]) -> Any:
    """The fold of arrays of one shape and dtype in C order, one of them large, without joining
    them first; None for others. One after the other is NumPy's order over the first axis."""
    if name not in _CHAINS or not 2 <= len(items) <= _MOST_ITEMS:
        return None
    if any(type(item) is not Handle._concrete for item in items):
        return None
    if all(item._host is not None for item in items):
        return None
    first = items[0]
    kinds = {(item.shape, item.dtype, item.device) for item in items}
    if len(kinds) > 1 or not first.ndim or first.dtype.kind not in _CHAINS[name]:
        return None
    if not all(item.flags.c_contiguous for item in items):
        return None
    return functools.reduce(lambda one, other: elementwise.apply(name, (one, other)), items)


def single(out: Any) -> Any:
    """The output of a method's `out=`, which may be a tuple of one."""
    if not isinstance(out, tuple):
        return out
    if len(out) != 1:
        raise ValueError("The 'out' tuple must have exactly one entry")
    if out[0] is Ellipsis:
        raise TypeError("must use `...` as `out=...` and not per-operand/in a tuple")
    return out[0]


def reduceat(ufunc: np.ufunc, array: Any, indices: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """Record `ufunc.reduceat`; the indices are read at once, since they may be wrong.

    Raises: IndexError for an index outside, TypeError for refused dtypes.
    """
    out = single(out)
    given = native(array) if ufunc.signature is None and ufunc.nin == 2 else None
    places = _places(indices)
    asked = None if dtype is None else code(np.dtype(dtype))
    kind = None
    if is_swapped(dtype):
        given = None
    if given is not None and ufunc.nout == 1 and given.shape and asked in (None, *DTYPES):
        kind = resolve_accumulation(ufunc, given._code, asked)
    is_plain = places is not None and type(axis) is int and out is None
    if given is None or kind is None or not is_plain or ufunc is np.power:
        return fallback.call(ufunc.reduceat, array, indices, axis, dtype, out=out)
    number = normalize_axis(axis, given.ndim)
    _check_places(ufunc, places, given.shape[number])
    shape = tuple(
        len(places) if place == number else extent for place, extent in enumerate(given.shape)
    )
    now = computed(
        ufunc.reduceat,
        (given, places),
        lambda memory: math.prod(shape),
        (),
        (("axis", number), ("dtype", np.dtype(kind))),
    )
    if now is not None:
        return now
    source = given._read()
    without = tuple(1 if place == number else extent for place, extent in enumerate(shape))
    strides = result_strides([(without, source.strides)], shape, trivial=False)
    call = Call(
        _reduceat,
        (ufunc, tuple(places.tolist()), number, np.dtype(kind)),
        name=f"{ufunc.__name__}.reduceat",
    )
    node = opaque(call, (source,), shape, kind, strides, "slices are folded by NumPy")
    return new(node, given._storage.device)


def _places(indices: Any) -> Any:
    """One axis of indices, or None."""
    is_array = isinstance(indices, Handle | np.ndarray)
    places = np.asarray(indices) if is_array else np.array(fallback.lower(indices), np.intp)
    return places if places.ndim == 1 and places.dtype.kind in "iub" else None


def _reduceat(
    ufunc: np.ufunc, places: tuple[int, ...], axis: int, dtype: np.dtype, array: Any
) -> Any:
    return ufunc.reduceat(array, np.array(places, np.intp), axis, dtype)


def _check_places(ufunc: np.ufunc, places: np.ndarray, extent: int) -> None:
    outside = places[(places < 0) | (places >= extent)]
    if outside.size:
        raise IndexError(
            f"index {outside[0]} out-of-bounds in {ufunc.__name__}.reduceat [0, {extent})"
        )

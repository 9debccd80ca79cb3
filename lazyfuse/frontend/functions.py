"""NumPy's functions that are compositions of recorded operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazyfuse.frontend import (
    elementwise,
    fallback,
    indexing,
    methods,
    picking,
    pieces,
    under_mask,
    windows,
)
from lazyfuse.frontend.array_likes import own_or_host
from lazyfuse.frontend.convert import device_beside
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.manipulation import asarray, owning
from lazyfuse.frontend.memory import borrow
from lazyfuse.frontend.registry import NATIVE
from lazyfuse.ir.order import is_contiguous
from lazyfuse.runtime.caller import call_as_user


def where(condition: Any, x: Any = np._NoValue, y: Any = np._NoValue, /) -> Any:
    """Elements of `x` where the condition holds, else of `y`;
    with the condition alone, `nonzero`."""
    if x is y is np._NoValue:
        return picking.nonzero(condition)
    if x is np._NoValue or y is np._NoValue:
        raise ValueError("either both or neither of x and y should be given")
    return elementwise.apply("where", (condition, x, y))


def angle(z: Any, deg: Any = False) -> Any:
    """`np.angle` of an array of complex numbers, in radians; None for others."""
    is_complex = type(z) is Handle._concrete and z._code[0] == "c"
    return NATIVE["arctan2"](z.imag, z.real) if is_complex and deg is False else None


def real(val: Any) -> Any:
    """`np.real` of an array; None for others."""
    is_array = type(val) is Handle._concrete
    return val.real if is_array else None


def imag(val: Any) -> Any:
    """`np.imag` of an array; None for others."""
    is_array = type(val) is Handle._concrete
    return val.imag if is_array else None


def clipped(*args: Any, **kwargs: Any) -> Any:
    """`np.clip` of an array of floats with one bound, a number, or of a large array by numbers
    into one like it; None for others."""
    given = (*args, *kwargs.values())
    if len(given) == 4 and len(args) > 2 and kwargs.keys() <= {"out"}:
        return given[3] if methods.clipped_into(*given) else None
    if kwargs or len(args) != 3 or type(args[0]) is not Handle._concrete:
        return None
    array, least, most = args
    if (least is None) == (most is None) or array._code[0] != "f":
        return None
    name, bound = ("minimum", most) if least is None else ("maximum", least)
    return NATIVE[name](array, bound) if type(bound) in (int, float) else None


def nan_to_num(
    x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """`np.nan_to_num` of an array of real floats and numbers that its dtype has, in one pass; None
    for others."""
    if not isinstance(x, Handle) or x._code[0] != "f" or not x._layout.shape or copy is not True:
        return None
    dtype = np.dtype(x._code)
    ends = np.finfo(dtype)
    most = float(ends.max) if posinf is None else posinf
    least = float(ends.min) if neginf is None else neginf
    if not all(_is_kept(number, float(ends.max)) for number in (nan, most, least)):
        return None
    if not is_contiguous(x._layout.shape, x._layout.strides):
        return _in_order(x, lambda dense: nan_to_num(dense, copy, nan, posinf, neginf))
    found = x
    for name, other, number in (
        ("equal", np.inf, most),
        ("equal", -np.inf, least),
        ("not_equal", x, nan),
    ):
        is_meant = NATIVE[name](x, other)  # by recipes: the long way takes as long as NumPy
        found = NATIVE["where"](is_meant, dtype.type(number), found)
    return found


def _in_order(array: Any, function: Callable[[Any], Any]) -> Any:
    """What a function makes of the elements of an array in C order, as a new array that lies as a
    copy does (K)."""
    copy = array.copy(order="K")
    strides = copy._layout.strides
    axes = sorted(range(copy.ndim), key=lambda axis: -strides[axis])
    return owning(function(copy.transpose(axes)).transpose(np.argsort(axes).tolist()))


def _is_kept(number: Any, largest: float) -> bool:
    """Whether a dtype with such a largest number has one, rounded, without a word."""
    is_number = type(number) in (int, float)
    return is_number and (number - number != 0 or -largest <= number <= largest)


def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Round half to even."""
    return methods.round_method(asarray(a), decimals, out)


def around(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Round half to even: a function of its own, which libraries tell from `round`."""
    return methods.round_method(asarray(a), decimals, out)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Any:
    """A copy with another dtype (Array API). Raises: TypeError for what is no array."""
    if not (isinstance(x, Handle | np.ndarray) or np.isscalar(x)):
        raise TypeError(f"Input should be a NumPy array or scalar. It is a {type(x)} instead.")
    found = methods.astype(asarray(x), dtype, copy=copy)
    return found if device is None else found.to_device(device)


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write `src` into `dst`, where the mask holds.

    Raises: TypeError when the cast is not allowed, ValueError when the shapes do not fit.
    """
    if not isinstance(dst, Handle):
        mask = fallback.lower(where)
        np.copyto(dst, fallback.lower(src), casting=casting, where=mask)  # type: ignore[arg-type]  # NumPy checks the word
        return
    if isinstance(src, bool | int | float | complex | np.generic):
        src = _as_element(src, dst, casting)
    if where is True and casting == "same_kind" and type(src) not in (list, tuple):
        if _is_like(src, dst):
            dst[...] = src  # type: ignore[index]  # a LazyArray, of which this is machine code
            return
        dtype = getattr(src, "dtype", None)
        is_known = isinstance(dtype, np.dtype)  # pandas' own are not
        is_cast = dtype is None or is_known and np.can_cast(dtype, dst._code, "same_kind")
        if is_cast and pieces.assigned(dst, ..., src):
            return
    if where is True and isinstance(src, Handle) and src.is_same_memory(dst):
        return  # as NumPy, which looks only then whether it may write
    if where is not True:
        is_done = under_mask.copied(src, dst, where, casting)
        if is_done or windows.altered(_copied(casting), dst, src, where):
            return
    _copied_whole(dst, src, casting, where)


def _copied(casting: str) -> Callable[..., None]:
    """What copies values into an array of NumPy's where a mask holds."""

    def copy(target: np.ndarray, values: Any, mask: Any) -> None:
        np.copyto(target, values, casting=casting, where=mask)  # type: ignore[arg-type]  # NumPy checks the word

    return copy


def _copied_whole(dst: Any, src: Any, casting: str, where: Any) -> None:
    """`copyto`, recorded."""
    dst._check_writeable()
    given = asarray(src, device_beside((dst,)))
    if not np.can_cast(given.dtype, dst._code, casting):  # type: ignore[arg-type]  # NumPy checks the word
        raise TypeError(
            f"Cannot cast array data from {given.dtype!r} to {np.dtype(dst._code)!r} "
            f"according to the rule '{casting}'"
        )
    if where is True:
        indexing.assign(dst, src)
        return
    kept = elementwise.apply("where", (where, given, given.dtype.type(0)))  # others meet no cast
    fresh = methods.astype(kept, dst._code)
    chosen = elementwise.apply("where", (where, fresh, dst))
    indexing.assign(dst, chosen)


def _is_like(value: Any, array: Any) -> bool:
    """Whether a value is of the dtype of an array of the engine that may be written, and on its
    device."""
    if type(array) is not Handle._concrete or array._host is not None:
        return False
    is_here = getattr(value, "device", "") == array._storage.device
    return is_here and array._writeable is True and value.dtype == array._code


def _as_element(value: Any, array: Any, casting: str) -> Any:
    """A scalar as an element of an array. Raises: TypeError, OverflowError, and ValueError for a
    read-only array, in NumPy's order."""
    cell = np.empty((), np.dtype(array._code))
    cell.flags.writeable = array._writeable
    call_as_user(np.copyto, cell, value, casting=casting)
    return cell[()]


def _seen(value: Any) -> Any:
    """A value whose shape is asked for; of an object with `__array__` that array."""
    return own_or_host(value, None, copy=None) if hasattr(type(value), "__array__") else value


def shape(a: Any) -> tuple[int, ...]:
    """The shape of anything array-like; computes nothing."""
    return a.shape if hasattr(a, "shape") else np.shape(_seen(a))


def ndim(a: Any) -> int:
    return a.ndim if hasattr(a, "ndim") else np.ndim(_seen(a))


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, along one axis or several. Raises: AxisError."""
    if axis is not None:
        return int(np.size(np.broadcast_to(False, shape(a)), axis))
    return a.size if hasattr(a, "size") else np.size(_seen(a))


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """The promoted dtype; arrays count by their dtype and are not computed."""
    return np.result_type(*(x.dtype if isinstance(x, Handle) else x for x in arrays_and_dtypes))  # type: ignore[attr-defined]  # every Handle is a LazyArray


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    source = from_.dtype if isinstance(from_, Handle) else from_  # type: ignore[attr-defined]  # every Handle is a LazyArray
    return bool(np.can_cast(source, to, casting))  # type: ignore[arg-type]  # NumPy checks it


def isscalar(element: Any) -> bool:
    return bool(np.isscalar(element))


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two arrays may overlap in memory. Computes nothing."""
    return _overlap(np.may_share_memory, a, b, max_work)


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two arrays have an element in common. Computes nothing. Raises: TooHardError when
    that is more than `max_work` to find out."""
    return _overlap(np.shares_memory, a, b, max_work)


def _overlap(ask: Callable[..., bool], a: Any, b: Any, max_work: Any) -> bool:
    """NumPy's answer on arrays that lie in memory as ours do."""
    if isinstance(a, Handle) and isinstance(b, Handle) and a._host is b._host is None:
        apart = a._storage is not b._storage
        first, second = (np.empty(1), np.empty(1)) if apart else _mirrors(a, b)
    else:
        first, second = _in_memory(a), _in_memory(b)
    return bool(ask(first, second, max_work))


def _in_memory(value: Any) -> Any:
    """A value as NumPy sees its memory; a pending array has none yet."""
    if not isinstance(value, Handle):
        return value
    if value._host is not None:
        return value._host
    return borrow(value) if value._storage.node.buffer is not None else np.empty(1)


def _mirrors(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """One-byte NumPy views of one memory with the layouts of the arrays: nothing is computed."""
    memory = np.empty(max(a._storage.node.nbytes, 1), np.uint8)
    return _mirror(a, memory), _mirror(b, memory)


def _mirror(a: Any, memory: np.ndarray) -> np.ndarray:
    """A NumPy array that lies in `memory` as an array lies in its storage's."""
    if not a.size:
        return np.empty(a.shape, np.uint8)
    start = a._layout.offset * a.itemsize + a._reading.shift
    return np.ndarray(a.shape, f"V{a.itemsize}", memory, start, a.strides)

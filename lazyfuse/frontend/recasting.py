"""Views that read the memory otherwise: other dtypes, parts of complex arrays, any strides."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds, normalize_axis_tuple

from lazyfuse.frontend import fallback, others
from lazyfuse.frontend.convert import ForeignError, warn_of_setting
from lazyfuse.frontend.elementwise import apply
from lazyfuse.frontend.export import to_array
from lazyfuse.frontend.handle import SEALED, Handle, handle, new, new_scalar, small_array, view
from lazyfuse.frontend.indexing import assign
from lazyfuse.frontend.manipulation import asarray
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Fill
from lazyfuse.ir.order import c_strides, f_strides, is_contiguous, is_f_contiguous
from lazyfuse.ir.recast import FLOAT_OF, Cast
from lazyfuse.ops.numpy_version import NUMPY
from lazyfuse.ops.shapes import Shape, size_of
from lazyfuse.ops.types import code

# ---- parts of complex arrays


def real(self: Any) -> Any:
    """The real part. Aliasing: a view; the array itself when it is real."""
    return _part(self, 0) if self._code[0] == "c" else self


def imag(self: Any) -> Any:
    """The imaginary part. Aliasing: a view; of a real array read-only zeros."""
    if self._code[0] == "c":
        return _part(self, 1)
    make = new_scalar if self._is_scalar else new
    is_fortran = is_f_contiguous(*self._layout[:2]) and not is_contiguous(*self._layout[:2])
    strides = (f_strides if is_fortran else c_strides)(self.shape)
    zeros = make(Fill(self.shape, self._code, strides, (Const(0, self._code),)),
                 self._storage.device)  # fmt: skip
    zeros._writeable = self._is_scalar
    return zeros


def _part(array: Any, number: int) -> Any:
    if array._is_scalar:
        return apply(("real", "imag")[number], (array,))
    place, cast = _place_of_part(array._layout, array._code, _shift(array), number)
    if array._storage.node.dtype[0] != "c":
        return view(array, place, cast=cast)
    made = handle(Handle._concrete, array._storage, place)
    made._writeable, made._cast = array._writeable, cast
    made._owner = array if array._owner is None else array._owner
    return made


@lru_cache(maxsize=1024)
def _place_of_part(layout: Layout, code: str, shift: int, number: int) -> tuple[Layout, Cast]:
    """Where the parts of complex numbers are, and what they are read as."""
    doubled = tuple(2 * stride for stride in layout.strides)
    place = Layout(layout.shape, doubled, 2 * layout.offset + number)
    return place, Cast(FLOAT_OF[code], shift)


def set_real(self: Any, value: Any) -> None:
    assign(real(self), _as_array(value))


def set_imag(self: Any, value: Any) -> None:
    if self._code[0] != "c":
        raise TypeError("array does not have imaginary part to set")
    assign(imag(self), _as_array(value))


def _as_array(value: Any) -> Any:
    """Until NumPy 2.5 a part takes numbers as arrays: cast, not refused."""
    is_number = type(value) in (bool, int, float, complex)
    return np.asarray(value) if NUMPY < (2, 5) and is_number else value


# ---- other dtypes


def view_method(self: Any, dtype: Any = None, type: Any = None) -> Any:
    """The same memory as another array object, with `dtype` read as elements of that dtype.

    Aliasing: shared; a private copy for subclasses of NumPy's ndarray, a read-only one for dtypes
    that only NumPy has and rows that do not lie whole elements apart. Raises: ValueError when the
    bytes of the last axis do not make elements of the new size, or it is not contiguous and the
    size changes.
    """
    if _is_subclass(dtype) or _is_subclass(type):
        kinds = [kind for kind in (dtype, type) if kind is not None]
        is_private = bool(self._writeable) and not self._is_scalar
        if is_private:
            if self._storage.device != "cpu":
                fallback.announce("view", "NumPy")  # the values leave the GPU
            return to_array(self, copy=True).view(*kinds)
        return fallback.call_method(self, "view", *kinds)
    if dtype is None or _is_ours(dtype) or np.dtype(dtype) == self.dtype:
        return view(self, self._layout)
    target = np.dtype(dtype)
    if target.isnative and code(target) in fallback.KNOWN and not self._is_scalar:
        found = _recast(self._layout, _shift(self), self.itemsize, target.itemsize)
        if found is not None:
            return view(self, found[0], cast=Cast(code(target), found[1]))
    bits = fallback.call_method(self, "view", target)
    if isinstance(bits, Handle):
        bits._writeable = False
    return bits


def _is_subclass(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, np.ndarray)


def _is_ours(kind: Any) -> bool:
    """Whether `x.view(type(y))` asks for an array of lazyfuse."""
    return isinstance(kind, type) and issubclass(kind, Handle)


def _shift(array: Any) -> int:
    """Bytes by which the elements of a typed view lie beside those of its memory."""
    return array._cast.shift if array._cast is not None else 0


def _recast(layout: Layout, shift: int, old: int, new: int) -> tuple[Layout, int] | None:
    """A layout in elements of another size, and the bytes before the first; None when the strides
    are not multiples of that size."""
    if old == new:
        return layout, shift
    shape, strides = layout.shape, layout.strides
    if not shape:
        raise ValueError(
            "Changing the dtype of a 0d array is only supported if the itemsize is unchanged"
        )
    if shape[-1] != 1 and strides[-1] != 1 and size_of(shape):
        raise ValueError(
            "To change to a dtype of a different size, the last axis must be contiguous"
        )
    last = shape[-1] * old
    if last % new:
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in "
            "bytes of the last axis of the array."
        )
    if not last or not size_of(shape):
        empty = (*shape[:-1], last // new)
        return Layout(empty, c_strides(empty), 0), 0
    counted = [stride * old for stride in strides[:-1]]
    if any(nbytes % new for nbytes in counted):
        return None
    outer = [nbytes // new for nbytes in counted]
    offset, beside = divmod(layout.offset * old + shift, new)
    return Layout((*shape[:-1], last // new), (*outer, 1), offset), beside


def set_dtype(self: Any, dtype: Any) -> None:
    """`a.dtype = dtype`: read the memory as another dtype from now on."""
    warn_of_setting("dtype")
    changed = view_method(self, dtype)
    if not isinstance(changed, Handle) or changed._storage is not self._storage:
        raise TypeError(f"cannot set the dtype of this array to {np.dtype(dtype)} in place")
    self._layout, self._cast = changed._layout, changed._cast


def set_strides(self: Any, strides: Any) -> None:
    """`a.strides = strides`, in bytes, of one dimension also as a number. Raises: ValueError
    outside the array's memory."""
    warn_of_setting("strides")
    steps = _shape(strides)
    if len(steps) != self.ndim:
        raise ValueError(
            f"strides must be same length as shape ({self.ndim})",
        )
    self._layout = _strided(self, self.shape, steps)


# ---- any strides

#: NumPy's, whose bounds have been checked: from 2.5 on it does so, and knows less of the memory.
_seen: Any = partial(
    np.lib.stride_tricks.as_strided, **({"check_bounds": False} if NUMPY >= (2, 5) else {})
)


def as_strided(x: Any, shape: Any = None, strides: Any = None, subok: bool = False,
               writeable: bool = True, *, check_bounds: bool | None = None) -> Any:  # fmt: skip
    """A view with any shape and strides (in bytes): without these the array's, or those of C order
    where the array is in it. Elements may overlap: then the last write to one wins.
    Raises: ValueError when it would reach outside the array's memory."""
    try:
        x = asarray(x)
    except ForeignError:
        public = np.lib.stride_tricks.as_strided
        return fallback.call(public, x, shape, strides, subok, writeable)
    wanted = x.shape if shape is None else tuple(map(index, shape))
    if strides is None and x.flags.c_contiguous:
        strides = [step * x.itemsize for step in c_strides(wanted)]
    steps = x.strides if strides is None else tuple(int(step) for step in strides)
    if len(steps) != len(wanted):
        raise ValueError("mismatch in length of strides and shape")
    if any(step % x.itemsize for step in steps):
        return fallback.call(np.lib.stride_tricks.as_strided, x, wanted, steps, subok, False)
    layout = _strided(x, wanted, steps)
    if x._host is not None:
        seen = _seen(x._host, wanted, steps, writeable=writeable)
        return small_array(seen, x if x._owner is None else x._owner)
    return view(x, layout, writeable=x._writeable if x._writeable and writeable else SEALED)


def _shape(shape: Any) -> Shape:
    return tuple(map(index, shape)) if np.iterable(shape) else (index(shape),)


def _strided(x: Any, shape: Shape, strides: tuple[int, ...]) -> Layout:
    """A layout from the array's first element on. Raises: ValueError outside its memory."""
    if any(step % x.itemsize for step in strides):
        raise ValueError(f"strides must be multiples of the {x.itemsize} bytes of an element")
    steps = tuple(step // x.itemsize for step in strides)
    reaches = [step * (extent - 1) for step, extent in zip(steps, shape, strict=True)]
    offset, count = _place(x)
    low = offset + sum(min(reach, 0) for reach in reaches)
    high = offset + sum(max(reach, 0) for reach in reaches)
    if size_of(shape) and not 0 <= low <= high < count:
        raise ValueError("the strides reach outside the memory of the array")
    return Layout(shape, steps, offset)


def _place(x: Any) -> tuple[int, int]:
    """Where the array's first element lies in its memory, and how many elements that holds."""
    if x._host is None:
        return x._layout.offset, (x._storage.node.nbytes - _shift(x)) // x.itemsize
    owner = x._host if x._owner is None else x._owner._host
    low, high = byte_bounds(owner)
    start: int = x._host.__array_interface__["data"][0]
    return (start - low) // x.itemsize, (high - low) // x.itemsize


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """All windows of a shape: the axes of the window come last. Aliasing: a view.

    Raises: ValueError for windows larger than the array or of negative extent.
    """
    public = np.lib.stride_tricks.sliding_window_view
    if others.decide(public, (x,), {}):
        named = {"axis": axis, "subok": subok or None, "writeable": writeable or None}
        given = {name: value for name, value in named.items() if value is not None}
        return others.call(public, (x, window_shape), given)
    try:
        x = asarray(x)
    except ForeignError:
        options = {"subok": subok, "writeable": writeable}
        return fallback.call(public, x, window_shape, axis, **options)
    window = _shape(window_shape)
    if any(extent < 0 for extent in window):
        raise ValueError("`window_shape` cannot contain negative values")
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(
        axis, x.ndim, allow_duplicate=True
    )  # fmt: skip
    if len(window) != len(axes):
        raise ValueError(
            "Since axis is None, must provide window_shape for all dimensions of `x`; got "
            f"{len(window)} window_shape elements and `x.ndim` is {x.ndim}."
            if axis is None
            else "Must provide matching length window_shape and axis; got "
            f"{len(window)} window_shape elements and {len(axes)} axes elements."
        )
    shape = list(x.shape)
    for number, extent in zip(axes, window, strict=True):
        if shape[number] < extent:
            raise ValueError("window shape cannot be larger than input array shape")
        shape[number] -= extent - 1
    own = x._layout.strides
    layout = Layout((*shape, *window), (*own, *(own[number] for number in axes)), x._layout.offset)
    return view(x, layout, writeable=x._writeable if x._writeable and writeable else SEALED)


def getfield(self: Any, dtype: Any, offset: int = 0) -> Any:
    """The elements of `dtype` that lie `offset` bytes into each element. Aliasing: as `view`."""
    target = np.dtype(dtype)
    if offset < 0 or offset + target.itemsize > self.itemsize:
        raise ValueError(
            f"Need 0 <= offset <= {self.itemsize} for requested type "
            f"but received offset = {offset}"
        )
    ratio = math.gcd(self.itemsize, target.itemsize)
    known = code(target) in fallback.KNOWN and ratio == target.itemsize
    if not known or offset % target.itemsize or self._is_scalar:
        return fallback.call_method(self, "getfield", target, offset)
    times = self.itemsize // target.itemsize
    layout = self._layout
    steps = tuple(stride * times for stride in layout.strides)
    place = Layout(layout.shape, steps, layout.offset * times + offset // target.itemsize)
    return view(self, place, cast=Cast(code(target), _shift(self)))


def setfield(self: Any, value: Any, dtype: Any, offset: int = 0) -> None:
    """Write `value` into the field that `getfield` reads."""
    field = getfield(self, dtype, offset)
    if not isinstance(field, Handle) or field._storage is not self._storage:
        raise TypeError(f"cannot set a field of {np.dtype(dtype)} in place")
    assign(field, value)


def swapped_bytes(self: Any, inplace: bool = False) -> Any:
    """`a.byteswap()`: the bytes of each element reversed, in a copy or in place."""
    swapped = fallback.call_method(self, "byteswap")
    if not inplace:
        return swapped
    assign(self, swapped)
    return self

"""New arrays. Constant ones and ranges are recorded (no memory until it is needed),
the rest comes from NumPy."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from lazyfuse.frontend import array_likes, fallback, methods
from lazyfuse.frontend.array_likes import is_asked, own_or_host
from lazyfuse.frontend.convert import (
    ForeignError,
    adopted,
    gpu_home,
    is_subclass,
    scalar,
    source,
    to_array,
)
from lazyfuse.frontend.flat import FlatIterator
from lazyfuse.frontend.handle import Handle, new
from lazyfuse.frontend.mapped import is_mapped
from lazyfuse.frontend.references import is_alone
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Fill
from lazyfuse.ir.order import c_strides, f_strides
from lazyfuse.ops.shapes import Shape, integers
from lazyfuse.ops.types import code
from lazyfuse.runtime import session
from lazyfuse.runtime.caller import call_as_user

#: What is not asked for an array by `__array__`.
_PLAIN = (Handle, np.ndarray, np.generic, list, tuple, int, float, complex)


def array(object: Any, dtype: Any = None, *, copy: bool | None = True, order: str = "K",
          subok: bool = False, ndmin: int = 0, device: str | None = None,
          **options: Any) -> Any:  # fmt: skip
    """A new array of the values of `object`.
    Dtypes outside the engine (object, strings...) stay NumPy arrays.

    Aliasing: none, unless `copy` is False or None and nothing has to change. Another library's
    array on a GPU stays there, as in `asarray`.
    """
    copy = _copy_mode(copy)
    home = gpu_home(object)
    if home is not None:
        return _from_gpu(object, home, dtype, copy, order, ndmin, device)
    if isinstance(object, FlatIterator):
        return _from_lazy(object.elements(), dtype, None, order, ndmin, device)
    if isinstance(object, Handle):
        return _from_lazy(object, dtype, copy, order, ndmin, device)
    host = fallback.lower(object)
    is_plain = copy is not False and type(host) is np.ndarray
    is_plain = is_plain and not (copy and is_mapped(host))  # a map changes with its file
    is_given = is_plain or is_asked(type(host))  # by the user, who may still have it
    # what only has to be copied is copied once, into memory for kernels
    asked = None if is_plain else copy if is_given else copy is not False
    values = own_or_host(host, dtype, copy=asked, order=order, ndmin=ndmin, **options)
    if isinstance(values, Handle):
        return _from_lazy(values, dtype, copy, order, ndmin, device)
    made = values is not host and values.base is None if is_given else copy is not False
    owned = made and is_alone(values)
    try:
        found = to_array(values, owned=owned, borrow=copy is False, device=_device(device))
    except ForeignError:
        return values.copy(order="K") if is_plain and copy and not owned else values
    # axes that `ndmin` asks for are those of a view
    return found if values is host or values.base is None else found[...]


def _copy_mode(copy: Any) -> bool | None:
    """What `copy` means. Raises: ValueError for a word."""
    if copy is None or isinstance(copy, bool):
        return copy
    if isinstance(copy, str):
        raise ValueError(
            "strings are not allowed for 'copy' keyword. Use True/False/None instead."
        )
    return None if copy is np._CopyMode.IF_NEEDED else bool(copy)


def _from_lazy(
    object: Any, dtype: Any, copy: bool | None, order: str, ndmin: int, device: str | None
) -> Any:
    if dtype is np.dtype:
        raise TypeError("Cannot convert np.dtype into a dtype.")
    result = methods.as_array(object)
    converts = dtype is not None and np.dtype(dtype) != object.dtype
    converts |= order == "C" and not object.flags.c_contiguous
    converts |= order == "F" and not object.flags.f_contiguous
    moves = device is not None and _device(device) != object._storage.device
    if copy is False and (converts or moves or object._is_scalar):
        np.array((), copy=False)  # raises, in NumPy's words
    if converts or copy:
        result = result.astype(object.dtype if dtype is None else dtype, order)
    if ndmin > result.ndim:
        result = result[(None,) * (ndmin - result.ndim)]
    return result if device is None else result.to_device(device)


def _from_gpu(
    object: Any, home: str, dtype: Any, copy: bool | None, order: str, ndmin: int,
    device: str | None,
) -> Any:  # fmt: skip
    """An array of another library's on the GPU `home`: copied there, unless `copy` is False."""
    taken = adopted(object, home, borrow=copy is False)
    return _from_lazy(taken, dtype, False if copy is False else None, order, ndmin, device)


def asarray(a: Any, dtype: Any = None, order: str | None = None, *, device: str | None = None,
            copy: bool | None = None, like: Any = None) -> Any:  # fmt: skip
    """An array of the values of `a`.

    Aliasing: `a` itself when it is a LazyArray of this dtype, and what its `__array__` gives when
    that is one. Memory of a NumPy array is shared
    only when nobody can write to it (bytes, a file mapped for reading), or when `copy` is False:
    the memory is borrowed then, and the caller promises not to write to it. Writing to the
    LazyArray never writes to memory from outside. Another library's array on a GPU (with DLPack or
    `__cuda_array_interface__`) stays there, unless `device` says otherwise, and is copied or
    borrowed in the same way. Raises: ValueError when `copy` is False and a copy is needed;
    BufferError for memory on a GPU that cannot be shared; DeviceUnavailableError.
    """
    copy, order = _copy_mode(copy), methods.order_letter(order)
    home = gpu_home(a)
    if home is not None:
        return _from_gpu(a, home, dtype, copy, order, 0, device)
    if issubclass(type(a), Handle):  # no proxy of one, which NumPy asks for its array
        return _from_lazy(a, dtype, copy, order, 0, device)
    values = own_or_host(fallback.lower(a), dtype, copy=copy, order=order)
    if isinstance(values, Handle):
        return _from_lazy(values, dtype, copy, order, 0, device)
    try:
        is_copied = isinstance(a, np.ndarray) or type(a) in (list, tuple, int, float)
        fresh = is_copied and values is not a and values.base is None and values.flags.owndata
        return to_array(values, borrow=copy is False, owned=fresh, device=_device(device))
    except ForeignError:
        return values


def asanyarray(a: Any, dtype: Any = None, order: str | None = None, *, device: str | None = None,
               copy: bool | None = None, like: Any = None) -> Any:  # fmt: skip
    """As `asarray`; arrays of NumPy's subclasses (masked arrays, matrices) stay what they are, and
    so do those that the `__array__` of an object gives."""
    if _may_be_subclass(a):
        try:
            a = call_as_user(np.asanyarray, a, dtype, order, copy=copy)
        except ValueError as error:
            if not array_likes.is_refusal(error):
                raise
    if is_subclass(a):
        return np.asanyarray(a, dtype, order)  # type: ignore[arg-type]  # NumPy checks it
    return asarray(a, dtype, order, device=device, copy=copy)


def _may_be_subclass(value: Any) -> bool:
    """Whether the `__array__` of an object may give an array of a subclass: one of ours is not
    known yet."""
    kind = type(value)
    is_object = not isinstance(value, _PLAIN) and hasattr(kind, "__array__")
    return is_object and kind not in array_likes.MET and gpu_home(value) is None


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """A C-contiguous array of at least one axis: itself when it is one."""
    result = _with_axis(asarray(a, dtype))
    if not isinstance(result, Handle):
        return np.ascontiguousarray(result)
    return result if result.flags.c_contiguous else result.copy("C")  # type: ignore[attr-defined]  # every Handle is a LazyArray


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """An F-contiguous array of at least one axis: itself when it is one."""
    result = _with_axis(asarray(a, dtype))
    if not isinstance(result, Handle):
        return np.asfortranarray(result)
    return result if result.flags.f_contiguous else result.copy("F")  # type: ignore[attr-defined]  # every Handle is a LazyArray


def _with_axis(array: Any) -> Any:
    return array if array.shape else array.reshape(1)


def _device(device: str | None) -> str:
    """The device asked for, or the default one. Raises: ValueError, DeviceUnavailableError."""
    if device is None:
        return session.default_device()
    target = session.resolve_device(device)
    session.backend(target)
    return target


def _shape(shape: Any) -> Shape:
    """The extents that a shape argument names: an integer, or a sequence of integers."""
    single = not isinstance(shape, bool) and hasattr(shape, "__index__") and not np.ndim(shape)
    is_sequence = hasattr(shape, "__getitem__") and not isinstance(shape, dict)
    if not single and not is_sequence:
        raise TypeError(f"expected a sequence of integers or a single integer, got '{shape!r}'")
    result = tuple(integers((shape,) if single else shape))
    if any(extent > sys.maxsize for extent in result):
        raise ValueError("Maximum allowed dimension exceeded")
    if any(extent < 0 for extent in result):
        raise ValueError("negative dimensions are not allowed")
    return result


def _filled(shape: Any, value: Any, dtype: str, order: str, device: str | None) -> Any:
    extents = _shape(shape)
    if math.prod(extent or 1 for extent in extents) * int(dtype[1:]) > sys.maxsize:
        raise ValueError(
            "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum "
            "possible size."
        )
    strides = f_strides(extents) if _is_fortran(order) else c_strides(extents)
    node = Fill(extents, dtype, strides, (Const(value, dtype),))
    return new(node, _device(device))


def _is_fortran(order: str | None) -> bool:
    """Whether a new array is laid out in F order. Raises: ValueError for other than C and F."""
    letter = methods.order_letter(order, "C")
    if letter in "KA":
        raise ValueError("only 'C' or 'F' order is permitted")
    return letter == "F"


def _constant(shape: Any, value: Any, dtype: Any, order: str, device: str | None) -> Any:
    kind = _code_of(float if dtype is None else dtype)
    return _filled(shape, scalar(value, kind).value, kind, order, device)


def _code_of(dtype: Any) -> str:
    """The engine's name of a dtype. Raises: ForeignError for a dtype that only NumPy has."""
    kind = np.dtype(dtype)
    if not fallback.is_known(kind):
        raise ForeignError(str(kind))
    return code(kind)


def _converted(value: Any, dtype: str) -> Any:
    """The Python value of a fill value in a dtype; integers are checked, all else is cast."""
    if type(value) is int and dtype[0] in "iu":
        return scalar(value, dtype).value
    return call_as_user(np.asarray(value).astype, dtype).item()


def zeros(
    shape: Any, dtype: Any = None, order: str = "C", *, device: str | None = None, like: Any = None
) -> Any:
    """An array of zeros; no memory is touched until it is needed."""
    return _constant(shape, 0, dtype, order, device)


def ones(
    shape: Any, dtype: Any = None, order: str = "C", *, device: str | None = None, like: Any = None
) -> Any:
    """An array of ones."""
    return _constant(shape, 1, dtype, order, device)


def empty(
    shape: Any, dtype: Any = None, order: str = "C", *, device: str | None = None, like: Any = None
) -> Any:
    """An array of no particular values (zeros)."""
    return _constant(shape, 0, dtype, order, device)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *,
         device: str | None = None, like: Any = None) -> Any:  # fmt: skip
    """An array of one value, or of `fill_value` broadcast to the shape."""
    fill_value = array_likes.taken(fill_value)
    kind = _code_of(np.asarray(fill_value).dtype if dtype is None else dtype)
    if np.ndim(fill_value) == 0:
        return _filled(shape, _converted(fill_value, kind), kind, order, device)
    result = empty(shape, kind, order, device=device)
    result[...] = fill_value
    return result


def _like(
    prototype: Any, value: Any, dtype: Any, order: str, shape: Any, device: str | None
) -> Any:
    if not isinstance(prototype, Handle):
        prototype = own_or_host(prototype, None, copy=None)
    kind = _code_of(prototype.dtype if dtype is None else dtype)
    own = Layout(
        prototype.shape, tuple(stride // prototype.itemsize for stride in prototype.strides), 0
    )
    order = methods.order_letter(order)
    if order == "A":
        order = "F" if prototype.flags.fnc else "C"
    if shape is not None:
        target = _shape(shape)
        kept = order == "K" and len(target) == len(own.shape)
        own = Layout(target, _reordered(target, own.strides) if kept else c_strides(target), 0)
    strides = methods.order_strides(own.shape, own.strides, order)
    node = Fill(own.shape, kind, strides, (Const(_converted(value, kind), kind),))
    home = prototype._storage.device if isinstance(prototype, Handle) else None
    return new(node, home if home and device is None else _device(device))


def _reordered(shape: Shape, strides: tuple[int, ...]) -> tuple[int, ...]:
    """Dense strides of a new shape with the axes in the memory order of `strides`."""
    result = [0] * len(shape)
    step = 1
    for axis in sorted(range(len(shape) - 1, -1, -1), key=lambda axis: abs(strides[axis])):
        result[axis] = step
        step *= max(shape[axis], 1)
    return tuple(result)


def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
               *, device: str | None = None) -> Any:  # fmt: skip
    return _like(a, 0, dtype, order, shape, device)


def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
              *, device: str | None = None) -> Any:  # fmt: skip
    return _like(a, 1, dtype, order, shape, device)


def empty_like(prototype: Any, dtype: Any = None, order: str = "K", subok: bool = True,
               shape: Any = None, *, device: str | None = None) -> Any:  # fmt: skip
    return _like(prototype, 0, dtype, order, shape, device)


def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True,
              shape: Any = None, *, device: str | None = None) -> Any:  # fmt: skip
    fill_value = array_likes.taken(fill_value)
    if np.ndim(fill_value):
        result = _like(a, 0, dtype, order, shape, device)
        result[...] = fill_value
        return result
    return _like(a, fill_value, dtype, order, shape, device)


def arange(first: Any = None, /, stop: Any = None, step: Any = None, dtype: Any = None, *,
           start: Any = None, device: str | None = None, like: Any = None) -> Any:  # fmt: skip
    """start, start + step, ... before stop, as NumPy's arange; one number alone is the stop.
    Recorded, no memory until it is needed. Raises: TypeError without a stop."""
    twice = first is not None and start is not None
    if stop is None:
        first, stop = None, first
    if stop is None or twice:
        raise TypeError("arange() requires stop to be specified.")
    start = 0 if start is None else start
    start = start if first is None else first
    step = 1 if step is None else step
    plain = all(type(item) in (int, float) for item in (start, stop, step))
    if not plain or step == 0 or (dtype is not None and np.dtype(dtype).kind not in "iuf"):
        values = np.arange(*fallback.lower((start, stop, step)), dtype=dtype)
        return _owned(values, device)
    kind = (
        np.dtype(dtype)
        if dtype is not None
        else np.result_type(*(type(x) for x in (start, stop, step)))
    )
    _code_of(kind)
    count = (stop - start) / step
    if not abs(count) * kind.itemsize < sys.maxsize:  # NaN among them
        return np.arange(start, stop, step, dtype=kind)  # raises
    length = max(math.ceil(count), 0)
    if length <= _SMALL_RANGE:
        return _owned(np.arange(start, stop, step, dtype=kind), device)
    first, second = np.asarray(start).astype(kind), np.asarray(start + step).astype(kind)
    delta = (second - first).item()
    node = Fill(
        (length,),
        code(kind),
        (1,),
        (Const(first.item(), code(kind)), Const(delta, _wide(code(kind)))),
    )
    return new(node, _device(device))


#: Ranges up to this length are made at once: a few hundred bytes are cheaper than a kernel.
_SMALL_RANGE = 64


def _wide(dtype: str) -> str:
    return "f4" if dtype == "f2" else dtype


def _owned(values: np.ndarray, device: str | None = None) -> Any:
    """An array around NumPy's new one. Raises: ForeignError for a dtype that only NumPy has."""
    _code_of(values.dtype)
    return new(source(values, _device(device), owned=True), _device(device))


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float, order: str = "C", *,
        device: str | None = None, like: Any = None) -> Any:  # fmt: skip
    """Ones on a diagonal."""
    return _owned(np.eye(N, M, k, dtype, order), device)  # type: ignore[call-overload]  # NumPy checks the order


def identity(n: int, dtype: Any = None, *, like: Any = None) -> Any:
    return eye(n, dtype=float if dtype is None else dtype)

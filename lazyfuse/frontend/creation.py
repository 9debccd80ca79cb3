"""New arrays. Constant ones and ranges are recorded (no memory until it is needed),
the rest comes from NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback, methods
from lazyfuse.frontend.convert import ForeignError, operand, scalar, source, to_array
from lazyfuse.frontend.handle import Handle, new
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Fill
from lazyfuse.ir.order import c_strides, f_strides
from lazyfuse.ops.shapes import Shape
from lazyfuse.ops.types import code
from lazyfuse.runtime import session


def array(object: Any, dtype: Any = None, *, copy: bool | None = True, order: str = "K",
          subok: bool = False, ndmin: int = 0, device: str | None = None,
          **options: Any) -> Any:  # fmt: skip
    """A new array of the values of `object`.
    Dtypes outside the engine (object, strings...) stay NumPy arrays.

    Aliasing: none, unless `copy` is False or None and nothing has to change.
    """
    if isinstance(object, Handle):
        return _from_lazy(object, dtype, copy, order, ndmin, device)
    values = np.array(fallback.lower(object), dtype=dtype, order=order, ndmin=ndmin, **options)  # type: ignore[call-overload]  # NumPy checks it
    try:
        return to_array(values, owned=True, device=_device(device))
    except ForeignError:
        return values


def _from_lazy(
    object: Any, dtype: Any, copy: bool | None, order: str, ndmin: int, device: str | None
) -> Any:
    result = methods.as_array(object)
    if dtype is not None and np.dtype(dtype) != object.dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        result = methods.astype(object, dtype, order)
    elif copy:
        result = methods.converted(object, object._code, order)
    if ndmin > result.ndim:
        result = result[(None,) * (ndmin - result.ndim)]
    return result if device is None else result.to_device(device)


def asarray(a: Any, dtype: Any = None, order: str | None = None, *, device: str | None = None,
            copy: bool | None = None, like: Any = None) -> Any:  # fmt: skip
    """An array of the values of `a`.

    Aliasing: `a` itself when it is a LazyArray of this dtype. Memory of a NumPy array is shared
    only when nobody can write to it, or when `copy` is False: the caller promises not to write to
    it then.
    """
    if isinstance(a, Handle):
        return _from_lazy(a, dtype, copy, order or "K", 0, device)
    values = np.asarray(fallback.lower(a), dtype=dtype, order=order)  # type: ignore[arg-type]  # NumPy checks it
    try:
        fresh = (
            values is not a and values.base is None and isinstance(a, list | tuple | int | float)
        )
        return to_array(values, borrow=copy is False, owned=fresh, device=_device(device))
    except ForeignError:
        return values


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """A C-contiguous array: itself when it is one."""
    result = asarray(a, dtype)
    if isinstance(result, Handle) and not result.flags.c_contiguous:  # type: ignore[attr-defined]  # every Handle is a LazyArray
        return methods.converted(result, result._code, "C")
    return result


def _device(device: str | None) -> str:
    return session.default_device() if device is None else session.resolve_device(device)


def _shape(shape: Any) -> Shape:
    extents = shape if isinstance(shape, tuple | list) else (shape,)
    result = tuple(int(extent.__index__()) for extent in extents)
    if any(extent < 0 for extent in result):
        raise ValueError("negative dimensions are not allowed")
    return result


def _filled(shape: Any, value: Any, dtype: str, order: str, device: str | None) -> Any:
    extents = _shape(shape)
    strides = f_strides(extents) if order == "F" else c_strides(extents)
    node = Fill(extents, dtype, strides, (Const(value, dtype),))
    return new(node, _device(device))


def _constant(shape: Any, value: Any, dtype: Any, order: str, device: str | None) -> Any:
    kind = np.dtype(float if dtype is None else dtype)
    if code(kind) not in fallback.KNOWN or not kind.isnative or kind.kind in "OSUVMm":
        return fallback.call(np.full, shape, value, kind, order)
    return _filled(shape, scalar(value, code(kind)).value, code(kind), order, device)


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
    kind = np.dtype(dtype) if dtype is not None else np.asarray(fill_value).dtype
    given = None
    try:
        given = operand(fill_value)
    except ForeignError:
        return fallback.call(np.full, shape, fill_value, dtype, order)
    if given.node is None and code(kind) in fallback.KNOWN:
        value = (
            np.asarray(given.value).astype(kind).item() if given.type is not int else given.value
        )
        return _constant(shape, value, kind, order, device)
    result = empty(shape, kind, order, device=device)
    result[...] = fill_value
    return result


def _like(
    prototype: Any, value: Any, dtype: Any, order: str, shape: Any, device: str | None
) -> Any:
    if not isinstance(prototype, Handle):
        prototype = np.asarray(prototype)
    kind = prototype.dtype if dtype is None else dtype
    if not isinstance(prototype, Handle):
        return full(
            prototype.shape if shape is None else shape,
            value,
            kind,
            order if order == "F" else "C",
            device=device,
        )
    own = prototype._layout
    if shape is not None:
        target = _shape(shape)
        kept = order == "K" and len(target) == len(own.shape)
        own = Layout(target, _reordered(target, own.strides) if kept else c_strides(target), 0)
    strides = methods.order_strides(own.shape, own.strides, order)
    dtype_code = code(np.dtype(kind))
    if dtype_code not in fallback.KNOWN:
        return fallback.call(np.full, own.shape, value, kind)
    const = scalar(np.asarray(value).astype(np.dtype(kind)).item(), dtype_code)
    node = Fill(own.shape, dtype_code, strides, (const,))
    return new(node, prototype._storage.device if device is None else _device(device))


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
    if np.ndim(fill_value):
        result = _like(a, 0, dtype, order, shape, device)
        result[...] = fill_value
        return result
    return _like(a, fill_value, dtype, order, shape, device)


def arange(*args: Any, dtype: Any = None, device: str | None = None, like: Any = None) -> Any:
    """start, start + step, ... before stop, as NumPy's arange:
    recorded, no memory until it is needed."""
    start, stop, step = {1: (0, *args, 1), 2: (*args, 1), 3: args}.get(
        len(args[:3]), (None, None, None)
    )
    plain = all(type(item) in (int, float) for item in (start, stop, step)) and len(args) <= 3
    if not plain or step == 0 or (dtype is not None and np.dtype(dtype).kind not in "iuf"):
        return _owned(np.arange(*fallback.lower(args), dtype=dtype), device)
    assert start is not None and stop is not None and step is not None
    kind = (
        np.dtype(dtype)
        if dtype is not None
        else np.result_type(*(type(x) for x in (start, stop, step)))
    )
    length = max(math.ceil((stop - start) / step), 0)
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
    return new(source(values, _device(device), owned=True), _device(device))


def linspace(*args: Any, device: str | None = None, **kwargs: Any) -> Any:
    """NumPy's linspace."""
    result = np.linspace(*fallback.lower(args), **fallback.lower(kwargs))
    if isinstance(result, tuple):
        return _owned(result[0], device), result[1]
    return _owned(result, device)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float, order: str = "C", *,
        device: str | None = None, like: Any = None) -> Any:  # fmt: skip
    """Ones on a diagonal."""
    return _owned(np.eye(N, M, k, dtype, order), device)  # type: ignore[call-overload]  # NumPy checks the order


def identity(n: int, dtype: Any = None, *, like: Any = None) -> Any:
    return eye(n, dtype=float if dtype is None else dtype)

"""Elementwise methods of LazyArray: conversion, rounding, parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.convert import integer_range
from lazyfuse.frontend.elementwise import apply, fill
from lazyfuse.frontend.handle import new
from lazyfuse.ir.node import Const, Map
from lazyfuse.ir.order import c_strides, copy_strides, f_strides, is_contiguous, is_f_contiguous
from lazyfuse.ops.shapes import Shape
from lazyfuse.ops.table import OPS
from lazyfuse.ops.types import code


def astype(
    self: Any,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Any:
    """A copy with another dtype. Shares memory only when `copy` is False and nothing changes."""
    target = np.dtype(dtype)
    if not np.can_cast(self.dtype, target, casting):  # type: ignore[arg-type]  # NumPy checks it
        raise TypeError(
            f"Cannot cast array data from {self.dtype!r} to {target!r} "
            f"according to the rule '{casting}'"
        )
    if code(target) not in fallback.KNOWN or not target.isnative:
        return fallback.call_method(
            self, "astype", target, order=order, casting=casting, copy=copy
        )
    if not copy and target == self.dtype and order in "KA":
        return self
    return converted(self, code(target), order)


def converted(array: Any, dtype: str, order: str = "K") -> Any:
    """A new array of this dtype in the given memory order."""
    from_node = array._read()
    strides = order_strides(from_node.shape, from_node.strides, order)
    node = Map(OPS["astype"], (from_node.dtype,), dtype, from_node.shape, strides, (from_node,))
    copy = new(node, array._storage.device)
    copy._is_scalar = array._is_scalar
    return copy


def as_array(value: Any) -> Any:
    """The array itself; of a scalar, a 0-d array of its own."""
    if not value._is_scalar:
        return value
    copy = converted(value, value._code)
    copy._is_scalar = False
    return copy


def order_strides(shape: Shape, strides: tuple[int, ...], order: str | None) -> tuple[int, ...]:
    """The strides of a copy in order C, F, A or K. Raises ValueError for another order."""
    match order:
        case "C":
            return c_strides(shape)
        case "F":
            return f_strides(shape)
        case "A":
            fortran = is_f_contiguous(shape, strides) and not is_contiguous(shape, strides)
            return f_strides(shape) if fortran else c_strides(shape)
        case "K" | None:
            return copy_strides(shape, strides)
    raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}')")


def clip_method(
    self: Any, min: Any = None, max: Any = None, out: Any = None, **options: Any
) -> Any:
    """Limit the values to [min, max]; None leaves a side open, and so does an integer bound that
    the dtype cannot reach."""
    if self._code[0] in "iu":
        low, high = integer_range(self._code)
        min = None if type(min) is int and min < low else min
        max = None if type(max) is int and max > high else max
    if min is None and max is None:
        return apply("positive" if self._code != "b1" else "astype", (self,), out=out)
    if min is None:
        return apply("minimum", (self, max), out=out, **options)
    if max is None:
        return apply("maximum", (self, min), out=out, **options)
    return apply("clip", (self, min, max), out=out, **options)


def conjugate_method(self: Any) -> Any:
    return apply("conjugate", (self,)) if self._code[0] == "c" else self


def round_method(self: Any, decimals: int = 0, out: Any = None) -> Any:
    """NumPy's rounding: multiply, rint, divide; integers round to tens in NumPy."""
    if self._code[0] in "iub":
        if decimals >= 0 and self._code != "b1":
            return self.copy() if out is None else apply("positive", (self,), out=out)
        return fallback.call_method(self, "round", decimals, out=out)
    if self._code[0] == "c":
        return fallback.call_method(self, "round", decimals, out=out)
    if decimals == 0:
        return apply("rint", (self,), out=out)
    scale = 10.0 ** abs(decimals)
    first, second = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    scaled = apply("rint", (apply(first, (self, scale)),))
    return apply(second, (scaled, scale), out=out)


def real(self: Any) -> Any:
    """The real part: the array itself when it is real.

    Aliasing: a copy for complex arrays (NumPy gives a view), which refuses item assignment;
    `z.real *= 2` and `z.real = x` write into z.
    """
    return _part("real", self) if self._code[0] == "c" else self


def imag(self: Any) -> Any:
    """The imaginary part, a copy as in `real`; zeros, read-only, for real arrays."""
    if self._code[0] == "c":
        return _part("imag", self)
    zeros = new(fill(Const(0, self._code), self.shape), self._storage.device)
    zeros._writeable = False
    return zeros


def _part(name: str, array: Any) -> Any:
    part = apply(name, (array,))
    part._is_scalar = (
        True  # a value: in-place operators come back as an assignment to the property
    )
    return part


def set_real(self: Any, value: Any) -> None:
    self[...] = apply("complex_of", (value, imag(self))) if self._code[0] == "c" else value


def set_imag(self: Any, value: Any) -> None:
    if self._code[0] != "c":
        raise TypeError("array does not have imaginary part to set")
    self[...] = apply("complex_of", (real(self), value))

"""Elementwise methods of LazyArray: conversion, rounding, parts."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback, registry
from lazyfuse.frontend.call_form import call
from lazyfuse.frontend.convert import integer_range, warn_of_cast
from lazyfuse.frontend.elementwise import apply
from lazyfuse.frontend.handle import Handle, new, new_scalar, view
from lazyfuse.frontend.windows import delivered
from lazyfuse.ir.node import Map, Node
from lazyfuse.ir.order import (
    c_strides,
    copy_strides,
    f_strides,
    is_contiguous,
    is_f_contiguous,
    result_strides,
)
from lazyfuse.ops.numpy_version import NUMPY
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
    if casting == "same_value":  # depends on the values
        return fallback.call_method(self, "astype", target, order, casting, subok, copy)
    if not np.can_cast(self.dtype, target, casting):  # type: ignore[arg-type]  # NumPy checks it
        raise TypeError(
            f"Cannot cast array data from {self.dtype!r} to {target!r} "
            f"according to the rule '{casting}'"
        )
    if code(target) not in fallback.KNOWN or not target.isnative:
        return fallback.call_method(
            self, "astype", target, order=order, casting=casting, copy=copy
        )
    if not copy and target == self.dtype and order_letter(order) in "KA":
        return self
    warn_of_cast(self._code, code(target))
    return converted(self, code(target), order)


def converted(array: Any, dtype: str, order: str = "K") -> Any:
    """A new array of this dtype in the given memory order."""
    from_node = array._read()
    lying = array._layout if array._cast is not None else from_node  # parts of complex numbers
    strides = order_strides(from_node.shape, lying.strides, order)
    return _copied(array, from_node, dtype, strides)


def walked(array: Any) -> Any:
    """A copy in the order in which NumPy walks an array: axes of stride 0 stay where they are."""
    node, layout = array._read(), array._layout
    strides = result_strides([layout[:2]], layout.shape, trivial=False)
    return _copied(array, node, node.dtype, strides)


def _copied(array: Any, node: Node, dtype: str, strides: tuple[int, ...]) -> Any:
    """What an array reads, in new memory."""
    copy = Map(OPS["astype"], (node.dtype,), dtype, node.shape, strides, (node,))
    return (new_scalar if array._is_scalar else new)(copy, array._storage.device)


def as_array(value: Any) -> Any:
    """The array itself; of a scalar, a 0-d array of its own."""
    return view(value, value._layout) if value._is_scalar else value


def order_strides(shape: Shape, strides: tuple[int, ...], order: str | None) -> tuple[int, ...]:
    """The strides of a copy in order C, F, A or K. Raises ValueError for another order."""
    match order_letter(order):
        case "C":
            return c_strides(shape)
        case "F":
            return f_strides(shape)
        case "A":
            fortran = is_f_contiguous(shape, strides) and not is_contiguous(shape, strides)
            return f_strides(shape) if fortran else c_strides(shape)
    return copy_strides(shape, strides)


def order_letter(order: str | bytes | None, otherwise: str = "K") -> str:
    """C, F, A or K; None means `otherwise`. Raises: ValueError for another order, TypeError."""
    if order is None:
        return otherwise
    text = order.decode() if isinstance(order, bytes) else order
    if not isinstance(text, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    if text.upper() not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return text.upper()


def clip_method(
    self: Any, min: Any = None, max: Any = None, out: Any = None, **options: Any
) -> Any:
    """Limit the values to [min, max]; None leaves a side open, and so does an integer bound that
    the dtype does not pass."""
    if out is not None and not options and clipped_into(self, min, max, out):
        return out
    opened = open_bounds((self, min, max))
    if opened is not None:
        min, max = (None if opened[0] else min), (None if opened[1] else max)
    given = options if out is None else {**options, "out": out}
    if min is None and max is None:
        return call("positive", np.positive, (self,), given)
    name = "minimum" if min is None else "maximum" if max is None else "clip"
    ufunc: np.ufunc = getattr(np._core.umath, name)  # that of `np.clip` is private
    operands = (self, *(bound for bound in (min, max) if bound is not None))
    if out is not None and not options and delivered(ufunc, operands, out):
        return out
    return call(name, ufunc, operands, given)


def clipped_into(array: Any, least: Any, most: Any, out: Any) -> bool:
    """Whether a large array has been written what `clip` by numbers gives of one of its shape and
    dtype; others are for NumPy's rules."""
    both = (array, out)
    if any(type(each) is not Handle._concrete or each._host is not None for each in both):
        return False
    if out._writeable is not True or out._is_scalar or not {type(least), type(most)} <= _BOUNDS:
        return False
    if least is most is None or (array._code, array.shape) != (out._code, out.shape):
        return False
    found = array.clip(least, most)
    if found._code == out._code:
        out[...] = found
    return bool(found._code == out._code)


_BOUNDS = {int, float, np.float64, type(None)}


def open_bounds(operands: Sequence[Any]) -> tuple[bool, ...] | None:
    """Which bounds of clip are integers that the values of an integer array cannot pass: NumPy
    leaves that side open, also where the result has another dtype. None for other arrays."""
    dtype = getattr(operands[0], "_code", "") if operands else ""
    if dtype[:1] not in ("i", "u"):
        return None
    low, high = integer_range(dtype)
    passed = operator.ge, operator.le
    return tuple(
        [
            type(bound) is int and is_open(limit, bound)
            for bound, limit, is_open in zip(operands[1:], (low, high), passed, strict=False)
        ]
    )


def conjugate_method(self: Any, out: Any = None) -> Any:
    """The complex conjugate; a real array itself."""
    if out is not None:
        return apply("conjugate", (self,), out=out)
    return registry.NATIVE["conjugate"](self) if self._code[0] == "c" else self  # never warns


def round_method(self: Any, decimals: int = 0, out: Any = None) -> Any:
    """NumPy's rounding: multiply, rint, divide; integers round to tens in NumPy. Raises:
    ValueError for an output of another size, TypeError for a tuple."""
    decimals = operator.index(decimals)
    if isinstance(out, tuple):
        raise TypeError("output must be an array")
    if getattr(out, "size", self.size) != self.size:
        raise ValueError("invalid output shape")
    if self._code[0] in "iub":
        if decimals >= 0 and self._code != "b1":
            if out is not None:
                return apply("positive", (self,), out=out)
            return converted(self, self._code) if NUMPY >= (2, 4) else self
        return fallback.call_method(self, "round", decimals, out=out)
    if self._code[0] == "c":
        return fallback.call_method(self, "round", decimals, out=out)
    if decimals == 0:
        return apply("rint", (self,), out=out)
    scale = 10.0 ** abs(decimals)
    first, second = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    scaled = apply(first, (self, scale))
    if out is not None and out.dtype.kind in "fc":  # which NumPy computes in from here on
        scaled = scaled.astype(out.dtype, copy=False)
    scaled = apply("rint", (scaled,))
    flags = self.flags  # NumPy computes in an array that lies as PyArray_Round makes it
    order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    return apply(second, (scaled, scale), out=out, order=order)

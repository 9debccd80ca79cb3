"""The operators of LazyArray, as functions that make its methods."""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from lazyfuse.frontend import fallback, others, registry, shortcuts, small
from lazyfuse.frontend.elementwise import apply, multiple
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.opened import called
from lazyfuse.frontend.shortcuts import binary, unary
from lazyfuse.frontend.varying import asked, is_varying
from lazyfuse.frontend.windows import delivered, settled
from lazyfuse.ops.numpy_version import NUMPY
from lazyfuse.ops.rules import Rule
from lazyfuse.ops.table import OPS
from lazyfuse.runtime.gpu_arrays import is_cupy

_Method = TypeVar("_Method", bound=Callable[..., Any])


def operator(name: str) -> Callable[[Any, Any], Any]:
    """The method of a binary operator."""

    def method(self: Any, other: Any) -> Any:
        if has_own_idea(other):
            return override(OPS[name].ufunc, (self, other), other)
        return apply(name, (self, other))

    return _named(binary(method), name)


def _named(method: _Method, name: str) -> _Method:
    method.__name__ = method.__qualname__ = name
    return method


def reflected(name: str) -> Callable[[Any, Any], Any]:
    """The method of a reflected binary operator."""

    def method(self: Any, other: Any) -> Any:
        if has_own_idea(other):
            return override(OPS[name].ufunc, (other, self), other)
        return apply(name, (other, self))

    return _named(binary(method, reflected=True), f"reflected_{name}")


#: Operands that never go first.
_PLAIN = (Handle, bool, int, float, complex, np.generic, list, tuple)
_ARRAYS = (np.ndarray, np.memmap)


def has_own_idea(other: Any) -> bool:
    """Whether the other operand has its own idea of arithmetic: classes derived from NumPy's,
    pandas, xarray, dask; by priority scipy.sparse."""
    if type(other) in _ARRAYS or isinstance(other, _PLAIN):
        return False
    if hasattr(other, "__array_ufunc__"):
        return not is_cupy(other)
    return getattr(type(other), "__array_priority__", 0.0) > 0.0  # that of ndarray


def override(ufunc: Any, operands: tuple[Any, Any], other: Any) -> Any:
    """What an operator gives where `other` has its own idea, as binop_should_defer in NumPy's
    binop_override.h has it: what `other` makes of the ufunc; NotImplemented where it takes none,
    for Python to ask its reflected operator; and of what goes by priority, or is an array of
    NumPy's, what Python makes of the operator with NumPy's array."""
    own = getattr(type(other), "__array_ufunc__", ufunc)
    if own is None or is_varying(other):
        return NotImplemented
    if own is ufunc or isinstance(other, np.ndarray):
        return fallback.operate(_PYTHONS[ufunc.__name__], *operands)
    return others.of_ufunc(ufunc, "__call__", operands, {})


def override_in_place(ufunc: Any, array: Any, other: Any, **words: Any) -> Any:
    """As `override`, of an operator that writes into `array` and gives the ufunc such keywords:
    NotImplemented where Python is to bind the name to what the operator gives, which goes by
    priority alone."""
    if is_varying(other) or not hasattr(type(other), "__array_ufunc__"):
        return NotImplemented
    return others.of_ufunc(ufunc, "__call__", (array, other), {**words, "out": (array,)})


_PYTHONS = {
    "add": python.add, "subtract": python.sub, "multiply": python.mul, "divide": python.truediv,
    "floor_divide": python.floordiv, "remainder": python.mod, "power": python.pow,
    "bitwise_and": python.and_, "bitwise_or": python.or_, "bitwise_xor": python.xor,
    "left_shift": python.lshift, "right_shift": python.rshift, "matmul": python.matmul,
    "equal": python.eq, "not_equal": python.ne, "less": python.lt, "less_equal": python.le,
    "greater": python.gt, "greater_equal": python.ge, "divmod": divmod,
}  # fmt: skip


def comparison(name: str) -> Callable[[Any, Any], Any]:
    """== and !=: operands that cannot be compared are unequal everywhere, as in NumPy."""
    special, same = ("__eq__", "zeros_like") if name == "equal" else ("__ne__", "ones_like")

    def method(self: Any, other: Any) -> Any:
        if has_own_idea(other):
            return override(OPS[name].ufunc, (self, other), other)
        if other is None or isinstance(other, str):
            if not self._layout.shape:  # of which NumPy gives a number
                return fallback.call(OPS[name].ufunc, self, np.asarray(other, object))
            return registry.NATIVE[same](self, bool)
        try:
            return apply(name, (self, other))
        except np._core._exceptions._UFuncNoLoopError:  # type: ignore[attr-defined]  # private
            return fallback.call_method(self, special, other)

    return _named(binary(method), name)


def prefix(name: str) -> Callable[[Any], Any]:
    """The method of a unary operator."""

    def method(self: Any) -> Any:
        return apply(name, (self,))

    return _named(unary(method), name)


def in_place(name: str) -> Callable[[Any, Any], Any]:
    """The method of an in-place operator: the array is written, all its views see it."""

    def method(self: Any, other: Any) -> Any:
        if self._is_scalar:
            return NotImplemented  # Python then rebinds the name to self + other
        if has_own_idea(other):
            return override_in_place(OPS[name].ufunc, self, other)
        if is_exact and settled(OPS[name].ufunc, self, other):
            return self
        return apply(name, (self, other), out=self)

    is_exact = small.is_exact((name,))
    return _named(shortcuts.in_place(method), f"in_place_{name}")


def power_operator(self: Any, exponent: Any, modulus: Any = None) -> Any:
    """x ** y. Scalar exponents 2, 1, 0.5, -1 are square, positive, sqrt and reciprocal,
    bit for bit as in NumPy."""
    if modulus is not None:
        return NotImplemented
    if has_own_idea(exponent):
        return override(np.power, (self, exponent), exponent)
    shortcut = power_shortcut(self, exponent)
    return _power(self, exponent) if shortcut is None else _POWERS[shortcut](self)


def reflected_power(self: Any, base: Any, modulus: Any = None) -> Any:
    """base ** x. Numbers and what NumPy makes arrays of go by the ufunc, which is computed at once
    for small arrays."""
    if modulus is not None:
        return NotImplemented
    if type(base) in (int, float, complex, list, tuple, np.ndarray):
        return power_ufunc[-1](base, self)
    return _reflected_power(self, base)


_reflected_power = reflected("power")
#: The ufunc of the package, the last one, when it is made: `ufunc.py` says so.
power_ufunc: list[Callable[..., Any]] = [np.power]


def in_place_power(self: Any, exponent: Any) -> Any:
    if self._is_scalar:
        return NotImplemented
    if has_own_idea(exponent):
        return override_in_place(np.power, self, exponent)
    shortcut = power_shortcut(self, exponent)
    if shortcut is None:
        return apply("power", (self, exponent), out=self)
    if delivered(getattr(np, shortcut), (self,), self):
        return self
    return apply(shortcut, (self,), out=self)


def power_shortcut(base: Any, exponent: Any) -> str | None:
    """What NumPy's `array ** scalar` runs instead of power (array_power in number.c)."""
    exponent = asked(exponent)
    if type(exponent) not in (int, float):
        return None
    if base._code[0] in "fc":
        return _EXPONENTS.get(float(exponent))
    if base._code == "b1" and type(exponent) is int:
        is_squared = NUMPY >= (2, 4) and exponent == 2 and not base._is_scalar
        return "square" if is_squared else None
    if base._code[0] in "iu" and type(exponent) is int:
        return {1: "positive", 2: "square"}.get(exponent)
    return None


_EXPONENTS = {1.0: "positive", 2.0: "square", 0.5: "sqrt", -1.0: "reciprocal"}
_POWERS = {name: prefix(name) for name in _EXPONENTS.values()}
#: Of x ** 2, for machine code.
SQUARES = _POWERS["square"].recipes  # type: ignore[attr-defined]  # a method has them
_power = operator("power")


def divmod_operator(self: Any, other: Any) -> Any:
    if has_own_idea(other):
        return override(np.divmod, (self, other), other)
    return _divided(self, other)


def reflected_divmod(self: Any, other: Any) -> Any:
    if has_own_idea(other):
        return override(np.divmod, (other, self), other)
    return _divided(other, self)


def _divided(left: Any, right: Any) -> Any:
    """Quotients and remainders: at once where the operands are at hand, and small or new."""
    found = called(np.divmod, (left, right), {}, Rule.SPREAD, 2)
    return multiple("divmod", (left, right)) if found is small.LARGE else found

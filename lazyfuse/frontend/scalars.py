"""What NumPy gives as scalars (elements, 0-d results), which are pending here.

Once the value is known, arithmetic of it with other numbers is that of NumPy's scalars, at once,
where small arrays are computed at once, too; and what asks for it again finds NumPy's scalar.
"""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable
from functools import wraps
from sys import _getframe
from typing import Any

import numpy as np

from lazyfuse import config
from lazyfuse.frontend.export import known, value_of
from lazyfuse.frontend.handle import Handle, new_scalar
from lazyfuse.frontend.operators import operator, power_shortcut, reflected
from lazyfuse.frontend.sequences import SCALARS
from lazyfuse.runtime.heard import heard

#: Numbers whose arithmetic is NumPy's, bit by bit: products of complex scalars are not those of
#: arrays.
_REAL = SCALARS - {complex, np.complex64, np.complex128}


def giving_numbers(method: Callable[..., Any], convert: Callable[..., Any]) -> Callable[..., Any]:
    """A conversion of arrays, for scalars: of a value that is known, NumPy's scalar's. Parts of
    complex numbers are lost with a warning, of which the method knows."""

    @wraps(method)
    def call(self: Any, *args: Any) -> Any:
        value = known(self)
        return convert(value, *args) if type(value) in _REAL else method(self, *args)

    return call


def formatted(self: Any, spec: str) -> str:
    """`format(x, spec)` of the value."""
    return format(value_of(self), spec)


def written_out(self: Any) -> str:
    """`str(x)` of the value."""
    return str(value_of(self))


def shown(self: Any) -> str:
    """`repr(x)` of the value."""
    return repr(value_of(self))


def item(self: Any, *args: Any) -> Any:
    """The value as a Python number."""
    return value_of(self).item(*args)


def at_once(
    recorded: Callable[[Any, Any], Any], compute: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """A binary operator of arrays, for scalars: with another number, both known, what `compute`
    gives of NumPy's scalars, which for real numbers has the bits of the kernels'."""

    @wraps(recorded)
    def call(self: Any, other: Any) -> Any:
        given = known(other) if type(other) is Handle._scalar else other
        if type(given) in _REAL and config.current().eager_size:
            value = known(self)
            if type(value) in _REAL:
                return heard(compute, value, given)
        return recorded(self, other)

    return call


def alone(recorded: Callable[[Any], Any], compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A unary operator, as `at_once`; the modulus of a complex number is the kernels'."""

    @wraps(recorded)
    def call(self: Any) -> Any:
        value = known(self)
        is_plain = type(value) in _REAL and config.current().eager_size > 0
        return heard(compute, value) if is_plain else recorded(self)

    return call


def power(recorded: Callable[..., Any]) -> Callable[..., Any]:
    """`x ** y`, as `at_once`, where the kernels' is exact: of integers, and where it is a square
    or the like."""

    @wraps(recorded)
    def call(self: Any, exponent: Any, modulus: Any = None) -> Any:
        value = known(self) if type(exponent) in _REAL and modulus is None else None
        if isinstance(value, np.integer | np.floating) and config.current().eager_size:
            shortcut = power_shortcut(self, exponent)
            if shortcut is not None:
                return heard(getattr(np, shortcut), value)
            if isinstance(value, np.integer) and isinstance(exponent, int | np.integer):
                return heard(python.pow, value, exponent)
        return recorded(self, exponent, modulus)

    return call


def class_of(self: Any) -> type:
    """NumPy's scalar type: `isinstance(x.sum(), np.floating)` is what it is in NumPy. It is no
    float to who calls `float.__repr__` of it then, and has another way for what it does not know
    (`integrations/json.py`)."""
    if self._code == "f8" and _getframe(1).f_globals.get("__name__") == "json.encoder":
        return type(self)
    kind: type = np.dtype(self._code).type
    return kind


def hash_of(self: Any) -> int:
    """The hash of the value, as NumPy's scalars have it; computes it."""
    return hash(value_of(self))


#: What an integer repeats. NumPy's scalars multiply all else, as arrays do.
_REPEATED = (list, tuple, str, bytes, bytearray)

_times, _times_by = operator("multiply"), reflected("multiply")


#: The operators by their methods' names, without those that records have otherwise.
_BINARY: dict[str, Callable[..., Any]] = {
    "add": python.add, "sub": python.sub, "mul": python.mul, "truediv": python.truediv,
    "floordiv": python.floordiv, "mod": python.mod, "divmod": divmod, "and": python.and_,
    "or": python.or_, "xor": python.xor, "lshift": python.lshift, "rshift": python.rshift,
}  # fmt: skip
_COMPARISONS: dict[str, Callable[..., Any]] = {
    "eq": python.eq, "ne": python.ne, "lt": python.lt, "le": python.le, "gt": python.gt,
    "ge": python.ge,
}  # fmt: skip
_UNARY: dict[str, Callable[..., Any]] = {
    "neg": python.neg,
    "pos": python.pos,
    "abs": abs,
    "invert": python.invert,
}


def _rounded(value: Any, *decimals: Any) -> Any:
    return heard(round, value, *decimals)


_CONVERSIONS: dict[str, Callable[..., Any]] = {
    "bool": bool, "int": int, "float": float, "index": python.index, "round": _rounded,
}  # fmt: skip


def install(kind: Any) -> None:
    """Have the operators of a class of scalars compute at once what is known."""
    changed: dict[str, Callable[..., Any]] = {}
    for name, compute in (_BINARY | _COMPARISONS).items():
        changed[name] = at_once(getattr(kind, f"__{name}__"), compute)
    for name, compute in _BINARY.items():
        swapped = _swapped(compute)
        changed[f"r{name}"] = at_once(getattr(kind, f"__r{name}__"), swapped)
    for name, compute in _UNARY.items():
        changed[name] = alone(getattr(kind, f"__{name}__"), compute)
    for name, convert in _CONVERSIONS.items():
        changed[name] = giving_numbers(getattr(kind, f"__{name}__"), convert)
    changed["pow"] = power(kind.__pow__)
    for name, method in changed.items():
        setattr(kind, f"__{name}__", method)
    for name in ("shape", "strides", "dtype"):
        setattr(kind, name, _read_only(name, getattr(kind, name)))


def _read_only(name: str, attribute: Any) -> property:
    """An attribute that arrays let be set, and NumPy's scalars do not."""

    def refuse(self: Any, value: Any) -> None:
        raise AttributeError(f"attribute {name!r} of 'numpy.generic' objects is not writable")

    return property(attribute.fget, refuse)


def _swapped(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda value, other: compute(other, value)


def no_product(self: Any, other: Any) -> Any:
    """`@` of a scalar: NumPy's have none."""
    return NotImplemented


def times(self: Any, other: Any) -> Any:
    """`x * other`. Integers repeat lists, tuples and text, as in Python.
    Raises: TypeError for those and a value that is no integer."""
    value: Any = value_of(self) if isinstance(other, _REPEATED) else None
    return _times(self, other) if value is None else value * other


def reflected_times(self: Any, other: Any) -> Any:
    """`other * x`, as `times`."""
    value: Any = value_of(self) if isinstance(other, _REPEATED) else None
    return _times_by(self, other) if value is None else other * value


def truncated(self: Any) -> int:
    """`math.trunc(x)`. Raises: TypeError for scalars that NumPy cannot truncate."""
    value: Any = value_of(self)
    found: int = math.trunc(value)
    return found


def conforming(self: Any, protocol: Any) -> Any:
    """The value for a database (`sqlite3`), which asks for it so."""
    return value_of(self).item()


def giving_scalars(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of arrays, for scalars: what has no axes is a scalar again, also an output."""

    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        found = method(self, *args, **options)
        if not isinstance(found, Handle) or found._layout.shape:
            return found
        return new_scalar(found._read(), found._storage.device)

    return call


def on_a_copy(name: str) -> Callable[..., Any]:
    """A method that changes arrays: of a scalar, which stays what it is, NumPy changes a copy."""

    @wraps(getattr(np.generic, name))
    def call(self: Any, *args: Any, **options: Any) -> Any:
        return getattr(value_of(self), name)(*args, **options)

    return call


class Missing:
    """An attribute that arrays have and scalars have not."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        raise AttributeError  # upon which Python asks `attribute`


def attribute(self: Any, name: str) -> Any:
    """Attributes that only NumPy's scalars have (`is_integer`, `hex`, `bit_count`...).
    Raises: AttributeError for everything else; private names compute nothing."""
    if name in _PARTS:  # of one that is not made yet, as whoever looks at all objects meets
        raise AttributeError(name)
    if name.startswith("_") or not hasattr(np.dtype(self._code).type, name):
        raise AttributeError(
            f"'numpy.{np.dtype(self._code).name}' object has no attribute '{name}'"
        )
    return getattr(value_of(self), name)


_PARTS = frozenset(("_host", "_storage", "_layout", "_cast", "_code", "_known"))

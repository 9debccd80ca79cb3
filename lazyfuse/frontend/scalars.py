"""What NumPy gives as scalars (elements, 0-d results) while they are still pending."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from lazyfuse.frontend.export import to_array
from lazyfuse.frontend.handle import Handle, new_scalar
from lazyfuse.frontend.operators import operator, reflected


def value_of(self: Any) -> np.generic:
    """The value as NumPy's scalar; computes it."""
    value: Any = to_array(self)[()]
    found: np.generic = value
    return found


def class_of(self: Any) -> type:
    """NumPy's scalar type: `isinstance(x.sum(), np.floating)` is what it is in NumPy."""
    kind: type = np.dtype(self._code).type
    return kind


def hash_of(self: Any) -> int:
    """The hash of the value, as NumPy's scalars have it; computes it."""
    return hash(value_of(self))


#: What an integer repeats. NumPy's scalars multiply all else, as arrays do.
_REPEATED = (list, tuple, str, bytes, bytearray)

_times, _times_by = operator("multiply"), reflected("multiply")


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


_PARTS = frozenset(("_host", "_storage", "_layout", "_cast", "_code"))

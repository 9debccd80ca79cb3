"""Classes that a program derives from `lazyfuse.ndarray`; and methods that it asks of that class,
as `np.ndarray.__getitem__(self, key)`, which take arrays of NumPy's class as well.

What is looked up in an array does not come here; what NumPy's C code looks up in its class stays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from types import MethodDescriptorType, WrapperDescriptorType
from typing import Any

import numpy as np

from lazyfuse.frontend import buffers, fallback
from lazyfuse.frontend.handle import Handle

#: Keys that arrays of ours are not in.
_NO_ARRAYS = frozenset((int, slice, str, np.ndarray))


class Derived(np.ndarray):
    """The base of classes that a program derives from `lazyfuse.ndarray`: NumPy's ndarray, that
    knows what the program means by it."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """As NumPy's, of arrays of lazyfuse, too. Aliasing: as `frombuffer`."""
        return buffers.derived(cls, args, kwargs)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """As NumPy's; `view(lazyfuse.ndarray)` is of NumPy's class."""
        given = [_numpys(value) for value in args]
        return super().view(*given, **{name: _numpys(kwargs[name]) for name in kwargs})

    # NumPy takes what is empty and of another class for positions, which masks are not.

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key if type(key) in _NO_ARRAYS else fallback.lower(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key if type(key) in _NO_ARRAYS else fallback.lower(key), value)


class Overriding(Derived):
    """The base of those that say themselves what ufuncs make of them."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        """What `super()` gives them: NumPy's, of its ufunc and arrays, for it knows nothing of
        what overrides ufuncs."""
        given = [fallback.lower(each) if isinstance(each, Handle) else each for each in inputs]
        numpys = getattr(ufunc, "_numpys", ufunc)
        return super().__array_ufunc__(numpys, method, *given, **kwargs)


def _numpys(kind: Any) -> Any:
    return np.ndarray if kind is Handle._concrete else kind


_LOOKED_UP = frozenset(("__array_ufunc__", "__array_function__"))
#: The names that are looked up in a class of arrays as `attribute` says.
NAMES = frozenset(
    name
    for name, value in vars(np.ndarray).items()
    if isinstance(value, MethodDescriptorType | WrapperDescriptorType) and name not in _LOOKED_UP
)


def attribute(kind: type, name: str) -> Any:
    """What a class has by a name. Raises: AttributeError."""
    if name not in NAMES:
        return type.__getattribute__(kind, name)
    try:
        own = type.__getattribute__(kind, name)
    except AttributeError:
        own = None
    # of what an array has not, or only for who says so, classes derived from ndarray ask
    is_ours = own is not None and not isinstance(own, property)
    return _method(kind, name, own) if is_ours else getattr(np.ndarray, name)


@cache
def _method(kind: type, name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's method for its arrays, our own for ours."""
    numpys: Callable[..., Any] = getattr(np.ndarray, name)

    @wraps(own)
    def either(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        found = numpys if isinstance(self, np.ndarray) else own
        return found(self, *args, **kwargs)

    either.__module__, either.__qualname__ = kind.__module__, f"{kind.__name__}.{name}"
    return either

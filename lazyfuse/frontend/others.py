"""Arrays of other libraries among the operands: pandas, xarray, dask, sparse, polars, pint.

What they make of a ufunc or a function is theirs, as with NumPy's arrays. One that does not know
LazyArray is given NumPy's arrays instead.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.handle import Handle
from lazyfuse.runtime.gpu_arrays import is_cupy

_OWN = (Handle, np.ndarray, np.generic)
_NUMPYS = np.ndarray.__array_function__


def overrides(value: Any) -> bool:
    """Whether an operand overrides ufuncs itself and should decide."""
    override = getattr(type(value), "__array_ufunc__", None)
    return override is not None and not isinstance(value, _OWN) and not is_cupy(value)


def of_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What other libraries' operands make of a ufunc. Raises: what they raise."""
    for value in filter(overrides, (*inputs, *(kwargs.get("out") or ()))):
        with suppress(TypeError):  # it may want NumPy's arrays
            found = value.__array_ufunc__(ufunc, method, *inputs, **kwargs)
            if found is not NotImplemented:
                return found
    return fallback.run(getattr(ufunc, method), *inputs, **kwargs)


def of_function(function: Any, types: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What other libraries' arguments make of a function that NumPy has dispatched;
    NotImplemented where there are none. Raises: what they raise."""
    theirs = [value for value in _values(args, kwargs) if _overrides_functions(value)]
    for value in theirs:
        with suppress(TypeError):  # it may want NumPy's arrays
            found = value.__array_function__(function, types, args, kwargs)
            if found is not NotImplemented:
                return found
    return fallback.run(function, *args, **kwargs) if theirs else NotImplemented


def call(public: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a function of NumPy's that others decide on. Raises: what they raise."""
    has_methods = _has_methods(public, args) and not _overrides_functions(args[0])
    try:  # NumPy does not ask what only has methods: we would be asked, again
        return (public._implementation if has_methods else public)(*args, **kwargs)
    except TypeError:  # it may want NumPy's arrays
        return fallback.run(public, *args, **kwargs)


#: Functions that look for other libraries' arrays inside their lists too.
_IN_LISTS = frozenset(
    "block choose column_stack concatenate dstack histogram2d histogramdd hstack lexsort "
    "multi_dot piecewise select stack vstack".split()
)

#: Functions that are methods of what they are given first (`_wrapfunc` and `_wrapreduction` of
#: NumPy's fromnumeric.py, `mean` and its like), or parts of it.
_METHODS = frozenset(
    "all amax amin any argmax argmin argpartition argsort around choose clip compress cumprod "
    "cumsum max mean min nonzero prod put repeat reshape round searchsorted squeeze std sum "
    "swapaxes take transpose var array_split split hsplit vsplit dsplit flip".split()
)


def decide(public: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether another library decides on a function: by `__array_function__`, or by its method of
    what comes first. Also for a generator in place of a list, which NumPy refuses."""
    if not hasattr(public, "_implementation"):
        return False
    name = public.__name__
    if _has_methods(public, args):
        return True
    if name in _IN_LISTS:
        if any(isinstance(value, Generator) for value in (*args, *kwargs.values())):
            return True
        return any(map(_overrides_functions, _values(args, kwargs)))
    return any(map(_overrides_functions, (*args, *kwargs.values())))


def _has_methods(public: Any, args: Sequence[Any]) -> bool:
    """Whether NumPy's function is a method of its first argument: of one that overrides ufuncs, or
    goes before arrays and cannot be one (scipy.sparse)."""
    if not args or public.__name__ not in _METHODS or isinstance(args[0], _OWN):
        return False
    kind = type(args[0])
    is_no_array = not hasattr(kind, "__array__") and hasattr(kind, "__array_priority__")
    return overrides(args[0]) or is_no_array and hasattr(kind, public.__name__)


def _overrides_functions(value: Any) -> bool:
    """Whether an argument decides on functions itself, as arrays of a class derived from NumPy's
    may, too."""
    own = getattr(type(value), "__array_function__", None)
    return own is not None and own is not _NUMPYS and not isinstance(value, Handle)


def _values(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Any]:
    """The arguments, and what is in lists and tuples among them."""
    for value in (*args, *kwargs.values()):
        yield value
        if isinstance(value, list | tuple):
            yield from value

"""numpy.testing for LazyArrays: every assertion computes its arguments first, all in one run.

What only compares values goes to NumPy's own assertion as NumPy's arrays and scalars, so that its
messages are NumPy's. Assertions about a call (`assert_raises`, `assert_warns`, ...) call it lazily
and compute its result: an error or a warning of the computation is part of what they watch.
Names that are no assertions are NumPy's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt

from lazyfuse.frontend import fallback
from lazyfuse.frontend.control import materialize
from lazyfuse.frontend.handle import Handle

#: Assertions that call their argument; the position of that argument.
_CALLERS = {
    "assert_raises": 1,
    "assert_raises_regex": 2,
    "assert_warns": 1,
    "assert_no_warnings": 0,
    "assert_no_gc_cycles": 0,
}


def _values(value: Any) -> Any:
    """NumPy's array or scalar for a LazyArray, also inside lists, tuples and dicts."""
    if isinstance(value, Handle):
        array = np.asarray(value)
        return array[()] if value._is_scalar else array
    if type(value) in (list, tuple):
        return type(value)(_values(item) for item in value)
    if type(value) is dict:
        return {key: _values(item) for key, item in value.items()}
    return value


def computing(assertion: Callable[..., Any]) -> Callable[..., Any]:
    """An assertion that computes its arguments first, in one run, and hands NumPy's arrays and
    scalars to `assertion`."""

    @functools.wraps(assertion)
    def compare(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        materialize(args, kwargs)
        return fallback.called(assertion, _values(args), _values(kwargs))

    return compare


def _calling(assertion: Callable[..., Any], position: int) -> Callable[..., Any]:
    @functools.wraps(assertion)
    def watch(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if len(args) <= position or not callable(args[position]):
            return assertion(*args, **kwargs)
        function = args[position]

        def computed(*rest: Any, **options: Any) -> Any:
            return materialize(function(*rest, **options))

        return assertion(*args[:position], computed, *args[position + 1 :], **kwargs)

    return watch


__all__ = list(npt.__all__)


@functools.cache
def __getattr__(name: str) -> Any:
    """Give NumPy's name of the module, assertions adapted. Raises: AttributeError."""
    value = getattr(npt, name)
    if name in _CALLERS:
        return _calling(value, _CALLERS[name])
    return computing(value) if name.startswith("assert_") else value

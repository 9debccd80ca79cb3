"""Functions that took more in an older version of NumPy, for that version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback, manipulation, quantiles
from lazyfuse.ops.numpy_version import NUMPY
from lazyfuse.runtime.caller import warn_here

Function = Callable[..., Any]


def reshape(a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None,
            copy: bool | None = None) -> Any:  # fmt: skip
    """As `manipulation.reshape`. Raises: TypeError without a shape, or with two."""
    if newshape is None and shape is None:
        raise TypeError("reshape() missing 1 required positional argument: 'shape'")
    if newshape is None:
        return manipulation.reshape(a, shape, order, copy=copy)
    if shape is not None:
        raise TypeError("You cannot specify 'newshape' and 'shape' arguments at the same time.")
    warn_here(
        "`newshape` keyword argument is deprecated, use `shape=...` or pass shape positionally "
        "instead. (deprecated in NumPy 2.1)",
        DeprecationWarning,
    )
    return manipulation.reshape(a, newshape, order, copy=copy)


def _interpolating(function: Function, numpys: Function) -> Function:
    """A function with the keyword that `method` was before."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if options.get("interpolation") is not None:
            return fallback.call(numpys, *args, **options)
        options.pop("interpolation", None)
        return function(*args, **options)

    return call


def _older() -> dict[str, Function]:
    if NUMPY >= (2, 4):
        return {}
    return {
        "reshape": reshape,
        "quantile": _interpolating(quantiles.quantile, np.quantile),
        "percentile": _interpolating(quantiles.percentile, np.percentile),
    }


FUNCTIONS: Mapping[str, Function] = _older()

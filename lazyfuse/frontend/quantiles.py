"""Order statistics: median, quantile, percentile, as recorded library calls.

What NumPy warns of or refuses because of values (all-NaN slices, quantiles outside [0, 1]) has to
be known at the call: there NumPy runs at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.convert import ForeignError
from lazyfuse.frontend.library import Call, record
from lazyfuse.frontend.reductions import native
from lazyfuse.ops.numpy_version import NUMPY

_REASON = "order statistics partition in NumPy"


def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
           keepdims: Any = False) -> Any:  # fmt: skip
    """The middle value along axes, or the mean of the middle two. NaN wins."""
    options = {"axis": axis, "keepdims": keepdims}
    array = native(a)
    if array is None or not array.size or out is not None:
        return fallback.call(np.median, a, out=out, **options)
    try:
        return record(Call(np.median, options=_frozen(options)), (array,), reason=_REASON)
    except ForeignError:
        return fallback.call(np.median, a, **options)


def quantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
             method: str = "linear", keepdims: bool = False, *,
             weights: Any = None) -> Any:  # fmt: skip
    """Quantiles `q`, in [0, 1], along axes; NaN wins. Shapes: that of `q`, then the kept axes."""
    return _quantiles(np.quantile, 1, a, q, axis, out, method, keepdims, weights)


def percentile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
               method: str = "linear", keepdims: bool = False, *,
               weights: Any = None) -> Any:  # fmt: skip
    """As `quantile`, with `q` in [0, 100]."""
    return _quantiles(np.percentile, 100, a, q, axis, out, method, keepdims, weights)


def _quantiles(
    function: Callable[..., Any],
    most: float,
    a: Any,
    q: Any,
    axis: Any,
    out: Any,
    method: str,
    keepdims: bool,
    weights: Any,
) -> Any:
    options = {"axis": axis, "method": method, "keepdims": keepdims}
    array = native(a)
    if weights is not None or out is not None or array is None or not array.size:
        return fallback.call(function, a, q, out=out, weights=weights, **options)
    given = fallback.lower(q)
    if NUMPY < (2, 4) and function is np.quantile and isinstance(given, float):
        given = float(given)
    places = np.asarray(given)
    if places.dtype.kind not in "iuf" or not np.all((places >= 0) & (places <= most)):
        return fallback.call(function, a, q, **options)
    named = _frozen(options)
    try:
        if type(given) in (int, float):  # weak, as np.float64 is not since NumPy 2.4
            return record(
                Call(_at, (function, given), named, function.__name__), (array,), reason=_REASON
            )
        return record(Call(function, options=named), (array, places), reason=_REASON)
    except ForeignError:
        return fallback.call(function, a, q, **options)


def _at(function: Callable[..., Any], q: float, array: Any, **options: Any) -> Any:
    return function(array, q, **options)


def _frozen(options: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Options that can be compared; a list of axes is a tuple."""
    return tuple(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in options.items()
    )

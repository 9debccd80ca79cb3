"""Each of NumPy's elementwise ufuncs by itself, over some dtypes: the one table in which an
operation that is slower than NumPy's cannot hide behind what it is fused with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload

#: How far results may be from NumPy's, by dtype.
DTYPES = {"f8": 1e-14, "f4": 1e-6, "i8": 0.0}
#: Operands are from 0.1 to 0.9; of these, from 1.1 to 1.9.
_ABOVE_ONE = ("arccosh", "acosh")


def names(dtype: str) -> list[str]:
    """The ufuncs that take a dtype, each under its first name."""
    found: dict[np.ufunc, str] = {}
    for name in dir(np):
        ufunc = getattr(np, name)
        if isinstance(ufunc, np.ufunc) and ufunc.signature is None and _takes(ufunc, dtype):
            found.setdefault(ufunc, name)
    return list(found.values())


def _takes(ufunc: np.ufunc, dtype: str) -> bool:
    """Whether a ufunc has a loop for a dtype, without a cast to another one."""
    kind = np.dtype(dtype)
    try:
        found = ufunc.resolve_dtypes((*[kind] * ufunc.nin, *[None] * ufunc.nout))
    except TypeError:
        return False
    return found[0] == kind


def _program(name: str) -> Callable[[Any, Data], Any]:
    return lambda xp, data: getattr(xp, name)(*data.values())


def _inputs(name: str, dtype: str) -> Callable[[int], Data]:
    """One array or two, as many as the ufunc takes."""
    count, start = getattr(np, name).nin, 1.1 if name in _ABOVE_ONE else 0.1

    def made(size: int) -> Data:
        draw = np.random.default_rng(81)
        if dtype[0] == "i":  # the second is an amount to shift by, or an exponent, too
            return {key: draw.integers(1, most, size).astype(dtype)
                    for key, most in zip("xy"[:count], (100, 8), strict=False)}  # fmt: skip
        return {key: (draw.random(size) * 0.8 + start).astype(dtype) for key in "xy"[:count]}

    return made


WORKLOADS = tuple(
    Workload(f"{name}_{dtype}", _program(name), _inputs(name, dtype), tolerance, "ufuncs")
    for dtype, tolerance in DTYPES.items()
    for name in names(dtype)
)

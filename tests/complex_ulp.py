"""Error bounds of complex functions, the points where they are measured, and the reference: NumPy
in long double.

Errors are those of a part, in units in the last place of that part: stricter than of the number as
a whole. `BOUNDS` is the one table: tests assert it, docs/accuracy.md prints it beside what
scripts/ulp_table measures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

BOUNDS: Mapping[str, tuple[float, float]] = {  # name: (complex64, complex128), in ulp
    "exp": (2.8, 2.8),
    "log": (3.2, 3.2),
    "log2": (4.0, 4.0),
    "log10": (4.2, 4.2),
    "sin": (2.8, 2.8),
    "cos": (2.8, 2.8),
    "sinh": (2.8, 2.8),
    "cosh": (2.8, 2.8),
}


def points(dtype: str, count: int, seed: int = 0) -> Any:
    """Return a dense range, all magnitudes, and the neighbourhood of the unit circle."""
    rng = np.random.default_rng(seed)
    third = count // 3
    dense = rng.normal(size=third) * 4 + 1j * rng.normal(size=third) * 4
    sizes = 2.0 ** rng.uniform(-40, 6, (2, third)) * rng.choice((-1.0, 1.0), (2, third))
    angles = rng.uniform(-np.pi, np.pi, third)
    near = np.exp(1j * angles) * (1 + rng.normal(size=third) * 10.0 ** rng.uniform(-9, -1, third))
    return np.concatenate([dense, sizes[0] + 1j * sizes[1], near]).astype(dtype)


def measure(
    name: str, dtype: str, count: int, function: Callable[[Any], Any], seed: int = 0
) -> float:
    """Return the largest error of a part of a function's results, in ulp."""
    z = points(dtype, count, seed)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(z.astype(np.clongdouble))
        found = np.asarray(function(z)).astype(np.clongdouble)
    real = np.float32 if dtype == "c8" else np.float64
    worst = 0.0
    for part in ("real", "imag"):
        wanted, given = getattr(exact, part), getattr(found, part)
        normal = np.abs(wanted) >= np.finfo(real).smallest_normal
        normal &= np.abs(wanted) <= np.finfo(real).max
        unit = np.spacing(np.abs(wanted[normal]).astype(real)).astype(np.longdouble)
        worst = max(worst, float(np.max(np.abs(given - wanted)[normal] / unit)))
    return worst

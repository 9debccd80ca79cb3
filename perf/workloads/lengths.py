"""Programs whose arrays have lengths that have hardly been met before: steps of an elimination,
lags, growing windows, what a mask picks. Each call goes on where the one before has ended."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload, side

#: Lengths of a call.
STEPS = 10


def lengths(data: Data, longest: int) -> range:
    """The next lengths, down to half of the longest, then from there again."""
    begin = next(data["turns"]) * STEPS % max(longest // 2 - STEPS, 1)
    return range(longest - begin, longest - begin - STEPS, -1)


def shortened(xp: Any, data: Data) -> Any:
    """A polynomial of ever shorter parts."""
    x = data["x"]
    return [float((x[:n] * x[:n] + 1.0)[0]) for n in lengths(data, len(x))]


def lags(xp: Any, data: Data) -> Any:
    """Mean squared differences at lags."""
    x = data["x"]
    return [float(((x[-n:] - x[:n]) ** 2).mean()) for n in lengths(data, len(x) - 1)]


def grids(xp: Any, data: Data) -> Any:
    """Functions on grids of other sizes."""
    found = []
    for n in lengths(data, data["n"]):
        t = xp.linspace(0.0, 1.0, n)
        found.append(float((t * t - 2.0 * t + 0.5).sum()))
    return found


def elimination_steps(xp: Any, data: Data) -> Any:
    """Steps of an elimination without pivots, in place."""
    matrix = data["matrix"].copy()
    for n in lengths(data, len(matrix) - 1):
        rest = matrix[-n:, -n:]
        factors = matrix[-n:, -n - 1] / matrix[-n - 1, -n - 1]
        rest -= factors[:, None] * matrix[-n - 1, -n:]
    return matrix[-1, -1] * 1.0


def picked(xp: Any, data: Data) -> Any:
    """Sums of what masks pick."""
    x = data["x"]
    found = []
    for n in lengths(data, len(x)):
        chosen = x[x > n / len(x) - 1.5]
        found.append(float((chosen * 2.0 + 1.0).sum()))
    return found


def series(size: int) -> Data:
    return {"x": np.random.default_rng(3).standard_normal(size), "turns": count()}


def sizes(size: int) -> Data:
    return {"n": size, "turns": count()}


def square(size: int) -> Data:
    n = side(size)
    matrix = np.random.default_rng(4).standard_normal((n, n)) + 9.0 * np.eye(n)
    return {"matrix": matrix, "turns": count()}


WORKLOADS = tuple(
    Workload(program.__name__, program, inputs, tolerance, "lengths")
    for program, inputs, tolerance in (
        (shortened, series, 0.0),
        (lags, series, 1e-12),
        (grids, sizes, 1e-12),
        (elimination_steps, square, 1e-12),
        (picked, series, 1e-12),
    )
)

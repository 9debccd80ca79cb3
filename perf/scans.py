"""How fast are scans, against NumPy? `python -m perf.scans` prints a line per program.

Both run in turn in one process, in blocks of a few calls, on 1,000,000 elements; medians decide.
A scan is bound by the latency of its step (an addition of doubles takes four cycles), so one row
on one thread shows the step, and columns or rows on several threads show the machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

import lazyfuse as lf
from perf import ratios
from perf.bars import alternate

SIZE = 1_000_000

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "cumsum, one axis": lambda xp, x: xp.cumsum(x),
    "cumsum of rows": lambda xp, x: xp.cumsum(x.reshape(1000, 1000), axis=1),
    "cumsum of columns": lambda xp, x: xp.cumsum(x.reshape(1000, 1000), axis=0),
    "cumsum of an expression": lambda xp, x: xp.cumsum(xp.exp(x) * 2 + 1),
    "the same, columns": lambda xp, x: xp.cumsum((x * x + 1).reshape(1000, 1000), axis=0),
    "cumsum of float32": lambda xp, x: xp.cumsum(x.astype("f4")),
    "cumprod of rows": lambda xp, x: xp.cumprod(x.reshape(1000, 1000), axis=1),
    "maximum.accumulate": lambda xp, x: xp.maximum.accumulate(x),
    "cumsum of integers": lambda xp, x: xp.cumsum(x.astype("i8")),
}


def measure(program: Callable[[Any, Any], Any], seconds: float) -> tuple[float, float]:
    """Median milliseconds of NumPy and of lazyfuse; both must give the same bits."""
    x = np.random.default_rng(1).normal(size=SIZE)
    own = lf.array(x)
    expected, given = program(np, x), lf.asnumpy(program(lf, own))
    assert np.array_equal(expected, given) or "exp" in program.__code__.co_names
    calls = [lambda: program(np, x), lambda: lf.materialize(program(lf, own))]
    times = [statistics.median(samples) * 1e3 for samples in alternate(calls, seconds)]
    return times[0], times[1]


if __name__ == "__main__":
    ratios.main("perf.scans", __doc__, PROGRAMS, measure)

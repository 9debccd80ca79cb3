"""How fast is indexing with arrays, against NumPy? `python -m perf.indexing` prints a line per
program.

Both run in turn in one process, in blocks of a few calls, on 1,000,000 elements; medians decide.
A gather through a random index is bound by the latency of the cache that holds x; a rising index,
such as the positions of a mask, by its bandwidth. The positions of a mask that is kept are listed
once, so `x[half]` shows what every use but the first costs, and `x[x > 0.5]` what the first does.
Programs that write do so into an array that they keep. Both must give the same bits.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import lazyfuse as lf
from perf import ratios
from perf.bars import alternate

SIZE = 1_000_000


class Data(NamedTuple):
    """x in (0, 1); an index in random and in rising order; masks of half and of a tenth."""

    x: Any
    rows: Any
    rising: Any
    half: Any
    tenth: Any


def inputs() -> Data:
    """The same data for every program, as NumPy arrays."""
    rng = np.random.default_rng(1)
    x, rows = rng.random(SIZE), rng.integers(0, SIZE, SIZE)
    return Data(x, rows, np.sort(rows), rng.random(SIZE) < 0.5, rng.random(SIZE) < 0.1)


def _assign_mask(xp: Any, d: Data) -> Any:
    y = d.x * 2
    y[d.half] = 0
    return y


def _scale_mask(xp: Any, d: Data) -> Any:
    d.x[d.half] *= 1.0000001
    return d.x


def _scale_condition(xp: Any, d: Data) -> Any:
    d.x[d.x > 0.5] *= 0.9999999
    return d.x


def _scatter(xp: Any, d: Data) -> Any:
    d.x[d.rows] = d.x * 0.5 + 0.25
    return d.x


def _scatter_few(xp: Any, d: Data) -> Any:
    for start in range(0, 20_000, 200):
        d.x[d.rows[start : start + 200]] = 0.5
    return d.x


def _elements(xp: Any, d: Data) -> Any:
    for place in range(1, 1000):
        d.x[place] = d.x[place - 1] * 0.5
    return d.x


def _add_at(xp: Any, d: Data) -> Any:
    xp.add.at(d.x, d.rows, 1e-9)
    return d.x


PROGRAMS: dict[str, Callable[[Any, Data], Any]] = {
    "x[rows]": lambda xp, d: d.x[d.rows],
    "x[rows] * 2 + 1": lambda xp, d: d.x[d.rows] * 2 + 1,
    "x[rising] * 2 + 1": lambda xp, d: d.x[d.rising] * 2 + 1,
    "x[rows].sum()": lambda xp, d: d.x[d.rows].sum(),
    "take(x, rows)": lambda xp, d: xp.take(d.x, d.rows),
    "rows of a matrix, summed": lambda xp, d: d.x.reshape(-1, 100)[d.rows[:9000] // 100].sum(0),
    "x[half]": lambda xp, d: d.x[d.half],
    "x[half].sum()": lambda xp, d: d.x[d.half].sum(),
    "x[half].mean()": lambda xp, d: d.x[d.half].mean(),
    "x[half].std()": lambda xp, d: d.x[d.half].std(),
    "x[tenth].max()": lambda xp, d: d.x[d.tenth].max(),
    "x[x > 0.5].sum()": lambda xp, d: d.x[d.x > 0.5].sum(),
    "y = x*2; y[half] = 0": _assign_mask,
    "x[half] *= c": _scale_mask,
    "x[x > 0.5] *= c": _scale_condition,
    "x[rows] = x/2 + 1/4": _scatter,
    "100 times x[200 rows] = c": _scatter_few,
    "999 elements in a loop": _elements,
    "add.at(x, rows, c)": _add_at,
}


def measure(program: Callable[[Any, Data], Any], seconds: float) -> tuple[float, float]:
    """Median milliseconds of NumPy and of lazyfuse; both must give the same bits."""
    host = inputs()
    own = Data(*(lf.array(array) for array in host))
    lf.materialize(*own)
    calls = [lambda: program(np, host), lambda: lf.materialize(program(lf, own))]
    times = [statistics.median(samples) * 1e3 for samples in alternate(calls, seconds)]
    host = inputs()
    own = Data(*(lf.array(array) for array in host))
    assert np.array_equal(np.asarray(program(np, host)), np.asarray(program(lf, own)))
    return times[0], times[1]


if __name__ == "__main__":
    ratios.main("perf.indexing", __doc__, PROGRAMS, measure)

"""Count the arithmetic of a workload: NumPy runs it over arrays that count what is done to them.

An operation on an element counts as one, a transcendental function as twenty: about the terms of
its polynomial and the reduction of its argument. Selections, casts and copies count nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from perf.workloads import BY_NAME, Workload

TRANSCENDENTAL = 20
COSTS = dict.fromkeys(
    (
        np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan,
        np.arcsin, np.arccos, np.arctan, np.arctan2, np.sinh, np.cosh, np.tanh, np.arcsinh,
        np.arccosh, np.arctanh, np.power, np.cbrt, np.hypot,
    ),
    TRANSCENDENTAL,
)  # fmt: skip
#: Large enough for rows of 1024; counts grow with the size, all but in proportion.
SAMPLE_SIZE = 20_000


class Counter:
    """The operations so far."""

    def __init__(self) -> None:
        self.flops = 0


class Counting(np.ndarray):
    """An array whose ufuncs are counted."""

    counter: Counter

    def __array_finalize__(self, source: Any) -> None:
        """Views and copies count in the same place."""
        self.counter = getattr(source, "counter", None) or Counter()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Run the ufunc on plain arrays, count it, and give counting results."""
        if options.get("out") is not None:
            options["out"] = tuple(plain(out) for out in options["out"])
        result = getattr(ufunc, method)(*map(plain, inputs), **options)
        done = result if method == "__call__" else inputs[0]
        done = done[0] if isinstance(done, tuple) else done
        self.counter.flops += COSTS.get(ufunc, 1) * np.size(done)
        return self.counting(result)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        """Let functions such as `where` give counting results; the ufuncs in them count."""
        return self.counting(super().__array_function__(function, types, args, options))

    def counting(self, result: Any) -> Any:
        """Give a result that counts in the same place."""
        if isinstance(result, tuple):
            return tuple(self.counting(part) for part in result)
        return count_in(self.counter, result) if isinstance(result, np.ndarray) else result


def plain(value: Any) -> Any:
    """The array without counting."""
    return value.view(np.ndarray) if isinstance(value, Counting) else value


def count_in(counter: Counter, array: Any) -> Counting:
    """View an array as one that counts."""
    view = np.asarray(array).view(Counting)
    view.counter = counter
    return view


def count(workload: Workload, size: int) -> int:
    """The operations of a workload at a size."""
    counter = Counter()
    data = {name: count_in(counter, array) for name, array in workload.inputs(size).items()}
    workload.program(np, data)
    return counter.flops


@cache
def flops(name: str, size: int) -> float:
    """The operations of a workload at a size, in proportion to those of a sample."""
    measured = min(size, SAMPLE_SIZE)
    with np.errstate(all="ignore"):
        return count(BY_NAME[name], measured) * size / measured

"""Indexing with arrays and masks.

A gather through a random index is bound by the latency of the cache that holds x; a rising index,
such as the positions of a mask, by its bandwidth. The positions of a mask that is kept are listed
once, so `x[half]` shows what every use but the first costs, and `x[x > 0.5]` what the first does.
Programs that write do so into an array that they keep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload

NO_WRITES = {"jax": "arrays cannot be written to", "torch": "writes stay in the traced function"}
NO_MASKS = {"jax": "the length of a result may not depend on values"}


def inputs(*names: str) -> Callable[[int], Data]:
    """Draw the named ones of: x in (0, 1), an index in random and in rising order, masks."""

    def draw(size: int) -> Data:
        rng = np.random.default_rng(100)
        x, rows = rng.random(size), rng.integers(0, size, size)
        half, tenth = rng.random(size) < 0.5, rng.random(size) < 0.1
        found = {"x": x, "rows": rows, "rising": np.sort(rows), "half": half, "tenth": tenth}
        return {name: found[name] for name in names}

    return draw


def assign_mask(xp: Any, data: Data) -> Any:
    """Set half of a new array to zero by a mask."""
    y = data["x"] * 2
    y[data["half"]] = 0
    return y


def scale_mask(xp: Any, data: Data) -> Any:
    """Multiply half of an array by a mask."""
    data["x"][data["half"]] *= 1.0000001
    return data["x"]


def scale_condition(xp: Any, data: Data) -> Any:
    """Multiply what is above a threshold."""
    data["x"][data["x"] > 0.5] *= 0.9999999
    return data["x"]


def scatter(xp: Any, data: Data) -> Any:
    """Write an expression through a random index."""
    data["x"][data["rows"]] = data["x"] * 0.5 + 0.25
    return data["x"]


def scatter_few(xp: Any, data: Data) -> Any:
    """Write a number through 200 places, a hundred times."""
    for start in range(0, 20_000, 200):
        data["x"][data["rows"][start : start + 200]] = 0.5
    return data["x"]


def elements(xp: Any, data: Data) -> Any:
    """Write up to 999 elements in a loop, each from the one before."""
    for place in range(1, min(1000, data["x"].shape[0])):
        data["x"][place] = data["x"][place - 1] * 0.5
    return data["x"]


def add_at(xp: Any, data: Data) -> Any:
    """Add at a random index, repeated places included."""
    xp.add.at(data["x"], data["rows"], 1e-9)
    return data["x"]


def rows_summed(xp: Any, data: Data) -> Any:
    """Pick rows of a matrix of eight columns and sum them."""
    matrix = data["x"][: data["x"].shape[0] // 8 * 8].reshape(-1, 8)
    return matrix[data["rows"][: matrix.shape[0]] // 8].sum(axis=0)


def reading(name: str, program: Callable[[Any, Data], Any], *names: str) -> Workload:
    """Make a workload that reads."""
    masks = NO_MASKS if any(n in ("half", "tenth") for n in names) or ">" in name else {}
    return Workload(name, program, inputs(*names), 0.0, "indexing", masks)


def writing(name: str, program: Callable[[Any, Data], Any], *names: str) -> Workload:
    """Make a workload that writes."""
    return Workload(name, program, inputs(*names), 0.0, "indexing", NO_WRITES)


WORKLOADS = (
    reading("x[rows]", lambda xp, d: d["x"][d["rows"]], "x", "rows"),
    reading("x[rows] * 2 + 1", lambda xp, d: d["x"][d["rows"]] * 2 + 1, "x", "rows"),
    reading("x[rising] * 2 + 1", lambda xp, d: d["x"][d["rising"]] * 2 + 1, "x", "rising"),
    reading("x[rows].sum()", lambda xp, d: d["x"][d["rows"]].sum(), "x", "rows"),
    reading("take(x, rows)", lambda xp, d: xp.take(d["x"], d["rows"]), "x", "rows"),
    reading("rows of a matrix, summed", rows_summed, "x", "rows"),
    reading("x[half]", lambda xp, d: d["x"][d["half"]], "x", "half"),
    reading("x[half].sum()", lambda xp, d: d["x"][d["half"]].sum(), "x", "half"),
    reading("x[half].mean()", lambda xp, d: d["x"][d["half"]].mean(), "x", "half"),
    reading("x[half].std()", lambda xp, d: d["x"][d["half"]].std(), "x", "half"),
    reading("x[tenth].max()", lambda xp, d: d["x"][d["tenth"]].max(), "x", "tenth"),
    reading("x[x > 0.5].sum()", lambda xp, d: d["x"][d["x"] > 0.5].sum(), "x"),
    writing("y = x*2; y[half] = 0", assign_mask, "x", "half"),
    writing("x[half] *= c", scale_mask, "x", "half"),
    writing("x[x > 0.5] *= c", scale_condition, "x"),
    writing("x[rows] = x/2 + 1/4", scatter, "x", "rows"),
    writing("100 times x[200 rows] = c", scatter_few, "x", "rows"),
    writing("999 elements in a loop", elements, "x"),
    writing("add.at(x, rows, c)", add_at, "x", "rows"),
)

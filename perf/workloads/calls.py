"""Single calls of NumPy's functions on arrays that are in memory: what a program pays for one that
fuses with nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload

#: Functions of the data; they are named by what they call.
_CALLS: dict[str, Callable[[Any, Data], Any]] = {
    "any": lambda xp, d: xp.any(d["never"]),
    "max": lambda xp, d: xp.max(d["x"]),
    "argmax": lambda xp, d: xp.argmax(d["x"]),
    "norm": lambda xp, d: xp.linalg.norm(d["x"]),
    "trace": lambda xp, d: xp.trace(d["m"]),
    "ptp": lambda xp, d: xp.ptp(d["x"]),
    "count_nonzero": lambda xp, d: xp.count_nonzero(d["half"]),
    "flatnonzero": lambda xp, d: xp.flatnonzero(d["half"]),
    "concatenate": lambda xp, d: xp.concatenate([d["x"], d["y"]]),
    "column_stack": lambda xp, d: xp.column_stack([d["x"], d["y"]]),
    "tile": lambda xp, d: xp.tile(d["x"], 2),
    "roll": lambda xp, d: xp.roll(d["x"], 1),
    "pad": lambda xp, d: xp.pad(d["m"], 1),
    "insert": lambda xp, d: xp.insert(d["x"], 5, 1.0),
    "diff": lambda xp, d: xp.diff(d["x"]),
    "gradient": lambda xp, d: xp.gradient(d["x"]),
    "sort": lambda xp, d: xp.sort(d["x"]),
    "argsort": lambda xp, d: xp.argsort(d["x"]),
    "partition": lambda xp, d: xp.partition(d["x"], 10),
    "searchsorted": lambda xp, d: xp.searchsorted(d["knots"], d["x"]),
    "interp": lambda xp, d: xp.interp(d["x"], d["knots"], d["knots"]),
    "bincount": lambda xp, d: xp.bincount(d["group"], weights=d["x"]),
    "unique": lambda xp, d: xp.unique(d["group"]),
    "histogram": lambda xp, d: xp.histogram(d["x"], 10)[0],
    "convolve": lambda xp, d: xp.convolve(d["x"], d["knots"][:3]),
    "reduceat": lambda xp, d: xp.add.reduceat(d["x"], [0, 10, 100]),
    "take": lambda xp, d: xp.take(d["x"], d["group"]),
    "extract": lambda xp, d: xp.extract(d["half"], d["x"]),
    "nanmean": lambda xp, d: xp.nanmean(d["gaps"]),
    "nanmax": lambda xp, d: xp.nanmax(d["gaps"]),
    "nan_to_num": lambda xp, d: xp.nan_to_num(d["gaps"]),
    "average": lambda xp, d: xp.average(d["x"], weights=d["y"]),
    "cov": lambda xp, d: xp.cov(d["m"]),
    "rfft": lambda xp, d: xp.fft.rfft(d["x"]),
    "cross": lambda xp, d: xp.cross(d["points"], d["points"][::-1]),
    "isin": lambda xp, d: xp.isin(d["group"], [3, 4]),
}


def inputs(size: int) -> Data:
    """Arrays of so many elements, at least 200: numbers from 0 to 1, groups, masks, numbers with
    gaps."""
    size = max(size, 200)
    draw, edge = np.random.default_rng(80), int(size**0.5)
    x = draw.random(size)
    return {
        "x": x,
        "y": draw.random(size),
        "m": draw.random((edge, edge)),
        "points": draw.random((size // 3, 3)),
        "group": draw.integers(0, 50, size),
        "half": x < 0.5,
        "never": x > 2.0,
        "gaps": np.where(x < 0.1, np.nan, x),
        "knots": np.linspace(0.0, 1.0, 50),
    }


WORKLOADS = tuple(
    Workload(f"{name}_call", program, inputs, 1e-9, "calls") for name, program in _CALLS.items()
)

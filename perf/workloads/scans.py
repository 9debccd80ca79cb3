"""Scans. A scan is bound by the latency of its step (an addition of doubles takes four cycles), so
one row on one thread shows the step, and columns or rows on several threads show the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload, side


def line(size: int) -> Data:
    """An array of normal numbers."""
    return {"x": np.random.default_rng(110).standard_normal(size)}


def square(size: int) -> Data:
    """A square matrix of normal numbers."""
    edge = side(size, 1)
    return {"x": np.random.default_rng(110).standard_normal((edge, edge))}


def scan(name: str, program: Callable[[Any, Data], Any], inputs: Callable[[int], Data] = line,
         tolerance: float = 0.0) -> Workload:  # fmt: skip
    """Make a workload."""
    return Workload(name, program, inputs, tolerance, "scans")


WORKLOADS = (
    scan("cumsum", lambda xp, d: xp.cumsum(d["x"])),
    scan("cumsum of rows", lambda xp, d: xp.cumsum(d["x"], axis=1), square),
    scan("cumsum of columns", lambda xp, d: xp.cumsum(d["x"], axis=0), square),
    scan("cumsum(exp(x) * 2 + 1)", lambda xp, d: xp.cumsum(xp.exp(d["x"]) * 2 + 1), line, 1e-12),
    scan("columns of x*x + 1", lambda xp, d: xp.cumsum(d["x"] * d["x"] + 1, axis=0), square),
    scan("cumsum of float32", lambda xp, d: xp.cumsum(d["x"].astype(xp.float32))),
    scan("cumprod of rows", lambda xp, d: xp.cumprod(d["x"], axis=1), square),
    scan("maximum.accumulate", lambda xp, d: xp.maximum.accumulate(d["x"])),
    scan("cumsum of integers", lambda xp, d: xp.cumsum(d["x"].astype(xp.int64))),
)

"""The same programs over other dtypes: arithmetic for all, a sigmoid for the inexact ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload

ALL = ("u1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16")
INEXACT = {"f2": 1e-2, "f4": 1e-5, "f8": 1e-12, "c16": 1e-12}


def arithmetic(xp: Any, data: Data) -> Any:
    """Five operations on three arrays of one dtype."""
    a, b, c = data["a"], data["b"], data["c"]
    return (a * b + c) * (a - b) + 1


def sigmoid(xp: Any, data: Data) -> Any:
    """The logistic function of an array."""
    return 1 / (1 + xp.exp(-data["a"]))


def numbers(size: int, dtype: str) -> Data:
    """Three arrays of a dtype: small whole numbers, or normal ones."""
    draw, kind = np.random.default_rng(80), np.dtype(dtype)
    if kind.kind in "iu":
        return {name: draw.integers(0, 7, size, kind) for name in "abc"}
    real = {name: draw.standard_normal(size).astype(dtype) for name in "abc"}
    if kind.kind != "c":
        return real
    return {name: (x + 1j * x[::-1]).astype(kind) for name, x in real.items()}


def alone(size: int, dtype: str) -> Data:
    """One array of a dtype."""
    return {"a": numbers(size, dtype)["a"]}


WORKLOADS = (
    *(
        Workload(f"arithmetic {dtype}", arithmetic,
                 lambda size, dtype=dtype: numbers(size, dtype), 1e-15 * (dtype[0] == "c"),
                 "dtypes")
        for dtype in ALL
    ),
    *(
        Workload(f"sigmoid {dtype}", sigmoid,
                 lambda size, dtype=dtype: alone(size, dtype), bound, "dtypes")
        for dtype, bound in INEXACT.items()
    ),
)  # fmt: skip

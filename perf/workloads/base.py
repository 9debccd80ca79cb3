"""What a workload is, and how its results are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Data = dict[str, Any]
Program = Callable[[Any, Data], Any]


@dataclass(frozen=True, slots=True)
class Workload:
    """A program, its inputs for a size, and how far lazyfuse's result may be from NumPy's.

    The program is a plain function `f(xp, data)`, written once against NumPy's namespace; it
    rebuilds its whole trace when called. `size` counts elements of the largest input or of the
    iteration space. `left_out` names peers that cannot run it, with the reason.
    """

    name: str
    program: Program
    inputs: Callable[[int], Data]
    tolerance: float = 0.0
    family: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def about(self) -> str:
        """What it computes, in a line."""
        return (self.program.__doc__ or "").strip().partition("\n")[0]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Give a program's result as a tuple."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def arrays_by(make: Callable[[Any], Any], data: Data) -> Data:
    """The inputs with a library's own arrays; other values as they are."""
    return {
        name: make(value) if isinstance(value, np.ndarray) else value
        for name, value in data.items()
    }


def error(actual: Any, expected: Any) -> float:
    """Largest difference relative to the largest expected value; infinite for another type.

    A NaN must be a NaN in both.
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return float("inf")
    inexact = expected.dtype.kind in "fc"
    if expected.size == 0 or np.array_equal(actual, expected, equal_nan=inexact):
        return 0.0
    if inexact and not np.array_equal(np.isnan(actual), np.isnan(expected)):
        return float("inf")
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    difference = np.abs(actual.astype(wide) - expected.astype(wide))
    largest = float(np.nanmax(np.abs(expected)))
    return float(np.nanmax(difference) / max(largest, 1e-300))


def ideal_bytes(data: Data, results: tuple[Any, ...]) -> int:
    """Bytes that any implementation must move: each input read once, each result written once."""
    arrays = [*data.values(), *results]
    return sum(np.asarray(array).nbytes for array in arrays)


def normals(size: int, *names: str, dtype: Any = np.float64) -> Data:
    """Draw normal numbers under each name."""
    draw = np.random.default_rng(1)
    return {name: draw.standard_normal(size, dtype) for name in names}


def side(size: int, least: int = 3) -> int:
    """The side of a square of about `size` elements."""
    return max(int(size**0.5), least)

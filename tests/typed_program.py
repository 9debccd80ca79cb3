"""A typed program of NumPy's, with its name replaced: what a type checker says of it.

`scripts/check` has mypy look at it; an error that should be found is ignored by its code, and an
ignored line without one is an error. It is no test, and is not run.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy
from numpy.typing import ArrayLike, NDArray

import lazyfuse as np

Floats = NDArray[np.float64]


def normalized(x: Floats, axis: int = 0) -> Floats:
    """Results have NumPy's types."""
    scale: Floats = np.sqrt(np.square(x).sum(axis=axis, keepdims=True))
    return np.where(scale > 0, x / scale, 0.0)


def sampled(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Type parameters, submodules, generators, and names that NumPy's module has."""
    rng: np.random.Generator = np.random.default_rng(0)
    values = rng.normal(size=(count, 3)) @ np.linalg.inv(np.eye(3))
    spectrum = np.fft.rfft(np.hanning(8))
    assert_type(spectrum, "NDArray[np.complex128]")
    np.testing.assert_allclose(values, values)
    return values.astype(np.float64)


class Grid(np.ndarray):
    """Derived from NumPy's array, as far as a type checker sees."""


@np.fuse
def stepped(u: Floats, dt: float = 0.1) -> Floats:
    """A decorated function keeps its signature."""
    return u + dt * u


@np.fuse(signatures=3)
def kept(u: Floats) -> Floats:
    """So it does with arguments."""
    return u


def used(x: ArrayLike) -> tuple[Floats, Any]:
    """What is lazyfuse's own."""
    with np.options(threads=1):
        moved = stepped(np.asarray(x, dtype=np.float64))
        values = np.materialize(moved)
    assert_type(values, Floats)
    assert_type(np.asnumpy(values), numpy.ndarray)
    assert_type(np.stats(), np.Stats)
    assert_type((stepped.reason, kept.replays), tuple[str, int])
    return kept(values), np.materialize(values, values)


stepped("text")  # type: ignore[arg-type]
np.zros(3)  # type: ignore[attr-defined]
np.zeros("three")  # type: ignore[arg-type]
lacking = np.zeros(3).shap  # type: ignore[attr-defined]

"""Reductions: one row per fold.
NumPy's sum, max, any... are these rows with their default dtypes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class ReduceDef(NamedTuple):
    """A fold over axes.

    fold: the accumulator of the kernel (`ir/kernel.py`).
    ufunc: whose `reduce` decides dtypes; None for arg folds.
    kinds: dtypes kinds that the fold computes itself; others run through NumPy.
    empty: whether it has an identity.
    """

    name: str
    fold: str
    ufunc: np.ufunc | None
    kinds: str
    empty: bool

    @property
    def gives_index(self) -> bool:
        return self.fold in ("argmax", "argmin")


ROWS: tuple[ReduceDef, ...] = (
    ReduceDef("add", "add", np.add, "iufc", empty=True),
    ReduceDef("multiply", "mul", np.multiply, "iuf", empty=True),
    ReduceDef("maximum", "maximum", np.maximum, "biuf", empty=False),
    ReduceDef("minimum", "minimum", np.minimum, "biuf", empty=False),
    ReduceDef("fmax", "fmax", np.fmax, "biuf", empty=False),
    ReduceDef("fmin", "fmin", np.fmin, "biuf", empty=False),
    ReduceDef("logical_and", "and", np.logical_and, "b", empty=True),
    ReduceDef("logical_or", "or", np.logical_or, "b", empty=True),
    ReduceDef("bitwise_and", "and", np.bitwise_and, "biu", empty=True),
    ReduceDef("bitwise_or", "or", np.bitwise_or, "biu", empty=True),
    ReduceDef("bitwise_xor", "xor", np.bitwise_xor, "biu", empty=True),
    ReduceDef("argmax", "argmax", None, "biuf", empty=False),
    ReduceDef("argmin", "argmin", None, "biuf", empty=False),
)

"""`options(fastmath=True)` rounds a product and a sum once; without it nothing is contracted."""

from __future__ import annotations

from fractions import Fraction

import numpy as host
import pytest

import lazyfuse as lf

pytestmark = pytest.mark.engine

X, Y = host.random.default_rng(0).standard_normal((2, 1001))


def test_fastmath_rounds_once() -> None:
    """`x*y + z` is the exact value, rounded; NumPy rounds twice."""
    with lf.options(fastmath=True):
        fused = lf.asnumpy(lf.array(X) * lf.array(Y) + lf.array(X))
    exact = [float(Fraction(x) * Fraction(y) + Fraction(x)) for x, y in zip(X, Y, strict=True)]
    assert fused.tolist() == exact
    assert not host.array_equal(fused, X * Y + X)


def test_differences_are_contracted_on_both_sides() -> None:
    """`x*y - z` and `z - x*y`."""
    with lf.options(fastmath=True):
        x, y = lf.array(X), lf.array(Y)
        right, left = lf.asnumpy(x * y - x), lf.asnumpy(x - x * y)
    exact = [float(Fraction(a) * Fraction(b) - Fraction(a)) for a, b in zip(X, Y, strict=True)]
    assert right.tolist() == exact and (-left).tolist() == exact


def test_nothing_is_contracted_by_default() -> None:
    """`x*y - x*y` is 0, and sums have NumPy's bits."""
    x, y = lf.array(X), lf.array(Y)
    assert not lf.asnumpy(x * y - x * y).any()
    assert host.array_equal(lf.asnumpy(x * y + x), X * Y + X)

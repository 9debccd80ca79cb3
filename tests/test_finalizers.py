"""Arrays that only a cycle of references keeps, in the finalizer of an object of the cycle: the
garbage collector has cleared weak references by then, but the arrays are there, and may stay.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

#: Few elements, some that are computed at once, and many.
SIZES = (50, 6_000, 500_000)


class Cycle:
    """Has an array, and itself; its finalizer computes with the array and saves it."""

    def __init__(self, x: Any, saved: list[tuple[Any, ...]]) -> None:
        self.x, self.saved, self.me = x, saved, self

    def __del__(self) -> None:
        made = self.x + 1
        lf.materialize(made)
        self.saved.append((self.x, made, self.x * 5 + self.x))


def pending(values: host.ndarray) -> Any:
    return lf.array(values) * 2


def computed(values: host.ndarray) -> Any:
    return lf.materialize(lf.array(values) * 2)


def written(values: host.ndarray) -> Any:
    x = lf.array(values)
    x *= 2
    return x


def fused(values: host.ndarray) -> Any:
    return DOUBLE(lf.array(values))


DOUBLE = lf.fuse(lambda x: x * 2)


@pytest.mark.parametrize("make", [pending, computed, written, fused])
@pytest.mark.parametrize("size", SIZES)
def test_arrays_in_finalizers(size: int, make: Callable[[host.ndarray], Any]) -> None:
    """They have their values then and later, whatever is computed with them."""
    random = host.random.default_rng(size)
    gc.freeze()  # what other tests have left would be looked through at each turn
    for _ in range(25 if size < 10_000 else 8):
        values = random.random(size)
        saved: list[tuple[Any, ...]] = []
        Cycle(make(values), saved)
        gc.collect()
        x, more, five = saved.pop()
        less = x - 3
        lf.materialize(less)
        for own, expected in (
            (more, values * 2 + 1),
            (less, values * 2 - 3),
            (five, values * 2 * 5 + values * 2),
            (x, values * 2),
        ):
            host.testing.assert_array_equal(lf.asnumpy(own), expected)


def test_memory_is_given_back() -> None:
    """Arrays in cycles that nobody rescues are collected, pending or not."""

    def growth() -> int:
        gc.collect()
        before = len(gc.get_objects())
        for number in range(200):
            x = computed(host.arange(6_000.0))
            cycle: list[Any] = [x, x * number]
            cycle.append(cycle)
            del x, cycle
        gc.collect()
        return len(gc.get_objects()) - before

    assert min(growth() for _ in range(5)) < 60  # some of it is imported meanwhile, once

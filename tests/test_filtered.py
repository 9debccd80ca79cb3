"""Loops that go on with what a mask leaves of their arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

N = 50_000


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    """Small operations are done at once."""
    with lf.options(eager_size=1000):
        yield


def escapes(xp: Any, x: Any, y: Any) -> list[Any]:
    """How long points stay inside, of which fewer and fewer are left."""
    place, left = xp.arange(N), xp.zeros(N, int)
    for turn in range(12):
        x, y = x * x - y * y + 0.3, 2.0 * x * y + 0.5
        inside = x * x + y * y < 4.0
        left[place[~inside]] = turn
        x, y, place = x[inside], y[inside], place[inside]
    return [x, y, place, left]


@pytest.mark.parametrize("seed", range(3))
def test_what_a_mask_leaves(seed: int) -> None:
    values = host.random.default_rng(seed).random((2, N)) - 0.5
    assert 0 < escapes(host, *values)[0].size < N
    oracle.check(escapes, *values)


@pytest.mark.cpu("counts kernels")
def test_arrays_that_a_mask_filters_are_computed_once() -> None:
    """With the mask, since the program still has them, or by themselves."""
    values = host.random.default_rng(1).random(N)
    x = lf.array(values)
    with lf.options(cold_size=0):
        y = lf.sqrt(x)
        mask = y + y < 1.0
        z = x * 2.0
        lf.reset_stats()
        parts = x[mask], y[mask], z[mask]
    assert lf.stats().kernels_launched == 2
    wanted = host.sqrt(values)
    chosen = wanted + wanted < 1.0
    for own, each in zip(parts, (values, wanted, values * 2.0), strict=True):
        host.testing.assert_array_equal(lf.asnumpy(own), each[chosen])


def filters(xp: Any, x: Any) -> list[Any]:
    """Masks that are pending and at hand, of arrays that are, and of parts."""
    found = []
    for limit in (-1.0, 0.0, 0.3, 2.0):
        for array in (x, x[::-1], x.T, x[..., ::2]):
            mask = array < limit
            found += [(array * 2.0)[array * 2.0 < limit], (array + 1.0)[array < limit]]
            found += [array[mask], (array + 1.0)[mask], array[~mask]]
    return found


@pytest.mark.parametrize("shape", [(N,), (100, 500), (0,), (0, 7)])
def test_masks_of_every_kind(shape: tuple[int, ...]) -> None:
    oracle.check(filters, host.random.default_rng(2).random(shape))


@pytest.mark.parametrize("shape", [(N + 1,), (N, 1), (3,)])
def test_masks_of_other_shapes(shape: tuple[int, ...]) -> None:
    oracle.check(lambda xp, x, y: (x + 1.0)[y > 0.5], host.ones(N), host.ones(shape))


def test_fuse_records_no_filter() -> None:
    """What is picked is known when it runs."""
    values = host.random.default_rng(3).random(N)

    @lf.fuse
    def above(x: Any) -> Any:
        y = x * 2.0
        return y[y > 1.0]

    for _ in range(3):
        wanted = (values * 2.0)[values * 2.0 > 1.0]
        host.testing.assert_array_equal(lf.asnumpy(above(lf.array(values))), wanted)

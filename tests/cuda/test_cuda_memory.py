"""Where rows and results of reductions lie: rows that are kept between phases, and results in the
memory of inputs that are not needed any more. The interpreter finds unaligned accesses and races.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cuda_check import needs_ptx
from cuda_kernels import normal, softmax_case
from fake_cupy import fake_gpu

import lazyfuse as lf
from lazyfuse.backends.cuda.strategy import render_own
from lazyfuse.ir.kernel import Lanes

pytestmark = [pytest.mark.engine, needs_ptx]


def spread(xp: Any, x: Any) -> Any:
    return (x - x.max(axis=1, keepdims=True)).sum(axis=1)


@pytest.mark.parametrize("dtype", ["i1", "i2", "f2", "f4", "f8"])
@pytest.mark.parametrize("length", [5, 9, 13, 22])
def test_rows_with_gaps(dtype: str, length: int) -> None:
    """Addresses of packs are aligned in memory, where rows are apart, and not where they are kept
    without gaps."""
    x = np.random.default_rng(3).integers(0, 9, (7, 32)).astype(dtype)
    with lf.options(device="cuda-ptx", disk_cache=False, eager_size=0):
        found = lf.asnumpy(spread(lf, lf.array(x)[:, :length]))
    assert np.array_equal(found, spread(np, x[:, :length]))


@pytest.mark.parametrize("strategy", ["own", "rows-by-block", "columns"])
def test_a_result_in_the_memory_of_what_others_read(strategy: str) -> None:
    """The last read may be in a phase that folds nothing: the threads of a column wait for each
    other all the same."""
    a, b = np.random.default_rng(4).integers(0, 99, (2, 100, 64))

    def differences(xp: Any, make: Callable[[np.ndarray], Any]) -> tuple[Any, Any]:
        x, row = make(a), make(b[:1])
        most = (row - x).max(axis=0, keepdims=True)
        return most, row - x - most

    with lf.options(device="cuda-ptx", disk_cache=False, eager_size=0, cuda_strategy=strategy):
        lf.reset_stats()
        found = differences(lf, lf.array)
        lf.materialize(*found)
        assert lf.stats().donations and lf.stats().kernels_launched == 1
        for own, expected in zip(found, differences(np, np.asarray), strict=True):
            assert np.array_equal(lf.asnumpy(own), expected)


def test_many_folds_of_rows_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What warps exchange is shared memory, too: the driver is told of 38 KiB of rows."""

    def places(xp: Any, x: Any) -> list[Any]:
        around = x - x.max(axis=1, keepdims=True)
        return [xp.abs(around + number).argmin(axis=1) for number in range(30)]

    x = np.random.default_rng(5).integers(0, 99, (1, 4800)).astype(float)
    with fake_gpu(monkeypatch) as fake, lf.options(cuda_strategy="rows-by-block"):
        found = places(lf, lf.asarray(x))
        lf.materialize(*found)
        assert max(function.most_shared for function in fake.functions) == x.nbytes
        for own, expected in zip(found, places(np, x), strict=True):
            assert np.array_equal(lf.asnumpy(own), expected)


def test_columns_that_are_kept_may_be_many() -> None:
    """More than 32 bits count, though extents and strides fit: of `a[:, None] + b` in a fold."""
    kept = softmax_case(normal(4, 6, dtype="f8"), Lanes.OUTER, "f8").kernel
    text = render_own(replace(kept, index="i4"), "lf_x").source
    assert "[(unsigned long long)c * slots + " in text

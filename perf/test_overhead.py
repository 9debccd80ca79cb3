"""What does laziness itself cost: recording an op, running a cached program, tiny arrays?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyfuse as lf

OPS = 10
SIZES = (1, 10, 100, 1000, 10_000)


def ten_ops(x: Any) -> Any:
    """Ten elementwise operations."""
    for _ in range(OPS // 2):
        x = x * 0.5 + 1.0
    return x


@pytest.mark.parametrize("n", [1000])
def test_record(benchmark: Any, n: int) -> None:
    """Record ten operations and drop them: nothing runs."""
    x = lf.array(np.linspace(0.0, 1.0, n))
    lf.materialize(x)
    benchmark.group = "record"
    benchmark(ten_ops, x)
    if benchmark.stats is not None:
        benchmark.extra_info["us_per_op"] = benchmark.stats.stats.median / OPS * 1e6


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("peer", ["numpy", "lazyfuse"])
def test_ten_ops(benchmark: Any, peer: str, n: int) -> None:
    """Record ten operations and run them, the kernel being in the cache."""
    host = np.linspace(0.0, 1.0, n)
    benchmark.group = "ten ops"
    benchmark.extra_info |= {"peer": peer, "n": n}
    if peer == "numpy":
        benchmark(ten_ops, host)
        return
    x = lf.array(host)
    lf.materialize(x)
    assert np.array_equal(np.asarray(ten_ops(x)), ten_ops(host))
    benchmark(lambda: lf.materialize(ten_ops(x)))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("peer", ["numpy", "lazyfuse"])
def test_one_op(benchmark: Any, peer: str, n: int) -> None:
    """One addition and its result: the worst case for a lazy array."""
    host = np.linspace(0.0, 1.0, n)
    benchmark.group = "one op"
    benchmark.extra_info |= {"peer": peer, "n": n}
    if peer == "numpy":
        benchmark(lambda: host + 1.0)
        return
    x = lf.array(host)
    lf.materialize(x)
    benchmark(lambda: lf.materialize(x + 1.0))

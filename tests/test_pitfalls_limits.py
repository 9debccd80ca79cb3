"""P15 to P24: graph size, memory and limits (`design/pitfalls.md`); more of them in
`test_limits.py`.
"""

from __future__ import annotations

import sys
import threading
import time
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from lazyfuse.runtime import session
from tests import oracle, programs

pytestmark = pytest.mark.engine

lf = oracle.lf


@pytest.fixture
def peak() -> Callable[[Callable[[], Any]], float]:
    """Return a function that says how many bytes a piece of work allocates at most; memory kept
    for reuse is given back first.
    """

    def measure(work: Callable[[], Any]) -> float:
        work()  # compiled, and everything imported
        getattr(session.backend(lf.ones(1).device), "memory", _NOTHING).clear()
        tracemalloc.start()
        try:
            work()
            return float(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()

    return measure


_NOTHING: dict[str, Any] = {}


def launched() -> int:
    """Count the kernels since the last reset."""
    return int(lf.stats().kernels_launched)


def test_p15_too_many_kernel_inputs() -> None:
    """arrayfire#1646, tinygrad#1121: 700 inputs in one expression, computed in one go, some of
    them twice; 40 inputs of five strided axes each, where bytes of arguments are the limit.
    """

    def program(np: Any, *arrays: Any) -> Any:
        total = sum(arrays)
        return total * arrays[0] + arrays[-1]

    oracle.check(program, *[host.arange(5.0) + k for k in range(700)])

    def strided(np: Any, *arrays: Any) -> Any:
        return sum(array[::-1, :, ::2, :, 1:] for array in arrays)

    oracle.check(strided, *[host.random.default_rng(k).random((2, 3, 4, 2, 3)) for k in range(40)])


def test_p16_over_conservative_splitting() -> None:
    """arrayfire#1472: 24 ops over 8 inputs are one kernel."""
    example = programs.examples()["chain"]
    arrays = [lf.array(array) for array in example.arrays]
    lf.materialize(*arrays)
    lf.reset_stats()
    lf.materialize(example.program(lf, *arrays))
    assert launched() == 1


def test_p17_pending_graph_keeps_inputs_alive() -> None:
    """arrayfire#1709: past the byte budget the trace is cut, so few inputs stay alive."""
    alive: list[Any] = []
    with oracle.options(max_pending_bytes=4 << 20):
        acc = lf.zeros(50_000)
        for k in range(60):
            piece = lf.array(host.full(50_000, float(k)))
            alive.append(weakref.ref(piece))
            acc += piece
            del piece
        assert launched() >= 2, "24 MB of dead inputs were kept for a budget of 4 MB"
        assert float(acc[7]) == sum(range(60))
    assert sum(reference() is not None for reference in alive) <= 1


def test_p17_peak_of_an_accumulation(peak: Callable[[Callable[[], Any]], float]) -> None:
    """arrayfire#1709: `acc += random` in a loop holds five arrays at most, with default
    budgets.
    """

    def work() -> Any:
        acc = lf.zeros(1_000_000)
        for _ in range(40):
            acc += lf.random.rand(1_000_000)
        return lf.materialize(acc)

    assert peak(work) < 5.1 * 8_000_000


def test_p18_peak_is_the_whole_graph() -> None:
    """mlx#2305: a long chain with fan-out 2 is cut by the budget and still right."""

    def program(np: Any, x: Any) -> Any:
        y = x
        for _ in range(250):
            y = np.sqrt(y * y + y[::-1]) - y
        return y

    with oracle.options(max_pending_bytes=1 << 20):
        oracle.check(program, host.random.default_rng(0).random(20_000))


def test_p18_peak_of_a_chain(peak: Callable[[Callable[[], Any]], float]) -> None:
    """executorch#22932: 500 operations with fan-out 2 over 8 MB hold a few arrays, not 500."""

    def work() -> Any:
        y = lf.arange(1_000_000.0)
        for _ in range(125):
            y = lf.sqrt(y * y + y[::-1]) - y
        return lf.materialize(y)

    assert peak(work) < 12 * 8_000_000


def test_p19_recursion_depth() -> None:
    """tinygrad#7293, pytorch#93935: 20,000 chained additions, also in a thread, also when
    deleted.
    """
    seen = []

    def work() -> None:
        x = lf.ones(2)
        for _ in range(20_000):
            x = x + 1
        seen.append(float(x[0]))
        with oracle.options(max_pending_nodes=1 << 30):
            y = lf.ones(2)
            for _ in range(20_000):
                y = y * 1.5
            del y

    # from Python 3.12 on, objects in objects are deleted 1 MB deep, whatever the stack
    before = threading.stack_size((256 if sys.version_info < (3, 12) else 2048) * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    work()
    assert seen == [20001.0, 20001.0]


def test_p20_quadratic_graph_passes() -> None:
    """jax#2777, mlx#2643: Fibonacci by swapping is linear, also over a fan-out of thousands."""
    start = time.perf_counter()
    a, b = lf.ones(1), lf.ones(1)
    for _ in range(60):
        a, b = b, a + b
    assert float(b[0]) == 4052739537881.0
    x = lf.ones(10)
    results = [x + k for k in range(3000)]
    lf.materialize(*results)
    assert time.perf_counter() - start < 15


def test_p20_many_readers_of_one_scalar(full: bool) -> None:
    """mlx#2643: thousands of operations on one scalar (40,000 with --full) take linear time."""

    def seconds(count: int) -> float:
        x = lf.ones(()) * 1
        start = time.process_time()
        results = [x + k for k in range(count)]
        lf.materialize(results)
        assert float(results[-1]) == count
        return time.process_time() - start

    count = 40_000 if full else 2_000
    seconds(100)
    assert seconds(count) < 8 * seconds(count // 4) + 1


def test_p21_repeated_evaluation_of_shared_work() -> None:
    """pytato#164: a materialized intermediate is not computed again."""
    x = lf.array(host.arange(1000.0))
    b = lf.exp(x / 1000)
    lf.materialize(b, b + 1)
    lf.reset_stats()
    y = b * 2
    lf.materialize(y)
    assert lf.stats().bytes_read == 8000 and launched() == 1


def test_p22_graph_grows_across_iterations() -> None:
    """mitsuba3#369: in a loop with hidden state each iteration launches and compiles as much as
    the one before.
    """
    state, hidden = lf.zeros(3000), lf.ones(3000)
    history = []
    for _ in range(40):
        lf.reset_stats()
        state = state * 0.5 + hidden
        hidden = hidden * 0.99 + 1
        lf.materialize(state)
        history.append((launched(), lf.stats().kernels_compiled))
    assert len(set(history[5:])) == 1 and history[-1][1] == 0, history


def test_p23_over_fusion_recomputes() -> None:
    """iree#13308: `exp` of a vector that is broadcast is computed once per element, not once per
    pair.
    """
    x, w = lf.array(host.linspace(0, 1, 3000)), lf.array(host.ones(800))
    lf.materialize(x, w)
    lf.reset_stats()
    e = lf.exp(x)
    y = (e[:, None] * w).sum(1)
    lf.materialize(y)
    assert lf.stats().bytes_written <= 2 * 24_000 + 64
    assert abs(float(y[0]) - 800) < 1e-9


def test_p23_no_temporary_of_all_pairs(peak: Callable[[Callable[[], Any]], float]) -> None:
    """openxla#29620: a fold over 4000 x 4000 pairs makes no array of 128 MB."""
    a, b = lf.linspace(0, 1, 4000), lf.linspace(1, 2, 4000)

    def work() -> Any:
        d = a[:, None] - b[None, :]
        return lf.materialize(lf.exp(-d * d).sum(1))

    assert peak(work) < 1_000_000
    d = host.linspace(0, 1, 4000)[7] - host.linspace(1, 2, 4000)
    assert abs(float(work()[7]) - host.exp(-d * d).sum()) < 1e-9


def test_p24_32_bit_indices(full: bool) -> None:
    """chainer#8385: strides beyond 2**31 bytes (2**31 elements: `test_limits.py`)."""
    if not full:
        pytest.skip("needs 3 GB: run with --full")
    a = lf.zeros((3, 2**30), "u1")
    a[2, -5:] = 7
    assert int(a[:, -1].sum()) == 7 and int(a[2, ::-1][4]) == 7

"""P44 to P56: semantics and robustness (`design/pitfalls.md`)."""

from __future__ import annotations

import random
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as host
import pytest

from tests import oracle, programs
from tests.oracle import check

lf = oracle.lf


def test_p44_bounds_and_masks() -> None:
    """jax#278, #4383: out of bounds and masks of a wrong size raise IndexError at the call."""
    x = host.arange(5.0)
    for index in (5, -6, [0, 7], host.array([1, -9]), host.ones(4, bool), host.ones((5, 1), bool)):
        check(lambda np, x: x[index], x)  # noqa: B023
        check(lambda np, x: x.__setitem__(index, 1.0), x)  # noqa: B023


def test_p45_duplicate_indices() -> None:
    """cupy and mlx call it undefined: the last value wins, in-place adds once, `add.at` adds
    each.
    """

    def program(np: Any, x: Any) -> Any:
        x[[1, 1, 2, 1]] = [5, 6, 7, 8]
        x[[3, 3]] += 1
        x[np.array([4, 4])] = x[:2]

    check(program, host.arange(6.0))


def test_p46_error_far_from_its_cause() -> None:
    """blosc2#390: shape, dtype and axis errors raise at the recording call (all of
    `test_errors.py`).
    """
    check(lambda np, x: (x + np.ones(7)).sum(), host.ones(3))
    check(lambda np, x: np.bitwise_and(x * 2, 1) + 1, host.ones(3))
    check(lambda np, x: (x * 2).max(axis=4), host.ones(3))


@pytest.mark.engine
def test_p47_threads() -> None:
    """numexpr#80, mlx#2067: 16 threads record and materialize with a shared pending input."""
    shared = lf.array(host.arange(5000.0)) * 2

    def work(k: int) -> Any:
        total = shared + k
        for j in range(20):
            total = total * 0.5 + shared[::-1] - j
            if j % 7 == k % 7:
                lf.materialize(total)
        return lf.asnumpy(total)

    with ThreadPoolExecutor(16) as pool:
        given = list(pool.map(work, range(16)))
    base = host.arange(5000.0) * 2
    for k, result in enumerate(given):
        total = base + k
        for j in range(20):
            total = total * 0.5 + base[::-1] - j
        assert (result == total).all()


@pytest.mark.engine
def test_p48_fallback_hijacks_or_floods() -> None:
    """cupynumeric#634: `numpy.linalg.svd(lazy)` works; one warning per call site; none for what
    the engine does itself.
    """
    x = lf.array(host.arange(12.0).reshape(3, 4))
    wanted = host.linalg.svd(host.arange(12.0).reshape(3, 4))
    for given, expected in zip(host.linalg.svd(x), wanted, strict=True):
        assert host.allclose(host.asarray(given), expected)
    with lf.options(fallback="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = x + 1
        y[1:] = y[:-1] * 2
        (
            repr(y),
            y.sum(),
            y.mean(0),
            lf.asnumpy(y),
            y.T.copy(),
            lf.concatenate([y, y]),
            lf.where(y > 1, y, 0),
        )
        float(y[0, 0]), list(y[0]), lf.zeros(3), lf.linspace(0, 1, 3), y.reshape(-1).std()
    assert not caught, [str(one.message) for one in caught]


@pytest.mark.engine
def test_p48_one_warning_per_call_site() -> None:
    """cupynumeric#1185: three calls on one line warn once, another line warns again, both at the
    user's line.
    """
    x = lf.array(host.arange(3.0))
    with lf.options(fallback="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            lf.polyfit(x, x, 1)
        lf.polyfit(x, x, 1)
    told = [one for one in caught if one.category is lf.FallbackWarning]
    assert len(told) == 2 and {one.filename for one in told} == {__file__}
    with lf.options(fallback="error"), pytest.raises(lf.FallbackError):
        lf.polyfit(x, x, 1)


def test_p49_singletons_zero_strides_and_0d() -> None:
    """bohrium#79: ones times 1.0 in every awkward shape; an empty sum is 0, an empty max
    raises.
    """
    for shape in ((), (0,), (1,), (2, 1), (1, 5, 1), (0, 3), (3, 0, 2), (1, 1, 1, 1)):

        def program(np: Any, x: Any) -> Any:
            views = [
                x * 1.0,
                x + x,
                x.sum(),
                x.T * 2,
                x.reshape(-1),
                x.copy(),
                np.broadcast_to(x, (2, *x.shape)) + x,
            ]
            return [*views, x.any(), np.sqrt(x), x.prod(), x[None], x[..., None] * x[..., None]]

        check(program, host.ones(shape))
        check(lambda np, x: x.max(), host.ones(shape))


@pytest.mark.engine
def test_p50_small_arrays_and_element_access() -> None:
    """bohrium#37: small operations and element reads cost microseconds, not milliseconds (the bars
    are in `perf/`).
    """
    x, y = lf.ones(1024), lf.ones(1024)
    lf.materialize(x + 2 * y)
    start = time.process_time()
    for _ in range(2000):
        x += 2 * y
    assert float(x[0]) == 4001
    assert time.process_time() - start < 2
    start = time.process_time()
    for _ in range(40):
        assert sum(float(x[i]) for i in range(49)) == 49 * 4001
    assert time.process_time() - start < 1


@pytest.mark.engine
def test_p51_hidden_synchronization() -> None:
    """cumo#247: recording calls launch nothing; only reads do."""
    x = lf.array(host.ones((200, 200)))
    lf.materialize(x)
    lf.reset_stats()
    y = x * 2 + 1
    y[1:3] = 0
    y += y.T
    z = lf.where(y > 1, y, -y)[::2].reshape(-1).astype("f4")
    w = [
        z.sum(),
        z.max(),
        y.mean(0),
        lf.concatenate([y, y]),
        y.copy(),
        lf.clip(y, 0, 1),
        y.argmax(),
        y[5],
        y[2, 3],
    ]
    (
        y.shape,
        y.dtype,
        y.strides,
        y.flags,
        y.T,
        y.size,
        y.nbytes,
        y.device,
        len(y),
        isinstance(y, lf.ndarray),
    )
    assert lf.stats().kernels_launched == 0
    lf.materialize(*w)
    assert lf.stats().kernels_launched > 0


def test_p52_python_control_flow() -> None:
    """cupy#7878: `if x.sum() > 5` takes the right branch; the truth of many elements raises."""

    def program(np: Any, x: Any) -> Any:
        steps = 0
        while (x * x).sum() > 1:
            x = x * 0.5
            steps += 1
        return [
            steps,
            "big" if x.max() > 0.1 else "small",
            bool((x >= 0).all()),
            3 if x[2] else 4,
            not x[0],
        ]

    check(program, host.arange(5.0))
    check(lambda np, x: 1 if x > 2 else 0, host.arange(5.0))
    check(lambda np, x: x and 3, host.arange(5.0))


@pytest.mark.engine
def test_p53_copies_instead_of_in_place() -> None:
    """jax#9132: an in-place operation reads and writes its array once; so does a slice assignment
    (memory: `test_limits.py`).
    """
    x = lf.array(host.ones(100_000))
    lf.materialize(x)
    lf.reset_stats()
    x *= 2
    lf.materialize(x)
    assert (lf.stats().bytes_read, lf.stats().bytes_written) == (800_000, 800_000)
    lf.reset_stats()
    x[1:-1] = x[1:-1] * 3 + 1
    lf.materialize(x)
    assert lf.stats().bytes_written == 800_000 - 16
    assert lf.asnumpy(x)[[0, 1, -1]].tolist() == [2, 7, 2]


@pytest.mark.engine
@pytest.mark.cpu("floating point flags")
def test_p54_warnings_lost() -> None:
    """cupynumeric#1115: a division by zero warns at materialization, at the dividing line."""
    with pytest.warns(RuntimeWarning, match="divide by zero") as caught:
        lf.materialize(lf.array(host.ones(5000)) / lf.array(host.zeros(5000)))
    assert caught[0].filename == __file__


def test_p55_wrong_until_realized() -> None:
    """tinygrad#4999: the programs of `test_random_programs.py`; here one over views of views with
    writes.
    """

    def program(np: Any, x: Any) -> Any:
        y = x.reshape(4, 6)[1:, ::2]
        y += y[::-1] * 2
        z = y.T[1:] - x.reshape(6, 4)[:2, :3]
        x[5:9] = z.reshape(-1)[:4]
        y[0] = z.sum()
        return [y, z, y * z.T[:, :1]]

    check(program, host.arange(24.0))


@pytest.mark.engine
def test_p56_order_of_evaluation_and_cache_pollution() -> None:
    """mlx#2632: the corpus twice in one process in random order, cold and warm, gives the same
    bits each time.
    """
    examples = programs.examples()
    wanted = {name: oracle.evaluate(one.program, *one.arrays) for name, one in examples.items()}
    for seed in (1, 2):
        names = list(examples)
        random.Random(seed).shuffle(names)
        if seed == 1:
            lf.cache_clear()
        for name in names:
            given = oracle.evaluate(examples[name].program, *examples[name].arrays)
            assert not list(oracle.compare(name, wanted[name], given))


@pytest.mark.engine
def test_p47_and_p51_lock_does_not_deadlock() -> None:
    """mlx#2133: threads that force each other's arrays in opposite order all end."""
    a, b = lf.array(host.ones(3000)), lf.array(host.ones(3000))
    failures: list[BaseException] = []

    def work(first: Any, second: Any) -> None:
        try:
            for _ in range(50):
                lf.materialize(first * 2 + second)
                lf.materialize(second * 2 + first)
        except BaseException as raised:  # noqa: BLE001 - handed to the test
            failures.append(raised)

    threads = [
        threading.Thread(target=work, args=pair, daemon=True) for pair in ((a, b), (b, a)) * 2
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert not failures

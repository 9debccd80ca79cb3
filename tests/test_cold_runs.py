"""What is met for the first time is run by NumPy: the same bits, no kernel."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse import config
from lazyfuse.runtime import met, session
from lazyfuse.runtime.trace import trace
from tests import oracle
from tests.test_views import CASES as VIEWS
from tests.test_writes import CASES as WRITES

pytestmark = pytest.mark.engine
PROGRAMS = [*VIEWS, *WRITES]


@pytest.fixture(autouse=True)
def cold(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing has been met; how long structures are does not matter."""
    monkeypatch.setattr(met, "PLAN_OPERATION_NS", 0)
    lf.cache_clear()
    with lf.options(cold_size=100_000, eager_size=0, device="cpu", threads=1):
        yield


@pytest.mark.parametrize("program,arrays", PROGRAMS, ids=[case[0].__name__ for case in PROGRAMS])
def test_program(program: Any, arrays: tuple[Any, ...]) -> None:
    oracle.check(program, *arrays)


def _chain(np: Any, x: Any, y: Any) -> Any:
    z = (x * y + 1.5) / (abs(y) + 1) - x[::-1]
    return z, z.sum(), z.max(), z.reshape(40, -1).mean(axis=1), np.cumsum(z), z > 0.5


def test_operands_that_are_not_needed_any_more_are_overwritten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As NumPy's temporaries are; but not while a view of one is used, or the user has it."""
    x = host.arange(4000.0)

    def program(np: Any, x: Any) -> Any:
        kept = x * 2.0
        product = x * x
        turned = product[::-1]
        total = product + 1.0  # of `product` the last use, but not of its memory
        return kept, (turned * total - kept) / 3.0 + total

    oracle.check(program, x)
    lazy = lf.asarray(x)
    pool, taken = session.backend("cpu").memory, []
    take = pool.take
    monkeypatch.setattr(pool, "take", lambda nbytes: taken.append(nbytes) or take(nbytes))
    lf.materialize(((lazy * 2.0 + 1.0) / 3.0 - 4.0) * 5.0)
    assert taken == [x.nbytes]


def test_writes_go_where_nobody_else_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As NumPy's do; what was read before the write, and is used after it, keeps its values."""
    x = host.arange(4000.0)

    def program(np: Any, x: Any) -> Any:
        y = x * 2.0
        part, turned = y[1:3000], y[::-1]
        before, all_before = part * 1.0, y + 0.0
        y[2:2000] = y[:1998]
        y[5:3005] += turned[:3000] * part.sum()
        z = y * 1.0
        z[:10] = z[10:20]
        i = np.arange(4000) // 2
        i[i[:100] * 3] = i[100:200]
        i[:2000] = i[i[:2000]]
        return y, before, all_before, z, i, part

    oracle.check(program, x)
    oracle.check(program, x[::-1])
    lazy = lf.asarray(x)
    pool, taken = session.backend("cpu").memory, []
    take = pool.take
    y = lazy * 2.0
    for step in range(5):
        y[step : 3000 + step] = y[1000:] + 1.0
    monkeypatch.setattr(pool, "take", lambda nbytes: taken.append(nbytes) or take(nbytes))
    lf.materialize(y)
    assert taken.count(x.nbytes) == 1 and lf.stats().cold_runs


def test_the_first_time_and_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel at first, then kernels, and not one bit between them."""
    rng = host.random.default_rng(1)
    x, y = lf.asarray(rng.random(4000)), lf.asarray(rng.random(4000))
    seen = []
    monkeypatch.setattr(met, "PLAN_NS", 1)
    for turn in range(3):
        lf.reset_stats()
        seen.append([lf.asnumpy(value) for value in _told(_chain(lf, x, y))])
        stats = lf.stats()
        assert bool(stats.cold_runs) == (turn == 0)
        assert bool(stats.kernels_launched) == (turn > 0)
    for first, second, third, wanted in zip(
        *seen, _chain(host, lf.asnumpy(x), lf.asnumpy(y)), strict=True
    ):
        assert first.tobytes() == second.tobytes() == third.tobytes()
        assert first.tobytes() == host.asarray(wanted).tobytes()


def _told(values: Any) -> Any:
    lf.materialize(*values)
    return values


def test_a_structure_is_planned_when_interpreting_has_cost_as_much() -> None:
    """More elements, fewer runs."""
    found = []
    for size in (100, 10_000, 90_000):
        x, runs = lf.asarray(host.arange(float(size))), 0
        lf.reset_stats()
        while not lf.stats().plans_built:
            lf.materialize((x * 2 + 1) / (x + 3))
            runs += 1
        found.append(runs)
        assert lf.stats().cold_runs == runs - 1
    assert found == sorted(found, reverse=True) and found[0] < 2000 and 3 < found[-1] < 200


def test_long_structures_are_planned_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each operation, as much later as planning it takes."""
    monkeypatch.setattr(met, "PLAN_OPERATION_NS", 1e15)
    monkeypatch.setattr(met, "PLAN_NS", 1)
    x = lf.asarray(host.arange(4000.0))
    lf.reset_stats()
    for _ in range(5):
        lf.materialize(x * 2 + 1)
    assert lf.stats().cold_runs == 5 and not lf.stats().plans_built


def test_more_elements_are_interpreted_the_first_time() -> None:
    """A program that computes something once takes as long as with NumPy, and nothing is compiled.
    The second time it is. Where NumPy takes long it is at once; functions, too."""
    values = host.arange(150_000.0)
    x = lf.asarray(values)
    lf.reset_stats()
    for turn in range(2):
        assert lf.asnumpy(x * 2 + 1).tobytes() == (values * 2 + 1).tobytes()
        assert lf.stats().cold_runs == 1 and lf.stats().kernels_launched == turn
    lf.reset_stats()
    lf.materialize(lf.sinh(x) * 2)
    long = x
    for number in range(100):
        long = long + float(number)
    lf.materialize(long)
    with lf.options(cold_size=1000):
        lf.materialize(x - 3 / (x + 1))  # no other of this family has been planned
    assert not lf.stats().cold_runs and lf.stats().plans_built == 3


@pytest.mark.parametrize("size,count", ((1_500_000, 1), (90_000, 40)))
def test_what_an_earlier_process_compiled_is_not_interpreted_first(
    size: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where interpreting it once takes longer than reading its plan."""
    x = lf.asarray(host.arange(float(size)))
    for turn, plan_ns in enumerate((1, 1, met.PLAN_NS)):
        monkeypatch.setattr(met, "PLAN_NS", plan_ns)
        lf.reset_stats()
        with lf.options(cache_dir=str(tmp_path), check=False):
            y = x * 0.5
            for number in range(count):
                y = y + float(number + 1)
            lf.materialize(y)
        assert bool(lf.stats().cold_runs) == (turn == 0)
        if turn == 1:
            lf.cache_clear()  # as at the end of a process
    assert lf.stats().plans_loaded and not lf.stats().kernels_compiled


def test_planning_takes_longer_for_more_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(met, "PLAN_OPERATION_NS", 1e6)
    x = lf.asarray(host.arange(4000.0))
    for count in (2, 12):
        long = x
        for number in range(count):
            long = long + float(number + 1)
        lf.materialize(long)
    short, long = [found.plan_ns - met.PLAN_NS for found in session.met.values()]
    assert long - short >= 10e6


def test_what_is_compiled_at_once() -> None:
    """Too many elements."""
    x = lf.asarray(host.arange(4000.0) / 4000)
    lf.reset_stats()
    lf.materialize(lf.concatenate([x] * 60) * 2)
    assert lf.stats().kernels_launched and not lf.stats().cold_runs


def _functions(np: Any, x: Any, y: Any) -> Any:
    a, b = x.reshape(40, 100) + 0.5, y.reshape(100, 40).T + 0.25
    row = x[:100].astype("f4")
    turned = (a + 1j * b)[::-1]
    return (
        np.exp(a) * np.log(b) + np.arctan2(row, a),  # operands that lie differently, and broadcast
        np.power(b, 2.5),  # a scalar
        np.hypot(row, 3),
        np.sin(row[::-3]) + np.float32(2),
        np.log1p(row[:0]),
        np.exp(turned),
        abs(turned),  # whose bits are the kernels'
        np.exp(a.sum() * -1e-5),  # no axes
        np.exp(np.log(np.exp(np.log(b)))),  # in place
        np.power(x[:7], x[7:14]),
    )


def test_functions_whose_bits_are_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are kernels of one operation at first, which later structures use again."""
    rng = host.random.default_rng(2)
    x, y = rng.random(4000), rng.random(4000)
    seen = []
    for spent in (1e15, 0):
        monkeypatch.setattr(met, "PLAN_NS", spent)
        lf.cache_clear()
        lf.reset_stats()
        found = _told(_functions(lf, lf.asarray(x), lf.asarray(y)))
        assert bool(lf.stats().cold_runs) == bool(spent)
        seen.append([(lf.asnumpy(z).tobytes(), z.strides, z.dtype) for z in found])
    assert seen[0] == seen[1]
    lazy = lf.asarray(x)
    monkeypatch.setattr(met, "PLAN_NS", 1e15)
    lf.materialize(lf.exp(lazy * 2))
    lf.reset_stats()
    lf.materialize(lf.exp(-lazy) / (1 + lf.exp(lazy)))
    assert lf.stats().cold_runs == 1 and not lf.stats().kernels_compiled


def test_conditions_of_functions_are_told() -> None:
    x = lf.asarray(host.array([1.0, 0.0, -1.0]))
    with pytest.warns(RuntimeWarning) as heard:
        lf.materialize(lf.log(x) + 1)
    assert lf.stats().cold_runs
    assert sorted(str(warning.message) for warning in heard) == [
        "divide by zero encountered in log",
        "invalid value encountered in log",
    ]


def test_a_function_whose_kernel_cannot_be_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is asked, which says so and calls NumPy."""
    from lazyfuse.backends.cpu import CpuBackend

    def refuse(*_: Any) -> None:
        raise RuntimeError("refused")

    monkeypatch.setattr(CpuBackend, "compile", refuse)
    monkeypatch.setattr(CpuBackend, "compile_briefly", refuse)
    with lf.options(disk_cache=False), pytest.warns(lf.errors.UnfusedWarning, match="refused"):
        result = lf.asnumpy(lf.exp(lf.asarray(host.arange(50.0)) / 64))
    host.testing.assert_allclose(result, host.exp(host.arange(50.0) / 64), rtol=1e-15)


def test_masks_of_ever_new_counts_are_not_compiled() -> None:
    x = lf.asarray(host.arange(1000.0))
    lf.reset_stats()
    for count in range(20):
        part = x[x < 500 + count]
        host.testing.assert_array_equal(
            lf.asnumpy(part * 2 + 1), host.arange(500.0 + count) * 2 + 1
        )
    assert lf.stats().kernels_compiled <= 4 and lf.stats().plans_built <= 6


def test_results_are_memory_of_their_own() -> None:
    x = lf.asarray(host.arange(10.0))
    y = x + 0
    z, same = y * 1, y.copy()
    view = y[2:5]
    lf.materialize(y, z, same, view)
    y += 5
    z *= 3
    host.testing.assert_array_equal(lf.asnumpy(x), host.arange(10.0))
    host.testing.assert_array_equal(lf.asnumpy(same), host.arange(10.0))
    host.testing.assert_array_equal(lf.asnumpy(view), host.arange(7.0, 10.0))
    host.testing.assert_array_equal(lf.asnumpy(z), host.arange(10.0) * 3)


def test_conditions_are_told() -> None:
    x = lf.asarray([1.0, 0.0])
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide") as heard:
        lf.materialize(1 / x)
    assert heard[0].filename == __file__
    lf.cache_clear()
    with pytest.raises(FloatingPointError), host.errstate(divide="raise"):
        2 / x
    lf.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with host.errstate(divide="ignore"):
            quiet = 3 / x
        host.testing.assert_array_equal(lf.asnumpy(quiet), [3, host.inf])


def test_out_of_memory_keeps_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    from lazyfuse.backends.cpu import CpuBackend

    y = lf.asarray(host.arange(10.0)) * 2
    with monkeypatch.context() as patch:
        patch.setattr(CpuBackend, "allocate", lambda *args: _no_memory())
        with pytest.raises(MemoryError):
            lf.materialize(y)
    host.testing.assert_array_equal(lf.asnumpy(y), host.arange(10.0) * 2)


def _no_memory() -> None:
    raise MemoryError


def test_what_takes_longer_than_estimated_is_planned_sooner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first run, which makes kernels of single operations, does not count for that."""
    clock = iter(range(0, 10**18, 10_000_000))
    monkeypatch.setattr(met, "thread_time_ns", lambda: next(clock))
    x = lf.asarray(host.arange(1000.0))
    lf.reset_stats()
    for _ in range(6):
        lf.materialize((x * 3 + 1) / (x + 5))
    assert lf.stats().cold_runs == 3 and lf.stats().plans_built == 1


def test_other_shapes_are_planned_sooner() -> None:
    """Kernels of one structure serve others of the same operations, so planning those costs less;
    results stay as they are."""
    lf.cache_clear()
    runs = []
    values = host.arange(60_000.0)
    for size in (50_000, 50_500, 51_000, 51_500):
        x, count = lf.asarray(values[:size]), 0
        lf.reset_stats()
        while not lf.stats().plans_built:
            found = (x * 3 + 1) / (x + 5)
            lf.materialize(found)
            count += 1
        runs.append(count)
        host.testing.assert_array_equal(
            lf.asnumpy(found), (values[:size] * 3 + 1) / (values[:size] + 5)
        )
    assert max(runs[1:]) < runs[0] / 2


def test_structures_that_come_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once as much has been interpreted as a plan costs one is planned; and from then on each, as
    long as their plans follow from others. They were interpreted for ever."""
    monkeypatch.setattr(met, "PLAN_NS", 1e6)
    values = host.arange(3000.0)
    x = lf.asarray(values)
    lf.reset_stats()
    with lf.options(check=False):
        for lag in range(1, 300):
            found = (x[lag:] * 3 + 1) / (x[:-lag] + 5)
            wanted = (values[lag:] * 3 + 1) / (values[:-lag] + 5)
            host.testing.assert_array_equal(lf.asnumpy(found), wanted)
    stats = lf.stats()
    assert stats.cold_runs < 100 and stats.plans_alike > 150 and stats.plans_built < 20


def test_structures_that_come_once_each_and_have_no_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few are tried, not more: to plan each takes longer than to interpret it."""
    monkeypatch.setattr(met, "PLAN_NS", 1e6)
    x = lf.asarray(host.arange(3000.0))
    lf.reset_stats()
    for lag in range(1, 200):
        lf.materialize((x[lag:] * 3 + 1).reshape(-1, 1, 1, 1, 1) + 5)
    assert lf.stats().plans_built <= met._MOST_VAIN and lf.stats().cold_runs > 150


def test_parts_of_large_arrays() -> None:
    """How large an array is of which parts are read does not matter."""
    values = host.arange(500_000.0)
    x = lf.asarray(values)
    lf.reset_stats()
    found = lf.asnumpy(x[5:1005] * 2.0 + x[7:1007])
    assert found.tobytes() == (values[5:1005] * 2.0 + values[7:1007]).tobytes()
    assert lf.stats().cold_runs == 1 and not lf.stats().plans_built
    lf.materialize(lf.exp(x).max())
    assert lf.stats().cold_runs == 1 and lf.stats().plans_built


def test_what_had_to_be_compiled_is_planned_later() -> None:
    """As long as planning took the last time, but never before that took a millisecond."""
    family = met.Family()
    assert family.bound is None
    with family.counted():
        pass
    assert family.bound == met.NEXT_NS
    with family.counted():
        pass
    assert family.bound == met._LEAST_NS
    with family.counted():
        end = met.thread_time_ns() + 5_000_000
        while met.thread_time_ns() < end:
            pass
    assert family.bound >= 5e6
    trace: Any = None  # not asked for
    for spent, is_cold in ((4e6, True), (met.PLAN_NS, False)):
        found = met.Met(1.0, family, met.PLAN_NS, spent=spent)
        assert found.is_cold(trace, config.current(), "cpu") == is_cold


def test_what_an_operation_computes_or_reads() -> None:
    """A view reads nothing, what folds reads all."""
    x = lf.asarray(host.arange(400.0))
    with lf.options(eager_size=0, cold_size=0):
        y = x.reshape(20, 20) * 2.0
        found = met._work(trace([(y[:2] + 1.0)._storage.node]))
        assert sorted(found.values()) == [40, 40, 400, 400]
        assert list(met._work(trace([(y + 1.0).sum(axis=0)._storage.node])).values()) == [400] * 4

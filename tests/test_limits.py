"""Long chains, wide graphs, many inputs and bounded memory."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Source, Update, View
from lazyfuse.ir.orphans import BYTES
from lazyfuse.runtime import budget
from tests import oracle

pytestmark = pytest.mark.engine

lf = oracle.lf
ROOT = Path(__file__).resolve().parent.parent


def _in_a_small_stack(work: Any) -> None:
    """Run in a thread with a 256 kB stack, so that recursion over the graph would fault."""
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as raised:  # noqa: BLE001 - handed to the test
            failures.append(raised)

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=guarded)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    if failures:
        raise failures[0]


def _chain(length: int, size: int = 3) -> Any:
    x = lf.zeros(size)
    for _ in range(length):
        x = x + 1
    return x


def test_a_chain_of_100_000_operations() -> None:
    """It records, runs and is deleted, cut by the budget (pitfall P19)."""
    start = time.perf_counter()
    assert lf.asnumpy(_chain(100_000)).tolist() == [100_000.0] * 3
    assert time.perf_counter() - start < 60


def test_a_chain_without_a_budget(full: bool) -> None:
    """The same as one graph."""
    length = 100_000 if full else 20_000
    with oracle.options(max_pending_nodes=1 << 30):
        assert lf.asnumpy(_chain(length)).tolist() == [float(length)] * 3


def test_a_chain_deleted_before_it_ran() -> None:
    """Dropping a pending chain of 100,000 nodes frees it without recursion."""
    with oracle.options(max_pending_nodes=1 << 30):
        x = _chain(100_000)
        del x
        gc.collect()


def test_updates_in_a_small_stack() -> None:
    """A long chain of writes in a thread with a 256 kB stack (of operations: pitfall P19)."""

    def work() -> None:
        with oracle.options(max_pending_nodes=1 << 30):
            z = lf.ones(4)
            for _ in range(1500):
                z += 1
                z[1:] *= 1
            assert float(z[3]) == 1501

    _in_a_small_stack(work)


def test_explain_of_a_long_chain() -> None:
    """`explain` and `repr` of a long chain neither recurse nor hang."""
    with oracle.options(max_pending_nodes=1 << 30):
        x = _chain(20_000)
        assert "kernel" in lf.explain(x)
        assert "20000" in repr(x)


def test_fibonacci_by_swapping() -> None:
    """`a, b = b, a + b` 60 times is no exponential tree (pitfall P20)."""
    a, b = lf.array([1.0]), lf.array([1.0])
    start = time.perf_counter()
    for _ in range(60):
        a, b = b, a + b
    assert float(b[0]) == 4052739537881.0 and time.perf_counter() - start < 2


def test_doubling_by_addition() -> None:
    """`x = x + x` 200 times visits each node once."""
    x = lf.ones(5)
    start = time.perf_counter()
    for _ in range(200):
        x = x + x
    assert float(x[0]) == 2.0**200 and time.perf_counter() - start < 5


def test_one_scalar_with_40_000_users() -> None:
    """A node with many users costs linear time (pitfall P20)."""
    s, total = lf.array(2.0), lf.zeros(2)
    with oracle.options(max_pending_nodes=1 << 30):
        start = time.perf_counter()
        for _ in range(40_000):
            total = total + s
        assert lf.asnumpy(total).tolist() == [80_000.0] * 2
        assert time.perf_counter() - start < 20


def test_recording_is_linear() -> None:
    """Twice the chain takes about twice the time."""

    def seconds(length: int) -> float:
        start = time.process_time()
        lf.materialize(_chain(length))
        return time.process_time() - start

    seconds(1000)
    short, long = min(seconds(2000) for _ in range(3)), min(seconds(8000) for _ in range(2))
    assert long < 12 * short + 0.05


def test_700_inputs() -> None:
    """A sum of 700 distinct arrays is exact: no limit on arguments shows (pitfall P15)."""
    arrays = [host.full(50, float(k)) for k in range(700)]

    def program(np: Any, *arrays: Any) -> Any:
        total = arrays[0]
        for array in arrays[1:]:
            total = total + array
        return total

    oracle.check(program, *arrays)


def test_40_inputs_of_five_axes() -> None:
    """40 strided inputs of five axes each: a limit in bytes of arguments does not show (pitfall
    P15).
    """
    base = host.random.default_rng(0).random((3, 4, 5, 6, 7))

    def program(np: Any, *arrays: Any) -> Any:
        total = arrays[0].transpose(4, 3, 2, 1, 0)[::-1]
        for array in arrays[1:]:
            total = total + array.transpose(4, 3, 2, 1, 0)[:, ::-1]
        return total

    oracle.check(program, *[base * k for k in range(40)])


def test_many_outputs() -> None:
    """200 outputs materialized together."""

    def program(np: Any, x: Any) -> Any:
        return [x * k + 1 for k in range(200)]

    oracle.check(program, host.arange(40.0))


def test_high_rank() -> None:
    """Arrays of many axes, transposed and reduced."""
    shape = (2, 1, 3, 2, 1, 2, 3, 1, 2, 2)
    values = host.random.default_rng(1).random(shape)

    def program(np: Any, x: Any) -> Any:
        y = x.transpose(9, 0, 8, 1, 7, 2, 6, 3, 5, 4) + 1
        return [y, y.sum(axis=(0, 3, 5)), x.sum(axis=(2, 6)), x[..., ::-1].max(axis=0) * 2]

    oracle.check(program, values, sums=True)


def test_pending_bytes_are_bounded() -> None:
    """`acc += random` 200 times does not keep 200 inputs alive (pitfall P17)."""
    script = """
        import resource, numpy, lazyfuse as lf
        with lf.options(max_pending_bytes=64 << 20):
            acc = lf.zeros(10**6)
            for _ in range(20):
                acc += lf.array(numpy.random.rand(10**6))
            lf.materialize(acc)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for _ in range(200):
                acc += lf.array(numpy.random.rand(10**6))
            assert abs(float(acc.mean()) - 110) < 1
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print((after - before) // 1024)
    """
    assert _megabytes(script) < 120


@pytest.mark.cpu("small arrays that are NumPy's")
@pytest.mark.parametrize("program", ["sums", "state"])
def test_inputs_that_die_later(program: str) -> None:
    """Each of a list of sums kept an array alive, without a bound, and so did each step of what is
    written again and again but never read, where its inputs were computed after it was
    recorded."""
    gc.collect()
    before, size = BYTES[0], 500_000
    results, state, wanted = [], lf.zeros(size), 0.0
    with oracle.options(max_pending_bytes=8 << 20):
        for number in range(30):
            if program == "sums":
                x = lf.array(host.full(size, float(number)))
                results.append((x * 2.0 + 1.0).sum())
            else:
                x = lf.full(size, float(number)) * 2.0
                state, wanted = (state + x) * 0.5, (wanted + number * 2.0) * 0.5
                lf.materialize(x)
            assert BYTES[0] - before <= 24 << 20
    assert [float(each) for each in results] == [
        size * (number * 2.0 + 1.0) for number in range(len(results))
    ]
    assert (lf.asnumpy(state) == wanted).all()


@pytest.mark.cpu("small arrays that are NumPy's")
def test_little_that_many_keep_alive() -> None:
    """Results that keep less than 3 MB alive each were never run, however many there were; and
    what had once been kept alive was not forgotten when it had gone, so that twice as much was
    allowed."""
    gc.collect()
    before, size = BYTES[0], 70_000
    with oracle.options(max_pending_bytes=8 << 20):
        for _ in range(3):
            results = []
            for number in range(60):
                x = lf.array(host.full(size, float(number)))
                results.append((x * 2.0 + 1.0).sum())
                assert BYTES[0] - before <= 18 << 20
            assert [float(each) for each in results] == [
                size * (number * 2.0 + 1.0) for number in range(len(results))
            ]


@pytest.mark.cpu("small arrays that are NumPy's")
def test_what_keeps_much_alive_itself_is_run_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look for others takes 100 ms: each operation on large arrays did, under small bounds."""
    gc.collect()
    asked: list[None] = []
    monkeypatch.setattr(budget, "_hoarders", lambda: asked.append(None) or [])
    with oracle.options(max_pending_bytes=1 << 20):
        for _ in range(3):
            x = lf.array(host.ones((1000, 1000)))
            sums = x.sum(axis=1)
            del x
            again = sums * 2.0
            assert (lf.asnumpy(again * 2.0) == 4000.0).all()
    assert not asked


def test_operations_that_let_go_while_their_readers_are_walked() -> None:
    """Another thread may compute meanwhile."""
    source = Source((4,), "f8", (1,), object())
    write = Update(source, Layout((4,), (1,), 0), source)
    reader = View(write, Layout((4,), (1,), 0))
    write.srcs = ()
    assert budget._dead_under(reader) == (0, 2)


def test_in_place_needs_no_second_array() -> None:
    """`x *= 2` and `x[1:-1] = expr` on 400 MB stay below 1.15 times that (pitfall P53)."""
    script = """
        import resource, numpy, lazyfuse as lf
        small = lf.ones(1000)
        small *= 2
        small[1:-1] = small[1:-1] * 3 + 1
        lf.materialize(small)
        base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        x = lf.zeros(50_000_000)
        x += 1
        lf.materialize(x)
        x *= 2
        lf.materialize(x)
        x[1:-1] = x[1:-1] * 3 + 1
        assert float(x[5]) == 7 and float(x[0]) == 2
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) // 1024)
    """
    assert _megabytes(script) < 440


def test_memory_of_dead_temporaries_is_reused() -> None:
    """A 500-op chain with fan-out 2 over 8 MB arrays peaks far below the sum of its parts (pitfall
    P18).
    """
    script = """
        import resource, numpy, lazyfuse as lf
        x = lf.array(numpy.random.rand(10**6))
        lf.materialize(x)
        base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        y = x
        for k in range(250):
            y = lf.sqrt(y * y + y[::-1]) - y
        lf.materialize(y)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) // 1024)
    """
    assert _megabytes(script) < 400


def _megabytes(script: str) -> int:
    """Run a script in a process of its own and return the number that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True, text=True, timeout=300, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


def test_a_loop_with_hidden_state_has_constant_kernels() -> None:
    """A loop that updates state and reads one output launches as many kernels each time (pitfall
    P22).
    """
    state, hidden = lf.zeros(2000), lf.ones(2000)
    counts = []
    for step in range(300):
        state = state * 0.5 + hidden
        hidden = lf.sqrt(hidden + state)
        if step % 10 == 9:
            lf.reset_stats()
            lf.materialize(state, hidden)
            counts.append((lf.stats().kernels_launched, lf.stats().kernels_compiled))
    assert len(set(counts[2:])) == 1 and counts[-1][1] == 0, counts


def test_unread_state_does_not_grow() -> None:
    """State that is updated 1000 times and never read is cut by the budget, not kept for ever
    (pitfall P22).
    """
    hidden, x = lf.ones(500), lf.ones(500)
    with oracle.options(max_pending_nodes=200):
        compiled = []
        for step in range(1000):
            hidden = hidden * 0.99 + x
            x = x + 0.001
            lf.materialize(x)
            if step % 100 == 99:
                compiled.append(lf.stats().kernels_compiled)
        assert len(set(compiled[3:])) == 1, compiled
        wanted, x_host = host.ones(500), host.ones(500)
        for _ in range(1000):
            wanted = wanted * 0.99 + x_host
            x_host = x_host + 0.001
        assert (lf.asnumpy(hidden) == wanted).all()


@pytest.mark.slow
def test_more_than_2_to_the_31_elements(full: bool) -> None:
    """Indices are 64 bits wide (pitfall P24)."""
    if not full:
        pytest.skip("needs 2.2 GB: run with --full")
    a = lf.zeros(2**31 + 8, "i1")
    a += 1
    a[-3:] += 1
    assert int(a[-1]) == 2 and int(a[2**31 - 1]) == 1 and int(a.sum(dtype="i8")) == 2**31 + 11
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 6 * 1024**2

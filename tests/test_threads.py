"""Many threads: recording, materializing, shared inputs, shared pending work, shared caches."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from lazyfuse.ir import storage
from tests import corpus, oracle, programs

pytestmark = pytest.mark.engine

lf = oracle.lf
WORKERS = 16


def in_threads(work: Callable[[int], Any], count: int = WORKERS) -> list[Any]:
    """Run work(0..count-1) in threads that start together; errors surface here."""
    gate = threading.Barrier(count)

    def gated(index: int) -> Any:
        gate.wait(timeout=60)
        return work(index)

    with ThreadPoolExecutor(count) as pool:
        return [
            future.result(timeout=120) for future in [pool.submit(gated, k) for k in range(count)]
        ]


SUMS = oracle.Rules(sums=True)


def test_a_shared_input() -> None:
    """Sixteen threads compute with one input (pitfall P47)."""
    values = corpus.random_values("f8", 20_000)
    x = lf.array(values)
    given = in_threads(lambda k: [lf.asnumpy((x * k + j).sum()) for j in range(10)])
    for k, results in enumerate(given):
        for j, result in enumerate(results):
            assert not list(oracle.compare("sum", (values * k + j).sum(), result[()], SUMS))


def test_a_shared_pending_array() -> None:
    """Sixteen threads read one array that nobody has computed yet: it is computed once, right."""
    values = corpus.random_values("f8", 50_000)
    for _ in range(5):
        x = lf.array(values)
        pending = (x * 3 - 1) / 7
        given = in_threads(lambda k: lf.asnumpy(pending + k))  # noqa: B023
        for k, result in enumerate(given):
            assert (result == (values * 3 - 1) / 7 + k).all()


def test_one_cold_kernel() -> None:
    """Threads that need the same kernel at once get the same right answer."""
    values = corpus.random_values("f4", 9000)
    x = lf.array(values)
    with oracle.options(disk_cache=False):
        for k in range(3):
            lf.cache_clear()
            given = in_threads(lambda _: lf.asnumpy(lf.hypot(x, k + 0.5) - x))  # noqa: B023
            assert all((result == given[0]).all() for result in given)


def test_different_programs() -> None:
    """Each thread runs the whole corpus in its own order."""
    examples = list(programs.examples().values())
    wanted = [oracle.evaluate(example.program, *example.arrays) for example in examples]

    def work(index: int) -> None:
        for step in range(len(examples)):
            pick = (index * 5 + step) % len(examples)
            given = oracle.evaluate(examples[pick].program, *examples[pick].arrays)
            assert not list(oracle.compare("result", wanted[pick], given))

    in_threads(work, 6)


def test_own_writes() -> None:
    """Threads that write to their own copies do not meet."""
    values = corpus.random_values("f8", 3000)
    x = lf.array(values)

    def work(index: int) -> Any:
        own = x.copy()
        for _ in range(20):
            own[1:] += own[:-1]
            own *= 0.5 + index / 100
        return lf.asnumpy(own)

    given = in_threads(work)
    for index, result in enumerate(given):
        own = values.copy()
        for _ in range(20):
            own[1:] += own[:-1]
            own *= 0.5 + index / 100
        assert (result == own).all()


def test_readers_that_come_while_they_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No reader of another thread is taken for one that has gone."""
    x = lf.array(host.arange(50_000.0))
    own, holders, made = x._storage, storage._holders, []
    dropped = x * 2.0
    del dropped
    before = own.node.users

    def counted(each: Any) -> int:
        found = holders(each)
        in_threads(lambda _: made.append(x * 3.0), 1)
        return found

    monkeypatch.setattr(storage, "_holders", counted)
    own.has_readers()
    monkeypatch.undo()
    assert own.node.users == before + len(made) == before + 1


def test_disjoint_writes_to_one_array() -> None:
    """Threads that write their own rows of one array lose no write."""
    x = lf.zeros((WORKERS, 500))

    def work(index: int) -> None:
        row = x[index]
        for _ in range(10):
            row += index

    in_threads(work)
    wanted = host.repeat(host.arange(WORKERS) * 10.0, 500).reshape(WORKERS, 500)
    assert (lf.asnumpy(x) == wanted).all()


@pytest.fixture
def restless() -> Iterator[None]:
    """Switch threads as often as the interpreter can, which shows races that are else rare."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
def test_no_write_is_lost() -> None:
    """Two threads that wrote different rows at once made versions of the same one: one was lost.
    Slices, masks, lists, elements and typed views, all into one pending array.
    """
    steps = 15

    def work(index: int) -> None:
        row = x[index]
        for _ in range(steps):
            row += 1
            x[index, row < 0] = -1
            x[index, [0, 1]] += 1
            x[index, 2] = x[index, 2] + 1
            x[index, 3:].view("f8")[...] += 1

    for _ in range(3):
        x = lf.zeros((WORKERS, 200))
        in_threads(work)
        wanted = host.full(200, 2.0 * steps)
        assert (lf.asnumpy(x) == wanted).all()


@pytest.mark.usefixtures("restless")
def test_one_writes_and_others_read() -> None:
    """Readers of an array that a thread writes see each write as a whole, in order, whether they
    copy it out, compute with it or read elements.
    """
    count, length = 150, 20_000
    x = lf.zeros(length)
    done = threading.Event()

    def write() -> None:
        for step in range(count):
            x[...] += 1
            if step % 3 == 0:
                x.materialize()
        done.set()

    def reuse_memory() -> None:
        while not done.is_set():
            lf.materialize(lf.zeros(length) - 7777)

    def read(look: Callable[[], Any]) -> None:
        last = 0
        while not done.is_set():
            values = host.asarray(look())
            assert (values == values[0]).all() and last <= values[0] <= count
            last = values[0]

    looks: list[Callable[[], Any]] = [
        lambda: x + 0, lambda: x[::2] * 1, lambda: [x[5], x[7]][:1], lambda: x.copy(),
    ]  # fmt: skip

    def work(index: int) -> None:
        if index < 2:
            (write, reuse_memory)[index]()
        else:
            read(looks[index % len(looks)])

    in_threads(work, 10)
    assert (lf.asnumpy(x) == count).all()


@pytest.mark.usefixtures("restless")
def test_pending_arrays_forced_in_every_way() -> None:
    """Threads force one pending array by printing, converting, pickling and iterating."""
    values = corpus.random_values("f8", 2000)
    ways: list[Callable[[Any], Any]] = [
        lambda x: repr(x), lambda x: float(x[3]), lambda x: pickle.dumps(x), lambda x: list(x),
        lambda x: x.tolist(), lambda x: float(x.sum()), lambda x: host.asarray(x[::-1]).tobytes(),
        lambda x: x.__dask_tokenize__()[0],
    ]  # fmt: skip
    for _ in range(5):
        x = lf.array(values) * 2 + 1
        given = in_threads(lambda k: ways[k % len(ways)](x))  # noqa: B023
        wanted = lf.array(values * 2 + 1)
        for k, result in enumerate(given):
            assert result == ways[k % len(ways)](wanted)


@pytest.mark.cpu("floating point flags")
def test_errstate_is_per_thread() -> None:
    """An errstate that raises in one thread leaves another alone, also when both wait for the same
    lock.
    """
    zeros = lf.array(host.zeros(5000))

    def work(index: int) -> str:
        with host.errstate(divide="raise" if index % 2 else "ignore"):
            try:
                lf.materialize(1.0 / zeros)
            except FloatingPointError:
                return "raised"
            return "ignored"

    assert in_threads(work) == ["ignored", "raised"] * (WORKERS // 2)


def test_options_are_per_thread() -> None:
    """An option set in one thread does not reach another."""
    inside, outside = threading.Event(), threading.Event()
    seen: list[int] = []
    x = lf.array(host.ones(3000))
    lf.materialize(x)

    def other() -> None:
        inside.wait(60)
        lf.reset_stats()
        lf.materialize(x * 2 + 1)
        seen.append(lf.stats().kernels_launched)
        outside.set()

    thread = threading.Thread(target=other)
    thread.start()
    with lf.options(fusion=False):
        inside.set()
        assert outside.wait(60)
    thread.join()
    assert seen == [1]


def test_arrays_cross_threads() -> None:
    """Work recorded in one thread is run and dropped in another."""
    x = lf.array(host.arange(4000.0))
    for _ in range(20):
        box: list[Any] = []
        maker = threading.Thread(target=lambda: box.append(lf.sqrt(x + 1) * 2))  # noqa: B023
        maker.start()
        maker.join()
        assert (lf.asnumpy(box.pop()) == host.sqrt(host.arange(4000.0) + 1) * 2).all()


@pytest.mark.parametrize("threads", (1, 2, 3, 7))
def test_thread_counts(threads: int) -> None:
    """Any number of kernel threads gives the same bits, also for sizes that do not divide."""
    values = corpus.random_values("f4", 700_001)

    def program(np: Any, x: Any) -> Any:
        return [
            x * 2 + 1,
            x.sum(),
            x[1:].reshape(1000, 700).sum(0),
            x[1:].reshape(1000, 700).max(1),
            x.argmax(),
        ]

    with oracle.options(threads=threads):
        oracle.check(program, values, sums=True)


FIRST = """
import sys, threading
sys.setswitchinterval(1e-6)
import lazyfuse as lf
from lazyfuse.runtime import session

begin, found = threading.Barrier(6), []

def ask():
    begin.wait()
    found.append(session.backend("cpu"))

threads = [threading.Thread(target=ask) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(found) == 6 and len(set(map(id, found))) == 1
"""


def test_one_backend_for_all_threads() -> None:
    """Threads that were the first to compute had a backend each, with memory and workers."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST], capture_output=True, text=True, check=False, timeout=60,
        cwd=Path(__file__).resolve().parents[1],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.cpu("machine code that has the GIL, or has not")
@pytest.mark.parametrize("size,is_long", ((200, False), (1_000_000, True)))
def test_long_kernels_alone_leave_python_to_others(
    size: int, is_long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop over short ones that did starved every other thread: those that wait are told each
    time, come too late, and have never waited long enough to be given a turn.
    """
    from lazyfuse.runtime import session

    calls = session.backend("cpu").compiler.calls
    left: list[int] = []
    launch = calls.launch
    monkeypatch.setattr(calls, "launch", lambda address: left.append(1) or launch(address))
    with lf.options(eager_size=0, cold_size=0, threads=1, native=False):
        a, b = lf.array(host.arange(float(size))), lf.array(host.ones(size))
        for _ in range(3):
            assert float((a + b)[3]) == 4.0
            x = a * b + 1.0
            lf.materialize(x)
    assert bool(left) == is_long

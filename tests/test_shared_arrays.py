"""Arrays that several threads touch: what one has recorded keeps its values, what one writes no
other loses, whether it lies in small parts, rows, NumPy's arrays or machine code's hands.
"""

from __future__ import annotations

import os
import queue
import random
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.environment import python_path

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

pytestmark = [pytest.mark.engine, pytest.mark.cpu("memory that threads share")]

lf = oracle.lf
_ROWS = 8


@pytest.fixture(autouse=True)
def restless() -> Iterator[None]:
    """Threads take turns often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def address(array: Any) -> int:
    return int(array._storage.node.buffer.pointer)


def in_another_thread(function: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_writes_stay_where_they_are() -> None:
    """In the memory of an array that another thread has written, too: nobody has to copy it."""
    with oracle.options(eager_size=100):
        x = lf.zeros((_ROWS, 1000)) + 1.0
        x.materialize()
        in_another_thread(lambda: x.__setitem__((0, 0), 5.0))
        assert x._storage.is_shared
        before = address(x)

        def write() -> None:
            with oracle.options(eager_size=100):  # options are each thread's own
                x[1, 3] = 2.0
                x[2] = host.arange(1000.0)
                x[3, :100] = 7.0
                x[4, :5] = [1.0, 2.0, 3.0, 4.0, 5.0]

        write()
        in_another_thread(write)
        assert address(x) == before
    wanted = host.ones((_ROWS, 1000))
    wanted[0, 0], wanted[1, 3], wanted[2], wanted[3] = 5.0, 2.0, host.arange(1000.0), 1.0
    wanted[3, :100], wanted[4, :5] = 7.0, range(1, 6)
    host.testing.assert_array_equal(host.asarray(x), wanted)


def test_what_was_recorded_keeps_its_values() -> None:
    """In whatever thread, and whoever writes next."""
    with oracle.options(eager_size=0):
        x = lf.arange(3000.0) * 1
        x.materialize()
        theirs = in_another_thread(lambda: x + 1)
        x[5] = -1.0
        ours = x * 2
        in_another_thread(lambda: x.__setitem__(slice(None), 0.0))
        assert float(theirs[5]) == 6.0 and float(ours[5]) == -2.0 and float(x[5]) == 0.0


def test_numpys_arrays_write_in_any_thread() -> None:
    """`ndimage.correlate(x, kernel, output)` in a pool had an output that was read-only."""
    x = lf.zeros((_ROWS, 20_000))
    before = x + 1

    def write(row: int) -> None:
        host.copyto(host.asarray(x[row]), float(row))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(_ROWS)))
    host.testing.assert_array_equal(
        host.asarray(x), host.repeat(host.arange(float(_ROWS)), 20_000).reshape(_ROWS, -1)
    )
    assert (before == 1).all()
    with ThreadPoolExecutor(1) as pool:
        kept = pool.submit(lambda: host.asarray(x)).result()
    kept[0, 0] = 9.0
    x[1, 1] = 8.0
    assert float(x[0, 0]) == 9.0 and kept[1, 1] == 8.0


def test_a_loan_of_what_somebody_reads() -> None:
    """It gets a copy; who reads it, in another thread, has the old values."""
    with oracle.options(eager_size=0):
        x = lf.arange(5000.0) + 0
        x.materialize()
        theirs = in_another_thread(lambda: x - 1)
        numpys = host.asarray(x)
        numpys[3] = 100.0
        assert float(x[3]) == 100.0 and float(theirs[3]) == 2.0


def test_who_comes_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that another thread takes as this one begins to write is not written again."""
    with oracle.options(eager_size=0):
        x = lf.arange(5000.0) + 0
        x.materialize()
        watch = weakref.ref(x._storage)  # as of who knows something of it: a new version is made
        renew, theirs = type(x._storage)._renew, []

        def late(storage: Any) -> None:
            if storage is x._storage and not theirs:
                theirs.append(in_another_thread(lambda: x * 2))
            renew(storage)

        monkeypatch.setattr(type(x._storage), "_renew", late)
        x.put([0], [7.0])
        assert theirs and watch() is x._storage
        x.put([5], [100.0])
        x[6] = 100.0
        assert float(theirs[0][5]) == 10.0 and float(theirs[0][6]) == 12.0


def test_who_comes_at_any_time() -> None:
    """The same, as it comes."""
    todo: queue.SimpleQueue[Any] = queue.SimpleQueue()
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def record() -> None:
        while (given := todo.get()) is not None:
            done.put(given * 2)
            del given

    thread = threading.Thread(target=record)
    thread.start()
    with oracle.options(eager_size=0):
        for number in range(300):
            x = lf.zeros((_ROWS, 600)) + 1.0
            x.materialize()
            todo.put(x)
            for _ in range(number % 12):
                pass
            x[0] = host.full(600, 9.0)
            theirs = done.get()
            x[5] = host.full(600, 100.0)
            x[6, :3] = [100.0, 100.0, 100.0]
            assert (theirs[1:] == 2).all(), number
    todo.put(None)
    thread.join()


@pytest.mark.parametrize("use", ("numpy.asarray(x)", "x.put([4500], [1.0])", "memoryview(x)"))
def test_a_handler_that_writes_what_is_computed(use: str) -> None:
    """What a warning of an array's value calls may write the array: that is there in the end."""
    program = f"""
import warnings, numpy, lazyfuse as lf
x = lf.ones(5000) - 2.0
x.materialize()
other = lf.ones(4000) + 1.0
def show(*args, **kwargs):
    x[:4000] = other * 3
warnings.showwarning = show
warnings.simplefilter("always")
x[...] = lf.log(x)
{use}
assert float(lf.nansum(x[:4000])) == 24000.0
"""
    environment = os.environ | {"PYTHONPATH": python_path(), "LAZYFUSE_EAGER_SIZE": "0"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=100)


# ---- programs

Own = dict[str, Any]
Statement = Callable[[Any, dict[str, Any], Own, str, int, float, str], None]


def _read(xp: Any, a: Any, own: Own, k: str, i: int, c: float, s: str) -> None:
    own[s] = a[k] * 2 + c


def _read_row(xp: Any, a: Any, own: Own, k: str, i: int, c: float, s: str) -> None:
    own[s] = a[k][i] - c


def _keep_row(xp: Any, a: Any, own: Own, k: str, i: int, c: float, s: str) -> None:
    own[s] = a[k][i]


def _sum(xp: Any, a: Any, own: Own, k: str, i: int, c: float, s: str) -> None:
    own[s] = a[k][i].sum()


def _set(xp: Any, a: Any, own: Own, k: str, i: int, c: float, s: str) -> None:
    a[k][i, 5] = c


def _set_row(xp: Any, a: Any, own: Own, k: str, i: int, c: float, s: str) -> None:
    a[k][i] = a[k][(i + 1) % _ROWS] * 0.5 + c


def _add(xp: Any, a: Any, own: Own, k: str, i: int, c: float, s: str) -> None:
    a[k] += c


def _scale_row(xp: Any, a: Any, own: Own, k: str, i: int, c: float, s: str) -> None:
    a[k][i] *= c


def _mask(xp: Any, a: Any, own: Own, k: str, i: int, c: float, s: str) -> None:
    a[k][a[k] > c + 20] = c


def _lend(xp: Any, a: Any, own: Own, k: str, i: int, c: float, s: str) -> None:
    own["numpys " + s] = host.asarray(a[k])


def _write_lent(xp: Any, a: Any, own: Own, k: str, i: int, c: float, s: str) -> None:
    if "numpys " + s in own:
        own["numpys " + s][i, 2] = c


def _return(xp: Any, a: Any, own: Own, k: str, i: int, c: float, s: str) -> None:
    own.pop("numpys " + s, None)


def _whole(xp: Any, a: Any, own: Own, k: str, i: int, c: float, s: str) -> None:
    a[k][...] = xp.sqrt(a["ABC"[i % 3]] ** 2 + 1)


_STATEMENTS: tuple[Statement, ...] = (
    _read, _read_row, _keep_row, _sum, _set, _set_row, _add, _scale_row, _mask, _lend, _write_lent,
    _return, _whole,
)  # fmt: skip


def run_programs(seed: int, columns: int) -> None:
    """Three threads run random statements on three arrays, one at a time; NumPy runs the same in
    the order that came of it."""
    draw = random.Random(seed)
    numbers = host.random.default_rng(seed).normal(size=(3, _ROWS, columns)) * 10
    start = dict(zip("ABC", host.round(numbers, 2), strict=True))
    shared = {name: lf.array(values) for name, values in start.items()}
    programs = [
        [
            (
                draw.choice(_STATEMENTS), draw.choice("ABC"), draw.randrange(_ROWS),
                round(draw.uniform(-3, 3), 2), draw.choice("uvw"),
            )
            for _ in range(draw.choice((20, 60, 150)))
        ]
        for _ in range(3)
    ]  # fmt: skip
    done: list[tuple[int, Any]] = []
    lock = threading.Lock()
    owned: list[Own] = [{}, {}, {}]

    def work(thread: int) -> None:
        for each in programs[thread]:
            with lock:
                done.append((thread, each))
                each[0](lf, shared, owned[thread], *each[1:])

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    wanted_own: list[Own] = [{}, {}, {}]
    wanted = {name: values.copy() for name, values in start.items()}
    for thread, each in done:
        each[0](host, wanted, wanted_own[thread], *each[1:])
    for name, values in wanted.items():
        host.testing.assert_allclose(host.asarray(shared[name]), values, rtol=1e-9)
    for found, expected in zip(owned, wanted_own, strict=True):
        assert found.keys() == expected.keys()
        for name, values in expected.items():
            host.testing.assert_allclose(host.asarray(found[name]), values, rtol=1e-9)


@pytest.mark.parametrize("columns", (50, 8000))
@pytest.mark.parametrize("eager_size", (0, 30_000))
def test_programs(eager_size: int, columns: int, full: bool) -> None:
    with oracle.options(eager_size=eager_size):
        for seed in range(200 if full else 12):
            run_programs(seed, columns)


def test_programs_in_machine_code(full: bool) -> None:
    """The same in a process that has machine code from the start."""
    program = f"""
import sys
from lazyfuse.frontend import native_methods
from tests.test_shared_arrays import lf, run_programs
assert native_methods.make_native(lf.LazyArray)
sys.setswitchinterval(1e-5)
for columns in (50, 8000):
    for seed in range({500 if full else 40}):
        run_programs(seed, columns)
"""
    environment = os.environ | {"PYTHONPATH": python_path(), "LAZYFUSE_EAGER_SIZE": "300"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=300)


@pytest.mark.parametrize("columns", (50, 20_000))
def test_rows_of_one_array(columns: int, full: bool) -> None:
    """Threads that run at the same time, each on its own rows, and lose nothing."""
    for seed in range(60 if full else 6):
        start = host.round(host.random.default_rng(seed).normal(size=(_ROWS, columns)), 2)
        shared, wanted = lf.array(start), start.copy()
        programs = [random.Random(seed * 10 + thread) for thread in range(4)]
        states = [draw.getstate() for draw in programs]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(_on_rows, [shared] * 4, range(4), programs))
        for thread, draw in enumerate(programs):
            draw.setstate(states[thread])
            expected = _on_rows(wanted, thread, draw)
            for mine, theirs in zip(found[thread], expected, strict=True):
                host.testing.assert_allclose(host.asarray(mine), theirs, rtol=1e-9)
        host.testing.assert_allclose(host.asarray(shared), wanted, rtol=1e-9)


def _on_rows(a: Any, thread: int, draw: random.Random) -> list[Any]:
    """A random program on two rows; what it has read."""
    read: list[Any] = []
    for _ in range(60):
        i, j = 2 * thread + draw.randrange(2), draw.randrange(a.shape[1])
        c = round(draw.uniform(-2, 2), 2)
        way = draw.randrange(9)
        if way == 0:
            a[i, j] = c
        elif way == 1:
            a[i] = a[i] * 0.5 + c
        elif way == 2:
            a[i] += c
        elif way == 3:
            a[i][a[i] > c] = c
        elif way == 4:
            host.asarray(a[i])[j] = c
        elif way == 5:
            a[2 * thread : 2 * thread + 2] = a[2 * thread : 2 * thread + 2] - c
        elif way == 6:
            read.append(a[i] * 2 + c)
        elif way == 7:
            read.append(a[i].sum())
        else:
            read.append(a[i, j])
    return read

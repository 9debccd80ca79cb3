"""Workers of the CPU backend: kernels that call back into Python show who runs what."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lazyfuse import config
from lazyfuse.backends.cpu import CpuBackend, launch_cut, launch_text
from lazyfuse.backends.cpu.compiler import Calls, Compiler
from lazyfuse.backends.cpu.launch_run import Job, Run
from lazyfuse.backends.cpu.launch_text import ENTRIES, SLOTS, WORKERS, is_sse, text
from lazyfuse.backends.cpu.processors_text import ON_LINUX
from lazyfuse.backends.cpu.sandbox import is_open
from lazyfuse.ops.body import Body
from lazyfuse.ops.float_flags import OVERFLOW
from lazyfuse.runtime import session
from tests.concurrently import concurrently
from tests.kernel_runner import (
    KernelRunner,
    column_kernel,
    elementwise,
    full_sum,
    load,
    run_columns,
    same,
    values,
)

BACKEND = CpuBackend()
CALLS = BACKEND.compiler.calls
RUN = KernelRunner(BACKEND)
#: A kernel gets the address of its parameters, and a range.
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
Kernel = Callable[[int, int, int], None]


@pytest.fixture(autouse=True)
def fresh_stats() -> None:
    """Replace the suite's fixture: nothing here goes through the engine that counts."""


def launch(
    kernel: Kernel,
    *,
    end: int,
    grain: int = 1,
    helpers: int,
    wakes: int | None = None,
    start: bool = True,
) -> int:
    """Run a kernel, waking all helpers if nothing else is said. Return the conditions; raise what
    it raises."""
    errors: list[BaseException] = []

    def guarded(params: int, begin: int, stop: int) -> None:
        try:
            kernel(params, begin, stop)
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    code = KERNEL(guarded)
    run = Run((ctypes.c_int64 * 4)(), 1 + helpers)
    address = ctypes.cast(code, ctypes.c_void_p).value
    assert address is not None
    wakes = helpers if wakes is None else wakes
    run.set_jobs([Job(address, run.params, end, grain, helpers, wakes)])
    if start:
        BACKEND.workers.start(helpers)
    CALLS.launch(run.address)
    if errors:
        raise errors[0]
    return CALLS.decoded[run.met()]


def meet(count: int) -> Kernel:
    """A kernel whose ranges wait for each other: it ends only if so many threads take part."""
    gate = threading.Barrier(count)
    return lambda params, begin, stop: (gate.wait(20), None)[1]


@pytest.mark.parametrize("helpers", (1, 3))
def test_workers_take_part_however_long_they_waited(helpers: int) -> None:
    """Right after a job, while they look for one, on the way to sleep, and asleep."""
    pause = random.Random(helpers)
    for _ in range(100):
        launch(meet(1 + helpers), end=1 + helpers, helpers=helpers)
        until = time.perf_counter() + pause.choice((0, 30e-6, 90e-6, 110e-6, 400e-6))
        while time.perf_counter() < until:
            pass


def test_every_range_is_run_once() -> None:
    """Whatever the end, the grain, and who takes part."""
    draw = random.Random(3)
    for _ in range(60):
        end, grain, helpers = draw.randint(1, 60), draw.randint(1, 20), draw.randint(0, 3)
        ranges: list[tuple[int, int]] = []
        launch(
            lambda params, begin, stop: ranges.append((begin, stop)),  # noqa: B023
            end=end, grain=grain, helpers=helpers,
        )  # fmt: skip
        wanted = [(begin, min(begin + grain, end)) for begin in range(0, end, grain)]
        assert sorted(ranges) == wanted


def test_the_caller_begins_and_the_helper_ends() -> None:
    """Each goes on from its end of the work, so that it finds its part in its cache again."""
    gate, claimed = threading.Barrier(2), dict[int, list[int]]()

    def kernel(params: int, begin: int, stop: int) -> None:
        mine = claimed.setdefault(threading.get_ident(), [])
        mine.append(begin)
        if len(mine) == 1:
            gate.wait(20)

    launch(kernel, end=40, helpers=1)
    own = claimed.pop(threading.get_ident())
    (others,) = claimed.values()
    assert own == list(range(len(own)))
    assert others == list(range(39, len(own) - 1, -1))


def test_small_jobs_do_not_wake_who_sleeps() -> None:
    """Unless another job was over just before: then they will be awake for the next."""

    def helped(kernel: Kernel) -> bool:
        seen: set[int] = set()
        launch(
            lambda *given: (seen.add(threading.get_ident()), kernel(*given))[1],
            end=4, helpers=1, wakes=0,
        )  # fmt: skip
        return len(seen) == 2

    def alone_after_a_pause() -> bool:
        time.sleep(0.01)
        return not helped(lambda params, begin, stop: time.sleep(0.001))

    def together_at_once() -> bool:
        helped(lambda params, begin, stop: None)
        return helped(lambda params, begin, stop: time.sleep(0.005))

    # a busy machine may keep a worker from sleeping, or the caller from being close
    assert any(alone_after_a_pause() for _ in range(50))
    assert any(together_at_once() for _ in range(50))


def test_no_more_than_were_asked() -> None:
    """Workers that are there do not come uninvited."""
    BACKEND.workers.start(3)
    seen: set[int] = set()

    def kernel(params: int, begin: int, stop: int) -> None:
        seen.add(threading.get_ident())
        time.sleep(0.001)

    launch(kernel, end=20, helpers=1)
    assert len(seen) <= 2
    launch(meet(4), end=4, helpers=3)  # all of them were there


def test_each_has_parameters_of_its_own() -> None:
    """The calling thread gets the first block, each helper another one."""
    given: dict[int, int] = {}
    gate = threading.Barrier(3)

    def kernel(params: int, begin: int, stop: int) -> None:
        given[threading.get_ident()] = params
        gate.wait(20)

    launch(kernel, end=3, helpers=2)
    blocks = sorted(given.values())
    assert len(set(blocks)) == 3 and given[threading.get_ident()] == blocks[0]
    assert blocks[1] - blocks[0] == blocks[2] - blocks[1] >= 32


def test_the_last_helper_is_waited_for() -> None:
    """Also when the caller has gone to sleep over it."""
    caller, done = threading.get_ident(), []
    gate = threading.Barrier(2)

    def kernel(params: int, begin: int, stop: int) -> None:
        gate.wait(20)
        if threading.get_ident() != caller:
            time.sleep(0.02)
            done.append(begin)

    for number in range(5):
        launch(kernel, end=2, helpers=1)
        assert len(done) == number + 1


_ASIDE = """
define void @aside(i64 %theirs) {
  %number = trunc i64 %theirs to i32
  call void @step_aside(i32 %number)
  ret void
}
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads cannot say it")
def test_a_thread_leaves_a_processor() -> None:
    """If it is the one that is named; it may come back later."""
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("there is one processor")
    compiler, here = BACKEND.compiler, min(allowed)
    code = compiler.link(compiler.compile(ON_LINUX + _ASIDE), ["aside", "lf_stay"])
    aside, processor = code.function("aside", 1), ctypes.CDLL(None).sched_getcpu

    def goes(theirs: int) -> bool:
        os.sched_setaffinity(0, {here})
        os.sched_setaffinity(0, allowed)
        aside(theirs)
        assert os.sched_getaffinity(0) == allowed
        return processor() != here

    try:
        # where processors are busy, the scheduler may send a thread elsewhere, or back
        assert sum(goes(here) for _ in range(20)) > 15
        assert sum(goes(max(allowed)) for _ in range(20)) < 10
        code.function("lf_stay", 0)()
        assert sum(goes(here) for _ in range(20)) < 10
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize(
    ("status", "allows"),
    (
        ("Name:\tx: y\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n", False),  # systemd
        ("NoNewPrivs:\t0\nSeccomp:\t2\n", True),  # a container
        ("NoNewPrivs:\t1\nSeccomp:\t0\n", True),
        ("", True),
    ),
)
def test_no_thread_moves_where_it_could_be_killed_for_it(status: str, allows: bool) -> None:
    assert is_open(status) == allows


_TELLS = """
@told = global i64 0
define void @lf_stay() {
  ret void
}
define internal i32 @processor() {
  ret i32 7
}
define internal void @step_aside(i32 %theirs) {
  %number = zext i32 %theirs to i64
  store atomic i64 %number, ptr @told seq_cst, align 8
  ret void
}
"""


def test_workers_step_aside_for_their_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are told where it is before they take part."""
    for system in (launch_text._LINUX, launch_text._POSIX, launch_text._WINDOWS):
        monkeypatch.setitem(system, "PROCESSORS", _TELLS)
    compiler = Compiler()
    code = compiler.link(compiler.compile(text(compiler.triple)), (*ENTRIES, "told"))
    calls = Calls(code, ())
    told = ctypes.c_int64.from_address(code.address("told"))
    seen: list[int] = []
    gate = threading.Barrier(2)
    kernel = KERNEL(lambda params, begin, stop: (seen.append(told.value), gate.wait(20))[0])
    address = ctypes.cast(kernel, ctypes.c_void_p).value
    assert address is not None and told.value == 0
    run = Run((ctypes.c_int64 * 4)(), 2)
    run.set_jobs([Job(address, run.params, 2, 1, 1, 1)])
    worker = threading.Thread(target=calls.serve)
    worker.start()
    try:
        calls.launch(run.address)
    finally:
        calls.close()
        worker.join(20)
    assert told.value == 7 == max(seen)


def test_without_workers_the_caller_does_all() -> None:
    """As in a process that cannot start threads."""
    alone = CpuBackend()
    code = KERNEL(lambda params, begin, stop: ranges.append((begin, threading.get_ident())))
    ranges: list[tuple[int, int]] = []
    run = Run((ctypes.c_int64 * 4)(), 1)
    run.set_jobs([Job(ctypes.cast(code, ctypes.c_void_p).value or 0, run.params, 5, 1, 2, 2)])
    alone.compiler.calls.launch(run.address)
    assert ranges == [(number, threading.get_ident()) for number in range(5)]


def test_more_threads_than_there_can_be() -> None:
    """A job never asks for more helpers than its tickets can count."""
    body = Body()
    kernel = elementwise(body, [("in", "f8", "1"), ("out", "f8", "1")], {1: load(body, "f8", 0)})
    launch = BACKEND.compile(kernel, "copy").bind((10_000_000,), ((1,), (1,)), (0, 0))
    launch.work_ns = 1e15
    prepared = launch.prepared(100_000)
    assert prepared is not None and prepared.helpers == WORKERS


@pytest.mark.parametrize(
    ("columns", "grain", "helpers"), [(8, 8, 0), (9, 8, 1), (16, 8, 1), (40, 24, 1), (300, 64, 1)]
)
def test_few_columns_are_shared_evenly(
    monkeypatch: pytest.MonkeyPatch, columns: int, grain: int, helpers: int
) -> None:
    """Two threads have whole cache lines of a column sum each, and wide strips where they can."""
    monkeypatch.setattr("lazyfuse.backends.cpu.launch.default_threads", lambda: 2)
    monkeypatch.setattr(launch_cut, "default_threads", lambda: 2)
    monkeypatch.setattr(launch_cut, "stream_bytes", lambda: 1 << 40)
    kernel = column_kernel("f8", "add")
    compiled = BACKEND.compile(kernel, "columns")
    launch = compiled.bind((columns, 100_000), ((1, columns), (1,)), (0, 0))
    prepared = launch.prepared(2)
    assert prepared is not None
    assert (prepared.grain, prepared.helpers) == (grain, helpers)
    x = values("f8", (3_000, columns))
    assert same(run_columns(RUN, kernel, x, threads=2)[1], x.sum(axis=0))


def test_threads_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is the same, and nothing is raised."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    run = KernelRunner(CpuBackend())
    x = values("f8", 500_000)
    (_, out) = run(full_sum("f8", "1"), x.shape, [x, np.zeros(())], threads=2)
    assert same(out, x.sum())


def test_more_launches_than_slots() -> None:
    """All are served, each with its own ranges."""
    gate = threading.Barrier(SLOTS + 5)
    sums: list[int] = []

    def work() -> None:
        found: list[int] = []
        gate.wait(20)
        for _ in range(20):
            launch(lambda params, begin, stop: found.append(begin), end=10, helpers=2)
        sums.append(sum(found))

    concurrently(work, [()] * (SLOTS + 5))
    assert sums == [20 * 45] * (SLOTS + 5)


def test_conditions_of_helpers_are_told() -> None:
    """They reach the caller's flags."""
    caller, large = threading.get_ident(), 1e300
    gate = threading.Barrier(2)

    def kernel(params: int, begin: int, stop: int) -> None:
        gate.wait(20)
        if threading.get_ident() != caller:
            assert large * large == np.inf

    assert launch(kernel, end=2, helpers=1) & OVERFLOW
    assert not launch(meet(2), end=2, helpers=1) & OVERFLOW


_CONTROL = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define void @flush(i64 %on) {
  %word = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %old = load i32, ptr %word
  %bit = trunc i64 %on to i32
  %flag = shl i32 %bit, 15
  %rest = and i32 %old, -32769
  %new = or i32 %rest, %flag
  store i32 %new, ptr %word
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  ret void
}
"""


@pytest.mark.skipif(not is_sse(BACKEND.compiler.triple), reason="asks the control word of SSE")
def test_helpers_compute_as_the_caller_does() -> None:
    """A caller who flushes small numbers to zero gets that from all threads, and only then."""
    compiler = BACKEND.compiler
    code = compiler.link(compiler.compile(_CONTROL), ["flush"])
    small, half = sys.float_info.min, 0.5

    def products() -> set[float]:
        found: set[float] = set()
        gate = threading.Barrier(2)

        def kernel(params: int, begin: int, stop: int) -> None:
            gate.wait(20)
            found.add(small * half)

        launch(kernel, end=2, helpers=1)
        return found

    flush = code.function("flush", 1)
    exact = {small * half}
    assert products() == exact != {0.0}
    flush(1)
    try:
        flushed = products()
    finally:
        flush(0)
    assert flushed == {0.0} and products() == exact


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_workers_of_its_own() -> None:
    """They know nothing of the jobs that other threads were running at the moment of the fork."""
    launch(meet(3), end=3, helpers=2)
    over = threading.Event()

    def go_on() -> None:
        while not over.is_set():
            launch(lambda params, begin, stop: None, end=20, helpers=2)

    def hang() -> None:
        wait: Kernel = lambda params, begin, stop: (over.wait(60), None)[1]  # noqa: E731
        launch(wait, end=200, helpers=100, start=False)

    threads = [threading.Thread(target=work) for work in (go_on, go_on, hang)]
    for thread in threads:
        thread.start()
    try:
        statuses = [_forked() for _ in range(5)]
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert statuses == [0] * 5
    launch(meet(3), end=3, helpers=2)


def _forked() -> int:
    child = os.fork()
    if child == 0:
        try:
            for _ in range(3):
                launch(meet(3), end=3, helpers=2)
                time.sleep(0.002)  # they fall asleep
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_workers_of_nobody_go_home() -> None:
    """When the backend is gone, so are its threads."""
    before = set(sys._current_frames())
    backend = CpuBackend()
    x = values("f8", 300_000)
    KernelRunner(backend)(full_sum("f8", "1"), x.shape, [x, np.zeros(())], threads=3)
    backend.workers.start(6)
    assert _becomes(lambda: len(set(sys._current_frames()) - before) == 6)
    time.sleep(0.01)  # most are asleep
    del backend
    gc.collect()
    assert _becomes(lambda: set(sys._current_frames()) <= before)


def _becomes(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20.0
    while not is_so() and time.monotonic() < end:
        time.sleep(0.001)
    return is_so()


def test_workers_begin_where_no_interrupt_breaks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Thread.start` waits for the thread in steps of Python, and an interrupt between two of them
    left the tables of `threading` half done."""

    def interrupted(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    before = set(sys._current_frames())
    backend = CpuBackend()
    backend.workers.start(2)
    assert _becomes(lambda: len(set(sys._current_frames()) - before) == 2)


_EXITS = {
    "asleep": "run(); time.sleep(0.05)",
    "awake": "run()",
    "in the middle": "threading.Thread(target=forever, daemon=True).start(); time.sleep(0.05)",
    "at exit": "run(); import atexit; atexit.register(run)",
}


@pytest.mark.parametrize("how", _EXITS)
def test_the_interpreter_ends(how: str) -> None:
    """Whatever the workers do, the process ends at once and says nothing."""
    program = f"""
        import threading, time
        import numpy
        import lazyfuse as np
        x = np.array(numpy.ones(400_000))
        def run():
            with np.options(threads=3):
                assert float((x * 2 + 1).sum()) == 1_200_000
        def forever():
            while True:
                run()
        run()
        {_EXITS[how]}
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "triple", ("aarch64-unknown-linux-gnu", "arm64-apple-macosx", "x86_64-pc-windows-msvc")
)
def test_other_systems(triple: str) -> None:
    """The code compiles for them, where this LLVM has them."""
    try:
        compiler = Compiler(cpu="generic", features="", triple=triple)
    except RuntimeError as error:
        pytest.skip(str(error))
    assert compiler.compile(text(triple), level=0)


def test_calls_are_made_once() -> None:
    """Threads that ask for the functions at the same time get the same ones."""
    compiler = CpuBackend().compiler
    gate = threading.Barrier(4)
    found: list[Calls] = []

    def ask() -> None:
        gate.wait(20)
        found.append(compiler.calls)

    concurrently(ask, [()] * 4)
    assert len({id(calls) for calls in found}) == 1


def test_their_code_is_kept_by_whoever_asks(tmp_path: Path) -> None:
    """It is compiled once for all processes, and anew without a disk cache."""
    made: list[str] = []

    def compiled(name: str) -> bytes:
        made.append(name)
        return name.encode()

    with config.options(disk_cache=True, cache_dir=str(tmp_path)):
        for _ in range(2):
            assert session.object_code("key", lambda: compiled("code")) == b"code"
        assert session.object_code("other", lambda: compiled("more")) == b"more"
    with config.options(disk_cache=False, cache_dir=str(tmp_path)):
        assert session.object_code("key", lambda: compiled("again")) == b"again"
    assert made == ["code", "more", "again"]


def test_kept_code_is_linked() -> None:
    """Another process compiles none of it."""
    store: dict[str, bytes] = {}

    def kept(key: str, make: Callable[[], bytes]) -> bytes:
        store[key] = make()
        return store[key]

    CpuBackend(kept=kept).compiler.calls  # noqa: B018 - made when asked for
    x = values("f8", 500_000)
    run = KernelRunner(CpuBackend(kept=lambda key, make: store[key]))
    (_, out) = run(full_sum("f8", "1"), x.shape, [x, np.zeros(())], threads=2)
    assert same(out, x.sum())

"""The kernels of a plan that are not there yet are compiled in several threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from lazyfuse.interrupts import attempted
from tests.oracle import lf

pytestmark = [pytest.mark.engine, pytest.mark.cpu("LLVM")]
X = host.random.default_rng(3).random((5000, 41))


def standardized(xp: Any, x: Any) -> Any:
    """Two kernels: what columns sum up to, and what is made of each element."""
    return (x - x.mean(axis=0)) / x.std(axis=0)


def several(xp: Any, x: Any) -> list[Any]:
    """Kernels that have nothing in common, some of transcendental functions."""
    tall = xp.reshape(x, (-1,))
    return [
        xp.exp(-x) * xp.sin(x),
        xp.cumsum(tall * 2),
        standardized(xp, x),
        xp.log1p(x[:20]).sum(axis=1),
        xp.maximum(x[:, ::2], 0.5),
    ]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """How many compile at the moment, and the text, each time that one begins."""
    from lazyfuse.backends.cpu.jit import Jit

    seen: list[tuple[int, str]] = []
    inside: list[str] = []
    made = Jit.compile

    def compile_(self: Any, source: str, *, level: int | None = None) -> bytes:
        inside.append(source)
        seen.append((len(inside), source))
        time.sleep(0.005)  # so that no thread takes all
        try:
            return made(self, source, level=level)
        finally:
            inside.remove(source)

    monkeypatch.setattr(Jit, "compile", compile_)
    return seen


def test_several_threads_compile(compiled: list[tuple[int, str]]) -> None:
    """Each kernel once, by two threads, with the code and the bits of one thread."""
    found = []
    lf.materialize(lf.array(X) + 1)  # what all kernels need is compiled by now
    for threads in (1, 2):
        lf.cache_clear()
        compiled.clear()
        lf.reset_stats()
        with lf.options(disk_cache=False, threads=threads):
            results = lf.materialize(*several(lf, lf.array(X)))
        texts = [text for _, text in compiled]
        assert len(set(texts)) == len(texts) == lf.stats().kernels_compiled >= 5
        assert max(count for count, _ in compiled) == threads
        found.append([lf.asnumpy(result).tobytes() for result in results])
    assert found[0] == found[1]
    for own, expected in zip(results, several(host, X), strict=True):
        host.testing.assert_allclose(lf.asnumpy(own), expected, 1e-12)


def deep(xp: Any, x: Any) -> list[Any]:
    """Bodies in stages, one of them so long that it keeps its order."""
    tall = xp.reshape(x, (-1,))
    total = start = tall[1:]
    for _ in range(40):
        total = total * total + start
    return [xp.tanh(xp.sin(xp.exp(xp.log1p(tall)))) * xp.cos(tall), total]


def test_code_does_not_depend_on_threads(compiled: list[tuple[int, str]]) -> None:
    """The same object code, whoever compiles beside: passes are left out by text."""
    from lazyfuse.backends.cpu.jit import _costly
    from lazyfuse.runtime import session

    backend = session.backend("cpu")
    binaries = []
    for threads in (1, 3):
        lf.cache_clear()
        compiled.clear()
        with lf.options(disk_cache=False, threads=threads):
            x = lf.array(X)
            lf.materialize(*several(lf, x), *deep(lf, x))
        if "avx512f" in backend.compiler.features:
            assert len({_costly(text) for _, text in compiled}) == 3
        kept = session.kernels
        binaries.append({key: kept.get(key).binary for key in list(kept._entries)})
    assert backend.device == "cpu" and len(binaries[0]) >= 5
    assert binaries[0] == binaries[1]


def test_one_that_cannot_be_compiled(
    compiled: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are compiled; it runs op by op, and the warning has its operations."""
    import lazyfuse.backends.cpu as cpu

    made = cpu._emitted

    def emitted(kernel: Any, compiler: Any, **form: Any) -> str:
        if any(instr.op == "max" for phase in kernel.phases for instr in phase.body):
            raise RuntimeError("planted")
        return made(kernel, compiler, **form)

    monkeypatch.setattr(cpu, "_emitted", emitted)
    lf.cache_clear()
    with lf.options(disk_cache=False, threads=2), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = lf.materialize(*several(lf, lf.array(X)))
    told = [str(each.message) for each in caught if "planted" in str(each.message)]
    assert told and all("maximum" in text for text in told)
    for own, expected in zip(results, several(host, X), strict=True):
        host.testing.assert_allclose(lf.asnumpy(own), expected, 1e-12)


def test_what_is_on_disk_is_not_compiled(compiled: list[tuple[int, str]], tmp_path: Path) -> None:
    """A second process, as far as caches go, loads all; one kernel that is gone is compiled."""
    with lf.options(cache_dir=str(tmp_path), disk_cache=True):
        for _ in range(2):
            lf.cache_clear()
            lf.reset_stats()
            lf.materialize(standardized(lf, lf.array(X)))
        assert lf.stats().kernels_compiled == 0 and lf.stats().kernels_loaded == 2


@pytest.mark.parametrize("threads", [1, 2, 9])
def test_attempts(threads: int) -> None:
    """Results and errors in the order of the functions, however many threads there are."""

    def function(number: int) -> Callable[[], int]:
        def call() -> int:
            if number % 3 == 1:
                raise ValueError(number)
            return number * number

        return call

    found = attempted([function(number) for number in range(7)], threads)
    for number, each in enumerate(found):
        if number % 3 == 1:
            assert isinstance(each, ValueError) and each.args == (number,)
        else:
            assert each == number * number


def test_passes_are_left_out_for_all_or_none() -> None:
    """Who leaves out others waits until nobody compiles, and then they are switched."""
    from lazyfuse.backends.cpu.jit import _Passes

    class Written(_Passes):
        def _set(self, name: str, *, is_left_out: bool) -> None:
            written.append((name, is_left_out))

    written: list[tuple[str, bool]] = []
    passes = Written()
    go, order = threading.Event(), []

    def other() -> None:
        with passes.left_out(("b",)):
            order.append("other")

    with passes.left_out(("a",)):
        waiting = threading.Thread(target=other)
        waiting.start()
        with passes.left_out(("a",)):
            order.append("same")
        go.wait(0.05)
        assert order == ["same"]
    waiting.join(10)
    assert order == ["same", "other"]
    assert written == [("a", True), ("a", False), ("b", True), ("b", False)]
    written.clear()
    with passes.left_out(("a", "c"), is_aside=True), passes.left_out(("a", "b")):
        assert written == [("a", True), ("c", True), ("b", True)]  # it has not waited
    assert written[3:] == [("b", False), ("a", False), ("c", False)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_is_forked_meanwhile_compiles() -> None:
    """Another thread compiles for ever; the child has no such thread, and does not wait for it."""
    program = """
import os, threading, warnings
warnings.simplefilter("ignore")
import numpy, lazyfuse as lf
from lazyfuse.backends.cpu import jit
inside = threading.Event()
def stay():
    with jit._PASSES.left_out(("lsr", "others")):
        inside.set()
        threading.Event().wait()
with lf.options(disk_cache=False):
    jit._PASSES._set = lambda name, **known: None
    threading.Thread(target=stay, daemon=True).start()
    inside.wait()
    del jit._PASSES._set
    child = os.fork()
    if not child:
        x = lf.array(numpy.ones(1000000))
        os._exit(0 if (x * 2 + 1).sum() == 3000000 else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "LAZYFUSE_DEVICE": "cpu"},
    )
    assert done.stdout.strip() == "0", done.stderr


def test_what_is_compiled_ahead_is_no_hit() -> None:
    """Whoever asks first has missed it, as where one kernel is compiled."""
    lf.materialize(lf.array(X) + 1)  # what all kernels need is compiled by now
    lf.cache_clear()
    lf.reset_stats()
    with lf.options(disk_cache=False, threads=2):
        lf.materialize(*several(lf, lf.array(X)))
    made = lf.stats().kernels_compiled
    assert made >= 5 and lf.stats().cache_hits == lf.cache_info().hits == 0
    assert lf.cache_info().misses == made


def test_memory_has_no_room_for_all(compiled: list[tuple[int, str]]) -> None:
    """What would be gone before it is asked for is not compiled twice."""
    lf.materialize(lf.array(X) + 1)
    lf.cache_clear()
    compiled.clear()
    with lf.options(disk_cache=False, threads=2, cache_size=2):
        lf.materialize(*several(lf, lf.array(X)))
    texts = [text for _, text in compiled]
    assert len(set(texts)) == len(texts) >= 5


def test_interrupts_do_not_wait_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kernels for each thread are compiled at once, so that others are not waited for."""
    import lazyfuse.backends.cpu as cpu

    together: list[int] = []
    made = cpu.CpuBackend.compile_together

    def compile_together(self: Any, kernels: Any, threads: int) -> Any:
        together.append(len(kernels))
        return made(self, kernels, threads)

    monkeypatch.setattr(cpu.CpuBackend, "compile_together", compile_together)
    lf.cache_clear()
    with lf.options(disk_cache=False, threads=1):
        lf.materialize(*several(lf, lf.array(X)))
    assert len(together) > 0 and max(together) <= 4


def test_a_child_of_a_fork_has_the_caches() -> None:
    """Another thread may have a cache at that moment, as it looks into it or clears it."""
    code = """
import os, signal, threading, time
from lazyfuse.runtime import session
begun = threading.Event()
def hold():
    with session.kernels._lock:
        begun.set()
        time.sleep(0.2)
thread = threading.Thread(target=hold)
thread.start()
begun.wait()
child = os.fork()
if not child:
    signal.alarm(5)
    "key" in session.kernels
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
thread.join()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("error", [MemoryError, ValueError])
def test_one_that_is_not_linked(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled again where it is asked for; what was computed was lost."""
    import lazyfuse.backends.cpu as cpu
    from lazyfuse.runtime import executor

    linked, together, inside = cpu.CpuBackend._linked, cpu.CpuBackend.compile_together, []

    def compile_together(self: Any, kernels: Any, threads: int) -> Any:
        inside.append(0)
        try:
            return together(self, kernels, threads)
        finally:
            inside[0] = 2

    def link(self: Any, *given: Any) -> Any:
        if inside and inside[0] < 2:
            inside[0] += 1
            raise error("planted")
        return linked(self, *given)

    monkeypatch.setattr(cpu.CpuBackend, "compile_together", compile_together)
    monkeypatch.setattr(cpu.CpuBackend, "_linked", link)
    told: list[Any] = []
    monkeypatch.setattr(executor, "_warn_unbuilt", lambda *given: told.append(given))
    lf.cache_clear()
    with lf.options(disk_cache=False, threads=2):
        results = lf.materialize(*several(lf, lf.array(X)))
    assert inside and not told
    for own, expected in zip(results, several(host, X), strict=True):
        host.testing.assert_allclose(lf.asnumpy(own), expected, 1e-12)


def test_without_a_compiler_for_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel says why it cannot be compiled, where there are two as where there is one."""
    import lazyfuse.backends.cpu as cpu

    def import_module(name: str) -> Any:
        raise ImportError("planted")

    monkeypatch.setattr(cpu, "import_module", import_module)
    lf.cache_clear()
    with lf.options(disk_cache=False, threads=2):
        results = lf.materialize(*several(lf, lf.array(X)))
    for own, expected in zip(results, several(host, X), strict=True):
        host.testing.assert_allclose(lf.asnumpy(own), expected, 1e-12)


STOPPED = """
import os, signal, sys, threading, time
import numpy, lazyfuse as lf
from lazyfuse.backends.cpu import jit
from lazyfuse.runtime import session

def interrupt(*_):
    raise KeyboardInterrupt

def compile_(self, source, **given):
    if not seen:
        seen.append(source)
        if sys.argv[1] == "interrupt":
            os.kill(os.getpid(), signal.SIGALRM)
        else:
            raise MemoryError
    return made(self, source, **given)

def is_free(lock):
    return lock.acquire(timeout=5) and (lock.release() or True)

def several(xp, x):
    return [xp.exp(-x) * x, xp.cumsum(x * 2), (x - x.mean()) / x.std(), xp.maximum(x[::2], 0.5)]

signal.signal(signal.SIGALRM, interrupt)
data = numpy.linspace(0.1, 1.0, 5000)
lf.materialize(lf.array(data) + 1)
seen, made = [], jit.Jit.compile
jit.Jit.compile = compile_
with lf.options(disk_cache=False, threads=2):
    pending = several(lf, lf.array(data))
    try:
        lf.materialize(*pending)
        assert sys.argv[1] != "interrupt", "no interrupt was raised"
    except KeyboardInterrupt:
        assert sys.argv[1] == "interrupt"
    end = time.monotonic() + 10.0
    workers = session.backend("cpu").workers.count
    while len(sys._current_frames()) > 1 + workers and time.monotonic() < end:
        time.sleep(0.001)
    assert len(sys._current_frames()) == 1 + workers, "a thread stays behind"
    backend = session.backend("cpu")
    locks = [session.flush_lock, session.kernels._lock, backend.compiler._lock,
             backend.compiler._jit._lock, jit.llvm.ffi.lib._lock._lock]
    free = []
    thread = threading.Thread(target=lambda: free.extend(map(is_free, locks)))
    thread.start()
    thread.join()
    assert all(free), free
    assert seen
    lf.materialize(*pending)
    for own, wanted in zip(pending, several(numpy, data)):
        assert numpy.allclose(numpy.asarray(own), wanted)
"""


@pytest.mark.parametrize("what", ["interrupt", "no memory"])
def test_compiling_that_is_stopped(what: str, tmp_path: Path) -> None:
    """What is pending stays so and is computed next, no thread is left, and no lock is taken."""
    subprocess.run(
        [sys.executable, "-c", STOPPED, what], check=True, timeout=120, env=os.environ | {
            "LAZYFUSE_DEVICE": "cpu", "LAZYFUSE_EAGER_SIZE": "0", "LAZYFUSE_COLD_SIZE": "0",
            "LAZYFUSE_CACHE_DIR": str(tmp_path),
        },
    )  # fmt: skip

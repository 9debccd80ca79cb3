"""Interrupts (Ctrl-C, alarms) may come between any two steps: nothing stays half done."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lazyfuse as lf
from lazyfuse import config
from lazyfuse.frontend import deferred, native_methods
from lazyfuse.interrupts import uninterrupted
from lazyfuse.runtime import under_way
from tests.deferring import deferring, is_deferred

if not native_methods.make_native(lf.LazyArray):
    pytest.skip("operators are not machine code here", allow_module_level=True)

import numpy as host  # noqa: E402 - what may be skipped comes first

pytestmark = pytest.mark.engine
ROOT = Path(__file__).resolve().parents[1]


class Interrupted(dict):  # type: ignore[type-arg]
    """A dict whose user is interrupted right after a change."""

    def __init__(self, after: str) -> None:
        super().__init__()
        self.after = after

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._interrupt("an entry")

    def pop(self, *given: Any) -> Any:
        found = super().pop(*given)
        self._interrupt("an exit")
        return found

    def _interrupt(self, what: str) -> None:
        if self.after == what:
            self.after = ""
            raise KeyboardInterrupt


@pytest.mark.cpu("plans that machine code replays")
@pytest.mark.parametrize("after", ("an entry", "an exit"))
def test_a_recording_that_is_interrupted(after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was counted as under way for ever, so that no machine code ran recorded functions."""
    a, recordings = lf.asarray(host.arange(50_000.0)), Interrupted(after)
    first, fused = lf.fuse(lambda a: a * 2.0), lf.fuse(lambda a: a * 2.0 + 1.0)
    for _ in range(3):
        first(a)  # machine code has the dict itself
    monkeypatch.setattr(under_way, "recordings", recordings)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(3):
            fused(a)
    assert recordings == {}
    for _ in range(4):
        host.testing.assert_array_equal(host.asarray(fused(a)), host.arange(50_000.0) * 2.0 + 1.0)
    assert fused._machine.replays


@pytest.mark.cpu("plans that machine code replays")
def test_recordings_keep_calls_from_machine_code() -> None:
    """While any is under way, functions are called as Python calls them; then no more."""
    fused, a, found = lf.fuse(lambda a: a * 2.0), lf.asarray(host.arange(50_000.0)), []
    for running in ((), (), (), (), ("one",), ("one", "another"), (), ("one",), ()):
        under_way.recordings.update(dict.fromkeys(running, 0))
        fused(a)
        under_way.recordings.clear()
        found.append(fused._machine.replays)
    assert found == [0, 0, 1, 2, 2, 2, 3, 3, 4]


@pytest.fixture
def putting_off() -> Iterator[None]:
    with lf.options(eager_size=1000), deferring():
        deferred.allow()
        deferred.look_around()
        yield


def after_the_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose caller is interrupted once, when it is done."""
    left = [1]

    def interrupted(*given: Any) -> Any:
        found = function(*given)
        if left:
            left.pop()
            raise KeyboardInterrupt
        return found

    return interrupted


@pytest.mark.cpu("small arrays that are put off")
@pytest.mark.parametrize("step", ("deferred", "settle", "release"))
def test_settling_that_is_interrupted(
    step: str, putting_off: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was put off was held to be in work until somebody asked for it."""
    functions = deferred._code[0].functions
    a, before = lf.asarray(host.linspace(1.0, 2.0, 50)), config.current()
    found = a * 3.0
    assert is_deferred(found)
    monkeypatch.setitem(functions, step, after_the_call(functions[step]))
    with pytest.raises(KeyboardInterrupt):
        deferred.settle()
    assert not deferred._word("IS_BUSY") and config.current() is before
    host.testing.assert_array_equal(host.asarray(found), host.asarray(a) * 3.0)
    assert is_deferred(a * 5.0)


@pytest.mark.cpu("small arrays that are put off")
def test_options_after_settling_that_is_interrupted(
    putting_off: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of what was put off stayed in force."""
    a, before = lf.asarray(host.linspace(1.0, 2.0, 50)), config.current()
    with lf.options(threads=1):
        deferred.allow()
        deferred.look_around()
        found = a * 3.0
        assert is_deferred(found)
    assert config.current() is before

    def interrupted(*given: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(deferred, "_computed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            deferred.settle()
    assert config.current() is before
    host.testing.assert_array_equal(host.asarray(found), host.asarray(a) * 3.0)


def run(program: str, *given: str, **settings: str) -> None:
    """Run a program in a process of its own, which must end well."""
    done = subprocess.run(
        [sys.executable, "-c", program, *given], capture_output=True, text=True, cwd=ROOT,
        check=False, timeout=900, env=os.environ | settings,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


ROW, TABLE = host.linspace(1.0, 2.0, 60), host.linspace(1.0, 2.0, 3000).reshape(50, 60)
#: What asks how large small arrays are, and what NumPy makes of it.
ASKING: dict[str, Callable[..., Any]] = {
    "items of what is put off": lambda np, a, row, x: (a * 2.0)[[1, 5]],
    "elements": lambda np, a, row, x: a.__setitem__([0], 1.0) or a,
    "elements of what is put off": lambda np, a, row, x: (a * 2.0).__setitem__([0], 1.0) or a,
    "a function": lambda np, a, row, x: np.expand_dims(a, (0, 2)),
    "a method": lambda np, a, row, x: a.reshape((6, 10)),
    "no array": lambda np, a, row, x: np.zeros(3),
    "two shapes": lambda np, a, row, x: a[:, None] * a[None, :3],
    "a ufunc": lambda np, a, row, x: np.add(a[:, None], a[None, :3]),
    "a small array with a large one": lambda np, a, row, x: x * row,
}


@pytest.mark.parametrize("name", ASKING)
def test_a_question_that_is_interrupted(name: str, putting_off: None) -> None:
    """Machine code went on with the exception set: SystemError, or nothing until later."""
    function = ASKING[name]
    a, row, x = lf.asarray(ROW.copy()), lf.asarray(ROW.copy()), lf.asarray(TABLE.copy())
    wanted = function(host, ROW.copy(), ROW, TABLE)
    for _ in range(4):
        host.testing.assert_allclose(function(lf, lf.asarray(ROW.copy()), row, x), wanted, 1e-15)
    question, seen = deferred._tell_size, []

    def interrupted() -> None:
        deferred._refer("ASK_SIZE", question)
        seen.append(1)
        raise KeyboardInterrupt

    deferred._refer("ASK_SIZE", interrupted)
    deferred._put("SIZE_OPTIONS", 0)
    try:
        with pytest.raises(KeyboardInterrupt):
            function(lf, a, row, x)
    finally:
        deferred._refer("ASK_SIZE", question)
    assert seen == [1]
    found = function(lf, lf.asarray(ROW.copy()), row, x)
    host.testing.assert_allclose(host.asarray(found), wanted, 1e-15)


@pytest.mark.cpu("small arrays that are put off")
def test_sizes_that_are_told_half(putting_off: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of one was kept for the options of another."""
    lf.zeros(3)
    put, left = deferred._put, [0]

    def interrupted(name: str, word: int) -> None:
        put(name, word)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    for steps in range(1, 5):
        with monkeypatch.context() as patch:
            patch.setattr(deferred, "_put", interrupted)
            left[0] = steps
            with lf.options(eager_size=0), pytest.raises(KeyboardInterrupt):
                deferred._tell_size()
        assert lf.zeros(10)._host is not None and lf.asarray(ROW)._host is not None


HALF = """
import sys
import numpy, lazyfuse as lf
from lazyfuse.frontend import deferred, native_methods
from lazyfuse.runtime import native

def interrupted(function, left):
    def call(*given):
        function(*given)
        left.pop()
        if not left:
            raise KeyboardInterrupt
    return call

module, name, count = {"use": native_methods, "set": native}[sys.argv[1]], sys.argv[2], sys.argv[3]
real = getattr(module, name)
setattr(module, name, interrupted(real, [0] * int(count)))
try:
    native_methods.make_native(lf.LazyArray)
    sys.exit("there was no interrupt")
except KeyboardInterrupt:
    setattr(module, name, real)
assert native_methods.make_native(lf.LazyArray) and deferred._code
x = lf.asarray(numpy.arange(6.0).reshape(1, 6, 1))
for view in (lf.ravel(a=x), lf.expand_dims(x, (0, 2)), lf.squeeze(x)):
    view += 1.0
assert numpy.array_equal(numpy.asarray(x).ravel(), numpy.arange(3.0, 9.0))
for size in (0, 100):
    with lf.options(eager_size=size):
        made = lf.zeros(10)
        assert (made._host is None) == (size == 0)
"""


@pytest.mark.cpu("machine code")
@pytest.mark.parametrize(
    "where", (("use", "_use", "1"), ("set", "set_method", "1"), ("set", "set_method", "40"))
)
def test_installing_that_is_interrupted(where: tuple[str, str, str]) -> None:
    """Some methods were machine code that nobody told of options, for ever."""
    run(HALF, *where, LAZYFUSE_EAGER_SIZE="65536")


COMPILING = """
import os, random, signal, sys, threading, time
import numpy, lazyfuse as lf
from lazyfuse.runtime import aside, native_aside as native

lf.asarray([1.0]) + 1
native._made_aside = lambda recording: time.sleep(0.0003) or b""
native._improve = lambda recording: None
failures = []
threading.excepthook = failures.append

def interrupt(number, frame):
    if is_expected:
        raise KeyboardInterrupt

is_expected = False  # one that was on its way already may come behind the block
signal.signal(signal.SIGALRM, interrupt)
draw, caught = random.Random(1), 0
for turn in range(int(sys.argv[1])):
    try:
        is_expected = True
        signal.setitimer(signal.ITIMER_REAL, draw.uniform(2e-5, 4e-4))
        for _ in range(3):
            native.compile_aside(None, lambda failure: None)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        is_expected = False
    except KeyboardInterrupt:
        caught += 1
    is_expected = False
    end = time.monotonic() + 1.0  # a thread whose start was interrupted may begin yet
    time.sleep(0.001)
    while aside.compiling.locked() and time.monotonic() < end:
        time.sleep(0.0005)
    assert not aside.compiling.locked(), turn
assert caught and not failures, (caught, failures)
"""


def test_compiling_that_is_interrupted(*, full: bool) -> None:
    """The lock was given back twice, or never, and then each fork waited for ever."""
    run(COMPILING, "3000" if full else "200")


@pytest.fixture
def interrupt() -> Iterator[Callable[[], None]]:
    """Interrupts the main thread."""

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupted)
    yield lambda: os.kill(os.getpid(), signal.SIGALRM)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.cpu("LLVM")
def test_llvm_is_not_interrupted(
    interrupt: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """llvmlite frees a string before it forgets it: with an interrupt in between, twice. It is
    raised when LLVM is done, and the kernel is made at the next call."""
    from lazyfuse.backends.cpu import jit

    compiled, seen = jit.Jit.compile, []

    def interrupted(self: jit.Jit, source: str, **given: Any) -> bytes:
        if not seen:
            interrupt()
        code = compiled(self, source, **given)
        seen.append(threading.current_thread() is threading.main_thread())
        return code

    def program(a: Any) -> Any:  # nobody else has its kernel
        return (a * 3.25 - a / 7.5) * (a + 11.0) - (0.5 - a) / (a - 9.0)

    data = host.linspace(1.0, 2.0, 777)
    a = lf.asarray(data)
    monkeypatch.setattr(jit.Jit, "compile", interrupted)
    with lf.options(disk_cache=False):
        with pytest.raises(KeyboardInterrupt):
            host.asarray(program(a))
        host.testing.assert_array_equal(host.asarray(program(a)), program(data))
    assert seen and not any(seen)


def test_what_is_not_interrupted(interrupt: Callable[[], None]) -> None:
    """Results and errors are the function's, and nothing is collected while it is waited for."""
    before, seen = gc.get_threshold(), []

    def failing(number: int, *, twice: bool) -> int:
        seen.append(gc.get_threshold()[0])
        if number < 0:
            raise ValueError(number)
        return number * (1 + twice)

    assert uninterrupted(failing, 3, twice=True) == 6
    with pytest.raises(ValueError, match="-1"):
        uninterrupted(failing, -1, twice=True)
    assert seen == [0, 0] and gc.get_threshold() == before

    def twice() -> None:
        for _ in range(2):
            interrupt()
            time.sleep(0.02)
        seen.append(1)

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(twice)
    assert seen == [0, 0, 1] and gc.get_threshold() == before


BEGINNING = """
import random, signal, time
from lazyfuse.interrupts import uninterrupted

class Timeout(RuntimeError):
    pass

for kind in (Timeout, KeyboardInterrupt):
    def alarm(*_):
        fired.append(1)
        raise kind("time is up")

    def work():
        began.append(1)
        time.sleep(0.0005)
        ended.append(1)

    signal.signal(signal.SIGALRM, alarm)
    draw, caught = random.Random(1), 0
    for turn in range(600):
        began, ended, fired, raised = [], [], [], False
        try:
            signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 2e-4))
            uninterrupted(work)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except kind:
            raised, known = True, (len(began), len(ended))
        caught += raised
        time.sleep(0.001)
        assert raised or not fired, turn
        assert not raised or known == (len(began), len(ended)), (turn, known, began, ended)
        assert len(began) < 2 and began == ended, turn
    assert caught > 100, caught
"""


def test_interrupts_while_a_thread_begins() -> None:
    """What the function does is done once, or not at all, when an interrupt of any kind is
    raised."""
    run(BEGINNING)


AT_THE_END = """
import sys, threading, numpy, lazyfuse as lf

def computed(x):
    return (x * 3.25 - x / 7.5) * (x + 11.0) - (0.5 - x) / (x - 9.0)

class Kept:
    def __init__(self):
        self.itself, self.values = self, lf.asarray(numpy.linspace(1.0, 2.0, 100_000))
    def __del__(self):
        print(float(computed(self.values).sum()) > 0, flush=True)

kept = Kept()
numpy.asarray(kept.values * 2 + 1)
del kept  # the last collection finds it
"""
SMALL_STACK = """
import contextlib, threading
for size in range(1 << 15, 1 << 17, 1 << 12):
    with contextlib.suppress(ValueError):
        threading.stack_size(size)  # the least that Python allows
        break
import numpy, lazyfuse as lf
a = lf.asarray(numpy.linspace(1.0, 2.0, 1000))
r = a
for i in range(60):
    r = r * 1.0001 + lf.sin(r) / (i + 1.5)
assert abs(float(numpy.asarray(r)[5])) < 10
"""


@pytest.mark.parametrize("program", (AT_THE_END, SMALL_STACK))
def test_compiling_where_no_thread_helps(program: str, tmp_path: Path) -> None:
    """When Python ends a thread is begun that never runs; a small stack is not enough for LLVM."""
    run(program, LAZYFUSE_EAGER_SIZE="0", LAZYFUSE_COLD_SIZE="0",
        LAZYFUSE_CACHE_DIR=str(tmp_path))  # fmt: skip


LEFT_TAKEN = """
import numpy, lazyfuse as lf
from llvmlite.binding import ffi
a = lf.asarray(numpy.linspace(1.0, 2.0, 1000))
for turn in range(3):
    ffi.lib._lock.__enter__()  # as an interrupt behind the first line of a call leaves it
    ffi.lib._lock.__enter__()
    found = numpy.asarray(a * 2.0 + (turn + 1.5) ** a)
    assert abs(found[0] - 3.5 - turn) < 1e-9
    lf.cache_clear(disk=True)
"""


def test_a_lock_of_llvmlite_that_is_left_taken(tmp_path: Path) -> None:
    """The thread that compiled waited for it for ever, and the main one for that."""
    run(LEFT_TAKEN, LAZYFUSE_EAGER_SIZE="0", LAZYFUSE_COLD_SIZE="0",
        LAZYFUSE_CACHE_DIR=str(tmp_path))  # fmt: skip


NEVER_BEGUN = """
import _thread, time
from lazyfuse import interrupts

start = _thread.start_new_thread
interrupts._LONG = 0.01
calls = []

def lost(function, args):
    return start(time.sleep, (0.0,))

def late(function, args):
    return start(lambda *given: time.sleep(0.1) or function(*given), args)

for _thread.start_new_thread in (lost, late, start):
    assert interrupts.uninterrupted(lambda: calls.append(0) or 5) == 5
    assert interrupts.side_by_side([lambda: 1, lambda: 2]) == [1, 2]
time.sleep(0.2)
assert len(calls) == 3, "each is called once"
"""


def test_threads_that_do_not_begin() -> None:
    """One that was started and never ran was waited for, for ever."""
    run(NEVER_BEGUN)


AT_RANDOM = """
import gc, random, signal, sys
import numpy, lazyfuse as lf
from lazyfuse import config
from lazyfuse.frontend import deferred
from lazyfuse.runtime import session, under_way
from tests.deferring import deferring

def interrupt(number, frame):
    raise KeyboardInterrupt

def work(draw, a, fused):
    for _ in range(200):  # twice as long as the timer waits; one in a finalizer is ignored
        b = a * draw.random()
        for _ in range(draw.randrange(5)):
            b = b + draw.randrange(30)
        numpy.asarray(b * a - 1)
        place = draw.randrange(3)
        with lf.options(threads=1 + place % 2):
            fused[place](a)
        if draw.random() < 0.05:
            fused[place] = lf.fuse(lambda x, n=draw.randrange(100): (x * n + 1) / 2)

sys.unraisablehook = lambda what: None
signal.signal(signal.SIGALRM, interrupt)
draw, data, options = random.Random(1), numpy.linspace(1, 2, 500), config.current()
turns, caught, thresholds = int(sys.argv[1]), 0, gc.get_threshold()
with deferring():
    for turn in range(turns):
        if turn % 7 == 0:
            deferred.forget()
        a, fused = lf.asarray(data), [lf.fuse(lambda x, n=n: x * n + 1) for n in range(3)]
        try:
            signal.setitimer(signal.ITIMER_REAL, draw.uniform(0.0005, 0.006))
            work(draw, a, fused)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        except KeyboardInterrupt:
            caught += 1
        assert not under_way.recordings, turn
        assert not deferred._word("IS_BUSY"), turn
        assert config.current() is options, turn
        assert gc.isenabled() and gc.get_threshold() == thresholds, turn
        assert not session.flush_lock._is_owned(), turn
        assert numpy.array_equal(numpy.asarray(a * 2.0 + 1), data * 2.0 + 1), turn
assert caught > turns // 2, caught
"""


def test_interrupts_at_random(*, full: bool) -> None:
    run(AT_RANDOM, "5000" if full else "150", LAZYFUSE_EAGER_SIZE="1000", LAZYFUSE_COLD_SIZE="0")


COLLECTED = """
import gc, os, signal, threading
from lazyfuse.collecting import uncollected

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
before, caught = gc.get_threshold(), 0
for turn in range(3000):
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-6 * (turn % 40 + 1))
        for _ in range(200):
            uncollected(int)
    except KeyboardInterrupt:
        caught += 1
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    assert gc.get_threshold() == before, turn
assert caught > 1000, caught
assert uncollected(lambda: gc.get_threshold()[0]) == 0
assert uncollected(uncollected, gc.get_threshold)[0] == 0 and gc.get_threshold() == before
is_inside, may_end = threading.Event(), threading.Event()
other = threading.Thread(target=uncollected, args=(lambda: is_inside.set() or may_end.wait(),))
other.start()
is_inside.wait()
child = os.fork()
if not child:
    os._exit(gc.get_threshold() != before)
assert os.waitpid(child, 0)[1] == 0
may_end.set()
other.join()
gc.set_threshold(0)
child = os.fork()
if not child:
    os._exit(gc.get_threshold()[0] != 0)
assert os.waitpid(child, 0)[1] == 0, "a threshold of the program's"
gc.set_threshold(*before)
uncollected(gc.disable)
assert not gc.isenabled()
"""


def test_garbage_is_collected_after_an_interrupt() -> None:
    """No more was, where it came right behind the switch; and a program that switched the
    collector off meanwhile found it on."""
    run(COLLECTED)

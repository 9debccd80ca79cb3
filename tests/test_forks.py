"""A child of a fork computes, whatever other threads of its parent were in the middle of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.engine,
    pytest.mark.cpu("LLVM"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]
ROOT = Path(__file__).resolve().parents[1]

#: `computes` compiles, whatever was compiled before; a child that does not end is ended.
BEGIN = """
import faulthandler, os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")
faulthandler.dump_traceback_later(100, exit=True)
import numpy, lazyfuse as lf
from lazyfuse import forks
from lazyfuse.runtime import session

data = numpy.linspace(1.0, 2.0, 1000)

def computes(number):
    before, a = lf.stats().kernels_compiled, lf.asarray(data)
    lf.cache_clear()
    with lf.options(disk_cache=False):
        assert numpy.array_equal((a * (number + 0.5) + 1) / 3, (data * (number + 0.5) + 1) / 3)
        own, wanted = lf.exp(a) * number - a, numpy.exp(data) * number - data
        assert numpy.allclose(float(own.sum()), wanted.sum())
    assert lf.stats().kernels_compiled > before

def in_a_child(function):
    child = os.fork()
    if not child:
        try:
            signal.alarm(20)
            function()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)
    return child

def ends_well(child):
    assert os.waitpid(child, 0)[1] == 0
"""


def run(program: str, folder: Path, *given: str) -> None:
    """Run a program in a process of its own, which must end well."""
    settings = {
        "LAZYFUSE_DEVICE": "cpu", "LAZYFUSE_EAGER_SIZE": "0", "LAZYFUSE_COLD_SIZE": "0",
        "LAZYFUSE_CACHE_DIR": str(folder),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program, *given], capture_output=True, text=True,
        cwd=ROOT, check=False, timeout=120, env=os.environ | settings,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


HELD = """
computes(1)
from lazyfuse import events
from lazyfuse.frontend import deferred, rehost
from lazyfuse.runtime import aside, executor, native, replay, replay_code, tallies
from llvmlite.binding import ffi
backend = session.backend("cpu")
locks = {
    "LLVM": ffi.lib._lock._lock, "compiler": backend.compiler._lock,
    "code generator": backend.compiler._jit._lock, "run": session.flush_lock,
    "kernels": session.kernels._lock, "launches": backend.compiler._calls_lock,
    "methods": aside.compiling, "memory": backend.memory._lock, "masks": backend.masks._lock,
    "counters": events._LOCK, "warnings": executor._LOCK, "entries": replay._adding,
    "replay": replay_code._lock, "tallies": tallies._lock, "sizes": deferred._telling,
}

def hold(lock):
    with lock:
        begun.set()
        is_over.wait(0.05)  # whoever forks waits for it, or it is free in the child

def use(lock):
    with lock:
        pass
    computes(2)
    backend.memory.clear()
    lf.cache_clear()
    lf.stats()

for name, lock in locks.items():
    begun, is_over = threading.Event(), threading.Event()
    thread = threading.Thread(target=hold, args=(lock,))
    thread.start()
    begun.wait()
    print(name, file=sys.stderr)
    child = in_a_child(lambda: use(lock))
    is_over.set()
    ends_well(child)
    thread.join()
    assert lock.acquire(timeout=5), name
    lock.release()
computes(3)
"""


def test_locks_that_another_thread_has(tmp_path: Path) -> None:
    """The child waited for them for ever."""
    run(HELD, tmp_path)


INSIDE = """
from lazyfuse.backends.cpu import jit
computes(1)
forks.LONGEST = float(sys.argv[1])
compiler, made = session.backend("cpu").compiler, jit._optimize
begun, is_over = threading.Event(), threading.Event()

def optimize(module, machine):
    begun.set()
    is_over.wait(float(sys.argv[2]))
    made(module, machine)
    ended.append(1)

def compile_():
    compiler.compile("define void @f() { ret void }")

jit._optimize, ended = optimize, []
thread = threading.Thread(target=compile_)
thread.start()
begun.wait()
jit._optimize = made
child = in_a_child(lambda: computes(2))
assert bool(ended) == (sys.argv[3] == "waits")
ends_well(child)
is_over.set()
thread.join()
computes(3)
"""


def test_a_thread_that_compiles(tmp_path: Path) -> None:
    """It had the lock of the compiler, and LLVM was in the middle of it."""
    run(INSIDE, tmp_path, "30.0", "0.2", "waits")


def test_a_thread_that_compiles_for_long(tmp_path: Path) -> None:
    """A fork does not wait for ever, and the child compiles nevertheless."""
    run(INSIDE, tmp_path, "0.05", "30.0", "does not")


AT_RANDOM = """
import multiprocessing
computes(1)
compiler, is_over = session.backend("cpu").compiler, threading.Event()
text = '''define void @f(ptr %p) {
  %a = load double, ptr %p
  %b = fadd double %a, NUMBER.0
  store double %b, ptr %p
  ret void
}'''
failures = []

def compile_(first):
    number = first
    while not is_over.is_set():
        number += 10
        try:
            compiler.compile(text.replace("NUMBER", str(number)))
            if first == 1:
                computes(number)
        except BaseException as error:
            failures.append(error)
            raise

threads = [threading.Thread(target=compile_, args=(first,)) for first in range(3)]
for thread in threads:
    thread.start()
try:
    for number in range(int(sys.argv[1])):
        def twice():
            computes(number + 0.25)
            ends_well(in_a_child(lambda: computes(number + 0.75)))
        ends_well(in_a_child(twice))
    workers = [multiprocessing.get_context("fork").Process(target=computes, args=(-number - 1.25,))
               for number in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
        assert worker.exitcode == 0
finally:
    is_over.set()
for thread in threads:
    thread.join()
assert not failures
"""


def test_forks_at_random(tmp_path: Path, *, full: bool) -> None:
    """While several threads compile: children, their children, and those of multiprocessing."""
    run(AT_RANDOM, tmp_path, "20" if full else "5")


INTERRUPTED = """
computes(1)
begun, was_interrupted = threading.Event(), threading.Event()

def interrupt(number, frame):
    was_interrupted.set()
    raise KeyboardInterrupt

def hold():
    with session.flush_lock:
        begun.set()
        was_interrupted.wait()
        time.sleep(0.05)  # the fork goes on waiting, or it does not

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where a shell runs this aside
signal.signal(signal.SIGALRM, interrupt)
thread = threading.Thread(target=hold)
thread.start()
begun.wait()
try:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    in_a_child(lambda: signal.signal(signal.SIGALRM, signal.SIG_DFL) or computes(2))
    time.sleep(10)
except KeyboardInterrupt:
    pass
else:
    sys.exit("no interrupt was raised")
assert os.wait()[1] == 0
thread.join()
assert not session.flush_lock._is_owned()
computes(3)
"""


def test_a_fork_that_is_interrupted(tmp_path: Path) -> None:
    """The interrupt was lost, and the child waited for ever for what its parent had not taken."""
    run(INTERRUPTED, tmp_path)


FROM_A_HANDLER = """
from lazyfuse import interrupts
from lazyfuse.interrupts import attempted, uninterrupted
interrupts._LONG = 0.2  # the child looks so often whether there is a thread
parent, children, is_over = os.getpid(), [], threading.Event()

def fork(number, frame):
    children.append(os.fork())

def work():
    if os.getpid() == parent:
        before = len(children)
        os.kill(parent, signal.SIGUSR1)
        for _ in range(1000):  # until the fork is done, or there will be none
            if len(children) > before or is_over.wait(0.01):
                break
    return os.getpid()

signal.signal(signal.SIGUSR1, fork)
assert uninterrupted(work) == os.getpid()
if os.getpid() != parent:
    os._exit(0)
found = attempted([work, os.getpid, os.getpid, os.getpid], 2)
if os.getpid() != parent:
    os._exit(found[0] != os.getpid())
assert found == [parent] * 4
for child in children:
    ends_well(child)
"""


def test_a_fork_while_a_thread_is_waited_for(tmp_path: Path) -> None:
    """The child, which has no such thread, waited for it for ever."""
    run(FROM_A_HANDLER, tmp_path)


IMPORTS = """
from importlib.machinery import PathFinder

inside, is_over = threading.Event(), threading.Event()

class Stays:
    \"\"\"Finds a module, once, and stays in the middle of importing it.\"\"\"

    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            spec = PathFinder.find_spec(name, path)
            self.loader, spec.loader = spec.loader, self
            return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        inside.set()
        is_over.wait(float(sys.argv[2]))
        self.loader.exec_module(module)

def begin():
    session.backend("cpu")
    lf.fuse
    lf.random

def use():
    computes(2)
    assert float(lf.fuse(lambda x: x + 1)(lf.arange(3.0)).sum()) == 6.0
    assert lf.random.default_rng(1).random() == numpy.random.default_rng(1).random()

sys.meta_path.insert(0, Stays())
thread = threading.Thread(target=begin)
thread.start()
assert inside.wait(60)
begun = time.monotonic()
child = in_a_child(use)
assert len(sys.argv) > 3 or time.monotonic() - begun < 5  # nobody waits for the import
is_over.set()
ends_well(child)
thread.join()
use()
"""


@pytest.mark.parametrize(
    "module",
    ("lazyfuse.backends.cpu", "lazyfuse.backends.cpu.launch", "lazyfuse.frontend.fused",
     "lazyfuse.frontend.places", "lazyfuse.random"),
)  # fmt: skip
def test_a_thread_that_imports(module: str, tmp_path: Path) -> None:
    """The child waited for ever for Python's lock of the module, or found half of it."""
    run(IMPORTS, tmp_path, module, "60")


def test_a_thread_that_imports_an_extension(tmp_path: Path) -> None:
    """The child had half of it, of which there is no second import: the fork waits for it."""
    run(IMPORTS, tmp_path, "secrets", "0.5", "waits")

"""When the methods of arrays become machine code: from disk early, else compiled aside while the
program goes on."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import Any

import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from lazyfuse.frontend import native_methods, rerecord  # noqa: E402 - when there is an engine
from lazyfuse.runtime import (  # noqa: E402 - likewise
    aside,
    native,
    native_aside,
    native_binaries,
    session,
)

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def nothing_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the process had just begun, were in no hurry, and could have no other one."""
    monkeypatch.setattr(native_methods, "_failures", [])
    monkeypatch.setattr(native_methods, "_steps", set())
    monkeypatch.setattr(native_aside, "_processes", [])
    monkeypatch.setattr(native_aside, "_over", [True])
    monkeypatch.setattr(aside, "PATIENCE", 0.0)


@pytest.mark.parametrize(
    "has_backend,has_llvm,is_beside,loads,compiles",
    (
        (False, False, False, 4_000, 20_000), (True, False, False, 2_000, 20_000),
        (True, True, False, 2_000, 4_000),
        (False, False, True, 4_000, 4_000), (True, False, True, 2_000, 2_000),
    ),
)  # fmt: skip
def test_it_comes_when_a_program_is_hot(
    has_backend: bool, has_llvm: bool, is_beside: bool, loads: int, compiles: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """From disk early, and looked for once; compiled later, still later if LLVM has to start, but
    at once where another process does it; and looked for again when it is compiled, not before."""
    uses, loaded, begun = [0], [], []
    done: list[Callable[[BaseException | None], None]] = []

    def load(kind: type, *, compiles: bool) -> bool:
        assert not compiles
        loaded.append(uses[0])
        return False

    def compile_aside(recording: Any, when_done: Callable[[BaseException | None], None]) -> bool:
        begun.append(uses[0])
        done.append(when_done)
        return True

    monkeypatch.setattr(native_methods, "make_native", load)
    monkeypatch.setattr(native_aside, "compile_aside", compile_aside)
    monkeypatch.setattr(native_aside, "is_beside", lambda: is_beside and not begun)
    monkeypatch.setattr(native_aside, "begin_process", lambda statement: begun.append(uses[0]))
    monkeypatch.setattr(native_aside, "is_at_work", lambda: is_beside and begun and not done)
    monkeypatch.setattr(session, "uses", uses)
    monkeypatch.setattr(native, "has_backend", lambda: has_backend)
    monkeypatch.setattr(native, "has_llvm", lambda: has_llvm)
    for uses[0] in range(0, 52_001, rerecord.HOT):
        native_methods.make_native_if_worth(lf.LazyArray)
    assert (loaded, begun) == (sorted({loads, compiles}), [compiles])
    if is_beside:  # whose work is not found: a thread compiles
        done.append(lambda failure: None)
        native_methods.make_native_if_worth(lf.LazyArray)
        assert (loaded, begun) == ([*sorted({loads, compiles}), 52_000], [compiles, 52_000])
        return
    done[0](None)
    for _ in range(2):  # what cannot be loaded is not compiled again
        native_methods.make_native_if_worth(lf.LazyArray)
    assert (loaded, begun) == ([*sorted({loads, compiles}), 52_000], [compiles])
    assert len(native_methods._failures) == 1


def hot(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there had been many uses."""
    monkeypatch.setattr(session, "uses", [native_methods._VERY_HOT])


def test_a_compiler_that_fails_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it raises; and the lock is free afterwards."""
    ended = threading.Event()

    class Stop(BaseException):
        pass

    def fail(*args: Any, **kwargs: Any) -> bytes:
        raise Stop

    def told(failure: BaseException | None) -> None:
        native_methods._compiled(failure)
        ended.set()

    monkeypatch.setattr(native_aside, "binaries", fail)
    recording = native_methods._recording(lf.LazyArray)
    assert native_aside.compile_aside(recording, told)
    assert ended.wait(60)
    with aside.compiling:
        pass
    hot(monkeypatch)
    monkeypatch.setattr(native_methods, "make_native", fail)
    native_methods.make_native_if_worth(lf.LazyArray)
    assert [type(each) for each in native_methods._failures] == [Stop]


def test_where_it_is_not_wanted_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where this Python or NumPy is not known: once it was, for ever."""
    begun: list[int] = []
    monkeypatch.setattr(native_methods, "make_native", lambda *args, **kwargs: False)
    monkeypatch.setattr(native_aside, "compile_aside", lambda *args: begun.append(1))
    hot(monkeypatch)
    with lf.options(native=False):
        native_methods.make_native_if_worth(lf.LazyArray)
    for question in ("is_known_python", "is_known_numpy"):
        with monkeypatch.context() as patch:
            patch.setattr(native, question, lambda: False)
            native_methods.make_native_if_worth(lf.LazyArray)
    assert not begun and not native_methods._failures
    native_methods.make_native_if_worth(lf.LazyArray)
    assert begun


def test_it_is_kept_where_the_caller_keeps_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Options belong to a context, and a thread begins with an empty one."""
    seen: list[tuple[bool, str]] = []
    compilers: list[Any] = []
    ended = threading.Event()

    def binaries(
        compiler: Any, recording: Any, *, compiles: bool, levels: tuple[int, int]
    ) -> native_binaries.Binaries:
        options = lf.config.current()
        seen.append((options.disk_cache, options.cache_dir))
        compilers.append(compiler)
        return native_binaries.Binaries(b"", b"")

    monkeypatch.setattr(native_aside, "binaries", binaries)
    monkeypatch.setattr(native_aside, "_aside", [])
    with lf.options(disk_cache=False, cache_dir=str(tmp_path)):
        kept: Any = None
        assert native_aside.compile_aside(kept, lambda failure: ended.set())
    assert ended.wait(60)
    assert seen == [(False, str(tmp_path))]
    own = lf.runtime.session.backend("cpu").compiler
    assert compilers[0].version == own.version
    llvms = [compiler._asked(lambda jit: jit) for compiler in (compilers[0], own)]
    assert llvms[0] is not llvms[1]  # whose lock a flush may wait for


def compiled(folder: Path) -> None:
    """Compile aside, and keep it in a folder, until it can be loaded."""
    ended = threading.Event()
    with lf.options(disk_cache=True, cache_dir=str(folder)):
        recording = native_methods._recording(lf.LazyArray)
        assert native_aside.compile_aside(recording, lambda failure: ended.set())
    assert ended.wait(60)


def of_disk(folder: Path) -> native_binaries.Binaries:
    with lf.options(disk_cache=True, cache_dir=str(folder)):
        recording = native_methods._recording(lf.LazyArray)
        return native_binaries.binaries(native_aside.compiler(), recording, compiles=False)


def test_it_comes_soon_and_then_better(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Compiled in haste for this process, then with care for those that come after it."""
    monkeypatch.setattr(native_aside, "_aside", [])
    compiled(tmp_path)
    first = native_aside._aside[0]
    assert first.is_hasty
    aside.wait()
    later = of_disk(tmp_path)
    assert not later.is_hasty
    assert len(later.rows) < len(first.rows) and later.methods != first.methods


@pytest.mark.parametrize("is_kept", (True, False))
def test_better_code_is_made_once_and_to_be_kept(
    is_kept: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It was made twice, for nobody, where the folder cannot be written; the program waited for
    both when it ended."""
    monkeypatch.setattr(native_aside, "_aside", [])
    monkeypatch.setattr(aside, "_later", deque())
    levels: list[tuple[int, int]] = []
    made = native_binaries.made

    def counted(*args: Any, compiles: bool = True) -> native_binaries.Binaries:
        found = made(*args, compiles=compiles)
        levels.append(args[2])
        return found

    monkeypatch.setattr(native_binaries, "made", counted)
    monkeypatch.setattr(native_aside, "made", counted)
    folder = tmp_path / "folder"
    if not is_kept:
        folder.write_text("a file in its place")
    compiled(folder)
    with lf.options(disk_cache=True, cache_dir=str(folder)):
        recording = native_methods._recording(lf.LazyArray)
        assert native.prepared(native_methods.native_sample(), recording, compiles=False)
    aside.wait()
    hasty, careful = native_binaries.HASTY, native_binaries.CAREFUL
    assert levels == ([hasty, hasty, careful] if is_kept else [hasty])
    assert not aside._later


def test_what_is_in_no_hurry_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that has just begun is not kept from its end; later it is done, though nothing
    else is compiled."""
    monkeypatch.setattr(aside, "_later", deque())
    monkeypatch.setattr(aside, "_begun", time.monotonic())
    monkeypatch.setattr(aside, "PATIENCE", 1.0)
    done = threading.Event()
    aside.afterwards(done.set)
    assert aside.begin(lambda: None)
    aside.wait()
    assert not done.is_set() or time.monotonic() - aside._begun >= 1.0
    assert done.wait(60)


def test_what_waits_keeps_options_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that the caller's context refers to lived until something was compiled next."""
    monkeypatch.setattr(aside, "_later", deque())
    variable: ContextVar[Any] = ContextVar("variable")
    seen: list[int] = []
    given = [threading.Event()]  # that can be referred to weakly
    kept = weakref.ref(given[0])

    def ask() -> None:
        variable.set(given.pop())
        with lf.options(threads=3):
            aside.afterwards(lambda: seen.append(lf.config.current().threads))

    copy_context().run(ask)
    gc.collect()
    assert kept() is None
    assert aside.begin(lambda: None)
    aside.wait()
    assert seen == [3]


def test_a_program_that_ends_leaves_the_better_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """To the next that loads the hasty one, and has run for some seconds."""
    monkeypatch.setattr(native_aside, "_aside", [])
    with monkeypatch.context() as patch:
        patch.setattr(aside, "_ending", [True])
        compiled(tmp_path)
        aside.wait()
    assert of_disk(tmp_path).is_hasty
    native_aside._aside.clear()
    monkeypatch.setattr(native_aside, "_over", [])  # no other process is at it
    with lf.options(disk_cache=True, cache_dir=str(tmp_path)):
        recording = native_methods._recording(lf.LazyArray)
        native.prepared(native_methods.native_sample(), recording, compiles=False)
    end = time.monotonic() + 60
    while of_disk(tmp_path).is_hasty:
        assert time.monotonic() < end
        time.sleep(0.01)
    aside.wait()


def test_a_finalizer_that_asks_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waited for itself."""
    inner: list[bool] = []

    def prepared(*args: Any, **kwargs: Any) -> None:
        inner.append(native_methods.make_native(lf.LazyArray))

    class Fresh(lf.LazyArray):
        __slots__ = ()

        def __add__(self, other: Any) -> Any:
            return other

    monkeypatch.setattr(native, "prepared", prepared)
    monkeypatch.setattr(native_methods, "_recording", lambda kind: None)
    assert not native_methods.make_native(Fresh)
    assert inner == [False]


def test_it_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods that stood in its place for a while were replaced by a second copy; then the first
    one was back, which nobody told of options any more: small arrays were taken for large ones,
    and writes into views of them were lost."""
    made: list[int] = []

    class Fresh(lf.LazyArray):
        __slots__ = ()

        def __add__(self, other: Any) -> Any:
            return other

    monkeypatch.setattr(native, "prepared", lambda *args, **kwargs: made.append(1) or made)
    monkeypatch.setattr(native_methods, "_recording", lambda kind: None)
    for module, name in ((native_methods, "_use"), (native, "install")):
        monkeypatch.setattr(module, name, lambda code: None)
    hot(monkeypatch)
    for _ in range(3):
        native_methods.make_native_if_worth(Fresh)
    assert made == [1]


PROGRAM = """
import os, sys, threading, time
import numpy
import lazyfuse as np
from lazyfuse.frontend import native_methods, rerecord
from lazyfuse.runtime import native

def is_native():
    return not hasattr(vars(np.LazyArray)["__add__"], "__code__")

def hot(until):
    end = time.monotonic() + 60
    a, b = np.arange(200.0), np.zeros(200)
    while not until() and time.monotonic() < end:
        assert float((a + b)[3]) == 3.0
    assert until()

def has_begun():
    return bool(native_methods._steps & {"begun", "compiled"} or is_native())

large = np.exp(np.zeros(200_000)).sum()
assert float(large) == 200_000.0
"""
#: Python 3.12 warns of forks beside threads.
QUIETLY = ("-W", "ignore::DeprecationWarning")
ENDS = {
    "goes on": "hot(is_native)",
    "ends": "hot(has_begun)",
    "forks": """
hot(has_begun)
child = os.fork()
if child == 0:
    hot(is_native)
    assert float(np.log(np.ones(200_000)).sum()) == 0.0  # compiled in the child
    os._exit(7)
hot(is_native)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
""",
    "compiles": """
hot(has_begun)
assert float((np.exp(np.zeros(200_000)) * 3.0 - 1.0).sum()) == 400_000.0
hot(is_native)
""",
    "threads": """
threads = [threading.Thread(target=hot, args=(is_native,)) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert is_native()
""",
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("disk", ("1", "0"))
def test_a_program_that_meanwhile(name: str, disk: str, tmp_path: Path, full: bool) -> None:
    """In a process that has nothing on disk, or may keep nothing there: each in one of them, in
    both with `--full`."""
    if not full and list(ENDS).index(name) % 2 != int(disk):
        pytest.skip("in the other kind of process: in both with --full")
    if name == "forks" and (oracle.ON_GPU or not hasattr(os, "fork")):
        pytest.skip("no fork on this system, or none that can go on with a GPU")
    settings = {"LAZYFUSE_CACHE_DIR": str(tmp_path), "LAZYFUSE_DISK_CACHE": disk}
    done = subprocess.run(
        [sys.executable, *QUIETLY, "-c", PROGRAM + textwrap.dedent(ENDS[name])],
        capture_output=True, text=True, cwd=ROOT, env=os.environ | settings, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


ENDING = """
import lazyfuse as lf
from lazyfuse.frontend import native_methods

native_methods.make_native(lf.LazyArray)
x = lf.asarray([0.0, 1.0, 2.0])
assert (x + 1).tolist() == [1.0, 2.0, 3.0]

def ends(x):
    try:
        with lf.options(eager_size=10):
            yield x + 1
    finally:
        assert (x + 1).tolist() == [1.0, 2.0, 3.0]

ending = ends(x)
next(ending)
"""


def test_options_that_end_with_python() -> None:
    """A generator that is closed when nothing can be imported any more: ImportError was told."""
    done = subprocess.run(
        [sys.executable, "-c", ENDING], capture_output=True, text=True, cwd=ROOT, check=False,
        timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_loops_over_elements_count() -> None:
    """Loops that only touch elements, slices and attributes, or only work in place, called
    nothing that counted: they were left to Python for ever."""
    program = """
        import lazyfuse as np
        from lazyfuse.runtime import session

        x, y, m = np.arange(10.0), np.arange(10.0), np.eye(4)
        lines = (
            "x[3]", "m[1, 2]", "x[3] = 1.0", "m[1, 2] = 1.0", "x[2:5]", "m[1]", "x[2:5] = 0.0",
            "x += 1.0", "x *= y", "-x", "abs(x)", "x.sum()", "x.max()", "x.copy()", "m.T",
            "x.shape", "np.add(x, y, out=x)", "np.add(x, y, x)",
        )
        for line in lines:
            before, code = session.uses[0], compile(line, "line", "exec")
            for _ in range(100):
                exec(code)
            assert session.uses[0] > before, line
    """
    made = [sys.executable, "-c", textwrap.dedent(program)]
    environment = {**os.environ, "LAZYFUSE_EAGER_SIZE": "1000"}
    subprocess.run(made, check=True, cwd=ROOT, timeout=100, env=environment)

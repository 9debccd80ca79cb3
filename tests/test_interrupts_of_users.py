"""What a user's handler of a signal raises is the user's, whatever it interrupts: it is no failure
of a compiler, and of no file on disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache, partial, wraps
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.backends.cpu import CpuBackend
from lazyfuse.backends.cpu.buffers import CpuBuffer
from lazyfuse.backends.cpu.compiler import Compiler
from lazyfuse.cache import disk
from lazyfuse.errors import UnfusedWarning
from lazyfuse.frontend import fused, native_methods
from lazyfuse.interrupts import is_interrupt, missed_by_nobody
from lazyfuse.runtime import plans, session

pytestmark = pytest.mark.engine
N = 1_500_000  # more than what is computed at once


def late(number: int, frame: object) -> None:
    raise TimeoutError("late")


class Limit:
    """Handlers that are no functions."""

    def __call__(self, number: int, frame: object) -> None:
        raise TimeoutError("late")

    def reached(self, number: int, frame: object) -> None:
        raise TimeoutError("late")


def later(text: str, number: int, frame: object) -> None:
    raise TimeoutError(text)


def once(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise TimeoutError("late")


class Raised(TimeoutError):
    """A class as a handler."""

    def __init__(self, number: int, frame: object) -> None:
        raise TimeoutError("late")


class Everything(Limit):
    """It has any attribute."""

    def __getattr__(self, name: str) -> Any:
        return self


class Unasked(Limit):
    """Nobody may ask it for attributes."""

    def __getattr__(self, name: str) -> Any:
        raise ValueError(name)


HANDLERS = {
    "function": late,
    "object": Limit(),
    "method": Limit().reached,
    "partial": partial(later, "late"),
    "put away": once,
    "class": Raised,
    "cached": lru_cache(late),
    "any attribute": Everything(),
    "no attributes": Unasked(),
    "mock": mock.Mock(side_effect=TimeoutError("late")),
}


@pytest.fixture(params=HANDLERS.values(), ids=list(HANDLERS))
def handler(request: pytest.FixtureRequest) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, request.param)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.fixture(autouse=True)
def quietly() -> Iterator[None]:
    """Without a warning that something was computed op by op."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnfusedWarning)
        yield


def interrupted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose first call is interrupted, in the main thread."""
    calls: list[None] = []

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        calls.append(None)
        if len(calls) == 1:
            signal.raise_signal(signal.SIGUSR1)
        return function(*args, **kwargs)

    return call


def program() -> lf.LazyArray:
    x = lf.asarray(host.linspace(0.0, 1.0, N))
    return (x * 3.0 + 1.0) / (x + 2.0)


def expected() -> host.ndarray:
    x = host.linspace(0.0, 1.0, N)
    return (x * 3.0 + 1.0) / (x + 2.0)


@pytest.mark.cpu("the compiler that is interrupted")
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (CpuBackend, "_made"),  # emitting, in this thread
        (Compiler, "compile"),  # LLVM, in another thread
        (CpuBackend, "_linked"),
    ],
)
def test_while_a_kernel_is_compiled(
    kind: type, name: str, handler: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It counted as a failure of the compiler: a warning, op by op, and the limit was lost."""
    monkeypatch.setattr(kind, name, interrupted(getattr(kind, name)))
    with lf.options(cache_dir=str(tmp_path), cold_size=0, disk_cache=True, check=False):
        lf.cache_clear()
        result = program()
        with pytest.raises(TimeoutError, match="late"):
            host.asarray(result)
        host.testing.assert_array_equal(host.asarray(result), expected())
        assert "unfused" not in str(lf.explain(program()))


@pytest.mark.cpu("kernels on disk")
@pytest.mark.parametrize(
    ("owner", "name"), [(plans, "loaded"), (CpuBackend, "load"), (disk, "_read")]
)
def test_while_files_are_read(
    owner: Any, name: str, handler: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They counted as damaged, and were removed."""
    with lf.options(cache_dir=str(tmp_path), cold_size=0, disk_cache=True, check=False):
        lf.cache_clear()
        host.asarray(program())
        lf.cache_clear()
        files = {path for path in tmp_path.rglob("*") if path.is_file()}
        monkeypatch.setattr(owner, name, interrupted(getattr(owner, name)))
        result = program()
        with pytest.raises(TimeoutError, match="late"):
            host.asarray(result)
        assert files <= {path for path in tmp_path.rglob("*") if path.is_file()}
        host.testing.assert_array_equal(host.asarray(result), expected())


def test_what_is_an_interrupt(handler: None) -> None:
    with pytest.raises(TimeoutError) as raised:
        signal.raise_signal(signal.SIGUSR1)
    assert is_interrupt(raised.value)
    assert is_interrupt(KeyboardInterrupt())
    assert not is_interrupt(TimeoutError())
    try:
        threading.Lock().release()
    except RuntimeError as error:
        assert not is_interrupt(error)


def test_what_nobody_misses(handler: None) -> None:
    with missed_by_nobody():
        raise ValueError
    with pytest.raises(TimeoutError), missed_by_nobody():
        signal.raise_signal(signal.SIGUSR1)
    with pytest.raises(KeyboardInterrupt), missed_by_nobody():
        raise KeyboardInterrupt


def test_where_a_function_has_its_own_frame() -> None:
    """It is no interrupt what functions raise that look at who calls them."""

    def look(depth: int) -> None:
        frame = sys._getframe(depth)
        raise KeyError(frame.f_lineno)

    with missed_by_nobody():
        look(1)


@pytest.mark.parametrize(
    ("owner", "name", "ask"),
    [
        (Path, "exists", lambda cache: cache.has("key")),
        (os, "access", lambda cache: cache.keeps()),
        (Path, "unlink", lambda cache: cache.remove("key")),
        (Path, "is_dir", lambda cache: cache.clear()),
        (Path, "stat", lambda cache: cache.prune()),
        (os, "utime", lambda cache: cache.read("key")),
    ],
)
def test_while_a_folder_is_used(
    owner: Any, name: str, ask: Any, handler: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Errors of the system, of which limits of time are, counted as files that are not there."""
    cache = disk.DiskCache(str(tmp_path))
    cache.write("key", b"binary")
    os.utime(next(tmp_path.iterdir()), (0, 0))
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, interrupted(getattr(owner, name)))
        with pytest.raises(TimeoutError, match="late"):
            ask(cache)
    assert cache.read("key") == b"binary"


@pytest.mark.cpu("the backend that is made")
def test_while_the_backend_is_made(handler: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """All was computed op by op for the rest of the process."""
    monkeypatch.setattr(CpuBackend, "__init__", interrupted(CpuBackend.__init__))
    with pytest.raises(TimeoutError, match="late"):
        session._cpu()
    assert type(session._cpu()) is CpuBackend


def test_while_a_function_is_recorded(handler: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was called again, and never fused."""
    recorded = fused.recorded
    monkeypatch.setattr(fused, "recorded", interrupted(recorded))
    function = lf.fuse(lambda x: x * 2 + 1)
    x = lf.asarray(host.linspace(0.0, 1.0, N))
    raised = 0
    for _ in range(6):
        try:
            host.testing.assert_array_equal(host.asarray(function(x)), host.asarray(x) * 2 + 1)
        except TimeoutError:
            raised += 1
    assert raised == 1
    assert function._recorded == 1


@pytest.mark.cpu("machine code")
def test_while_machine_code_is_loaded(handler: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was never used then."""
    monkeypatch.setattr(native_methods, "_steps", set())
    monkeypatch.setattr(native_methods, "_failures", [])
    monkeypatch.setattr(session, "uses", [1 << 20])
    monkeypatch.setattr(native_methods, "_take", interrupted(lambda *args, **words: None))
    with pytest.raises(TimeoutError, match="late"):
        native_methods.make_native_if_worth(lf.LazyArray)
    assert not native_methods._failures


def test_an_interrupt_as_memory_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """What had no parts so far wrote an AttributeError to stderr as it ended."""
    lost: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    CpuBuffer.__new__(CpuBuffer)
    assert not lost


@pytest.mark.cpu("threads at the end")
def test_the_end_after_an_import_that_was_interrupted() -> None:
    """Python's lock of all imports stays taken where Ctrl-C comes right behind its being taken; a
    thread that imported what it compiles with waited for it, and the end of the program for that
    thread."""
    program = (
        "import _imp, lazyfuse\n"
        "from lazyfuse.runtime import aside\n"
        "_imp.acquire_lock()\n"
        "assert aside.begin(lambda: __import__('colorsys'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0 and not done.stderr, done.stderr[-3000:]

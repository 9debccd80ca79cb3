"""What a user's handler of a signal raises is the user's, whatever it interrupts: it is no failure
of a compiler, and of no file on disk."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.backends.cpu import CpuBackend
from lazyfuse.backends.cpu.compiler import Compiler
from lazyfuse.cache import disk
from lazyfuse.errors import UnfusedWarning
from lazyfuse.interrupts import is_interrupt, missed_by_nobody
from lazyfuse.runtime import plans

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


@pytest.fixture(
    params=[late, Limit(), Limit().reached, partial(later, "late")],
    ids=["function", "object", "method", "partial"],
)
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

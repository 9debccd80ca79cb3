"""Code that computes in the middle of a computation: handlers of signals, finalizers."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

import lazyfuse as lf
from lazyfuse import events
from lazyfuse.runtime import cold, executor, plans, replay
from lazyfuse.runtime.session import backend, kernels

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture
def _not_for_ever() -> Iterator[None]:
    """A thread that waits for a lock of its own is woken."""

    def wake(_: int, __: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, wake)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _locks() -> dict[str, Any]:
    cpu: Any = backend("cpu")
    return {
        "counters": events._LOCK,
        "kernels": kernels._lock,
        "pool": cpu.memory._lock,
        "calls": cpu.compiler._calls_lock,
        "workers": cpu.workers._lock,
        "masks": cpu.masks._lock,
        "warned": executor._LOCK,
        "replays": replay._adding,
    }


@pytest.mark.usefixtures("_not_for_ever")
@pytest.mark.parametrize(
    "name", ["counters", "kernels", "pool", "calls", "workers", "masks", "warned", "replays"]
)
def test_who_has_a_lock_computes(name: str) -> None:
    """A handler may come while its thread has the lock."""
    x = lf.arange(5000.0)
    with _locks()[name]:
        assert float((x * 2 + 1).sum()) == 5000 * 5000
        assert len(x[x > 4000.0]) == 999
        assert float(lf.fuse(lambda a: a + 3.0)(x)[1]) == 4.0


@pytest.mark.parametrize("step", range(7))
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("asks", ["inside", "outside", "other"])
def test_a_cold_run_is_overtaken(
    step: int, asks: str, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any of its steps, values are asked for of what it computes, of what rests on it, or
    of something else; then, and when the same is computed again, its results are right."""

    def program(ask: Callable[[], None]) -> None:
        x = lf.arange(50.0)
        inside = x[::-1] * 2
        result = (inside + 1) / (inside * inside + 3)
        last = result[::2] - inside[::2]
        arrays = {"inside": inside, "outside": last * 2, "other": x + 7}
        taken = cold.Interpreter._take
        count = iter(range(100))

        def take(self: Any, *args: Any) -> None:
            if next(count) == step:
                np.asarray(arrays[asks])
            taken(self, *args)

        monkeypatch.setattr(cold.Interpreter, "_take", take)
        values = np.asarray(last)
        monkeypatch.setattr(cold.Interpreter, "_take", taken)
        host = np.arange(50.0)[::-1] * 2
        expected = ((host + 1) / (host * host + 3))[::2] - host[::2]
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(np.asarray(arrays[asks]), {
            "inside": host, "outside": expected * 2, "other": np.arange(50.0) + 7,
        }[asks])  # fmt: skip
        ask()

    with lf.options(cold_size=1 << 20):
        lf.cache_clear()
        if again:
            program(lambda: None)
        program(lambda: program(lambda: None))


def test_a_plan_is_overtaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are asked for while what is remembered for a structure is made: another node is a
    leaf by then, and its memory was read in place of an input's."""

    def program(*, asks: bool) -> None:
        host = np.arange(9000) + 2
        x, y, z = (lf.asarray(host) * number for number in (1, 3, 5))
        lf.materialize(x, y, z)
        inside = x[::-1] * 2
        result = lf.gcd(inside, 12) + 1 + y - z * inside
        identity, asked = plans._identity, []

        def overtaken(node: Any) -> object:
            if asks and not asked:
                asked.append(True)
                np.asarray(inside)
            return identity(node)

        with monkeypatch.context() as patch:
            patch.setattr(plans, "_identity", overtaken)
            values = np.asarray(result)
        twice = host[::-1] * 2
        np.testing.assert_array_equal(values, np.gcd(twice, 12) + 1 + host * 3 - host * 5 * twice)
        assert len(asked) == asks

    lf.cache_clear()
    program(asks=True)
    program(asks=False)
    program(asks=False)


def test_a_finalizer_that_computes_in_a_cold_run() -> None:
    """Whenever the collector looks for garbage: setting a variable of the context, as
    `np.errstate` does, must not be the moment."""

    class Asks:
        def __init__(self, array: Any) -> None:
            self.array, self.me = array, self

        def __del__(self) -> None:
            float(self.array[0])

    before = gc.get_threshold()
    gc.freeze()  # what other tests have left would be looked through at each turn
    try:
        with lf.options(cold_size=1 << 20):
            for threshold in range(1, 150):
                x = lf.arange(60.0) * 1.0
                lf.materialize(x)
                twice = x * 2
                result = twice[::-1] + 1
                gc.collect()
                gc.disable()
                Asks(twice)
                gc.set_threshold(threshold)
                gc.enable()
                assert np.asarray(result)[-1] == 1.0
                gc.set_threshold(*before)
    finally:
        gc.set_threshold(*before)
        gc.enable()


def test_handlers_that_compute() -> None:
    """At whatever moment."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("handlers run in the main thread")
    asked: list[Any] = []

    def ask(_: int, __: FrameType | None) -> None:
        if asked:
            float(asked[-1][0])

    before = signal.signal(signal.SIGALRM, ask)
    try:
        for number in range(300):
            with lf.options(cold_size=1 << 20 if number % 2 else 0):
                x = lf.arange(3000.0 + number) * 1.0
                lf.materialize(x)
                twice = x * 2
                result = twice[::-1] + 1
                asked[:] = [twice]
                signal.setitimer(signal.ITIMER_REAL, 1e-5 * (1 + number % 60))
                assert np.asarray(result)[-1] == 1.0
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_memory_with_operands_left() -> None:
    """An interrupt can come when a node has its memory and has not let its operands go yet: it is
    memory to whoever reads it."""
    x = lf.arange(3000.0) * 1.0
    lf.materialize(x)
    y = x + 1.0
    operands = y._storage.node.srcs
    lf.materialize(y)
    y._storage.node.srcs = operands
    np.testing.assert_array_equal(np.asarray(y[::-1] * 2.0), (np.arange(3000.0)[::-1] + 1.0) * 2.0)

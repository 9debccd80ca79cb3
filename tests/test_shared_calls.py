"""Ufuncs that NumPy computes by several threads: values, conditions, errors, interrupts."""

from __future__ import annotations

import random
import signal
import threading
import time
import warnings
from contextlib import suppress

import numpy as np
import pytest

import lazyfuse as lf
from lazyfuse import interrupts
from lazyfuse.interrupts import side_by_side
from lazyfuse.runtime import shared_calls
from tests.oracle import check

SHAPES = ((3000,), (2, 1500), (50, 60), (60, 50, 1), (1, 3000))


@pytest.fixture(autouse=True)
def _of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are worth their start for a hundred elements, and memory of the pool, too."""
    monkeypatch.setattr(shared_calls, "_EACH", 100)
    monkeypatch.setattr("lazyfuse.runtime.executor.POOLED", 1)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values(shape: tuple[int, ...], threads: int) -> None:
    draw = np.random.default_rng(1)
    x, y = draw.integers(0, 50, shape), draw.integers(0, 6, shape)
    z = draw.normal(size=shape) + 1j * draw.normal(size=shape)
    with lf.options(threads=threads):
        lx, ly, lz = lf.asarray(x), lf.asarray(y), lf.asarray(z)
        check(lf.gcd(lx, ly), np.gcd(x, y))
        check(lf.gcd(lx[..., :1], ly), np.gcd(x[..., :1], y))
        check(lf.lcm(lx, 12), np.lcm(x, 12))
        check(lf.power(lx.T, ly.T), np.power(x.T, y.T))
        check(lf.power(lx[::-1], ly[..., ::-1]), np.power(x[::-1], y[..., ::-1]))
        check(lf.tanh(lz), np.tanh(z))
        check(lf.gcd(lx, ly).sum(), np.gcd(x, y).sum())


@pytest.mark.cpu("threads that share a call")
def test_threads_share_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = []
    monkeypatch.setattr(
        shared_calls, "side_by_side", lambda calls: parts.append(len(calls)) or side_by_side(calls)
    )
    with lf.options(threads=4):
        for size in (150, 250, 5000):
            np.asarray(lf.gcd(lf.arange(size), 4))
    assert parts == [1, 2, 4]


def test_conditions_of_each_part() -> None:
    z = np.full(1000, 1 + 1j)
    for place in (0, 499, 999):
        bad = z.copy()
        bad[place] = 1e308 * (1 + 1j)
        with pytest.warns(RuntimeWarning, match="overflow"):
            np.asarray(lf.power(lf.asarray(bad), 3.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.asarray(lf.power(lf.asarray(z), 3.5))


def test_an_error_of_a_part() -> None:
    exponents = np.ones(1000, int)
    exponents[-1] = -1
    with pytest.raises(ValueError, match="negative integer powers"):
        np.asarray(lf.power(lf.arange(1000), lf.asarray(exponents)))


def test_side_by_side() -> None:
    met = threading.Barrier(3, timeout=30)
    assert side_by_side([lambda: met.wait() < 3] * 3) == [True] * 3
    done = []

    def fails() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        side_by_side([fails, lambda: done.append(1), fails, lambda: done.append(2)])
    assert sorted(done) == [1, 2]  # the others were not given up


def test_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(interrupts._thread, "start_new_thread", refuse)
    assert side_by_side([lambda: 1, lambda: 2, lambda: 3]) == [1, 2, 3]


def test_an_interrupt_waits_for_the_others() -> None:
    begun, ends, done = threading.Event(), threading.Event(), []

    def other() -> None:
        begun.set()
        ends.wait(30)
        done.append(1)

    def own() -> None:
        begun.wait(30)
        threading.Timer(0.2, ends.set).start()
        signal.raise_signal(signal.SIGINT)

    # a shell ignores interrupts of what it runs beside
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            side_by_side([own, other])
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == [1]


def test_interrupts_at_any_moment() -> None:
    """Whoever is interrupted, where calls are started, too, leaves none under way."""

    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    lock, running, early = threading.Lock(), [0], 0

    def work() -> None:
        with lock:
            running[0] += 1
        try:
            time.sleep(0.002)
        finally:
            with lock:
                running[0] -= 1

    before = signal.signal(signal.SIGALRM, stop)
    draw = random.Random(1)
    try:
        for _ in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, draw.random() * 3e-4 + 1e-5)
                side_by_side([work] * 4)
            except Stop:
                early += running[0] > 0
            finally:
                with suppress(Stop):
                    signal.setitimer(signal.ITIMER_REAL, 0)
            time.sleep(0.003)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not early

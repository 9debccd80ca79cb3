"""Runs that fail half way, wherever that is: no wrong answer afterwards."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as host
import pytest

from lazyfuse.runtime import unfinished
from tests import oracle

lf = oracle.lf
pytestmark = pytest.mark.engine
N = 100_000  # beyond what `kept_bytes` spares from being overwritten


@pytest.fixture(autouse=True)
def unknown_plans() -> None:
    """Machine code keeps the methods that it has met, also those that fail."""
    lf.cache_clear()


def program(np: Any) -> tuple[Any, ...]:
    """Dead inputs, writes in place, library calls between kernels."""
    a = np.array(host.arange(float(N)))
    b = a * 2
    del a
    c = np.sort(b + 1)
    d = c * 3
    e = np.sort(d)
    g = np.array(host.arange(float(N)))
    g[::2] += 1
    h = np.sort(g[::-1] * 2) + g.sum()
    g *= 2
    return e + d, h, g


def failing(
    monkeypatch: pytest.MonkeyPatch, name: str, at: int, error: BaseException
) -> Callable[[], None]:
    """Let call number `at` of a method of the CPU's backend raise; returns what lifts that."""
    from lazyfuse.backends.cpu import CpuBackend

    plain, calls = getattr(CpuBackend, name), []

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        if len(calls) == at:
            raise error
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(CpuBackend, name, method)
    return lambda: monkeypatch.setattr(CpuBackend, name, plain)


@pytest.mark.parametrize("name", ["allocate", "from_host", "to_host"])
@pytest.mark.parametrize("at", range(1, 9))
def test_out_of_memory_keeps_the_trace(
    name: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for again, alone or with what was recorded since, the results are NumPy's."""
    with lf.options(float_errors="off", device="cpu"):
        results = program(lf)
        lift = failing(monkeypatch, name, at, MemoryError("none left"))
        for _ in range(2):
            try:
                lf.materialize(*results)
            except MemoryError:
                pass
        lift()
        unrelated = lf.asnumpy(lf.arange(5.0) + 1)
        more = results[0] + 1
        for own, theirs in zip(
            (more, *results), (program(host)[0] + 1, *program(host)), strict=True
        ):
            assert host.array_equal(lf.asnumpy(own), theirs)
    assert unrelated[4] == 5


@pytest.mark.parametrize("at", range(1, 5))
def test_other_errors_give_no_wrong_answer(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results, or an error that says why there are none."""
    with lf.options(float_errors="off", device="cpu"):
        results = program(lf)
        lift = failing(monkeypatch, "from_host", at, RuntimeError("broken"))
        try:
            lf.materialize(*results)
        except RuntimeError:
            pass
        lift()
        for own, theirs in zip(results, program(host), strict=True):
            try:
                values = lf.asnumpy(own)
            except lf.LazyfuseError as error:
                assert "RuntimeError: broken" in str(error)
            else:
                assert host.array_equal(values, theirs)


def interrupting(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, at: int, when: str
) -> list[str]:
    """Be interrupted before or after call number `at` of a method, and of the next one; returns
    what was interrupted so far."""
    plain, calls, met = getattr(owner, name), [], []

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        comes = at <= len(calls) <= at + 1
        if comes and when == "before":
            met.append(name)
            raise KeyboardInterrupt
        found = plain(self, *args, **kwargs)
        if comes:
            met.append(name)
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(owner, name, method)
    return met


def counting(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[str]:
    """Returns what grows by each call of a method."""
    plain, calls = getattr(owner, name), []

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(owner, name, method)
    return calls


def written_over(np: Any) -> tuple[Any, ...]:
    """Kernels that write over what they read, once and in steps that run together."""
    u = np.array(host.random.default_rng(0).random((400, 300)))
    for _ in range(4):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += 0.1 * (around - 4.0 * u[1:-1, 1:-1])
    z = np.array(host.arange(float(N)))
    z = z * 2.0 + 1.0
    total = z.sum()
    z[5] = total
    return u, z


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 1.0])
@pytest.mark.parametrize(
    "place", ["Run.launch", "Launch.__call__", "Executor._pass", "CpuBackend.from_host"]
)
@pytest.mark.parametrize("made", [program, written_over])
def test_interrupts_lose_nothing(
    made: Callable[[Any], tuple[Any, ...]],
    place: str,
    part: float,
    when: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run goes on when it is asked again, be it two times; no kernel runs twice on what it has
    written over."""
    from lazyfuse.backends.cpu import CpuBackend
    from lazyfuse.backends.cpu.launch import Launch
    from lazyfuse.backends.cpu.launch_run import Run
    from lazyfuse.runtime.executor import Executor

    owner = {each.__name__: each for each in (Run, Launch, Executor, CpuBackend)}
    kind, name = place.split(".")
    with lf.options(float_errors="off", device="cpu", cold_size=0, native=False):
        results = made(lf)
        with monkeypatch.context() as patch:
            calls = counting(patch, owner[kind], name)
            lf.materialize(*results)
        if not calls:
            pytest.skip("nothing to interrupt")
        results = made(lf)
        with monkeypatch.context() as patch:
            met = interrupting(patch, owner[kind], name, 1 + int(part * (len(calls) - 1)), when)
            for _ in range(3):
                with suppress(KeyboardInterrupt):
                    lf.materialize(*results)
        assert met
        for own, theirs in zip(results, made(host), strict=True):
            assert host.array_equal(lf.asnumpy(own), theirs)
    assert not unfinished.runs


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("native", [False, True])
def test_interrupts_at_any_time(native: bool) -> None:
    """Real signals, in a loop that writes over what it reads: whenever they come, the array has
    the values that it had before a statement or after it."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before, count = signal.signal(signal.SIGALRM, interrupt), 0
    try:
        for turn in range(300):
            z = lf.ones(N)
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0005 + turn % 97 * 5e-5, 0.02)
                with lf.options(native=native, cold_size=0):
                    while True:
                        z = z + 1.0
                        float(z.sum())
                        z[5] = 1.0
                        z = z - 1.0
                        float(z.sum())
                        z[5] = 1.0
            except KeyboardInterrupt:
                signal.setitimer(signal.ITIMER_REAL, 0)
                count += 1
            values = lf.asnumpy(z)
            assert values[6] in (1.0, 2.0) and values[5] in (0.0, 1.0, 2.0)
            assert host.array_equal(host.delete(values, 5), host.full(N - 1, values[6]))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert count == 300

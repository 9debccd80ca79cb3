"""Runs that fail half way, wherever that is: no wrong answer afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

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
    """Interrupted by the user: the results, or an error that says why there are none."""
    with lf.options(float_errors="off", device="cpu"):
        results = program(lf)
        lift = failing(monkeypatch, "from_host", at, KeyboardInterrupt())
        try:
            lf.materialize(*results)
        except KeyboardInterrupt:
            pass
        lift()
        for own, theirs in zip(results, program(host), strict=True):
            try:
                values = lf.asnumpy(own)
            except lf.LazyfuseError as error:
                assert "KeyboardInterrupt" in str(error)
            else:
                assert host.array_equal(values, theirs)

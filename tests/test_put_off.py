"""What is done while other threads work: plans are written while their kernels are compiled."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse import interrupts
from lazyfuse.interrupts import catch_up, leave_python, meanwhile, uninterrupted
from lazyfuse.runtime import plans, session

pytestmark = [pytest.mark.engine, pytest.mark.cpu("a compiler in another thread")]
X = host.arange(1000.0)


def test_it_is_done_while_others_work() -> None:
    """And when it fails, nobody hears of it; what is left is done later."""
    done: list[str] = []
    is_done = threading.Event()

    def fails() -> None:
        done.append("fails")
        raise OSError("full")

    def ends() -> None:
        done.append("ends")
        is_done.set()

    meanwhile(fails)
    meanwhile(ends)
    assert uninterrupted(is_done.wait, 20.0) and done == ["fails", "ends"]
    meanwhile(lambda: done.append("left"))
    catch_up()
    catch_up()
    assert done == ["fails", "ends", "left"]


def test_it_begins_where_others_leave_python() -> None:
    """It took the time of Python's lock from a compiler that still reads its text."""
    done: list[str] = []
    is_done = threading.Event()

    def works() -> bool:
        time.sleep(0.1)
        done.append("works")
        leave_python()
        leave_python()
        return is_done.wait(20.0)

    def put_off() -> None:
        done.append("put off")
        is_done.set()

    leave_python()  # nobody waits
    meanwhile(put_off)
    assert uninterrupted(works) and done == ["works", "put off"]


def test_plans_are_written_while_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The compiler waits here until the plan is written."""
    is_written, waited = threading.Event(), []
    monkeypatch.setattr(plans, "_write", lambda *_: is_written.set())
    compiler: Any = type(session.backend("cpu").compiler)  # type: ignore[attr-defined]  # the CPU's
    compiled = compiler._asked

    def asked(self: Any, question: Any) -> Any:
        def late(jit: Any) -> Any:
            waited.append(is_written.wait(20))
            return question(jit)

        return compiled(self, late)

    monkeypatch.setattr(compiler, "_asked", asked)
    with lf.options(disk_cache=True, cache_dir=str(tmp_path), check=False, device="cpu"):
        lf.cache_clear()
        x = lf.asarray(X)
        host.testing.assert_array_equal(lf.asnumpy(x * 3 + 1), X * 3 + 1)
    lf.cache_clear()
    assert waited and all(waited)


def test_plans_that_have_one_kernel_several_times(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They were written before it was compiled, while nobody else worked."""
    begun, met = threading.Event(), []
    monkeypatch.setattr(plans, "_write", lambda *_: met.append(begun.wait(5)))
    compiler: Any = type(session.backend("cpu").compiler)  # type: ignore[attr-defined]  # the CPU's
    compiled = compiler._asked

    def asked(self: Any, question: Any) -> Any:
        return compiled(self, lambda jit: (begun.set(), question(jit))[1])

    monkeypatch.setattr(compiler, "_asked", asked)
    with lf.options(disk_cache=True, cache_dir=str(tmp_path), check=False, device="cpu"):
        lf.cache_clear()
        lf.reset_stats()
        x, expected = lf.asarray(X).copy(), X.copy()
        for each in (x, expected):
            for _ in range(3):
                each[1:-1] += 0.5 * (each[:-2] + each[2:])
        host.testing.assert_array_equal(lf.asnumpy(x), expected)
        assert lf.stats().kernels_compiled == 1 and met == [True]
    lf.cache_clear()


def test_what_no_compiler_is_asked_for_is_written_too(tmp_path: Path) -> None:
    """Where all kernels are on disk, and the plan is not."""
    with lf.options(disk_cache=True, cache_dir=str(tmp_path), check=False, device="cpu"):
        x = lf.asarray(X)
        for size in (1000, 900):  # plans of other sizes have the same kernels
            lf.cache_clear()
            lf.materialize(x[:size] * 3 + 1)
        files = {path.name for path in tmp_path.glob("*.kernel")}
        lf.cache_clear()
        lf.reset_stats()
        lf.materialize(x[:900] * 3 + 1)
        assert lf.stats().plans_loaded == 1 and lf.stats().kernels_compiled == 0
        assert files == {path.name for path in tmp_path.glob("*.kernel")}
    lf.cache_clear()


def test_plans_are_written_where_kernels_cannot_be_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They stayed put off, one for each plan, until a kernel could be compiled."""
    written: list[object] = []

    def fails(*_: object, **__: object) -> None:
        raise OSError("no compiler")

    catch_up()
    monkeypatch.setattr(plans, "_write", lambda *_: written.append(_))
    monkeypatch.setattr(type(session.backend("cpu")), "compile", fails)
    with lf.options(disk_cache=True, cache_dir=str(tmp_path), check=False, device="cpu"):
        lf.cache_clear()
        with pytest.warns(lf.UnfusedWarning):
            host.testing.assert_array_equal(lf.asnumpy(lf.asarray(X) * 5 + 1), X * 5 + 1)
        assert written and not interrupts._postponed
    lf.cache_clear()

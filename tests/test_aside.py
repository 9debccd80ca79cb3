"""Kernels are compiled aside, while what needs them is interpreted; and the bits are the same."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place compiles nothing", allow_module_level=True)

from lazyfuse.backends.base import Unsupported  # noqa: E402 - when there is an engine
from lazyfuse.runtime import aside, met, session  # noqa: E402 - likewise

lf = oracle.lf
pytestmark = pytest.mark.engine
ROOT = Path(__file__).parent.parent
SIZE = 5000


@pytest.fixture(autouse=True)
def cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Nothing has been met; what has been interpreted once is worth a kernel."""
    lf.cache_clear()
    lf.reset_stats()
    monkeypatch.setattr(met, "PLAN_NS", 1)
    monkeypatch.setattr(met, "PLAN_OPERATION_NS", 0)
    given = {"cold_size": 100_000, "eager_size": 0, "device": "cpu", "threads": 2}
    with lf.options(cache_dir=str(tmp_path), **given):
        yield
    aside.wait()
    lf.cache_clear()


class Held:
    """A compiler that waits until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        target = session.backend("cpu")
        made = type(target).aside(target)
        code = made.code

        def held(kernel: Any) -> bytes:
            self.begun.set()
            assert self.go_on.wait(60)
            if error is not None:
                raise error
            return code(kernel)

        monkeypatch.setattr(made, "code", held)
        monkeypatch.setattr(target, "aside", lambda: made)


def _program(np: Any, x: Any) -> Any:
    y = (x * 1.5 + 2.0) / (abs(x) + 1.0)
    return y - y[::-1] * x


def _turn(x: Any) -> tuple[bytes, Any]:
    lf.reset_stats()
    found = lf.asnumpy(_program(lf, x)).tobytes()
    return found, lf.stats()


def test_it_is_interpreted_until_its_kernels_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    rng = host.random.default_rng(1)
    values = rng.standard_normal(SIZE)
    x, wanted = lf.asarray(values), _program(host, values).tobytes()
    for turn in range(5):
        found, stats = _turn(x)
        assert found == wanted and stats.cold_runs and not stats.kernels_launched
        assert stats.plans_built == (turn == 1)
    assert held.begun.wait(60)
    held.go_on.set()
    aside.wait()
    assert lf.stats().kernels_compiled
    for _ in range(3):
        found, stats = _turn(x)
        assert found == wanted and not stats.cold_runs and stats.kernels_launched
        assert not stats.plans_built and not stats.kernels_compiled


def test_others_of_the_family_wait_for_the_same_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    for _ in range(2):
        _turn(x)
    assert held.begun.wait(60)
    for size in range(SIZE - 20, SIZE):
        assert _turn(x[:size] * 1.0)[1].cold_runs
    held.go_on.set()
    aside.wait()
    assert not _turn(x)[1].cold_runs


def test_what_cannot_be_compiled_is_left_to_who_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch, Unsupported("add", "f8", "no"))
    held.go_on.set()
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    wanted, _ = _turn(x)
    _turn(x)
    aside.wait()
    found, stats = _turn(x)
    assert found == wanted and stats.kernels_compiled and stats.kernels_launched


def test_one_processor_compiles_when_it_is_worth_it() -> None:
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    with lf.options(threads=1):
        assert _turn(x)[1].cold_runs
        stats = _turn(x)[1]
    assert stats.kernels_compiled and stats.kernels_launched


def test_what_is_on_disk_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    with lf.options(threads=1):
        _turn(x)
        _turn(x)
    lf.cache_clear()
    monkeypatch.setattr(session.backend("cpu"), "aside", None)
    _turn(x)
    stats = _turn(x)[1]
    assert stats.kernels_loaded and stats.kernels_launched and not stats.cold_runs


def test_where_nothing_is_kept_on_disk() -> None:
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    with lf.options(disk_cache=False):
        _turn(x)
        assert _turn(x)[1].cold_runs
        aside.wait()
        stats = _turn(x)[1]
    assert stats.kernels_launched and not stats.kernels_compiled and not session.binaries


def test_what_nobody_has_asked_for_is_forgotten() -> None:
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    for _ in range(2):
        _turn(x)
    aside.wait()
    assert session.binaries
    lf.cache_clear()
    assert not session.binaries


def test_one_thing_is_compiled_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is met meanwhile goes on without."""
    held = Held(monkeypatch)
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    for _ in range(2):
        _turn(x)
    assert held.begun.wait(60)
    for _ in range(4):
        lf.reset_stats()
        lf.materialize(lf.sqrt(abs(x)) * 3.0)
        assert lf.stats().cold_runs
    held.go_on.set()
    aside.wait()
    for _ in range(2):
        lf.materialize(lf.sqrt(abs(x)) * 3.0)
    aside.wait()
    lf.reset_stats()
    lf.materialize(lf.sqrt(abs(x)) * 3.0)
    assert lf.stats().kernels_launched


def test_what_is_met_meanwhile_is_compiled_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kernels wait for the others; what would be too many is not begun."""
    monkeypatch.setattr(aside, "_MOST_WAITING", 2)
    held = Held(monkeypatch)
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    programs = [
        lambda: x * 2.0 + 1.0, lambda: (x - 3.0) / 2.0, lambda: x * x - 1.0, lambda: abs(x) * x
    ]  # fmt: skip
    for program in programs:
        for _ in range(2):
            lf.materialize(program())
    assert held.begun.wait(60) and len(aside._waiting) == 2
    held.go_on.set()
    aside.wait()
    assert lf.stats().kernels_compiled == 3 and not aside._waiting
    lf.reset_stats()
    for program in programs[:3]:
        lf.materialize(program())
    assert lf.stats().kernels_launched == 3 and not lf.stats().kernels_compiled


def _late(monkeypatch: pytest.MonkeyPatch, x: Any) -> tuple[Any, Any]:
    """Meet a structure as the thread that compiles has done all, and is about to end."""
    at_end, go_on = threading.Event(), threading.Event()

    class Waiting(deque[Any]):
        def __bool__(self) -> bool:
            is_over = not len(self)
            if is_over and not go_on.is_set():
                at_end.set()
                assert go_on.wait(60)
            return not is_over

    monkeypatch.setattr(aside, "_waiting", Waiting())
    assert aside.begin(lambda: None) and at_end.wait(60)
    for _ in range(2):
        _turn(x)
    return aside._waiting, go_on


def test_what_comes_as_the_thread_ends_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waited for whoever compiled next, and was compiled once more then."""
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    waiting, go_on = _late(monkeypatch, x)
    assert len(waiting) == 1
    go_on.set()
    end = time.monotonic() + 60
    while len(waiting) and time.monotonic() < end:
        time.sleep(0.001)
    aside.wait()
    assert not len(waiting) and lf.stats().kernels_compiled
    found, stats = _turn(x)
    assert stats.kernels_launched and not stats.kernels_compiled


def test_what_comes_after_the_thread_begins_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has been told that another thread compiles, which ends before it can wait."""
    begin, refused = aside.begin, []

    def once(work: Any) -> bool:
        if not refused:
            refused.append(work)
            return False
        return begin(work)

    monkeypatch.setattr(aside, "begin", once)
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    for _ in range(2):
        _turn(x)
    aside.wait()
    assert refused and not aside._waiting and lf.stats().kernels_compiled


def test_what_has_been_compiled_meanwhile_is_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that wait twice; one that had to be there at once since."""
    held, given = Held(monkeypatch), []
    compile_aside = met.compile_aside

    def twice(*kernels: Any) -> Any:
        given.append(kernels)
        return [compile_aside(*kernels) for _ in range(2)][0]

    monkeypatch.setattr(met, "compile_aside", twice)
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    for program in (lambda: x * 2.0 + 1.0, lambda: (x - 3.0) / 2.0):
        for _ in range(2):
            lf.materialize(program())
    assert held.begun.wait(60) and len(given) == 2 and len(aside._waiting) == 3
    with lf.options(cold_size=0):
        lf.materialize((x - 3.0) / 2.0)
    held.go_on.set()
    aside.wait()
    assert not aside._waiting and lf.stats().kernels_compiled == 2


def test_what_waits_is_compiled_with_its_options(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    held = Held(monkeypatch)
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    for _ in range(2):
        lf.materialize(x * 2.0 + 1.0)
    with lf.options(cache_dir=str(tmp_path / "other")):
        for _ in range(2):
            lf.materialize((x - 3.0) / 2.0)
    assert held.begun.wait(60) and not (tmp_path / "other").exists()
    held.go_on.set()
    aside.wait()
    assert (tmp_path / "other").exists()


def test_what_waits_is_left_when_the_program_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    for program in (lambda: x * 2.0 + 1.0, lambda: (x - 3.0) / 2.0):
        for _ in range(2):
            lf.materialize(program())
    assert held.begun.wait(60) and len(aside._waiting) == 1
    monkeypatch.setattr(aside, "_ending", [True])
    held.go_on.set()
    aside.wait()
    assert not aside._waiting and lf.stats().kernels_compiled == 1


def test_long_structures_of_a_family_have_its_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as they are there, though these have not been interpreted for long."""
    monkeypatch.setattr(met, "PLAN_OPERATION_NS", 1e5)
    x = lf.asarray(host.linspace(-1.0, 1.0, SIZE))
    while not any(family.awaited for family in session.families.values()):
        _turn(x)
    aside.wait()
    assert not _turn(x[:-7] * 1.0)[1].plans_built  # another family
    assert not _turn(lf.asarray(host.linspace(-1.0, 1.0, SIZE - 7)))[1].cold_runs


CHILD = """
import os, sys, time
import numpy as host, lazyfuse as lf
from lazyfuse.runtime import aside, met
met.PLAN_NS, met.PLAN_OPERATION_NS = 1, 0
x = lf.asarray(host.linspace(-1.0, 1.0, 5000))

def program():
    y = (x * 1.5 + 2.0) / (abs(x) + 1.0)
    return lf.asnumpy(y - y[::-1] * x).tobytes()

wanted = program()
assert program() == wanted
"""
FORKED = """
child = os.fork()
if not child:
    assert not aside.compiling.locked()
    for _ in range(3):
        assert program() == wanted
    os._exit(0 if lf.stats().kernels_launched else 3)
assert os.waitpid(child, 0)[1] == 0
for _ in range(3):
    assert program() == wanted
"""
#: Several wait, and the first is done as the program forks.
FORKED_WAITING = """
import threading
from lazyfuse.runtime import session
target = session.backend("cpu")
aside.wait()
made = type(target).aside(target)
code, begun, first, others = made.code, [], threading.Event(), threading.Event()

def held(kernel):
    begun.append(kernel)
    assert (first if len(begun) == 1 else others).wait(20)
    return code(kernel)

made.code = held
type(target).aside = lambda self: made
programs = [lambda: x * 2.0 + 1.0, lambda: (x - 3.0) / 2.0, lambda: x * x - 1.0]
for each in programs:
    for _ in range(2):
        lf.materialize(each())
assert len(aside._waiting) == 2
threading.Timer(0.3, first.set).start()
child = os.fork()
if not child:
    assert len(begun) == 1 and not aside._waiting and not aside.compiling.locked()
    assert lf.asnumpy(programs[2]()).tolist() == (lf.asnumpy(x) ** 2 - 1.0).tolist()
    os._exit(0 if len(begun) == 1 else 3)
assert os.waitpid(child, 0)[1] == 0
others.set()
end = time.monotonic() + 60
while len(aside._waiting) and time.monotonic() < end:
    time.sleep(0.01)
aside.wait()
assert len(begun) == 2 and not aside._waiting  # the child has left the third on disk
"""
#: What a program does while kernels are compiled for it.
ENDS = {
    "forks": FORKED,
    "forks soon": FORKED_WAITING,
    "ends": "assert aside.compiling.locked()",
    "exits": "sys.exit(0)",
}


@pytest.mark.cpu("forks, and threads at the end")
@pytest.mark.parametrize("how", ENDS)
def test_the_program_goes_on_or_ends_in_the_middle(how: str, tmp_path: Path) -> None:
    settings = {
        "LAZYFUSE_EAGER_SIZE": "0", "LAZYFUSE_COLD_SIZE": "100000", "LAZYFUSE_THREADS": "2",
        "LAZYFUSE_CACHE_DIR": str(tmp_path), "LAZYFUSE_CHECK": "0",
    }  # fmt: skip
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", CHILD + ENDS[how]],
        capture_output=True, text=True, cwd=ROOT, check=False, timeout=120,
        env=os.environ | settings,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr[-3000:]
    assert time.monotonic() - started < 60

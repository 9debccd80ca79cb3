"""Arrays that are gone leave their memory to the next ones, in machine code."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from lazyfuse.backends.cpu.methods_room_text import ROOMS  # noqa: E402
from lazyfuse.frontend.handle import Handle  # noqa: E402
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too

SLOTS = tuple(name for name in Handle.__slots__ if name != "__weakref__")


with lf.options(eager_size=1000):
    ONES = lf.ones(3)


@pytest.fixture(autouse=True)
def sizes() -> Iterator[None]:
    """Arrays of a few elements are small, those of some ten thousand the engine's."""
    with lf.options(eager_size=1000):
        yield


def array(value: float = 1.0) -> Any:
    """A new array of three such numbers; nothing else is made."""
    return ONES * value


def test_memory_is_taken_again() -> None:
    """By the next array, so that making one asks nobody for memory."""
    first = array()
    kept = id(first)
    del first
    assert id(array()) == kept


def test_what_takes_it_is_new() -> None:
    """Nothing is left of what had it: parts that a small array has not are missing."""
    x = array()
    large = lf.arange(40_000.0) + 0.0
    lf.materialize(large)
    view = large[1:30_000].view("i8")  # has memory, a layout, and reads it as another dtype
    view.setflags(write=False)
    entered = x + 0.0
    large + entered.sum()
    del view, entered
    for _ in range(5):
        made = x + 1.0
        assert made.flags.writeable and made.base is None and made.dtype == "f8"
        assert gc.is_tracked(made)
        other = object()
        assert sys.getrefcount(made) == sys.getrefcount(other)
        assert not weakref.getweakrefs(made)
        del made


def test_weak_references_are_told_first() -> None:
    """They give nothing any more; a callback may make arrays, which get other memory."""
    told: list[Any] = []

    def gone(reference: Any) -> None:
        told.append((reference(), array(7.0)))

    x = array()
    kept, watching = id(x), [weakref.ref(x, gone), weakref.ref(x)]
    del x
    assert [found for found, _ in told] == [None] and watching[1]() is None
    assert id(told[0][1]) != kept
    assert told[0][1].tolist() == [7.0] * 3
    assert id(array()) == kept


class Owner:
    """Does something when it is gone."""

    def __init__(self, done: Any) -> None:
        self.done = done

    def __del__(self) -> None:
        self.done()


def test_finalizers_of_what_an_array_has_may_make_arrays() -> None:
    made: list[Any] = []
    x = array()
    Handle._owner.__set__(x, Owner(lambda: made.extend(array(float(n)) for n in range(5))))  # type: ignore[attr-defined]
    del x
    assert [each.tolist()[0] for each in made] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert len({*map(id, made)}) == 5


def test_more_than_there_is_room_for() -> None:
    for _ in range(3):
        many = [array(float(n)) for n in range(4 * ROOMS)]
        assert [each.tolist()[0] for each in many] == list(range(4 * ROOMS))
        assert len({*map(id, many)}) == len(many)
        del many


def test_views_of_views() -> None:
    """What they keep lives as long as they do."""
    x = array(5.0)
    watched = weakref.ref(x)
    view = x[1:][:1][...]
    del x
    assert watched() is view.base and view.tolist() == [5.0]
    del view
    assert watched() is None


def test_cycles_are_collected() -> None:
    """Of arrays that are in them, and that have them."""
    gc.collect()
    x, y = array(), array()
    watched = [weakref.ref(x), weakref.ref(y)]
    cycle: list[Any] = [x]
    cycle.append(cycle)
    Handle._owner.__set__(y, [y])  # type: ignore[attr-defined]
    del x, y, cycle
    assert all(reference() is not None for reference in watched)
    gc.collect()
    assert all(reference() is None for reference in watched)
    made = [array(float(n)) for n in range(9)]
    gc.collect()
    assert [each.tolist()[0] for each in made] == list(range(9))


def test_collections_in_between() -> None:
    """Arrays are tracked while they are alive only."""
    before = gc.get_threshold()
    gc.set_threshold(3)
    try:
        for number in range(300):
            x = array(float(number))
            pair = [x, x[1:], [x + 1]]
            pair.append(pair)  # type: ignore[arg-type]
            assert pair[1].tolist() == [number] * 2  # type: ignore[attr-defined]
    finally:
        gc.set_threshold(*before)
    gc.collect()
    alive = sum(type(each) is lf.LazyArray for each in gc.get_objects())
    del x, pair
    gc.collect()
    assert sum(type(each) is lf.LazyArray for each in gc.get_objects()) <= alive - 1


def test_arrays_of_the_engine_leave_theirs_too() -> None:
    large = lf.arange(50_000.0) + 0.0
    lf.materialize(large)
    results = [float((large * n)[3]) for n in range(3 * ROOMS)]
    assert results == [3.0 * n for n in range(3 * ROOMS)]
    parts = [large[n : n + 3] for n in range(3 * ROOMS)]
    assert [each.tolist() for each in parts] == [[n, n + 1, n + 2] for n in range(3 * ROOMS)]


def test_threads() -> None:
    """Arrays of one die in another."""
    results: list[Any] = []

    def work(number: int) -> None:
        own = [array(float(number)) for _ in range(50)]
        for _ in range(200):
            own = [each + 1.0 for each in own]
        results.append((number, own))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, own in results:
        assert all(each.tolist() == [number + 200.0] * 3 for each in own)


def test_no_reference_is_lost() -> None:
    x, large = array(), lf.arange(40_000.0) + 0.0
    lf.materialize(large)
    kept = (lf.LazyArray, x, x._host, large, large._storage, large._layout, host.dtype("f8"))

    def run() -> None:
        views = [x[1:], x[:2], x.reshape(3, 1), large[5:], large[3:9], large.view("i8")]
        references = [weakref.ref(each) for each in views]
        del views
        assert not any(reference() is not None for reference in references)
        _ = [x + 1.0, x * x, large + x[0], x.copy()]

    assert_nothing_is_lost(run, kept, known=60, rounds=30)


ENDING = """
import atexit, sys, threading
import lazyfuse as lf
from lazyfuse.frontend import native_methods
assert native_methods.make_native(lf.LazyArray)
x = lf.arange(4.0)
kept = [x + n for n in range(200)]
cycle = [x[1:]]
cycle.append(cycle)
sys.kept_by_another = [x * 2, lf.arange(40_000.0) * 2]
class Late:
    def __init__(self):
        self.array = x + 1
    def __del__(self):
        self.array = None
sys.late = late = Late()
atexit.register(lambda: kept.append((x + 5).tolist()))
threading.Thread(target=lambda: [x + n for n in range(100)]).start()
print("done")
"""


def test_python_ends() -> None:
    """With arrays that are still alive, in modules that go last."""
    done = subprocess.run(
        [sys.executable, "-c", ENDING], env=os.environ | {"LAZYFUSE_EAGER_SIZE": "1000"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")

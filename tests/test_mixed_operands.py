"""Large and small arrays in one operation, in machine code: a small one is copied into the engine
when it is an operand there, and that copy is used again while its elements are what they were."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.concurrently import concurrently

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too

ROWS, COLUMNS = 40, 30
LARGE = host.linspace(-3.0, 5.0, ROWS * COLUMNS).reshape(ROWS, COLUMNS)
ROW = host.linspace(0.5, 2.5, COLUMNS)
TIMES = 5  # until it is done by recipes

CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "nothing": lambda np, row: row,
    "an element": lambda np, row: row.__setitem__(3, 7.0),
    "by a view": lambda np, row: row[::2].__setitem__(slice(None), -1.0),
    "in place": lambda np, row: row.__imul__(2.0),
    "out": lambda np, row: np.add(row, 1.0, out=row),
    "to NaN": lambda np, row: row.__setitem__(1, np.nan),
    "to the other zero": lambda np, row: row.__setitem__(slice(0, 2), (-0.0, 0.0)),
    "filled": lambda np, row: row.fill(0.25),
    "sorted": lambda np, row: row.sort(),
}
OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "an operator": lambda np, x, row: x * row,
    "reflected": lambda np, x, row: row - x,
    "both ways": lambda np, x, row: (row * x + row) / row,
    "a ufunc": lambda np, x, row: np.maximum(x, row),
    "where": lambda np, x, row: np.where(x > 0.0, row, x),
    "a column": lambda np, x, row: x + row[:, None][:1],
    "a strided view": lambda np, x, row: x[:, ::2] * row[::2],
    "repeated": lambda np, x, row: x * np.broadcast_to(row[:1], (COLUMNS,)),
    "another dtype": lambda np, x, row: x * row.astype("f4"),
    "without axes": lambda np, x, row: x * np.array(row[0]),
}
WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "added": lambda np, x, row: x.__iadd__(row),
    "divided": lambda np, x, row: x.__itruediv__(row),
    "a part": lambda np, x, row: x[1:].__isub__(row),
    "by a ufunc": lambda np, x, row: np.multiply(x, row, out=x),
}


@pytest.fixture(autouse=True)
def sizes() -> Any:
    with lf.options(eager_size=100):
        yield


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_small_operand_that_changes(name: str, change: str) -> None:
    """Each result is of what the small array was when its operation was recorded."""

    def program(np: Any, x: Any, row: Any) -> Any:
        with host.errstate(all="ignore"):
            x, row = np.array(x), np.array(row)
            before = [OPERATIONS[name](np, x, row) for _ in range(TIMES)]
            CHANGES[change](np, row)
            after = [OPERATIONS[name](np, x, row) for _ in range(TIMES)]
            CHANGES["an element"](np, row)
            return before, after, OPERATIONS[name](np, x, row), row

    oracle.check(program, LARGE, ROW)


@pytest.mark.parametrize("name", WRITES)
def test_written(name: str) -> None:
    """A small array written into a large one again and again, and changed in between."""

    def program(np: Any, x: Any, row: Any) -> Any:
        x, row = np.array(x), np.array(row)
        seen = []
        for turn in range(2 * TIMES):
            WRITES[name](np, x, row)
            seen.append(x.copy())
            row[turn] = 3.0
        return seen, x

    oracle.check(program, LARGE, ROW)


def test_another_shape_and_dtype() -> None:
    """The same bytes under another shape or dtype are another operand."""

    def program(np: Any, x: Any, row: Any) -> Any:
        x, row = np.array(x), np.array(row)
        return [
            operand
            for _ in range(TIMES)
            for operand in (x * row, x * row.view("i8"), x[:, :1] * row.reshape(1, -1), x * row)
        ]

    oracle.check(program, LARGE, ROW)


@pytest.mark.cpu("small arrays that are NumPy's")
def test_it_is_copied_once() -> None:
    """The copy is of the small array while that does not change, and goes with it."""
    x, row = lf.array(LARGE), lf.array(ROW)
    for _ in range(TIMES):
        lf.materialize(x * row)
    first = row._entered
    lf.materialize(x * row, row + x)
    assert row._entered is first
    row[0] = 5.0
    lf.materialize(x * row)
    assert row._entered is not first
    array = row._entered[1]
    del row
    gc.collect()
    assert gc.get_referrers(array) == []


@pytest.mark.cpu("small arrays that are NumPy's")
def test_views_have_their_owner_keep_the_copy() -> None:
    """Each time a new view of it is an operand."""
    x, row = lf.array(LARGE), lf.array(ROW)
    for _ in range(TIMES):
        lf.materialize(x * row[None, :])
    kept = row._entered
    assert kept[0].shape == (1, COLUMNS)
    found = lf.materialize(x * row[None, :])
    assert row._entered is kept
    assert host.array_equal(found, LARGE * ROW[None, :])
    found = lf.materialize(x * row[None, :], x * row[::-1], x[:, 1:] * row[1:])
    for array, wanted in zip(
        found, (LARGE * ROW[None], LARGE * ROW[::-1], LARGE[:, 1:] * ROW[1:]), strict=True
    ):
        assert host.array_equal(array, wanted)


@pytest.mark.cpu("small arrays that are NumPy's")
def test_another_thread_makes_a_copy_of_its_own() -> None:
    """Arrays of the engine are recorded on in one thread."""
    x, row = lf.array(LARGE), lf.array(ROW)
    for _ in range(TIMES):
        lf.materialize(x * row)
    kept = row._entered
    found = []

    def work() -> None:
        x = lf.array(LARGE)
        with lf.options(eager_size=100):
            for _ in range(TIMES):
                found.append(host.asarray(x * row))
            mine = row._entered
            found.append(host.asarray(x * row))
        assert row._entered is mine and mine is not kept
        found.append(None)

    concurrently(work, [()])
    assert found.pop() is None
    for array in found:
        assert host.array_equal(array, LARGE * ROW)


def test_threads_that_take_the_copy_away() -> None:
    """It was freed while the size of small arrays was asked for, and read then: a crash."""
    program = """
import sys, threading, time
import numpy, lazyfuse as lf
from lazyfuse.frontend import native_methods

native_methods.make_native(lf.LazyArray)
sys.setswitchinterval(1e-6)
with lf.options(eager_size=100):
    row = lf.array(numpy.full(1, 2.0))
end, wrong = time.monotonic() + float(sys.argv[1]), []

def work(number):
    with lf.options(eager_size=0):
        x = lf.array(numpy.arange(3000.0))
        lf.materialize(x)
    while time.monotonic() < end:
        for size in (100 + number, 200 + number):
            with lf.options(eager_size=size):
                found = x * row
    if not numpy.array_equal(numpy.asarray(found), numpy.arange(3000.0) * 2.0):
        wrong.append(number)

threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong
"""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program, "4"], capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


def test_what_is_refused() -> None:
    x, row = lf.array(LARGE), lf.array(ROW[:7])
    for _ in range(TIMES):
        with pytest.raises(ValueError, match="broadcast"):
            x * row
        with pytest.raises(ValueError, match="broadcast"):
            x += row


PENDING: dict[str, Callable[[Any, Any, Any], Any]] = {
    "subtracted": lambda np, row, x: row.__isub__(0.5 * x.mean(axis=0)),
    "a scalar": lambda np, row, x: row.__iadd__(x.sum()),
    "powers": lambda np, row, x: row.__ipow__(x.max(axis=0)),
    "its own values": lambda np, row, x: row.__imul__((x * row).sum(axis=0)),
    "a view": lambda np, row, x: row[::2].__iadd__(x.mean(axis=0)[::2]),
    "the view that it is": lambda np, row, x: row[1:].__isub__((x * row).sum(axis=0)[:-1]),
    "one row": lambda np, row, x: row[None].__itruediv__(x.sum(axis=0, keepdims=True)),
    "floored": lambda np, row, x: row.__ifloordiv__(x.min(axis=0)),
    "a comparison": lambda np, row, x: (row > 1).__iand__(x.mean(axis=0) > 0),
    "too many": lambda np, row, x: row.__iadd__(x.sum(axis=1)),
    "another kind": lambda np, row, x: row.astype(int).__iadd__(x.mean(axis=0)),
    "read-only": lambda np, row, x: np.broadcast_to(row, (2, COLUMNS))[0].__iadd__(x.sum(axis=0)),
}


@pytest.mark.parametrize("name", PENDING)
def test_a_small_array_by_a_pending_one(name: str) -> None:
    """What is pending is computed, and NumPy writes it: all views see it, what was read before
    does not, and errors are NumPy's."""

    def program(np: Any) -> Any:
        x, row = np.asarray(LARGE), np.array(ROW)
        part, before = row[1:5], row + 0.0
        try:
            found = PENDING[name](np, row, x)
        except (TypeError, ValueError) as error:
            return type(error).__name__, row, part, before
        return found, row, part, before, x.sum(axis=0)

    with lf.options(eager_size=COLUMNS + 10):
        expected, found = program(host), program(lf)
        for one, other in zip(expected, found, strict=True):
            if isinstance(one, str):
                assert one == other
            else:
                host.testing.assert_allclose(lf.asnumpy(other), one, rtol=1e-13)
                assert other.dtype == one.dtype


@pytest.mark.cpu("floating point flags")
def test_a_small_array_by_a_division_by_zero() -> None:
    """The condition is told at the user's line; where it is an error the array keeps its values,
    as what is pending is computed first."""
    with lf.options(eager_size=COLUMNS + 10):
        x, row = lf.asarray(LARGE), lf.array(ROW)
        with pytest.warns(RuntimeWarning, match="divide") as heard:
            row += (x / 0.0).max(axis=0)
        assert {each.filename for each in heard} == {__file__}
        row = lf.array(ROW)
        with host.errstate(all="raise"), pytest.raises(FloatingPointError):
            row += (x / 0.0).max(axis=0)
        host.testing.assert_array_equal(lf.asnumpy(row), ROW)

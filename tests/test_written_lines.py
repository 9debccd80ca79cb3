"""Rows, columns and slices that are written into computed memory, in machine code: what is read
before keeps its values, what NumPy refuses is refused, and nothing goes elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too

EDGE = 60
DTYPES = ["f8", "i8", "?", "f4", "i2", "u1", "c16"]


def matrix(dtype: str = "f8", order: Any = "C") -> tuple[host.ndarray, Any]:
    """A matrix of NumPy's and one of ours, computed."""
    values = host.random.default_rng(4).integers(0, 9, (EDGE, EDGE)).astype(dtype, order=order)
    there = lf.array(values)
    lf.materialize(there)
    return values, there


KEYS: dict[str, Any] = {
    "a row": 3,
    "a row from the end": -2,
    "a row in a tuple": (3,),
    "a column": (slice(None), 7),
    "part of a row": (4, slice(5, 50)),
    "every third": (4, slice(5, 50, 3)),
    "the other way round": (4, slice(None, None, -1)),
    "part of a column": (slice(50, 5, -2), -1),
    "nothing": (4, slice(5, 5)),
    "rows": slice(2, 4),
    "an element": (3, 4),
}


def few(count: int, dtype: str = "f8") -> Any:
    """Some numbers."""
    return host.arange(count).astype(dtype)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", KEYS)
def test_keys(name: str, dtype: str, order: Any) -> None:
    """Numbers, arrays, parts of others and of itself."""
    key = KEYS[name]

    def program(xp: Any, array: Any) -> Any:
        other = array * 2
        length = host.shape(host.empty((EDGE, EDGE))[key])
        row = xp.ones(length, array.dtype)
        array[key] = 1
        array[key] = other[key]
        array[key] += 2 if dtype != "?" else True
        array[key] = row
        array[key] = array[key]
        before = array[key] * 1
        array[key] = 0
        return array, before, other

    values, there = matrix(dtype, order)
    expected = program(host, values)
    for result, value in zip(program(lf, there), expected, strict=True):
        host.testing.assert_array_equal(lf.asnumpy(result), value)


VALUES: dict[str, Callable[[Any], Any]] = {
    "a number": lambda xp: 2.5,
    "an integer": lambda xp: 3,
    "too large": lambda xp: 1e300,
    "not a number": lambda xp: host.nan,
    "a bool": lambda xp: True,
    "NumPy's number": lambda xp: host.float64(1.5),
    "a row": lambda xp: xp.ones(EDGE),
    "of another dtype": lambda xp: xp.ones(EDGE, "i4"),
    "NumPy's row": lambda xp: few(EDGE),
    "lying apart": lambda xp: few(2 * EDGE)[::2],
    "one element": lambda xp: xp.ones(1),
    "too long": lambda xp: xp.ones(EDGE + 1),
    "a matrix of one row": lambda xp: xp.ones((1, EDGE)),
    "a list": lambda xp: [1.0] * EDGE,
    "without axes": lambda xp: xp.array(4.0),
    "words": lambda xp: "two",
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", VALUES)
def test_values(name: str, dtype: str) -> None:
    """What does not fit is cast, spread, or refused as by NumPy, and then nothing is written."""

    def program(xp: Any, array: Any) -> Any:
        array[3] = VALUES[name](xp)
        array[:, 4] = VALUES[name](xp)
        return array

    oracle.check(program, matrix(dtype)[0])


def test_overlap() -> None:
    """Parts of itself that overlap are read before they are written."""

    def program(xp: Any, array: Any) -> Any:
        array[5, 1:] = array[5, :-1]
        array[6, :-1] = array[6, 1:]
        array[7, ::2] = array[7, 1::2]
        array[8] = array[8, ::-1]
        array[:, 2] = array[::-1, 2]
        return array

    oracle.check(program, matrix()[0])


def test_what_was_read_stays() -> None:
    """Copies, results, exported arrays and pending operations keep their values."""
    values, there = matrix()
    copy, doubled, pending = there.copy(), lf.asnumpy(there * 2), there + 1
    given = lf.asnumpy(there)
    there[3] = 77.0
    there[:, 4] = host.zeros(EDGE)
    there[5, 6] = 5.0
    host.testing.assert_array_equal(given, values)
    host.testing.assert_array_equal(lf.asnumpy(copy), values)
    host.testing.assert_array_equal(doubled, values * 2)
    host.testing.assert_array_equal(lf.asnumpy(pending), values + 1)
    view = there[3]
    there[3] = 5.0
    assert float(view[0]) == 5.0
    view[...] = 6.0
    assert float(there[3, 1]) == 6.0


def test_read_only() -> None:
    """An array that may not be written is not."""
    values, there = matrix()
    there.flags.writeable = False
    for key, value in ((3, 1.0), (3, host.ones(EDGE)), ((3, 4), 1.0), (3, there[3])):
        with pytest.raises(ValueError, match="read-only"):
            there[key] = value
    host.testing.assert_array_equal(lf.asnumpy(there), values)


def test_threads() -> None:
    """Rows that threads write at once are all there."""
    _, there = matrix()

    def write(first: int) -> None:
        for row in range(first, EDGE, 4):
            for _ in range(20):
                there[row] = float(row)
                there[row, 3] = float(row)
                there[row] += 1.0

    threads = [threading.Thread(target=write, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = host.broadcast_to(host.arange(EDGE)[:, None] + 1.0, (EDGE, EDGE))
    host.testing.assert_array_equal(lf.asnumpy(there), expected)


@pytest.mark.cpu("floating point flags")
def test_conditions_are_told() -> None:
    """A sum in place that overflows warns once, at the user's line, and is written."""
    _, there = matrix()
    there[3] = 1e308
    with pytest.warns(RuntimeWarning, match="overflow") as heard:
        there[3] *= 10.0
    assert len(heard) == 1 and heard[0].filename == __file__
    assert bool(lf.isinf(there[3]).all())


def test_small_ones_with_parts() -> None:
    """Operators of small arrays and parts of the engine's memory: rows, columns, and what does not
    fit."""

    def program(xp: Any, array: Any) -> Any:
        small = xp.ones(EDGE, array.dtype)
        small -= array[3]
        small *= array[:, 4]
        small += array[5, ::-1]
        found = [small, array[3] + small, small @ array[:, 2], array[:, 1] @ array[2]]
        found += [host.float64(2.0) * array[:, 3], xp.sqrt(abs(array[:, 5])), array[:, 6] < small]
        for part in (array[3, :5], array[:2], array[3].astype("c16")):
            try:
                small += part
            except (ValueError, TypeError) as error:
                found.append(type(error).__name__)
        return [*found, small]

    values, there = matrix()
    for result, value in zip(program(lf, there), program(host, values), strict=True):
        if isinstance(value, str):
            assert result == value
        else:
            host.testing.assert_array_equal(lf.asnumpy(result), value)

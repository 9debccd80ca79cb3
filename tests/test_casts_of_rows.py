"""Rows, blocks and elements of large arrays that are assigned from arrays of other dtypes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.oracle import check

DTYPES = ("?", "u1", "i2", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
SPECIAL = (0.0, 1.0, -3.0, 2.5, 300.0, 70_000.0, 1e30, 1e300, float("nan"), float("inf"))


@pytest.fixture(autouse=True)
def small_arrays() -> Any:
    """Rows are small, and computed at once."""
    with oracle.options(eager_size=30_000):
        yield


def _rows(np: Any, there: Any, row: Any) -> Any:
    """What is written to rows, columns and blocks, and what is said of it."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        there[3] = row
        there[4, :] = row
        there[5:7, 1:9] = row[2:]
        there[:, 2][10:20] = row
        there[20:22, ::2] = row[::-2]
        there[[30, 40]] = row
        there[[31, 41], 5] = row[:2]
        there[50] = row[3]
        there[60:70] = np.array([row] * 10)
    return there, sorted({str(each.message) for each in given})


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_assigned(target: str, source: str) -> None:
    """A cast of a row took 16 us where NumPy takes 0.3."""
    with host.errstate(all="ignore"):
        row = host.array(SPECIAL).astype(source)
    if source[0] in "fc" and target[0] in "iu":  # what else comes of it is the processor's
        row = host.minimum(host.nan_to_num(abs(row), nan=1.0, posinf=2.0), 9).astype(source)

    def program(np: Any, there: Any) -> Any:
        _rows(np, there, np.array(row))
        return _rows(np, there, np.array(row))

    check(program, host.zeros((4_000, 10), target))


@pytest.mark.parametrize("mode", ["warn", "raise", "ignore"])
def test_conditions(mode: Any) -> None:
    """Told as those of casts are, at the user's line."""

    def program(np: Any, there: Any) -> Any:
        row = np.full(200, 1e300)
        with np.errstate(all=mode), warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            try:
                there[3] = row
            except FloatingPointError as error:
                return str(error)
        return there, [(str(each.message), each.filename) for each in given]

    check(program, host.zeros((200, 200), "f4"))
    check(program, host.zeros((200, 200), "f2"))


def test_complex_numbers_lose_a_part() -> None:
    def program(np: Any, there: Any) -> Any:
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            there[3] = np.full(200, 1 + 2j)
            there[4] = np.full(200, 2j)
        return there, {str(each.message) for each in given}

    check(program, host.zeros((200, 200)))


def test_other_dtypes() -> None:
    """What only NumPy has, and the other byte order."""

    def program(np: Any, there: Any) -> Any:
        there[3] = host.ones(200, ">f8")
        there[4] = host.ones(200, object)
        there[5] = host.ones(200, "m8[s]").view("i8")
        there[6] = host.ones(200, host.longdouble)
        try:
            there[7] = host.array(["x"] * 200)
        except ValueError as error:
            return there, str(error)
        return there

    check(program, host.zeros((200, 200)))


def test_rows_of_the_same_memory() -> None:
    """Memory that is read as another dtype while it is written."""

    def program(np: Any, there: Any) -> Any:
        there[3] = there.view("i8")[3]
        there[4, 1:] = there.view("i8")[4, :-1]
        return there

    check(program, host.arange(40_000.0).reshape(200, 200))


def test_ravel_of_blocks_is_at_once() -> None:
    """The function is the method; a small copy was given a storage to be compared."""

    def program(np: Any, there: Any) -> Any:
        block = there[3:6, 4:8]
        return (
            np.ravel(block),
            np.ravel(there[3]),
            np.ravel(block, "F"),
            np.ravel(there).base is None,
        )

    check(program, host.arange(40_000.0).reshape(200, 200))
    if oracle.IS_ENGINE:
        there = oracle.lf.asarray(host.ones((200, 200)))
        assert oracle.lf.ravel(there[3:6, 4:8])._host is not None


@pytest.mark.engine
@pytest.mark.parametrize("source", ["u1", "f4", "i8", "?"])
def test_they_are_at_once(source: str) -> None:
    """Nothing is recorded."""
    there = oracle.lf.asarray(host.zeros((200, 200), "f2"))
    row = oracle.lf.asarray(host.ones(200, source))
    for key in (3, (slice(None), 4), [7, 9], (slice(5, 9), slice(None))):
        there[key] = row
        assert there._storage.node.buffer is not None

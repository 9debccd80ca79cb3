"""Programs of users that gave something else than NumPy, at one size or at both."""

from __future__ import annotations

import math
import sqlite3
import sys
from typing import Any

import numpy as host
import pytest

from tests import oracle

GRID = host.arange(12.0).reshape(3, 4)


class Giving:
    """An object whose `__array__` makes its array with the namespace under test."""

    def __init__(self, np: Any) -> None:
        self._np = np

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._np.arange(5.0)


#: From CPython 3.14 on NumPy may take a variable for another array's: it cannot tell any more.
MAY_REFUSE = sys.version_info >= (3, 14)


def resized(np: Any, f: Any) -> Any:
    array = f.ravel().copy()
    array.resize(20)
    array[1] = 7
    return array, array.flags.owndata


def resized_with(*shape: Any, **options: Any) -> oracle.Program:
    def program(np: Any, f: Any) -> Any:
        array = np.array(f, order="F") if options.get("fortran") else np.array(f)
        array = array.T if options.get("turned") else array
        array.resize(*shape, refcheck=not MAY_REFUSE)
        return array

    return program


def written_at_masked(np: Any, f: Any) -> Any:
    """A boolean key of a class derived from ndarray."""
    target = np.zeros(f.shape)
    target[host.ma.masked_greater(host.arange(12.0).reshape(3, 4), 9) > 5] = 1
    return target


# fmt: off
PROGRAMS: dict[str, oracle.Program] = {
    "resize": resized,
    "resize to fewer": resized_with(5),
    "resize to a shape": resized_with((2, 4)),
    "resize to two extents": resized_with(5, 3),
    "resize in F order": resized_with(5, 3, fortran=True),
    "resize to the same size": resized_with(6, 2),
    "resize what is turned": resized_with(4, turned=True),
    "resize to a negative extent": resized_with(-3),
    "turns that are no integer": lambda np, f: np.rot90(f, 2.25),
    "turns by an array": lambda np, f: np.rot90(f, np.array(3)),
    "where with None": lambda np, f: np.where(f > 1, None, 1.5),
    "where with None last": lambda np, f: np.where(f > 1, f, None),
    "where with None twice": lambda np, f: np.where(f > 1, None, None),
    "where with one": lambda np, f: np.where(f > 1, f),
    "where with none": lambda np, f: np.where(f > 4),
    "a masked key": written_at_masked,
    "a word in numbers": lambda np, f: "a" in f,
    "None in numbers": lambda np, f: None in f,
    "a row in a table": lambda np, f: f[0] in f,
    "a number": lambda np, f: (3 in f, 3.5 in f),
    "trunc": lambda np, f: math.trunc(f.mean()),
    "trunc of an element": lambda np, f: math.trunc(f[1, 2] * 2.5),
    "trunc of a complex number": lambda np, f: math.trunc((f * 1j).sum()),
    "a number for a database": lambda np, f: (
        sqlite3.connect(":memory:").execute("select ?", (f.mean(),)).fetchall()
    ),
    "__array__ of ours, fitted": lambda np, f: np.polyfit(Giving(np), Giving(np), 1).round(6),
    "__array__ of ours, counted": lambda np, f: np.bincount(np.arange(5), weights=Giving(np)),
    "__array__ of ours, unique": lambda np, f: np.unique(Giving(np)),
    "__array__ of ours, in a histogram": lambda np, f: np.histogram(Giving(np))[0],
    "integers to powers of none": lambda np, f: np.arange(0) ** np.arange(-1, -1),
    "none to a negative power": lambda np, f: np.zeros(0, int) ** np.array([-1]),
    "an output that does not fit": lambda np, f: np.minimum(f, f, out=np.ones(5)),
    "an output that a mask does not fit": lambda np, f: (
        np.add(f, f, out=np.ones((3, 4)), where=np.ones(5, bool))
    ),
    "in place what does not fit": lambda np, f: f.__iadd__(np.ones(5)),
    "in place what is larger": lambda np, f: f.__iadd__(np.ones((2, 3, 4))),
}
# fmt: on


@pytest.mark.parametrize("eager_size", [0, 4096])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, eager_size: int) -> None:
    """The program does what it does with NumPy, for pending and for small arrays."""
    with oracle.options(eager_size=eager_size):
        oracle.check(PROGRAMS[name], GRID)


@pytest.mark.engine
@pytest.mark.parametrize("eager_size", [0, 4096])
def test_views_keep_what_was_resized(eager_size: int) -> None:
    """NumPy refuses, or leaves them without memory."""
    with oracle.options(eager_size=eager_size):
        array = oracle.lf.arange(5.0)
        seen = array[1:]
        array.resize(8)
        array[1] = 7
        assert host.asarray(seen).tolist() == [1, 2, 3, 4]
        assert host.asarray(array).tolist() == [0, 7, 2, 3, 4, 0, 0, 0]


@pytest.mark.parametrize("assertion", ["assert_allclose", "assert_equal", "assert_array_less"])
def test_assertions_take_objects_that_give_our_arrays(assertion: str) -> None:
    """An object whose `__array__` gives an array of ours: it raised ValueError."""
    more = float(assertion == "assert_array_less")

    def program(np: Any) -> Any:
        called = getattr(np.testing, assertion)
        called([Giving(np), Giving(np)], [np.arange(5.0) + more] * 2)
        return called(Giving(np), np.arange(5.0) + more)

    oracle.check(program)


@pytest.mark.engine
@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("eager_size", [0, 4096])
def test_functions_of_matrices(eager_size: int) -> None:
    """NumPy's code takes their elements as an array, and gives a matrix: without NumPy's function
    beside it, `diagflat` had one element, and `delete` rows in place of elements."""
    matrix = host.matrix([[1.0, 2.0], [3.0, 4.0]])
    with oracle.options(eager_size=eager_size):
        for call in (
            lambda np: np.diagflat(matrix),
            lambda np: np.delete(matrix, 0),
            lambda np: np.insert(matrix, 1, 5.0),
            lambda np: np.apply_along_axis(lambda row: row[:1], 0, matrix),
        ):
            expected, found = call(host), call(oracle.lf)
            assert type(found) is type(expected)
            assert found.tolist() == expected.tolist()

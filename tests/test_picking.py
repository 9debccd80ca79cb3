"""Functions that pick by integers and masks: take, compress, choose, nonzero and its kin, put,
place, putmask, `ufunc.at`, and NumPy's own compositions of them.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as host
import pytest

from tests.oracle import check

ARRAYS = {
    "matrix": host.arange(12.0).reshape(3, 4),
    "fortran": host.asfortranarray(host.arange(24, dtype="i4").reshape(2, 3, 4)),
    "complex": host.arange(7)[::-1].astype("c16"),
    "zero_d": host.array(3.0),
    "empty": host.zeros((0, 3)),
    "bools": host.arange(12).reshape(3, 4) % 5 < 2,
}
INDICES: tuple[Any, ...] = (
    [0, 1], [[0], [1]], host.array([], int), [], 0, -1, [True, False], [0, 99], [0.5],
    host.array([2, -1, 0], "i1"), host.array([1, 0], "u8"), host.array(1),
)  # fmt: skip
each_array = pytest.mark.parametrize("name", ARRAYS)


@each_array
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take(name: str, mode: str) -> None:
    """np.take of what is pending, with an index of NumPy's or of ours, along every axis."""
    array = ARRAYS[name]
    for index, axis in itertools.product(INDICES, (None, 0, 1, -1, 5)):
        check(lambda np, x, i=index, a=axis: np.take(x + x, i, axis=a, mode=mode), array)
        check(lambda np, x, i, a=axis: np.take(x, i, axis=a, mode=mode) + 1, array, index)


def test_take_into() -> None:
    """out=, of the right and of the wrong shape and dtype."""

    def program(np: Any, x: Any, out: Any) -> Any:
        np.take(x, [2, 0], axis=1, out=out)
        return out

    for out in (host.zeros((3, 2)), host.zeros((3, 3)), host.zeros((3, 2), "i4")):
        check(program, ARRAYS["matrix"], out)


@each_array
def test_positions(name: str) -> None:
    """Where elements are not 0, with the views and the memory that NumPy gives."""
    array = ARRAYS[name]
    check(lambda np, x: np.nonzero(x), array)
    check(lambda np, x: (x > 2).nonzero(), array)
    check(lambda np, x: np.where(x * 2 > 4), array)
    check(lambda np, x: np.flatnonzero(x) * 2, array)
    check(lambda np, x: np.argwhere(x), array)
    check(lambda np, x: np.extract(x > 2, x * 2), array)


@each_array
def test_compress(name: str) -> None:
    """np.compress with conditions that are shorter and longer than the axis."""
    for condition in ([1, 0], [True], [0, 1, 1, 1], [[1]], 1, []):
        for axis in (None, 0, 1):
            check(lambda np, x, c=condition, a=axis: np.compress(c, x, axis=a), ARRAYS[name])
            check(lambda np, x, c=condition, a=axis: x.compress(c, a), ARRAYS[name])


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_choose(mode: str) -> None:
    """np.choose with choices of several dtypes, as a list and as an array."""
    choices = [host.arange(4.0), host.arange(4.0, 8).astype("f4"), host.arange(4)]
    for numbers in (
        [0, 1, 2, 0], [0, 1, 5, 0], [0, -1, 1, 1], [[0], [1]], 1, [True, False, True, True],
        [0.0, 1, 1, 1],
    ):  # fmt: skip
        k = host.array(numbers)
        check(lambda np, k, *c: np.choose(k, c, mode=mode), k, *choices)
        check(lambda np, k, *c: np.choose(k, [1, 2.5, 3], mode=mode), k, *choices)
        check(lambda np, k, *c: k.choose(np.stack(c), mode=mode), k, *choices)


@each_array
@pytest.mark.parametrize("values", [[7], [1, 2, 3], 7, [], host.arange(3.0)], ids=repr)
def test_put(name: str, values: Any) -> None:
    """put, putmask, place and add.at, on computed and on pending arrays."""

    def pending(np: Any, x: Any, index: Any = None) -> Any:
        y = x * 1
        np.put(y, index, values)
        return y, y + 1

    def settled(np: Any, x: Any, index: Any = None) -> Any:
        y = x.copy()
        old = y[...]
        np.put(y, index, values, mode="clip")
        z = x.T.copy().T
        z.put(index, values, mode="wrap")
        return y, z, old

    def masked(np: Any, x: Any, function: str = "") -> Any:
        y, before = x * 1, x * 1
        getattr(np, function)(y, y > 2, values)
        return y, before

    def repeated(np: Any, x: Any) -> Any:
        y = x * 1
        z = y + 1
        np.add.at(y, [0, 0, 1], 3)
        return y, z

    for index in INDICES:
        check(lambda np, x, i=index: pending(np, x, i), ARRAYS[name])
        check(lambda np, x, i=index: settled(np, x, i), ARRAYS[name])
    for function in ("putmask", "place"):
        check(lambda np, x, f=function: masked(np, x, f), ARRAYS[name])
    check(repeated, ARRAYS[name])


def test_at() -> None:
    """ufunc.at with duplicates, tuples of indices, one operand, and a read-only array."""

    def program(np: Any, x: Any, rows: Any) -> Any:
        y = x * 1
        np.add.at(y, (rows, [1, 1, 1]), np.array([1.0, 2.0, 4.0]))
        np.subtract.at(y, (slice(None), [1]), 5.0)
        np.negative.at(y, [0, 0])
        np.maximum.at(y[::2], [0, 0], 3)
        return y

    def read_only(np: Any, x: Any) -> None:
        y = x.copy()
        y.flags.writeable = False
        np.add.at(y, [0], 1.0)

    def beyond(np: Any, x: Any) -> None:
        np.add.at(x, [0, 99], 1.0)

    for rows in ([0, 0, 2], [-1, -1, 0]):
        check(program, ARRAYS["matrix"], host.array(rows))
    check(read_only, ARRAYS["matrix"])
    check(beyond, ARRAYS["matrix"])


def test_compositions() -> None:
    """ix_, take_along_axis, put_along_axis and select."""

    def program(np: Any, x: Any) -> Any:
        y = x * 1
        y[np.ix_([0, 2], [1, 3])] *= 2
        order = np.argsort(-x, axis=1)
        np.put_along_axis(y, order[:, :1], 9, axis=1)
        picked = x[np.ix_([True, False, True], [1, 3])]
        chosen = np.select([x > 2, x > 7], [x, x * 2], -1)
        return y, picked + 1, np.take_along_axis(x, order, axis=1), chosen

    check(program, ARRAYS["matrix"])
